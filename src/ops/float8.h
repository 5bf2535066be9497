/* float8.h - products of factors in eight bits, each with one scale, or one per row.
 *
 * A scale s is largest / most, with the largest number that the scale serves and the most that the
 * format holds; the factor becomes q = x / s, rounded to the format, and a product of two is the
 * sum of qa * qb in F32, times sa * sb. */
#ifndef OPS_FLOAT8_H
#define OPS_FLOAT8_H
#include "graph/op.h"

typedef struct Float8Format {
    int dtype;         /* F8_E4M3 or F8_E5M2 */
    bool power_of_two; /* scales are powers of two: the next larger ones */
} Float8Format;
/* Scales of x, F32. `dims` tells which: "*k->" one, "*k->*" one per row, "*k->k" one per column. */
extern const OpDef op_float8_scale;
Value *float8_scale(Graph *g, const char *dims, Value *x, const Float8Format *f);
/* x / scale in the format; `dims` as "*k,*->*k". */
Value *float8_quantize(Graph *g, const char *dims, Value *x, Value *scale, const Float8Format *f);
/* The product of a and b times their scales, "*k,nk,*,n->*n", in dtype t; `into` is what it
 * becomes, or NULL. */
extern const OpDef op_float8_contract;
typedef struct Float8Contract {
    int dtype; /* of the result */
} Float8Contract;
Value *float8_contract(Graph *g, const char *dims, Value *a, Value *b, Value *scale_a,
                       Value *scale_b, Dtype t, Value *into);

/* What scales belong to: element (row, column) of a tensor, whose last dimension the columns are,
 * has scale number row * row_step + column * column_step. */
typedef struct Float8Grid {
    int64_t rows, columns, row_step, column_step;
} Float8Grid;
/* False where scales are for something else than all, rows or columns. */
bool float8_grid(const Operand *of, const Tensor *t, const Operand *scale, Float8Grid *out);
/* The most that a format holds. */
static inline float float8_most(Dtype t)
{
    return t == F8_E5M2 ? 57344.0F : 448.0F;
}
/* The scale for numbers up to `largest`; one that is no number, or infinite, stays so. */
float float8_scale_for(float largest, const Float8Format *f);
/* What is rounded: x / scale, within what the format holds. */
static inline float float8_within(float x, float inverse, float most)
{
    const float v = x * inverse;
    return v > most ? most : v < -most ? -most : v;
}
#endif
