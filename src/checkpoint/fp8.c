/* fp8.c - reads numbers of eight or four bits with the scales of their blocks. */
#include "checkpoint/fp8.h"
#include <math.h>

void fp8_numbers(float number[256])
{
    for (int i = 0; i < 256; i++) {
        const uint8_t code = (uint8_t)i;
        number[i] = (float)dtype_get(F8_E4M3, &code, 0);
    }
}

static int64_t blocks(int64_t size, int64_t block)
{
    return (size + block - 1) / block;
}

static float scale_at(const Fp8 *m, int64_t row, int64_t column)
{
    const int64_t matrix = row / m->rows, down = blocks(m->rows, m->block[0]),
                  across = blocks(m->columns, m->block[1]);
    const int64_t i = (matrix * down + row % m->rows / m->block[0]) * across + column / m->block[1];
    if (m->scales->dtype != U8) return (float)dtype_get(m->scales->dtype, m->scales->data, i);
    const uint8_t exponent = ((const uint8_t *)m->scales->data)[i];
    return exponent == 255 ? NAN : ldexpf(1, exponent - 127);
}

static float number_at(const Fp8 *m, int64_t i)
{
    return m->number[m->in_halves ? m->codes[i / 2] >> (i % 2 ? 4 : 0) & 15 : m->codes[i]];
}

void fp8_read(const Fp8 *m, int64_t at, int64_t stride, int64_t n, float *out)
{
    while (n > 0) {
        /* numbers that follow each other share a scale up to the end of their block */
        const int64_t column = at % m->columns, rest = m->columns - column,
                      of_block = m->block[1] - column % m->block[1],
                      together = rest < of_block ? rest : of_block,
                      run = stride != 1    ? 1
                            : together < n ? together
                                           : n;
        const float scale = scale_at(m, at / m->columns, column);
        for (int64_t i = 0; i < run; i++) *out++ = number_at(m, at + i) * scale;
        at += run * stride;
        n -= run;
    }
}
