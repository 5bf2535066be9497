/* steps.h - what the files of single pre-tokenizers share. */
#ifndef TOKENIZER_PRETOKENIZE_STEPS_H
#define TOKENIZER_PRETOKENIZE_STEPS_H
#include "tokenizer/pretokenize/pretokenize.h"

/* Passed to the rows of the table: steps are appended to `to`. */
typedef struct StepLoading {
    Arena *arena;
    PreTokenizer *to;
    bool is_spelled; /* what the steps so far make of a text is spelled in the byte alphabet */
} StepLoading;

void step_append(StepLoading *l, const PreTokenizerStep *step);
/* The rows of the table of pre-tokenizers; each appends one step or two. */
Error *step_load_split(JsonNode at, void *loading);
Error *step_load_punctuation(JsonNode at, void *loading);
Error *step_load_digits(JsonNode at, void *loading);
Error *step_load_whitespace_split(JsonNode at, void *loading);
Error *step_load_delimiter(JsonNode at, void *loading);
Error *step_load_bert(JsonNode at, void *loading);
Error *step_load_byte_level(JsonNode at, void *loading);
Error *step_load_metaspace(JsonNode at, void *loading);
Error *step_load_whitespace(JsonNode at, void *loading);
Error *step_load_scripts(JsonNode at, void *loading);
Error *step_load_fixed_length(JsonNode at, void *loading);

/* A step that does what WhitespaceSplit and then this one do; NULL when there is none. */
const PreTokenizerStep *step_behind_whitespace_split(Arena *a, const PreTokenizerStep *step);
/* The step that spells words in the byte alphabet. */
extern const PreTokenizerStep spelling_step;
/* Puts the blank and the splitter that do the same into `settings`; false for another step. */
bool step_is_byte_level(const PreTokenizerStep *step, PreTokenizer *settings);
bool step_is_well_known_split(const PreTokenizerStep *step, PreTokenizer *settings);
#endif
