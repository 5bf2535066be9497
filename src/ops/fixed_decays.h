/* fixed_decays.h - how fast states of linear attention fade where that is fixed for each head. */
#ifndef OPS_FIXED_DECAYS_H
#define OPS_FIXED_DECAYS_H
#include "ops/delta_gates.h"

/* Attributes of "fixed_decays". */
typedef struct FixedDecays {
    double factor;
} FixedDecays;

/* What a token takes off the logarithm of the state of head h of n in the whole: factor times
 * 2^(-8 / n) to 2^-8. On a GPU as well. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline double
    fixed_decay(const FixedDecays *a, int64_t h, int64_t n)
{
    return a->factor * exp2(-8 * (double)(h + 1) / (double)n);
}

/* That of a place [g r] of this rank's results. */
double fixed_decay_of(const Launch *l, int64_t i);
/* Of x [b s g r e] the sizes alone are read. Decays [b s g r] are at most 0, and rates are 1; heads
 * are counted in the order (g r). No gradient flows back. */
DeltaGates fixed_decays(Graph *g, Value *x, double factor);
#endif
