/* dropout.h - which elements dropout keeps: the same whatever the ranks, threads and device. */
#ifndef OPS_DROPOUT_H
#define OPS_DROPOUT_H
#include "base/rng.h"
#include "device/device.h"

/* The key of one dropout (told by its salt) in this step. */
static inline uint64_t dropout_key(const RunTime *now, int64_t salt)
{
    return rng_key(now->seed, RNG_DROPOUT, (uint64_t)now->step, (uint64_t)salt);
}

/* Elements are numbered through all microbatches of the step: microbatch times the elements of the
 * whole tensor, plus the element's place there. */
static inline bool dropout_keeps(uint64_t key, int64_t element, double p)
{
    return rng_uniform(key, (uint64_t)element) >= p;
}
#endif
