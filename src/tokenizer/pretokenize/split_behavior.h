/* split_behavior.h - what becomes of the places where a pattern matches. */
#ifndef TOKENIZER_PRETOKENIZE_SPLIT_BEHAVIOR_H
#define TOKENIZER_PRETOKENIZE_SPLIT_BEHAVIOR_H
#include "tokenizer/format/json_node.h"
#include "tokenizer/pretokenize/words.h"

typedef enum SplitBehavior {
    SPLIT_REMOVED,     /* matches are left out */
    SPLIT_ISOLATED,    /* each match is a word */
    SPLIT_CONTIGUOUS,  /* matches that touch are one word */
    SPLIT_TO_PREVIOUS, /* a match belongs to the text before it */
    SPLIT_TO_NEXT      /* a match belongs to the text after it */
} SplitBehavior;

/* Reads the member `behavior`. */
Error *split_behavior_load(JsonNode of, SplitBehavior *out);

/* Makes words of the stretches of a text, in order. */
typedef struct Splitting {
    SplitBehavior behavior;
    bool inverted; /* what matches and what does not change places */
    Str text;
    Words *out;
    size_t from, to; /* the stretch that is not yet a word */
    bool is_open, was_match;
} Splitting;

/* The next stretch text[from, to); its neighbours touch it. */
void splitting_add(Splitting *s, size_t from, size_t to, bool is_match);
void splitting_finish(Splitting *s);
#endif
