/* byte_level.c - the pre-tokenizer ByteLevel: a blank in front, GPT-2's pattern, and
 * words spelled in the byte alphabet. */
#include "tokenizer/pretokenize/steps.h"
#include "tokenizer/text/byte_alphabet.h"

typedef struct ByteLevelStep {
    PreTokenizerStep base;
    PreTokenizer settings;
} ByteLevelStep;

static Error *run(const PreTokenizerStep *self, Str word, bool at_start, PreTokenizerRoom *room,
                  Words *out)
{
    (void)at_start;
    const PreTokenizer *p = &((const ByteLevelStep *)self)->settings;
    Str s = pretokenizer_place(p, word, &room->text);
    out->base = s.ptr + (s.len - word.len); /* the blank counts as what it stands before */
    if (!p->split) {
        words_add(out, s);
        return NULL;
    }
    uint32_t len = (uint32_t)s.len, *end = buffer_grow(&room->ends, SPLIT_ROOM * sizeof *end);
    for (uint32_t from = 0; from < len;) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = p->split(s.ptr, len, from, until, end);
        for (int64_t i = 0; i < n; from = end[i++])
            words_add(out, (Str){ s.ptr + from, end[i] - from });
    }
    return NULL;
}

static Error *spell(const PreTokenizerStep *self, Str word, bool at_start, PreTokenizerRoom *room,
                    Words *out)
{
    (void)self;
    (void)at_start;
    (void)room;
    bytes_to_name(word, &out->text);
    byte_name_sources(word, out->sources);
    words_close(out);
    return NULL;
}

const PreTokenizerStep spelling_step = { "ByteLevel: byte alphabet", spell };

Error *step_load_byte_level(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "add_prefix_space", "trim_offsets", "use_regex",
                                         NULL };
    StepLoading *l = loading;
    ByteLevelStep *s = NEW(l->arena, ByteLevelStep);
    s->base = (PreTokenizerStep){ "ByteLevel", run };
    bool trim_offsets, use_regex; /* trimming concerns offsets, which nobody asks for here */
    TRY(json_node_only(at, known));
    TRY(json_get_bool(at, "add_prefix_space", REQUIRED, &s->settings.add_prefix_space));
    TRY(json_get_bool(at, "trim_offsets", REQUIRED, &trim_offsets));
    TRY(json_get_bool(at, "use_regex", DEFAULT_TRUE, &use_regex));
    if (use_regex) TRY(split_gpt2_choose(&s->settings.split));
    if (use_regex || s->settings.add_prefix_space) step_append(l, &s->base);
    step_append(l, &spelling_step);
    l->is_spelled = true;
    return NULL;
}

bool step_is_byte_level(const PreTokenizerStep *step, PreTokenizer *settings)
{
    if (step->run != run) return false;
    settings->add_prefix_space = ((const ByteLevelStep *)step)->settings.add_prefix_space;
    settings->split = ((const ByteLevelStep *)step)->settings.split;
    return true;
}
