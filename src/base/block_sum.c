/* block_sum.c - eight lanes of multiply and rotate.
 *
 * Each step maps a lane one-to-one, so that a difference never vanishes by itself; the rotation
 * brings high bits, which a product keeps high, down again. Eight lanes hide the latency of the
 * multiplication. */
#include "base/block_sum.h"
#include <string.h>

enum { LANES = BLOCK_SUM_LANES, STEP_BYTES = 8 * LANES };

static const uint64_t FACTOR = 0x9e3779b97f4a7c15; /* odd, from the golden ratio */

static uint64_t mix(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * FACTOR;
    return lane << 32 | lane >> 32;
}

/* Whole steps; the lanes stay in registers. */
static void take_steps(uint64_t lanes[LANES], const uint8_t *bytes, size_t n_steps)
{
    uint64_t lane[LANES], word[LANES];
    memcpy(lane, lanes, sizeof lane);
    for (size_t k = 0; k < n_steps; k++, bytes += STEP_BYTES) {
        memcpy(word, bytes, STEP_BYTES);
        for (int i = 0; i < LANES; i++) lane[i] = mix(lane[i], word[i]);
    }
    memcpy(lanes, lane, sizeof lane);
}

void block_sum_take(BlockSum *s, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    size_t n_rest = s->n % STEP_BYTES;
    if (!s->n)
        for (int i = 0; i < LANES; i++) s->lane[i] = (uint64_t)i + 1;
    if (!n) return;
    s->n += n;
    if (n_rest) {
        size_t missing = STEP_BYTES - n_rest, k = n < missing ? n : missing;
        memcpy(s->rest + n_rest, p, k);
        if (k < missing) return;
        take_steps(s->lane, s->rest, 1);
        p += k;
        n -= k;
    }
    take_steps(s->lane, p, n / STEP_BYTES);
    if (n % STEP_BYTES) memcpy(s->rest, p + n / STEP_BYTES * STEP_BYTES, n % STEP_BYTES);
}

uint64_t block_sum_end(BlockSum *s)
{
    size_t n_rest = s->n % STEP_BYTES;
    uint64_t sum = s->n;
    block_sum_take(s, NULL, 0); /* of no bytes at all */
    if (n_rest) {
        memset(s->rest + n_rest, 0, STEP_BYTES - n_rest);
        take_steps(s->lane, s->rest, 1);
    }
    for (int i = 0; i < LANES; i++) sum = mix(sum, s->lane[i]);
    s->n = 0;
    return mix(sum, sum >> 29);
}

uint64_t block_sum(const void *bytes, size_t n)
{
    BlockSum s = { 0 };
    block_sum_take(&s, bytes, n);
    return block_sum_end(&s);
}

uint64_t block_sum_add(uint64_t so_far, uint64_t sum)
{
    return mix(so_far, sum);
}
