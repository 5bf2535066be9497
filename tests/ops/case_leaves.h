/* case_leaves.h - the leaves of cases of ops, and the builders of those of one or two operands.
 *
 * Sizes are small and mostly odd; some are even so that the split-equals-whole test finds
 * something to split, and some exceed the tiles of tuned kernels. */
#ifndef TESTS_OPS_CASE_LEAVES_H
#define TESTS_OPS_CASE_LEAVES_H
#include "op_cases.h"

/* `dims` has MAX_DIMS zeros. */
static inline void set_sizes(Dim *dims, int n_dims, const int64_t *size)
{
    for (int d = 0; d < n_dims; d++) dims[d].size = size[d];
}

static inline Value *leaf(Graph *g, const char *name, Dtype t, int n_dims, const int64_t *size)
{
    Dim dims[MAX_DIMS] = { 0 };
    set_sizes(dims, n_dims, size);
    return graph_input(g, name, t, n_dims, dims);
}

static inline Value *floats(Graph *g, const char *name, int n_dims, const int64_t *size)
{
    return leaf(g, name, F64, n_dims, size);
}

static inline Value *uniform(Value *v, double low, double high)
{
    v->init = (Init){ .kind = INIT_UNIFORM, .low = low, .high = high };
    return v;
}

/* Integers in [0, below). */
static inline Value *ids(Graph *g, const char *name, int64_t below, int n_dims, const int64_t *size)
{
    return uniform(leaf(g, name, I32, n_dims, size), 0, (double)below);
}

static inline Value *state(Graph *g, const char *name, int n_dims, const int64_t *size)
{
    Dim dims[MAX_DIMS] = { 0 };
    set_sizes(dims, n_dims, size);
    return graph_state(g, name, F64, n_dims, dims);
}

/* The number of sizes that are given. */
static inline int count(const int64_t *n)
{
    int k = 0;
    while (k < MAX_DIMS && n[k]) k++;
    return k;
}

static inline Value *build_unary(Graph *g, const OpCase *c, const int64_t *n)
{
    return c->unary(g, floats(g, "x", count(n), n));
}

static inline Value *build_binary(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *x = floats(g, "x", count(n), n);
    return c->binary(g, x, floats(g, "y", count(n), n));
}
#endif
