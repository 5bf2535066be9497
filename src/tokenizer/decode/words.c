/* words.c - the decoders that set blanks between words: WordPiece, BPEDecoder, Metaspace,
 * CTC, and the one of files without a decoder. */
#include "base/utf8.h"
#include "tokenizer/decode/cleanup.h"
#include "tokenizer/decode/steps.h"
#include "tokenizer/pretokenize/metaspace.h"
#include <string.h>

static Error *with_blank(const DecoderStep *self, Str token, int64_t index, RegexRoom *room,
                         Text *out)
{
    (void)self;
    (void)room;
    if (index) text_putc(out, ' ');
    text_add(out, token.ptr, token.len);
    return NULL;
}

const DecoderStep blank_step = { .name = "none", .token = with_blank, .needs_index = true };

static Str keep(Arena *a, Str s)
{
    return (Str){ arena_string_n(a, s.ptr, s.len), s.len };
}

typedef struct WordPieceStep {
    DecoderStep base;
    Str prefix;
    bool cleans_up;
} WordPieceStep;

/* A token without the prefix starts a word. */
static Error *word_piece(const DecoderStep *self, Str token, int64_t index, RegexRoom *room,
                         Text *out)
{
    (void)room;
    const WordPieceStep *s = (const WordPieceStep *)self;
    size_t from = out->len;
    bool goes_on = token.len >= s->prefix.len && !memcmp(token.ptr, s->prefix.ptr, s->prefix.len);
    if (index && goes_on)
        token = (Str){ token.ptr + s->prefix.len, token.len - s->prefix.len };
    else if (index)
        text_putc(out, ' ');
    text_add(out, token.ptr, token.len);
    if (s->cleans_up) decode_cleanup_token(out, from);
    return NULL;
}

Error *decoder_load_word_piece(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "prefix", "cleanup", NULL };
    DecoderLoading *l = loading;
    WordPieceStep *s = NEW(l->arena, WordPieceStep);
    s->base = (DecoderStep){ .name = "WordPiece", .token = word_piece, .needs_index = true };
    TRY(json_node_only(at, known));
    TRY(json_get_string(at, "prefix", &s->prefix));
    TRY(json_get_bool(at, "cleanup", REQUIRED, &s->cleans_up));
    s->prefix = keep(l->arena, s->prefix);
    decoder_append(l, &s->base);
    return NULL;
}

typedef struct MetaspaceStep {
    DecoderStep base;
    Metaspace settings;
} MetaspaceStep;

/* All marks of the first token are left out, not only the one in front. */
static Error *metaspace(const DecoderStep *self, Str token, int64_t index, RegexRoom *room,
                        Text *out)
{
    (void)room;
    const Metaspace *m = &((const MetaspaceStep *)self)->settings;
    bool drops = index == 0 && m->scheme != PREPEND_NEVER;
    int len;
    for (size_t at = 0; at < token.len; at += (size_t)len) {
        if (utf8_decode(token.ptr + at, &len) != m->replacement)
            text_add(out, token.ptr + at, (size_t)len);
        else if (!drops)
            text_putc(out, ' ');
    }
    return NULL;
}

Error *decoder_load_metaspace(JsonNode at, void *loading)
{
    DecoderLoading *l = loading;
    MetaspaceStep *s = NEW(l->arena, MetaspaceStep);
    s->base = (DecoderStep){ .name = "Metaspace", .token = metaspace, .needs_index = true };
    TRY(metaspace_load(at, &s->settings));
    decoder_append(l, &s->base);
    return NULL;
}

/* Appends a text with every `what` replaced; an empty one stands between all characters. */
static void add_replaced(Text *out, Str text, Str what, const char *by)
{
    size_t done = 0;
    int len;
    for (size_t at = 0; at <= text.len;) {
        const char *found = memmem(text.ptr + at, text.len - at, what.ptr, what.len);
        if (!found) break;
        size_t from = (size_t)(found - text.ptr);
        text_add(out, text.ptr + done, from - done);
        text_puts(out, by);
        done = from + what.len;
        at = done;
        if (what.len) continue;
        if (at == text.len) break;
        utf8_decode(text.ptr + at, &len);
        at += (size_t)len;
    }
    text_add(out, text.ptr + done, text.len - done);
}

