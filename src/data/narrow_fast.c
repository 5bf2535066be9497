/* narrow_fast.c - cuts ids down to tokens in one pass; the compiler makes vectors of the loop, for
 * each instruction set. */
#include "data/narrow.h"

typedef uint16_t Two __attribute__((may_alias, aligned(1)));

static uint32_t to_two_bytes(const uint32_t *restrict id, int64_t n, void *restrict out)
{
    Two *restrict to = out;
    uint32_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        all |= id[i];
        to[i] = (uint16_t)id[i];
    }
    return all;
}

const Narrow TABLE = { to_two_bytes };
