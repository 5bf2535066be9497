/* length_rule.h - truncation and padding of the ids of a text. */
#ifndef TOKENIZER_LENGTH_RULE_H
#define TOKENIZER_LENGTH_RULE_H
#include "tokenizer/json_node.h"
#include "tokenizer/tokenizer.h"

typedef struct LengthRule {
    bool truncates, pads;
    bool cuts_left, pads_left; /* which side loses ids, which side gets them */
    int64_t max;               /* when it truncates */
    int64_t pad_to;            /* when it pads */
    int64_t multiple;          /* the padded length is a multiple of this; 0: of 1 */
    uint32_t pad_id;
} LengthRule;

/* Reads `truncation` and `padding` of a tokenizer.json with ids below n_ids; both may be null. */
Error *length_rule_load(JsonNode truncation, JsonNode padding, int64_t n_ids, LengthRule *out);
/* Applies it to the ids from index `from` on. */
void length_rule_apply(const LengthRule *rule, int64_t from, Ids *ids);
#endif