typedef struct BpeStep {
    DecoderStep base;
    Str suffix;
} BpeStep;

/* The suffix is a blank, but in the last token nothing: a token that has one waits for the next. */
static Error *flush_bpe(DecodeStage *s, const char *by)
{
    if (!s->held.len) return NULL;
    text_clear(&s->made);
    add_replaced(&s->made, (Str){ s->held.ptr, s->held.len }, ((const BpeStep *)s->step)->suffix,
                 by);
    text_clear(&s->held);
    return stage_whole(s->next, (Str){ s->made.ptr ? s->made.ptr : "", s->made.len });
}

static Error *bpe_end(DecodeStage *s)
{
    Str suffix = ((const BpeStep *)s->step)->suffix;
    TRY(flush_bpe(s, " "));
    Str token = { s->token.ptr ? s->token.ptr : "", s->token.len };
    if (memmem(token.ptr, token.len, suffix.ptr, suffix.len)) {
        text_add(&s->held, token.ptr, token.len);
    } else {
        TRY(stage_whole(s->next, token));
    }
    text_clear(&s->token);
    return NULL;
}

static Error *bpe_finish(DecodeStage *s)
{
    TRY(flush_bpe(s, ""));
    return stage_finish(s->next);
}

Error *decoder_load_bpe(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "suffix", NULL };
    DecoderLoading *l = loading;
    BpeStep *s = NEW(l->arena, BpeStep);
    s->base = (DecoderStep){ .name = "BPEDecoder", .end = bpe_end, .finish = bpe_finish };
    TRY(json_node_only(at, known));
    TRY(json_get_string(at, "suffix", &s->suffix));
    s->suffix = keep(l->arena, s->suffix);
    decoder_append(l, &s->base);
    return NULL;
}

typedef struct CtcStep {
    DecoderStep base;
    Str pad, delimiter;
    bool cleans_up;
} CtcStep;

/* Of equal tokens in a row one is left. */
static Error *ctc_end(DecodeStage *s)
{
    const CtcStep *c = (const CtcStep *)s->step;
    Str token = { s->token.ptr ? s->token.ptr : "", s->token.len };
    bool repeats = s->n && str_equal(token, (Str){ s->held.ptr ? s->held.ptr : "", s->held.len });
    s->n++;
    text_clear(&s->held);
    text_add(&s->held, token.ptr, token.len);
    text_clear(&s->token);
    if (repeats) return NULL;
    Text made = { 0 };
    add_replaced(&made, (Str){ s->held.ptr ? s->held.ptr : "", s->held.len }, c->pad, "");
    text_clear(&s->made);
    if (c->cleans_up) {
        decode_cleanup_token(&made, 0);
        add_replaced(&s->made, (Str){ made.ptr ? made.ptr : "", made.len }, c->delimiter, " ");
    } else {
        text_add(&s->made, made.ptr, made.len);
    }
    text_free(&made);
    return s->made.len ? stage_whole(s->next, (Str){ s->made.ptr, s->made.len }) : NULL;
}

Error *decoder_load_ctc(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "pad_token", "word_delimiter_token", "cleanup",
                                         NULL };
    DecoderLoading *l = loading;
    CtcStep *s = NEW(l->arena, CtcStep);
    s->base = (DecoderStep){ .name = "CTC", .end = ctc_end };
    TRY(json_node_only(at, known));
    TRY(json_get_string(at, "pad_token", &s->pad));
    TRY(json_get_string(at, "word_delimiter_token", &s->delimiter));
    TRY(json_get_bool(at, "cleanup", REQUIRED, &s->cleans_up));
    s->pad = keep(l->arena, s->pad);
    s->delimiter = keep(l->arena, s->delimiter);
    decoder_append(l, &s->base);
    return NULL;
}
