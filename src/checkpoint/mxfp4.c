/* mxfp4.c - reads numbers of four bits: a sign, two bits of exponent, one of fraction. The lower
 * half of a byte comes first. */
#include "checkpoint/mxfp4.h"
#include <math.h>

const float mxfp4_numbers[16] = { 0,   0.5f,  1,  1.5f,  2,  3,  4,  6,
                                  -0., -0.5f, -1, -1.5f, -2, -3, -4, -6 };

static void numbers_at(int scale, bf16 *number)
{
    for (int k = 0; k < 16; k++) number[k] = bf16_of_float(ldexpf(mxfp4_numbers[k], scale - 127));
}

void mxfp4_read(const uint8_t *blocks, const uint8_t *scales, int64_t first, int64_t n, bf16 *out)
{
    bf16 number[16] = { 0 };
    int scale = -1;
    for (int64_t i = first; i < first + n; i++) {
        if (scales[i / MXFP4_BLOCK] != scale) {
            scale = scales[i / MXFP4_BLOCK];
            numbers_at(scale, number);
        }
        const uint8_t two = blocks[i / 2];
        *out++ = number[i % 2 ? two >> 4 : two & 15];
    }
}
