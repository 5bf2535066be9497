/* gated_delta_products.h - products of small matrices whose rows are whole vectors, by tiles that
 * stay in registers; sums and dots of such rows. */
#ifndef OPS_GATED_DELTA_PRODUCTS_H
#define OPS_GATED_DELTA_PRODUCTS_H
#include "ops/vector/vector.h"

/* Rows and vectors of a tile. */
enum { ROWS = 6, VECTORS = 2 };

INLINE int64_t whole_vectors(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* Element (i, k) of the left one lies at i * row + k * step, row k of the right one at k * stride.
 */
typedef struct Factors {
    const float *left;
    int64_t row, step;
    const float *right;
    int64_t stride;
} Factors;

INLINE void tile(const int rows, const int vectors, const Factors *f, int64_t i, int64_t j,
                 int64_t steps, bool adds, float *to, int64_t to_row)
{
    Vec sum[ROWS * VECTORS];
    const float *left = f->left + i * f->row, *right = f->right + j;
    to += i * to_row + j;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sum[r * vectors + v] = adds ? vec_load(to + r * to_row + v * LANES) : vec_set(0);
    for (int64_t k = 0; k < steps; k++, left += f->step, right += f->stride) {
        Vec b[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) b[v] = vec_load(right + v * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const Vec a = vec_set(left[r * f->row]);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) vec_add_product(&sum[r * vectors + v], a, b[v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            vec_store(to + r * to_row + v * LANES, sum[r * vectors + v]);
}

INLINE void tiles_of_rows(const int rows, const Factors *f, int64_t i, int64_t columns,
                          int64_t steps, bool adds, float *to, int64_t to_row)
{
    int64_t j = 0;
    for (; j + VECTORS * LANES <= columns; j += VECTORS * LANES)
        tile(rows, VECTORS, f, i, j, steps, adds, to, to_row);
    for (; j < columns; j += LANES) tile(rows, 1, f, i, j, steps, adds, to, to_row);
}

/* to[rows][columns] = left right, or that is added; whole vectors of columns. */
NOINLINE void product(int64_t rows, int64_t columns, int64_t steps, const Factors *f, bool adds,
                      float *to, int64_t to_row)
{
    int64_t i = 0;
    for (; i + ROWS <= rows; i += ROWS) tiles_of_rows(ROWS, f, i, columns, steps, adds, to, to_row);
    for (; i < rows; i++) tiles_of_rows(1, f, i, columns, steps, adds, to, to_row);
}

/* [n][width] becomes [width][to_row]; what rows lack to a whole vector is 0. */
INLINE void turn(const float *from, int64_t n, int64_t width, float *to, int64_t to_row)
{
    for (int64_t r = 0; r < n; r += LANES)
        for (int64_t i = 0; i < width; i += LANES) {
            Vec square[LANES];
#pragma GCC unroll 16
            for (int k = 0; k < LANES; k++)
                square[k] = r + k < n ? vec_load(from + (r + k) * width + i) : vec_set(0);
            vec_transpose(square);
#pragma GCC unroll 16
            for (int k = 0; k < LANES; k++) vec_store(to + (i + k) * to_row + r, square[k]);
        }
}

INLINE void scale_row(const float *from, float factor, int64_t width, float *to)
{
    for (int64_t i = 0; i < width; i += LANES)
        vec_store(to + i, vec_load(from + i) * vec_set(factor));
}

/* to += factor from */
INLINE void add_row(const float *from, float factor, int64_t width, float *to)
{
    for (int64_t i = 0; i < width; i += LANES)
        vec_store(to + i, vec_fma(vec_load(from + i), vec_set(factor), vec_load(to + i)));
}

INLINE Vec dot_rows(const float *x, const float *y, int64_t width)
{
    Vec sum = vec_set(0);
    for (int64_t i = 0; i < width; i += LANES) sum = vec_fma(vec_load(x + i), vec_load(y + i), sum);
    return sum;
}
#endif
