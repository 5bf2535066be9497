/* bytes.c - the decoders that make characters of bytes: ByteLevel and ByteFallback. */
#include "base/utf8.h"
#include "tokenizer/decode/steps.h"
#include "tokenizer/text/byte_alphabet.h"
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";

/* A name with a character outside the alphabet stands for itself. */
static Error *bytes_of(const DecoderStep *self, Str token, int64_t index, RegexRoom *room,
                       Text *out)
{
    (void)self;
    (void)index;
    (void)room;
    if (!name_to_bytes(token, out)) text_add(out, token.ptr, token.len);
    return NULL;
}

static const DecoderStep bytes_step = { .name = "ByteLevel: bytes", .token = bytes_of };

/* Hands on what is settled of the bytes that are held: all but the start of a character at the
 * end, at most three bytes. */
static Error *repair(DecodeStage *s, bool is_all)
{
    size_t at = 0;
    text_clear(&s->made);
    while (at < s->held.len) {
        Str rest = { s->held.ptr + at, s->held.len - at };
        size_t valid = utf8_valid_length(rest);
        text_add(&s->made, rest.ptr, valid);
        at += valid;
        if (valid == rest.len) break;
        size_t broken = utf8_broken_length((Str){ rest.ptr + valid, rest.len - valid });
        if (!is_all && broken == rest.len - valid) break;
        text_puts(&s->made, replacement);
        at += broken;
    }
    s->held.len -= at;
    if (at) memmove(s->held.ptr, s->held.ptr + at, s->held.len);
    return s->made.len ? stage_part(s->next, (Str){ s->made.ptr, s->made.len }) : NULL;
}

static Error *repair_part(DecodeStage *s, Str part)
{
    text_add(&s->held, part.ptr, part.len);
    return NULL;
}

static Error *repair_end(DecodeStage *s)
{
    return repair(s, false);
}

/* All tokens become one. */
static Error *repair_finish(DecodeStage *s)
{
    TRY(repair(s, true));
    TRY(stage_end(s->next));
    return stage_finish(s->next);
}

const DecoderStep repair_step = {
    .name = "ByteLevel", .part = repair_part, .end = repair_end, .finish = repair_finish
};

Error *decoder_load_byte_level(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "add_prefix_space", "trim_offsets", "use_regex",
                                         NULL };
    bool unused; /* they matter to the other stages of this name */
    TRY(json_node_only(at, known));
    for (int i = 1; known[i]; i++) TRY(json_get_bool(at, known[i], DEFAULT_TRUE, &unused));
    decoder_append(loading, &bytes_step);
    decoder_append(loading, &repair_step);
    return NULL;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte of a token like <0x41>, or -1; the library also reads <0x+4>. */
static int byte_of(Str token)
{
    if (token.len != 6 || !str_starts(token, "<0x") || token.ptr[5] != '>') return -1;
    int high = token.ptr[3] == '+' ? 0 : hex_digit(token.ptr[3]), low = hex_digit(token.ptr[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* A run of bytes is one token when it is UTF-8, else each byte is a token U+FFFD. */
static Error *end_run(DecodeStage *s)
{
    if (!s->held.len) return NULL;
    Str bytes = { s->held.ptr, s->held.len };
    if (utf8_valid_length(bytes) == bytes.len) {
        TRY(stage_whole(s->next, bytes));
    } else {
        for (size_t i = 0; i < bytes.len; i++) TRY(stage_whole(s->next, str_of(replacement)));
    }
    text_clear(&s->held);
    return NULL;
}

static Error *fallback_end(DecodeStage *s)
{
    Str token = { s->token.ptr ? s->token.ptr : "", s->token.len };
    int byte = byte_of(token);
    if (byte >= 0) {
        text_putc(&s->held, (char)byte);
    } else {
        TRY(end_run(s));
        TRY(stage_whole(s->next, token));
    }
    text_clear(&s->token);
    return NULL;
}

static Error *fallback_finish(DecodeStage *s)
{
    TRY(end_run(s));
    return stage_finish(s->next);
}

Error *decoder_load_byte_fallback(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", NULL };
    static const DecoderStep step = { .name = "ByteFallback",
                                      .end = fallback_end,
                                      .finish = fallback_finish };
    TRY(json_node_only(at, known));
    decoder_append(loading, &step);
    return NULL;
}
