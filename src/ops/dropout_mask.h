/* dropout_mask.h - which elements dropout keeps: the same whatever the ranks, threads and device.
 */
#ifndef OPS_DROPOUT_MASK_H
#define OPS_DROPOUT_MASK_H
#include "base/rng.h"
#include "device/device.h"
#include <math.h>

/* The key of one dropout (told by its salt) in this step. */
static inline uint64_t dropout_key(const RunTime *now, int64_t salt)
{
    return rng_key(now->seed, RNG_DROPOUT, (uint64_t)now->step, (uint64_t)salt);
}

/* The number of an element through all samples of a step, on all data-parallel ranks: `element`
 * counts those of this rank through its microbatches, `per_sample` to a sample. Ranks take turns,
 * as samplers deal samples out, so that a mask is a function of the sample's place in the step. */
static inline int64_t dropout_number(const RunTime *now, int64_t element, int64_t per_sample)
{
    if (now->n_replicas <= 1) return element;
    const int64_t sample = element / per_sample;
    return element + (sample * (now->n_replicas - 1) + now->replica) * per_sample;
}

/* The number of the first probability of a row b s g r of queries [b s g r d], its keys counted
 * from there: b s g r t in the whole, which has so many keys, through all microbatches. */
static inline int64_t dropout_row(const RunTime *now, const Tensor *q, int64_t row, int64_t n_keys)
{
    int64_t n_rows = 1;
    for (int d = 0; d < 4; d++) n_rows *= global_size(q, d);
    const int64_t first = row * q->size[4]; /* its number in q, over the width, is the row's */
    const int64_t number = global_element(q, first) / q->size[4] + now->microbatch * n_rows;
    return dropout_number(now, number, n_rows / global_size(q, 0)) * n_keys;
}

/* Of the element with this number. */
static inline bool dropout_keeps(uint64_t key, int64_t element, double p)
{
    return rng_uniform(key, (uint64_t)element) >= p;
}

/* What the elements [first, first + n) are multiplied with: 0 or 1 / (1 - p). The same comparison
 * in integers, which compilers turn into vectors. */
static inline void dropout_factors(uint64_t key, int64_t first, int64_t n, double p, float *to)
{
    const uint64_t least = (uint64_t)ceil(p * 0x1p53);
    const float kept = (float)(1 / (1 - p));
    for (int64_t i = 0; i < n; i++)
        to[i] = rng_bits(key, (uint64_t)(first + i)) >> 11 >= least ? kept : 0;
}
#endif
