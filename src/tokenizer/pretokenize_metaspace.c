/* pretokenize_metaspace.c - the pre-tokenizer Metaspace: blanks become a visible character, with
 * which words start. */
#include "base/utf8.h"
#include "tokenizer/metaspace.h"
#include "tokenizer/pretokenize_steps.h"
#include <string.h>

typedef struct MetaspaceStep {
    PreTokenizerStep base;
    Metaspace settings;
    char mark[4];
    size_t mark_len;
} MetaspaceStep;

static bool starts_with_mark(const MetaspaceStep *s, Str word)
{
    return *word.ptr == ' ' || (word.len >= s->mark_len && !memcmp(word.ptr, s->mark, s->mark_len));
}

static bool prepends(const MetaspaceStep *s, Str word, bool at_start)
{
    PrependScheme scheme = s->settings.scheme;
    return (scheme == PREPEND_ALWAYS || (scheme == PREPEND_FIRST && at_start)) &&
           !starts_with_mark(s, word);
}

/* A word starts at every mark, and where the text does. */
static Error *run(const PreTokenizerStep *self, Str word, bool at_start, PreTokenizerRoom *room,
                  Words *out)
{
    (void)room;
    const MetaspaceStep *s = (const MetaspaceStep *)self;
    if (prepends(s, word, at_start)) {
        text_add(&out->text, s->mark, s->mark_len);
        sources_repeat(out->sources, 0, s->mark_len);
    }
    for (size_t at = 0; at < word.len;) {
        bool is_blank = word.ptr[at] == ' ';
        bool is_mark = is_blank || (word.len - at >= s->mark_len &&
                                    !memcmp(word.ptr + at, s->mark, s->mark_len));
        if (is_mark && s->settings.split && at) words_close(out);
        if (is_mark) {
            text_add(&out->text, s->mark, s->mark_len);
            sources_repeat(out->sources, (uint32_t)at, s->mark_len);
            at += is_blank ? 1 : s->mark_len;
        } else {
            sources_repeat(out->sources, (uint32_t)at, 1);
            text_putc(&out->text, word.ptr[at++]);
        }
    }
    words_close(out);
    return NULL;
}

Error *step_load_metaspace(JsonNode at, void *loading)
{
    StepLoading *l = loading;
    MetaspaceStep *s = NEW(l->arena, MetaspaceStep);
    s->base = (PreTokenizerStep){ "Metaspace", run };
    TRY(metaspace_load(at, &s->settings));
    s->mark_len = (size_t)utf8_encode(s->settings.replacement, s->mark);
    step_append(l, &s->base);
    l->is_spelled = false;
    return NULL;
}
