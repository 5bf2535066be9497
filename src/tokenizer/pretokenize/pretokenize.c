/* pretokenize.c - the table of pre-tokenizers, and the running of their steps. */
#include "tokenizer/pretokenize/pretokenize.h"
#include "base/cpu.h"
#include "tokenizer/pretokenize/steps.h"
#include "tokenizer/text/byte_alphabet.h"
#include <string.h>

void step_append(StepLoading *l, const PreTokenizerStep *step)
{
    PreTokenizer *p = l->to;
    p->step = arena_grow(l->arena, p->step, p->n_steps, &p->cap, sizeof *p->step);
    p->step[p->n_steps++] = step;
}

static Error *load_sequence(JsonNode at, void *loading);

static const JsonStage pretokenizers[] = {
    { "BertPreTokenizer", step_load_bert },
    { "ByteLevel", step_load_byte_level },
    { "CharDelimiterSplit", step_load_delimiter },
    { "Digits", step_load_digits },
    { "FixedLength", step_load_fixed_length },
    { "Metaspace", step_load_metaspace },
    { "Punctuation", step_load_punctuation },
    { "Sequence", load_sequence },
    { "Split", step_load_split },
    { "UnicodeScripts", step_load_scripts },
    { "Whitespace", step_load_whitespace },
    { "WhitespaceSplit", step_load_whitespace_split },
    { 0 },
};

static Error *load_sequence(JsonNode at, void *loading)
{
    return json_load_stages(at, "pretokenizers", pretokenizers, loading);
}

/* A single step with a splitter needs no words of its own; and spelling at the end, which the
 * model would only undo, is left out. */
static void simplify(Arena *a, PreTokenizer *p, bool is_spelled)
{
    p->byte_words = p->is_spelled = is_spelled;
    if (p->n_steps && p->step[p->n_steps - 1] == &spelling_step) {
        p->n_steps--;
        p->is_spelled = false;
    }
    if (p->n_steps == 1 && !p->is_spelled &&
        (step_is_byte_level(p->step[0], p) || step_is_well_known_split(p->step[0], p))) {
        p->splitter_name = p->step[0]->name;
        p->n_steps = 0;
    }
    if (p->n_steps == 2 && !strcmp(p->step[0]->name, "WhitespaceSplit"))
        p->all_steps = step_behind_whitespace_split(a, p->step[1]);
}

Error *pretokenizer_load(JsonNode at, bool is_spelled, Arena *a, PreTokenizer *out)
{
    *out = (PreTokenizer){ 0 };
    StepLoading l = { a, out, is_spelled };
    if (!json_node_is_null(at)) TRY(json_load_stage(at, pretokenizers, NULL, &l));
    simplify(a, out, l.is_spelled);
    const char *type = json_string_value(json_member(at, "type").value);
    out->has_prefix_setting = type && !strcmp(type, "ByteLevel");
    return NULL;
}

Str pretokenizer_place(const PreTokenizer *p, Str piece, Buffer *room)
{
    bool prefix = p->add_prefix_space && piece.ptr[0] != ' ';
    size_t len = piece.len + prefix;
    char *text = buffer_grow(room, len + 2 * SPLIT_SLACK);
    memset(text, 0xFF, SPLIT_SLACK);
    text += SPLIT_SLACK;
    text[0] = ' ';
    memcpy(text + prefix, piece.ptr, piece.len);
    memset(text + len, 0xFF, SPLIT_SLACK);
    return (Str){ text, len };
}

/* From the byte alphabet back to bytes; all characters are in it. */
static void bring_back_bytes(const Words *from, Words *to)
{
    words_clear(to);
    for (int64_t i = 0; i < from->n; i++) {
        bool is_spelled = name_to_bytes(words_at(from, i), &to->text);
        CHECK(is_spelled);
        words_close(to);
    }
}

static Error *run_on_word(const PreTokenizerStep *step, Str word, bool at_start,
                          PreTokenizerRoom *room, Words *to)
{
    TRY(step->run(step, word, at_start, room, to));
    if (to->text.len < UINT32_MAX) return NULL;
    return error_new("%s makes a text longer than %u bytes", step->name, UINT32_MAX - 1);
}

static Error *run_step(const PreTokenizerStep *step, const Words *from, bool at_start,
                       PreTokenizerRoom *room, Words *to)
{
    words_clear(to);
    for (int64_t i = 0; i < from->n; i++)
        TRY(run_on_word(step, words_at(from, i), at_start && i == 0, room, to));
    to->skipped |= from->skipped;
    return NULL;
}

static void add_slack(Words *w)
{
    char slack[SPLIT_SLACK] = { 0 };
    text_add(&w->text, slack, sizeof slack);
    w->text.len -= sizeof slack;
}

Error *pretokenizer_run(const PreTokenizer *p, Str piece, bool at_start, PreTokenizerRoom *room,
                        const Words **out)
{
    Words *from = &room->words[0], *to = &room->words[1];
    words_clear(from);
    if (p->all_steps)
        TRY(run_on_word(p->all_steps, piece, at_start, room, from));
    else
        words_add(from, piece);
    for (int64_t i = 0; i < p->n_steps && !p->all_steps; i++) {
        TRY(run_step(p->step[i], from, at_start && !from->skipped, room, to));
        Words *done = from;
        from = to;
        to = done;
    }
    if (p->is_spelled) {
        bring_back_bytes(from, to);
        from = to;
    }
    add_slack(from);
    *out = from;
    return NULL;
}

void pretokenizer_room_free(PreTokenizerRoom *room)
{
    words_free(&room->words[0]);
    words_free(&room->words[1]);
    regex_room_free(&room->regex);
    buffer_free(&room->text);
    buffer_free(&room->ends);
}

/* The AVX-512 versions compress bytes, which not every CPU of that level does. */
Error *split_choose(WordSplitter *table, WordSplitter *avx2, WordSplitter *avx512,
                    WordSplitter **out)
{
    CpuLevel level;
    TRY(cpu_level(&level));
    *out = level >= CPU_AVX2 ? avx2 : table;
#if defined(__x86_64__)
    if (level >= CPU_AVX512 && __builtin_cpu_supports("avx512vbmi2")) *out = avx512;
#endif
    return NULL;
}
