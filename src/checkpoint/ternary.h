/* ternary.h - weights of -1, 0 and 1, four in a byte, as BitNet b1.58 comes. */
#ifndef CHECKPOINT_TERNARY_H
#define CHECKPOINT_TERNARY_H
#include <stdint.h>

/* A matrix of 4 * rows rows: its quarters lie in the bits of one another, the first in the lowest
 * two, each number plus 1. */
typedef struct Ternary {
    const uint8_t *codes; /* [rows columns] */
    int64_t rows, columns;
    float unit; /* what 1 stands for */
} Ternary;

/* How many numbers are not 0; -1 where one is none of the three. */
int64_t ternary_count(const Ternary *t);
/* n numbers of a row, from the element `at` of all on. */
void ternary_read(const Ternary *t, int64_t at, int64_t n, float *out);
#endif
