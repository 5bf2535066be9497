/* length_rule.h - truncation and padding of the ids of a text or of a pair of texts. */
#ifndef TOKENIZER_HF_LENGTH_RULE_H
#define TOKENIZER_HF_LENGTH_RULE_H
#include "base/buffer.h"
#include "tokenizer/format/json_node.h"

typedef enum TruncationStrategy {
    TRUNCATE_LONGEST, /* both texts of a pair, the longer one first */
    TRUNCATE_FIRST,   /* the first alone; an error when that is not enough */
    TRUNCATE_SECOND
} TruncationStrategy;

typedef struct LengthRule {
    bool truncates, pads;
    bool cuts_left, pads_left; /* which side loses ids, which side gets them */
    int64_t max;               /* when it truncates, with special tokens */
    int64_t stride;            /* ids that a further encoding shares with the one before */
    TruncationStrategy strategy;
    int64_t pad_to;   /* when it pads */
    int64_t multiple; /* the padded length is a multiple of this; 0: of 1 */
    uint32_t pad_id, pad_type_id;
} LengthRule;

/* Reads `truncation` and `padding` of a tokenizer.json with ids below n_ids; both may be null. */
Error *length_rule_load(JsonNode truncation, JsonNode padding, int64_t n_ids, LengthRule *out);

/* A stretch of the ids of a text. */
typedef struct TokenChunk {
    int64_t from, to;
} TokenChunk;
/* The stretch that is kept, then the further ones, which overflow. Free `room`. */
typedef struct Chunks {
    Buffer room;
    int64_t n;
} Chunks;

/* Cuts one or two texts of these lengths so that with n_added special tokens they are no longer
 * than the rule allows. */
Error *length_rule_cut(const LengthRule *rule, int64_t n_added, const int64_t *length, int n_texts,
                       Chunks *out);
TokenChunk chunk_at(const Chunks *c, int64_t i);
/* How many ids padding adds to n. */
int64_t length_rule_padding(const LengthRule *rule, int64_t n);
#endif
