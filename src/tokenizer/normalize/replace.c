/* replace.c - the normalizer Replace. */
#include "base/utf8.h"
#include "tokenizer/normalize/steps.h"
#include "tokenizer/regex/json.h"

typedef struct ReplaceStep {
    NormalizerStep base;
    const Regex *regex;
    Str content; /* as it is: $1 is no reference */
} ReplaceStep;

/* The first character of what replaces a match counts as the match's last one. */
static bool moves_start(const ReplaceStep *s, Str match)
{
    int len;
    if (!match.len) return false;
    utf8_decode(match.ptr, &len);
    return !s->content.len || (size_t)len < match.len;
}

static Error *run(const NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                  bool *changed)
{
    const ReplaceStep *s = (const ReplaceStep *)self;
    RegexSearch search = { 0 };
    RegexMatch m;
    size_t done = 0;
    for (bool found;; done = m.to) {
        TRY(regex_next(s->regex, &room->regex, text, &search, &m, &found));
        if (!found) break;
        text_add(out, text.ptr + done, m.from - done);
        if (!out->len) room->skipped |= moves_start(s, (Str){ text.ptr + m.from, m.to - m.from });
        text_add(out, s->content.ptr, s->content.len);
        sources_copy(room->sources, (int64_t)done, m.from - done);
        sources_repeat(room->sources, m.to ? (uint32_t)m.to - 1 : NO_SOURCE, s->content.len);
        *changed = true;
    }
    text_add(out, text.ptr + done, text.len - done);
    sources_copy(room->sources, (int64_t)done, text.len - done);
    return NULL;
}

Error *normalizer_load_replace(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "pattern", "content", NULL };
    NormalizerLoading *l = loading;
    ReplaceStep *s = NEW(l->arena, ReplaceStep);
    s->base = (NormalizerStep){ "Replace", run };
    TRY(json_node_only(at, known));
    TRY(regex_load(at, l->arena, &s->regex, NULL));
    TRY(json_get_string(at, "content", &s->content));
    s->content.ptr = arena_string_n(l->arena, s->content.ptr, s->content.len);
    normalizer_append(l, &s->base);
    return NULL;
}
