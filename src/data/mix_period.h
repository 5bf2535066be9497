/* mix_period.h - whose turn it is when sources take turns by weight. */
#ifndef DATA_MIX_PERIOD_H
#define DATA_MIX_PERIOD_H
#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum { MOST_MIX_PERIOD = 1 << 20 };

/* Turn t belongs to source[t % n], for the rank[t % n]-th time within the period; a period has
 * share[k] turns of source k. */
typedef struct MixPeriod {
    int64_t n, n_sources;
    const int64_t *share;
    int32_t *source, *rank;
} MixPeriod;

/* At every turn each source has had its share of the turns so far, give or take less than one.
 * Weights are >= 0; those that sum to more than MOST_MIX_PERIOD in lowest terms are an error. */
Error *mix_period_make(Arena *a, const int64_t *weight, int64_t n, MixPeriod *out);
/* How many of the first `turns` turns belong to source k. */
int64_t mix_period_count(const MixPeriod *p, int64_t turns, int64_t k);
#endif
