/* offsets.c - ids with the place of each in the original text, as the begin and end
 * of the library's immutable protocol buffer: a piece goes from where its first byte comes from to
 * where the byte after it comes from; of the bytes that stand for an unknown character the last
 * one has its place. */
#include "base/utf8.h"
#include "tokenizer/sentencepiece/encoder.h"
#include "tokenizer/text/sources.h"
#include <string.h>

#define BLANK "\xE2\x96\x81"

/* The normalized text as the library spells it; `origin` has for each of its bytes, and for its
 * end, the byte of the original text that it comes from. */
typedef struct Traced {
    Text text;
    Sources origin;
} Traced;

static void trace_bytes(Traced *t, bool escapes, Str bytes, uint32_t origin)
{
    for (size_t i = 0; i < bytes.len; i++) {
        Str one = { bytes.ptr + i, 1 };
        if (escapes && bytes.ptr[i] == ' ') one = (Str){ BLANK, 3 };
        text_add(&t->text, one.ptr, one.len);
        sources_repeat(&t->origin, origin, one.len);
    }
}

/* sp_normalize, one character after the other; a text of blanks alone may give nothing. */
static void trace(const SpNormalizer *n, Str text, Traced *t)
{
    bool drop = n->rules.remove_extra_whitespaces, escapes = n->rules.escape_whitespaces;
    bool dummy = n->rules.add_dummy_prefix, after_blank = drop;
    Str to, blank = escapes ? (Str){ BLANK, 3 } : (Str){ " ", 1 };
    size_t at = 0, len;
    for (; drop && at < text.len; at += len) {
        len = sp_rewrite_start(n, (Str){ text.ptr + at, text.len - at }, &to);
        if (!str_is(to, " ")) break;
    }
    if (at == text.len) return;
    if (dummy && !n->blank_behind) trace_bytes(t, escapes, str_of(" "), (uint32_t)at);
    for (; at < text.len; at += len) {
        len = sp_rewrite_start(n, (Str){ text.ptr + at, text.len - at }, &to);
        for (; after_blank && to.len && to.ptr[0] == ' '; to.ptr++) to.len--;
        trace_bytes(t, escapes, to, (uint32_t)at);
        if (to.len) after_blank = drop && to.ptr[to.len - 1] == ' ';
    }
    const uint32_t *origin = t->origin.index.ptr;
    uint32_t end = (uint32_t)at;
    while (drop && t->text.len >= blank.len &&
           !memcmp(t->text.ptr + t->text.len - blank.len, blank.ptr, blank.len)) {
        t->text.len -= blank.len;
        t->origin.n -= (int64_t)blank.len;
        end = origin[t->origin.n];
    }
    if (dummy && n->blank_behind) trace_bytes(t, escapes, str_of(" "), end);
    sources_repeat(&t->origin, end, 1);
}

/* Passed to each piece in turn. */
typedef struct Placing {
    const SpFile *file;
    Traced traced;
    size_t at; /* in the traced text */
    uint32_t *character;
    Ids *ids, *offsets;
} Placing;

static void put(Placing *p, uint32_t id, size_t from, size_t to)
{
    const uint32_t *origin = p->traced.origin.index.ptr;
    ids_add(p->ids, id);
    ids_add(p->offsets, p->character[origin[from]]);
    ids_add(p->offsets, p->character[origin[to]]);
}

static void place(void *to, Str piece, uint32_t id)
{
    Placing *p = to;
    size_t from = p->at;
    if (p->file->type[id] != SP_BYTE) {
        put(p, id, from, p->at += piece.len);
        return;
    }
    const char *text = p->traced.text.ptr;
    while (((uint8_t)text[from] & 0xC0) == 0x80) from--;
    size_t end = from + utf8_char_bytes((uint8_t)text[from]);
    put(p, id, from, ++p->at == end ? end : from);
}

Error *sp_encode_offsets(const Tokenizer *self, Str text, bool add_special_tokens, Ids *out,
                         Ids *offsets)
{
    (void)add_special_tokens; /* there is nothing to add, see sentencepiece_open */
    const SentencePiece *t = (const SentencePiece *)self;
    TRY(tokenizer_check_text(text));
    Buffer characters = { 0 };
    Placing p = { .file = &t->file, .ids = out, .offsets = offsets };
    trace(&t->normalizer, text, &p.traced);
    p.character = buffer_grow(&characters, (text.len + 1) * sizeof *p.character);
    utf8_number_characters(text, p.character);
    Error *e = sentencepiece_pieces(self, text, place, &p);
    CHECK(e || p.at == p.traced.text.len); /* both ways to normalize agree */
    text_free(&p.traced.text);
    buffer_free(&p.traced.origin.index);
    buffer_free(&characters);
    return e;
}
