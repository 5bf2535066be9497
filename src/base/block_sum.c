/* block_sum.c - eight lanes of multiply and rotate.
 *
 * Each step maps a lane one-to-one, so that a difference never vanishes by itself; the rotation
 * brings high bits, which a product keeps high, down again. Eight lanes hide the latency of the
 * multiplication. */
#include "base/block_sum.h"
#include <string.h>

enum { LANES = 8, STEP_BYTES = 8 * LANES };

static const uint64_t FACTOR = 0x9e3779b97f4a7c15; /* odd, from the golden ratio */

static uint64_t mix(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * FACTOR;
    return lane << 32 | lane >> 32;
}

static void take_step(uint64_t lane[LANES], const uint8_t *bytes)
{
    uint64_t word[LANES];
    memcpy(word, bytes, STEP_BYTES);
    for (int i = 0; i < LANES; i++) lane[i] = mix(lane[i], word[i]);
}

uint64_t block_sum(const void *bytes, size_t n)
{
    uint64_t lane[LANES], sum = n;
    const uint8_t *p = bytes;
    size_t left = n;
    for (int i = 0; i < LANES; i++) lane[i] = (uint64_t)i + 1;
    for (; left >= STEP_BYTES; p += STEP_BYTES, left -= STEP_BYTES) take_step(lane, p);
    if (left) {
        uint8_t last[STEP_BYTES] = { 0 };
        memcpy(last, p, left);
        take_step(lane, last);
    }
    for (int i = 0; i < LANES; i++) sum = mix(sum, lane[i]);
    return mix(sum, sum >> 29);
}

uint64_t block_sum_add(uint64_t so_far, uint64_t sum)
{
    return mix(so_far, sum);
}
