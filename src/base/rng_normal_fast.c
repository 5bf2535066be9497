/* rng_normal_fast.c - standard normal numbers in a loop without branches, and the tails after it;
 * compiled for each instruction set, with the same bits. */
#include "base/rng_normal.h"

void TABLE(uint64_t key, uint64_t from, int64_t n, double *to)
{
    double share[RNG_NORMALS];
    for (int64_t i = 0; i < n; i++) share[i] = normal_share(key, from + (uint64_t)i);
    for (int64_t i = 0; i < n; i++) to[i] = normal_centre(share[i]);
    for (int64_t i = 0; i < n; i++)
        if (share[i] < NORMAL_TAIL || share[i] > 1 - NORMAL_TAIL) to[i] = normal_quantile(share[i]);
}
