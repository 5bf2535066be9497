/* sentencepiece_decode.c - ids to text: byte pieces are put together, and the blank that was put
 * before a text is taken away. */
#include "base/utf8.h"
#include "tokenizer/sentencepiece_encoder.h"
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"
enum { MAX_CUT_BYTES = 3 }; /* of a character whose last byte is missing */

typedef struct Decoding {
    const SentencePiece *t;
    Text text, bytes;
    bool at_start;   /* a blank here may be the dummy one */
    bool dummy_seen; /* it was */
} Decoding;

/* Bytes that make no character are one U+FFFD each. */
static void end_bytes(Decoding *d)
{
    Str rest = { d->bytes.ptr, d->bytes.len };
    while (rest.len) {
        size_t n = utf8_valid_length(rest);
        text_add(&d->text, rest.ptr, n);
        if (n < rest.len) {
            text_puts(&d->text, REPLACEMENT);
            n++;
        }
        rest = (Str){ rest.ptr + n, rest.len - n };
    }
    text_clear(&d->bytes);
}

static void add_with_blanks(Str name, Text *out)
{
    for (size_t i = 0; i < name.len; i++) {
        bool blank = name.len - i >= 3 && !memcmp(name.ptr + i, "\xE2\x96\x81", 3);
        text_putc(out, blank ? ' ' : name.ptr[i]);
        if (blank) i += 2;
    }
}

static void add_piece(Decoding *d, uint32_t id, Str name)
{
    const SpFile *f = &d->t->file;
    if (d->dummy_seen || d->text.len) d->at_start = false;
    d->dummy_seen = false;
    if (f->type[id] == SP_CONTROL) return;
    if (f->type[id] == SP_UNKNOWN) {
        text_add(&d->text, f->unk_surface.ptr, f->unk_surface.len);
        return;
    }
    bool may_drop = d->at_start && (f->rules.add_dummy_prefix || f->rules.remove_extra_whitespaces);
    if (may_drop && str_starts(name, "\xE2\x96\x81")) {
        name = (Str){ name.ptr + 3, name.len - 3 };
        /* Where all blanks at the start go away, the next piece may lose its own, too. */
        d->dummy_seen = !f->rules.remove_extra_whitespaces;
    }
    add_with_blanks(name, &d->text);
}

static void add_byte(Decoding *d, Str name)
{
    int high = name.ptr[3], low = name.ptr[4]; /* <0xHL> */
    high = high <= '9' ? high - '0' : high - 'A' + 10;
    low = low <= '9' ? low - '0' : low - 'A' + 10;
    text_putc(&d->bytes, (char)(high << 4 | low));
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

static Error *check_ids(const SentencePiece *t, const uint32_t *id, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (id[i] >= t->file.n) {
            return error_new("id %u is outside the vocabulary (0 to %lld)", id[i],
                             (long long)t->file.n - 1);
        }
    }
    return NULL;
}

/* Control symbols have no text, with or without skip_special_tokens. */
Error *sp_decode(const Tokenizer *self, const uint32_t *id, int64_t n, bool skip_special_tokens,
                 Text *out)
{
    (void)skip_special_tokens;
    const SentencePiece *t = (const SentencePiece *)self;
    TRY(check_ids(t, id, n));
    Decoding d = { .t = t, .at_start = true };
    for (int64_t i = 0; i < n; i++) {
        /* A name means the reserved piece of that name, if there is one. */
        uint32_t named = sp_file_id(&t->file, t->file.name[id[i]]);
        if (t->file.type[named] == SP_BYTE) {
            add_byte(&d, t->file.name[named]);
            continue;
        }
        end_bytes(&d);
        add_piece(&d, named, t->file.name[named]);
    }
    end_bytes(&d);
    if (t->file.has_denormalizer) rewrite(t, &d.text);
    text_add(out, d.text.ptr, d.text.len);
    text_free(&d.text);
    text_free(&d.bytes);
    return NULL;
}

size_t sp_settled(const Tokenizer *self, Str decoded)
{
    const SentencePiece *t = (const SentencePiece *)self;
    if (t->file.has_denormalizer) return 0;
    size_t n = decoded.len;
    for (int i = 0; i < MAX_CUT_BYTES && t->file.byte_fallback; i++) {
        if (n < 3 || memcmp(decoded.ptr + n - 3, REPLACEMENT, 3) != 0) break;
        n -= 3;
    }
    return n;
}
