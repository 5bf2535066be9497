/* halves.h - an f32 number in two halves: the number rounded to bf16, and what is missing.
 *
 * The high half is the bf16 next to the number, halves away from zero, and the low half the
 * difference of their bits. Both together are the number itself, if it is finite or infinite, so
 * that master weights need 16 bits beside the bf16 that products read. */
#ifndef TENSOR_HALVES_H
#define TENSOR_HALVES_H
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define HALVES_ANYWHERE __host__ __device__ /* kernels of GPUs use them, too */
#else
#define HALVES_ANYWHERE
#endif

/* A NaN stays a (quiet) NaN. */
HALVES_ANYWHERE static inline uint16_t high_half_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x8000u) >> 16);
}

HALVES_ANYWHERE static inline int16_t low_half_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int16_t)(uint16_t)bits;
}

HALVES_ANYWHERE static inline float float_of_halves(uint16_t high, int16_t low)
{
    const uint32_t bits = ((uint32_t)high << 16) + (uint32_t)(int32_t)low;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of n numbers. */
static inline void halves_split(int64_t n, const float *x, uint16_t *high, int16_t *low)
{
    for (int64_t i = 0; i < n; i++) {
        high[i] = high_half_of(x[i]);
        low[i] = low_half_of(x[i]);
    }
}

static inline void halves_join(int64_t n, const uint16_t *high, const int16_t *low, float *x)
{
    for (int64_t i = 0; i < n; i++) x[i] = float_of_halves(high[i], low[i]);
}
#endif
