/* split.c - the pre-tokenizers that cut at matches: Split, and those that match single
 * characters (Punctuation, Digits, WhitespaceSplit, CharDelimiterSplit, BertPreTokenizer). */
#include "base/utf8.h"
#include "tokenizer/pretokenize/cl100k.h"
#include "tokenizer/pretokenize/regex_words.h"
#include "tokenizer/pretokenize/steps.h"
#include "tokenizer/regex/json.h"
#include "tokenizer/text/unicode.h"

typedef struct RegexStep {
    PreTokenizerStep base;
    const Regex *regex;
    SplitBehavior behavior;
    bool inverted;
    WordSplitter *known; /* finds the same words; NULL for most patterns */
} RegexStep;

static Error *run_regex(const PreTokenizerStep *self, Str word, bool at_start,
                        PreTokenizerRoom *room, Words *out)
{
    (void)at_start;
    const RegexStep *s = (const RegexStep *)self;
    return split_regex(s->regex, &room->regex, s->behavior, s->inverted, word, out);
}

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
#define LETTERS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define OTHERS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* Patterns that leave no gaps and have a splitter of their own. */
static const struct {
    const char *pattern;
    Error *(*choose)(WordSplitter **out);
} well_known[] = {
    { "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
      split_gpt2_choose },
    { "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
      split_gpt2_choose },
    { CONTRACTIONS LETTERS "\\p{N}{1,3}|" OTHERS, split_cl100k_choose },
    { CONTRACTIONS LETTERS "\\p{N}|" OTHERS, split_qwen2_choose },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}|"
      " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
      split_cl100k_choose },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+|"
      " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
      split_cl100k_choose },
};

static Error *find_well_known(Str pattern, RegexStep *s)
{
    bool keeps_matches =
        s->behavior == SPLIT_ISOLATED || (s->behavior == SPLIT_REMOVED && s->inverted);
    for (size_t i = 0; keeps_matches && i < sizeof well_known / sizeof *well_known; i++) {
        if (pattern.ptr && str_is(pattern, well_known[i].pattern))
            return well_known[i].choose(&s->known);
    }
    return NULL;
}

Error *step_load_split(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "pattern", "behavior", "invert", NULL };
    StepLoading *l = loading;
    RegexStep *s = NEW(l->arena, RegexStep);
    s->base = (PreTokenizerStep){ "Split", run_regex };
    Str pattern;
    TRY(json_node_only(at, known));
    TRY(regex_load(at, l->arena, &s->regex, &pattern));
    TRY(split_behavior_load(at, &s->behavior));
    TRY(json_get_bool(at, "invert", REQUIRED, &s->inverted));
    TRY(find_well_known(pattern, s));
    step_append(l, &s->base);
    return NULL;
}

bool step_is_well_known_split(const PreTokenizerStep *step, PreTokenizer *settings)
{
    if (step->run != run_regex || !((const RegexStep *)step)->known) return false;
    settings->split = ((const RegexStep *)step)->known;
    return true;
}

typedef struct CharStep {
    PreTokenizerStep base;
    unsigned flags;     /* of text/unicode.h: any of them */
    uint32_t delimiter; /* or this character */
    SplitBehavior behavior;
} CharStep;

static Error *run_chars(const PreTokenizerStep *self, Str word, bool at_start,
                        PreTokenizerRoom *room, Words *out)
{
    (void)at_start;
    (void)room;
    const CharStep *step = (const CharStep *)self;
    Splitting s = { .behavior = step->behavior, .text = word, .out = out };
    size_t done = 0;
    int len;
    for (size_t at = 0; at < word.len; at += (size_t)len) {
        uint32_t c = utf8_decode(word.ptr + at, &len);
        if (!(step->flags ? unicode_flags(c) & step->flags : c == step->delimiter)) continue;
        if (done < at) splitting_add(&s, done, at, false);
        splitting_add(&s, at, at + (size_t)len, true);
        done = at + (size_t)len;
    }
    if (done < word.len) splitting_add(&s, done, word.len, false);
    splitting_finish(&s);
    return NULL;
}

static CharStep *add_char_step(StepLoading *l, const char *name, unsigned flags,
                               SplitBehavior behavior)
{
    CharStep *s = NEW(l->arena, CharStep);
    *s = (CharStep){ .base = { name, run_chars }, .flags = flags, .behavior = behavior };
    step_append(l, &s->base);
    return s;
}

Error *step_load_punctuation(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "behavior", NULL };
    SplitBehavior behavior = SPLIT_ISOLATED;
    TRY(json_node_only(at, known));
    if (json_member(at, "behavior").value) TRY(split_behavior_load(at, &behavior));
    add_char_step(loading, "Punctuation", UNICODE_PUNCTUATION, behavior);
    return NULL;
}

Error *step_load_digits(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "individual_digits", NULL };
    bool individual;
    TRY(json_node_only(at, known));
    TRY(json_get_bool(at, "individual_digits", REQUIRED, &individual));
    add_char_step(loading, "Digits", UNICODE_NUMERIC,
                  individual ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS);
    return NULL;
}

static const char *const type_alone[] = { "type", NULL };

Error *step_load_whitespace_split(JsonNode at, void *loading)
{
    TRY(json_node_only(at, type_alone));
    add_char_step(loading, "WhitespaceSplit", UNICODE_SPACE, SPLIT_REMOVED);
    return NULL;
}

Error *step_load_bert(JsonNode at, void *loading)
{
    TRY(json_node_only(at, type_alone));
    add_char_step(loading, "BertPreTokenizer: white space", UNICODE_SPACE, SPLIT_REMOVED);
    add_char_step(loading, "BertPreTokenizer: punctuation", UNICODE_PUNCTUATION, SPLIT_ISOLATED);
    return NULL;
}

Error *step_load_delimiter(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "delimiter", NULL };
    TRY(json_node_only(at, known));
    uint32_t delimiter;
    TRY(json_get_character(at, "delimiter", &delimiter));
    add_char_step(loading, "CharDelimiterSplit", 0, SPLIT_REMOVED)->delimiter = delimiter;
    return NULL;
}
