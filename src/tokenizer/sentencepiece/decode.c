/* decode.c - ids to text: byte pieces are put together, and the blank that was put
 * before a text is taken away. */
#include "base/utf8.h"
#include "tokenizer/sentencepiece/encoder.h"
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"

typedef struct Decoding {
    const SentencePiece *t;
    Text bytes;      /* of byte pieces, not yet a character */
    bool at_start;   /* a blank here may be the dummy one */
    bool dummy_seen; /* it was */
    bool any_text;
} Decoding;

static void put(Decoding *d, const char *text, size_t n, Text *out)
{
    text_add(out, text, n);
    d->any_text |= n > 0;
}

/* Hands on whole characters, and one U+FFFD for each byte that can be part of none. What may still
 * become a character is kept, unless this is the end. */
static void settle_bytes(Decoding *d, bool at_end, Text *out)
{
    Str rest = { d->bytes.ptr, d->bytes.len };
    while (rest.len) {
        size_t n = utf8_valid_length(rest);
        put(d, rest.ptr, n, out);
        rest = (Str){ rest.ptr + n, rest.len - n };
        if (!rest.len || (!at_end && utf8_broken_length(rest) == rest.len)) break;
        put(d, REPLACEMENT, 3, out);
        rest = (Str){ rest.ptr + 1, rest.len - 1 };
    }
    size_t kept = rest.len;
    if (kept) memmove(d->bytes.ptr, rest.ptr, kept);
    d->bytes.len = kept;
}

static void add_with_blanks(Decoding *d, Str name, Text *out)
{
    d->any_text |= name.len > 0;
    for (size_t i = 0; i < name.len; i++) {
        bool blank = name.len - i >= 3 && !memcmp(name.ptr + i, "\xE2\x96\x81", 3);
        text_putc(out, blank ? ' ' : name.ptr[i]);
        if (blank) i += 2;
    }
}

static void add_piece(Decoding *d, uint32_t id, Str name, Text *out)
{
    const SpFile *f = &d->t->file;
    if (d->dummy_seen || d->any_text) d->at_start = false;
    d->dummy_seen = false;
    if (f->type[id] == SP_CONTROL) return;
    if (f->type[id] == SP_UNKNOWN) {
        put(d, f->unk_surface.ptr, f->unk_surface.len, out);
        return;
    }
    bool may_drop = d->at_start && (f->rules.add_dummy_prefix || f->rules.remove_extra_whitespaces);
    if (may_drop && str_starts(name, "\xE2\x96\x81")) {
        name = (Str){ name.ptr + 3, name.len - 3 };
        /* Where all blanks at the start go away, the next piece may lose its own, too. */
        d->dummy_seen = !f->rules.remove_extra_whitespaces;
    }
    add_with_blanks(d, name, out);
}

static void add_byte(Decoding *d, Str name, Text *out)
{
    int high = (unsigned char)name.ptr[3], low = (unsigned char)name.ptr[4]; /* <0xHL> */
    high = high <= '9' ? high - '0' : high - 'A' + 10;
    low = low <= '9' ? low - '0' : low - 'A' + 10;
    text_putc(&d->bytes, (char)(high << 4 | low));
    settle_bytes(d, false, out);
}

static void rewrite(const SentencePiece *t, Text *text)
{
    Text normalized = { 0 };
    sp_normalize(&t->denormalizer, (Str){ text->ptr, text->len }, &normalized);
    text_clear(text);
    bool escaped = t->file.denormalizer.escape_whitespaces;
    for (size_t i = 0; i < normalized.len; i++) {
        if (escaped && normalized.ptr[i] == ' ')
            text_puts(text, "\xE2\x96\x81");
        else
            text_putc(text, normalized.ptr[i]);
    }
    text_free(&normalized);
}

static Error *add_id(Decoding *d, uint32_t id, Text *out)
{
    const SpFile *f = &d->t->file;
    if (id >= f->n) {
        return error_new("id %u is outside the vocabulary (0 to %lld)", id, (long long)f->n - 1);
    }
    /* A name means the reserved piece of that name, if there is one. */
    uint32_t named = sp_file_id(f, f->name[id]);
    if (f->type[named] == SP_BYTE) {
        add_byte(d, f->name[named], out);
        return NULL;
    }
    settle_bytes(d, true, out);
    add_piece(d, named, f->name[named], out);
    return NULL;
}

/* Control symbols have no text, with or without skip_special_tokens. */
Error *sp_decode(const Tokenizer *self, const uint32_t *id, int64_t n, bool skip_special_tokens,
                 Text *out)
{
    (void)skip_special_tokens;
    const SentencePiece *t = (const SentencePiece *)self;
    Decoding d = { .t = t, .at_start = true };
    Text text = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; i < n && !e; i++) e = add_id(&d, id[i], &text);
    if (!e) {
        settle_bytes(&d, true, &text);
        if (t->file.has_denormalizer) rewrite(t, &text);
        text_add(out, text.ptr, text.len);
    }
    text_free(&text);
    text_free(&d.bytes);
    return e;
}

/* The same id by id. A denormalizer needs the whole text. */
typedef struct SpStream {
    TokenStream base;
    Decoding d;
    Text whole;
} SpStream;

static Error *stream_add(TokenStream *self, uint32_t id, Text *out)
{
    SpStream *s = (SpStream *)self;
    return add_id(&s->d, id, s->d.t->file.has_denormalizer ? &s->whole : out);
}

static Error *stream_finish(TokenStream *self, Text *out)
{
    SpStream *s = (SpStream *)self;
    bool waits = s->d.t->file.has_denormalizer;
    settle_bytes(&s->d, true, waits ? &s->whole : out);
    if (waits) rewrite(s->d.t, &s->whole);
    text_add(out, s->whole.ptr, s->whole.len);
    text_clear(&s->whole);
    s->d = (Decoding){ .t = s->d.t, .bytes = s->d.bytes, .at_start = true };
    return NULL;
}

static void stream_free(void *stream)
{
    SpStream *s = stream;
    text_free(&s->d.bytes);
    text_free(&s->whole);
}

TokenStream *sp_stream_new(const Tokenizer *self, bool skip_special_tokens, Arena *a)
{
    (void)skip_special_tokens;
    SpStream *s = NEW(a, SpStream);
    *s = (SpStream){ .base = { stream_add, stream_finish },
                     .d = { .t = (const SentencePiece *)self, .at_start = true } };
    arena_on_free(a, stream_free, s);
    return &s->base;
}
