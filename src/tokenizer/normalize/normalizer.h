/* normalizer.h - the stage that rewrites text before it is cut into words. */
#ifndef TOKENIZER_NORMALIZE_NORMALIZER_H
#define TOKENIZER_NORMALIZE_NORMALIZER_H
#include "base/buffer.h"
#include "tokenizer/format/json_node.h"
#include "tokenizer/regex/regex.h"
#include "tokenizer/text/sources.h"

/* One thread's memory for rewriting. Zero-initialise; free with normalizer_room_free. */
typedef struct NormalizerRoom {
    Text text[2];
    Buffer codes;
    RegexRoom regex;
    Sources *sources; /* where what steps append comes from; NULL: nobody asks */
    bool skipped;     /* the text now starts with what was not its first character */
} NormalizerRoom;

/* Each kind of step starts with it. */
typedef struct NormalizerStep {
    const char *name;
    /* Appends the rewritten text (valid UTF-8, not empty); *changed false: it stays as it is, and
     * what was appended does not count. */
    Error *(*run)(const struct NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                  bool *changed);
} NormalizerStep;

typedef struct Normalizer {
    const NormalizerStep **step; /* in this order */
    int64_t n_steps, cap;
    bool is_spelled; /* the result is spelled in the byte alphabet */
} Normalizer;

/* Reads the `normalizer` of a tokenizer.json; null leaves text as it is. */
Error *normalizer_load(JsonNode at, Arena *a, Normalizer *out);
/* *out is the text itself or lies in `room`. */
Error *normalizer_run(const Normalizer *n, Str text, NormalizerRoom *room, Str *out);
void normalizer_room_free(NormalizerRoom *room);
#endif
