/* fp8.h - numbers of eight bits (e4m3), of which blocks of a matrix share a scale, as DeepSeek V3
 * comes, or of four (e2m1), as the experts of DeepSeek V4 do. */
#ifndef CHECKPOINT_FP8_H
#define CHECKPOINT_FP8_H
#include "tensor/tensor.h"

/* Matrices one after the other, each with the scales of its blocks row by row; those at its lower
 * and right edge may be cut. */
typedef struct Fp8 {
    const float *number; /* of each code */
    const uint8_t *codes;
    const Tensor *scales; /* of any floating-point format, or as U8: exponents of 2, plus 127 */
    int64_t rows, columns, block[2];
    bool in_halves; /* two codes are a byte, the lower half comes first */
} Fp8;

void fp8_numbers(float number[256]);
/* Products of n numbers with their scales: from the element `at` of all on, `stride` apart. */
void fp8_read(const Fp8 *m, int64_t at, int64_t stride, int64_t n, float *out);
#endif
