/* post_processor.h - special tokens around a text or a pair of texts.
 *
 * All processors of a file are applied once, when it is loaded, to the two layouts [A] and [A B];
 * what remains at run time is a list of parts. */
#ifndef TOKENIZER_HF_POST_PROCESSOR_H
#define TOKENIZER_HF_POST_PROCESSOR_H
#include "tokenizer/format/json_node.h"

/* The ids of a text, or one special token. */
typedef struct LayoutPart {
    int sequence; /* 0: the first text, 1: the second, -1: the token */
    uint32_t token, type_id;
    bool special;
} LayoutPart;

/* White space at the ends of ids does not count to their offsets. */
typedef struct OffsetTrim {
    bool keeps_first_blank; /* one blank in front of the first id stays */
    bool behind_special;    /* the first id of the text is not the first of all */
} OffsetTrim;

typedef struct TokenLayout {
    LayoutPart *part;
    int64_t n;
    OffsetTrim *trim; /* one after the other */
    int64_t n_trims;
    int64_t n_added; /* room that truncation leaves; the library counts what processors say */
} TokenLayout;

typedef struct PostProcessor {
    TokenLayout layout[2][2]; /* by: is a pair; adds special tokens */
} PostProcessor;

/* Reads the `post_processor` of a tokenizer.json; null adds nothing. Ids are below n_ids. */
Error *post_processor_load(JsonNode at, Arena *a, int64_t n_ids, PostProcessor *out);
/* One token in front of each text and one after it; NULL: none. */
PostProcessor post_processor_around(Arena *a, const uint32_t *front, const uint32_t *behind);
#endif
