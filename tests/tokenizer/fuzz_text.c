/* fuzz_text.c - short texts made of what a tokenizer knows and of what it may stumble over. */
#include "tokenizer/fuzz_text.h"
#include "base/rng.h"
#include "base/utf8.h"
#include <string.h>

enum { SHORT_TEXT = 60, LONG_TEXT = 400, EDGE_FROM = 58, EDGE_TO = 66 };

typedef struct Draw {
    uint64_t key, i;
} Draw;

static int64_t below(Draw *d, int64_t n)
{
    return (int64_t)(rng_bits(d->key, d->i++) % (uint64_t)n);
}

FuzzSource fuzz_source(Arena *a, const Tokenizer *t)
{
    FuzzSource s = { .tokenizer = t };
    uint32_t *id = NEW_N(a, uint32_t, t->n_ids);
    Str name;
    for (uint32_t i = 0; i < t->n_ids; i++) {
        bool is_added = i >= t->vocab_size || t->is_special(t, i);
        if (is_added && t->token_name(t, i, &name)) id[s.n_special++] = i;
    }
    s.special = id;
    return s;
}

static void add_times(Text *out, Str s, int64_t n)
{
    for (int64_t i = 0; i < n; i++) text_add(out, s.ptr, s.len);
}

/* Blanks, marks, unknown characters, numbers, tokens of other vocabularies, zero bytes; now and
 * then many of them. */
static void add_oddity(Draw *d, Text *out)
{
    static const Str odd[] = { { " ", 1 },
                               { "  ", 2 },
                               { "\n", 1 },
                               { "\r\n", 2 },
                               { "\t", 1 },
                               { "\xE2\x96\x81", 3 },     /* U+2581 */
                               { "e\xCC\x81", 3 },        /* e and an accent */
                               { "\xCC\x81", 2 },         /* the accent alone */
                               { "\xCC\x88\xCC\xA3", 4 }, /* marks in no normal order */
                               { "\0", 1 },
                               { "<s>", 3 },
                               { "[MASK]", 6 },
                               { "<|endoftext|>", 13 },
                               { "\xE4\xB8\xAD", 3 },     /* Chinese */
                               { "\xED\x95\x9C", 3 },     /* Hangul */
                               { "\xF0\x9F\x98\x80", 4 }, /* emoji */
                               { "\xE2\x80\x8D", 3 },     /* zero-width joiner */
                               { "'s", 2 },
                               { "'LL", 3 },
                               { "\xC5\xBF", 2 }, /* long s */
                               { "1234567", 7 },
                               { "...", 3 },
                               { "_", 1 },
                               { "\xC2\xA0", 2 },                   /* blank that does not break */
                               { "\xE3\x80\x80", 3 },               /* wide blank */
                               { "\xC2\x85", 2 },                   /* next line */
                               { "\xEF\xAC\x81", 3 },               /* fi as one */
                               { "\xD9\xA3", 2 },                   /* Arabic digit */
                               { "\xC2\xBD", 2 },                   /* one half */
                               { "\xE0\xB8\x81\xE0\xB8\xB3", 6 } }; /* Thai */
    Str s = odd[below(d, sizeof odd / sizeof *odd)];
    add_times(out, s, below(d, 8) ? 1 : 1 + below(d, 20));
}

/* One end of a character that is no continuation byte, at or after `at`. */
static size_t character_from(Str s, size_t at)
{
    while (at < s.len && ((uint8_t)s.ptr[at] & 0xC0) == 0x80) at++;
    return at;
}

/* A token as decoded text, or one end of it. */
static void add_token(const FuzzSource *f, Draw *d, Text *out)
{
    const Tokenizer *t = f->tokenizer;
    uint32_t id[2] = { (uint32_t)below(d, t->vocab_size), (uint32_t)below(d, t->vocab_size) };
    size_t before = out->len;
    error_free(t->decode(t, id, 1 + below(d, 2), false, out));
    Str made = { out->ptr + before, out->len - before };
    int64_t kind = below(d, 6);
    if (kind > 1 || !made.len) return;
    size_t cut = character_from(made, (size_t)below(d, (int64_t)made.len));
    if (kind == 1) memmove(out->ptr + before, out->ptr + before + cut, made.len - cut);
    out->len = before + (kind == 1 ? made.len - cut : cut);
}

static void add_part(const FuzzSource *f, Draw *d, Text *out)
{
    int64_t kind = below(d, 16);
    Str name;
    if (kind < 4) {
        add_oddity(d, out);
    } else if (kind == 4 && f->n_special) {
        uint32_t id = f->special[below(d, f->n_special)];
        if (f->tokenizer->token_name(f->tokenizer, id, &name)) text_add(out, name.ptr, name.len);
    } else if (kind == 5) {
        uint32_t id = (uint32_t)below(d, f->tokenizer->vocab_size);
        if (f->tokenizer->token_name(f->tokenizer, id, &name) &&
            utf8_valid_length(name) == name.len)
            text_add(out, name.ptr, name.len);
    } else {
        add_token(f, d, out);
        if (!below(d, 2)) text_putc(out, ' ');
    }
}

/* The bytes of the first n characters. */
static size_t bytes_of(Str s, int64_t n)
{
    size_t at = 0;
    for (; n > 0 && at < s.len; n--) at = character_from(s, at + 1);
    return at;
}

void fuzz_text(const FuzzSource *f, uint64_t number, Text *out)
{
    Draw d = { rng_key(77, RNG_DATA, number, 0), 0 };
    text_clear(out);
    text_puts(out, "");
    int64_t n_chars = 1 + below(&d, below(&d, 8) ? SHORT_TEXT : LONG_TEXT);
    if (!below(&d, 3)) {
        static const Str fill[] = { { "a", 1 }, { " ", 1 }, { "ab ", 3 }, { ".", 1 } };
        int64_t n = EDGE_FROM + below(&d, EDGE_TO - EDGE_FROM + 1);
        add_times(out, fill[below(&d, 4)], n);
        out->len = (size_t)n;
        n_chars = n + 1 + n_chars % (LONG_TEXT - EDGE_TO);
    }
    while (out->len < (size_t)n_chars) add_part(f, &d, out);
    out->len = bytes_of((Str){ out->ptr, out->len }, n_chars);
}
