/* edit.c - the decoders that edit tokens: Strip, Replace; and Fuse, which joins them. */
#include "base/utf8.h"
#include "tokenizer/decode/steps.h"
#include "tokenizer/regex/json.h"
#include <string.h>

static Error *fuse_part(DecodeStage *s, Str part)
{
    return stage_part(s->next, part);
}

static Error *fuse_end(DecodeStage *s)
{
    (void)s;
    return NULL;
}

static Error *fuse_finish(DecodeStage *s)
{
    TRY(stage_end(s->next));
    return stage_finish(s->next);
}

Error *decoder_load_fuse(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", NULL };
    static const DecoderStep step = {
        .name = "Fuse", .part = fuse_part, .end = fuse_end, .finish = fuse_finish
    };
    TRY(json_node_only(at, known));
    decoder_append(loading, &step);
    return NULL;
}

typedef struct ReplaceStep {
    DecoderStep base;
    const Regex *regex;
    Str content;
} ReplaceStep;

static Error *replace(const DecoderStep *self, Str token, int64_t index, RegexRoom *room, Text *out)
{
    (void)index;
    const ReplaceStep *s = (const ReplaceStep *)self;
    RegexSearch search = { 0 };
    RegexMatch m;
    size_t done = 0;
    bool found = token.len > 0;
    while (found) {
        TRY(regex_next(s->regex, room, token, &search, &m, &found));
        if (!found) break;
        text_add(out, token.ptr + done, m.from - done);
        text_add(out, s->content.ptr, s->content.len);
        done = m.to;
    }
    text_add(out, token.ptr + done, token.len - done);
    return NULL;
}

Error *decoder_load_replace(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "pattern", "content", NULL };
    DecoderLoading *l = loading;
    ReplaceStep *s = NEW(l->arena, ReplaceStep);
    s->base = (DecoderStep){ .name = "Replace", .token = replace };
    TRY(json_node_only(at, known));
    TRY(regex_load(at, l->arena, &s->regex, NULL));
    TRY(json_get_string(at, "content", &s->content));
    s->content.ptr = arena_string_n(l->arena, s->content.ptr, s->content.len);
    decoder_append(l, &s->base);
    return NULL;
}

typedef struct StripStep {
    DecoderStep base;
    uint32_t content;
    int64_t start, stop; /* at most so many at each end */
} StripStep;

/* Characters are handed on but for a row of `content`, up to `stop`, that may be the end. */
static Error *strip_part(DecodeStage *s, Str part)
{
    const StripStep *strip = (const StripStep *)s->step;
    text_clear(&s->made);
    int len;
    for (size_t at = 0; at < part.len; at += (size_t)len) {
        bool is_content = utf8_decode(part.ptr + at, &len) == strip->content;
        s->has_other |= !is_content;
        s->n_seen++;
        if (!s->has_other && s->n_cut < strip->start) {
            s->n_cut++;
            continue;
        }
        if (!is_content) {
            text_add(&s->made, s->held.ptr, s->held.len);
            text_clear(&s->held);
            text_add(&s->made, part.ptr + at, (size_t)len);
            continue;
        }
        text_add(&s->held, part.ptr + at, (size_t)len);
        size_t most = (size_t)strip->stop * (size_t)len;
        if (s->held.len > most) { /* the first of the row stays in any case */
            text_add(&s->made, s->held.ptr, (size_t)len);
            s->held.len -= (size_t)len;
        }
    }
    return s->made.len ? stage_part(s->next, (Str){ s->made.ptr, s->made.len }) : NULL;
}

/* The library panics where the two ends overlap. */
static Error *strip_end(DecodeStage *s)
{
    const StripStep *strip = (const StripStep *)s->step;
    int64_t n = s->n_seen, n_start = strip->start < n ? strip->start : n;
    bool overlaps = strip->stop && !s->has_other && (n < strip->stop || n_start > n - strip->stop);
    text_clear(&s->held);
    s->n_cut = s->n_seen = 0;
    s->has_other = false;
    if (overlaps) {
        return error_new("decoder Strip: a token of %lld characters is shorter than start %lld + "
                         "stop %lld",
                         (long long)n, (long long)strip->start, (long long)strip->stop);
    }
    return stage_end(s->next);
}

Error *decoder_load_strip(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "content", "start", "stop", NULL };
    DecoderLoading *l = loading;
    StripStep *s = NEW(l->arena, StripStep);
    s->base = (DecoderStep){ .name = "Strip", .part = strip_part, .end = strip_end };
    TRY(json_node_only(at, known));
    TRY(json_get_character(at, "content", &s->content));
    TRY(json_get_int(at, "start", 0, INT32_MAX, &s->start));
    TRY(json_get_int(at, "stop", 0, INT32_MAX, &s->stop));
    decoder_append(l, &s->base);
    return NULL;
}
