/* ternary.c - reads weights of -1, 0 and 1, four in a byte. */
#include "checkpoint/ternary.h"

enum { PER_BYTE = 4 };

int64_t ternary_count(const Ternary *t)
{
    int64_t of_code[PER_BYTE] = { 0 };
    for (int64_t i = 0; i < t->rows * t->columns; i++)
        for (int k = 0; k < PER_BYTE; k++) of_code[t->codes[i] >> 2 * k & 3]++;
    return of_code[3] ? -1 : of_code[0] + of_code[2];
}

void ternary_read(const Ternary *t, int64_t at, int64_t n, float *out)
{
    const int64_t row = at / t->columns, quarter = row / t->rows;
    const uint8_t *codes = t->codes + row % t->rows * t->columns + at % t->columns;
    for (int64_t i = 0; i < n; i++) out[i] = (float)((codes[i] >> 2 * quarter & 3) - 1) * t->unit;
}
