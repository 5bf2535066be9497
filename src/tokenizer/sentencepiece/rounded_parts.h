/* rounded_parts.h - remembers parts whose ids depend on rounding, by where the sum before them lies
 * among the floats. */
#ifndef TOKENIZER_SENTENCEPIECE_ROUNDED_PARTS_H
#define TOKENIZER_SENTENCEPIECE_ROUNDED_PARTS_H
#include "tokenizer/sentencepiece/model.h"

typedef struct RoundedParts RoundedParts;

/* `most` bounds its memory, in bytes: a power of two, half of it for a table and half for what is
 * known of the parts in it, and all is forgotten when one of the halves is used up. 0: 64 MiB, or
 * less as the tables of words are smaller (word_tables_new). It starts with 64 KiB. Results never
 * depend on what it remembers. */
RoundedParts *rounded_parts_new(Arena *a, const SpModel *m, size_t most);
/* Lets the processor fetch what is remembered of a part, and returns the hash that
 * rounded_parts_encode needs; some parts ahead of it is best. */
uint64_t rounded_parts_ask(const RoundedParts *r, Str part);
/* Writes the ids of a part after the sum `sum` to *out and moves it after them; returns the sum
 * after the part. Here and above WORD_SLACK bytes must be readable after the part. */
float rounded_parts_encode(RoundedParts *r, Str part, uint64_t hash, float sum, uint32_t **out);
#endif
