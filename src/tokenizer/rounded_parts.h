/* rounded_parts.h - remembers parts whose ids depend on rounding, by where the sum before them lies
 * among the floats. */
#ifndef TOKENIZER_ROUNDED_PARTS_H
#define TOKENIZER_ROUNDED_PARTS_H
#include "tokenizer/sentencepiece_model.h"

typedef struct RoundedParts RoundedParts;

/* Its memory is bounded. Results never depend on what it remembers. */
RoundedParts *rounded_parts_new(Arena *a, const SpModel *m);
/* Writes the ids of a part behind the sum `sum` to *out and moves it behind them; returns the sum
 * behind the part. WORD_SLACK bytes must be readable behind the part. */
float rounded_parts_encode(RoundedParts *r, Str part, float sum, uint32_t **out);
#endif
