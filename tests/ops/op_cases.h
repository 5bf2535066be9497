/* op_cases.h - small graphs, at least one per op: what gradient checks, comparisons of kernels with
 * their references, split-equals-whole tests and benchmarks run on. */
#ifndef TESTS_OPS_OP_CASES_H
#define TESTS_OPS_OP_CASES_H
#include "graph/op.h"

enum { MAX_CASE_SIZES = 8, CASE_TEXTS = 3 };

/* A row is read by its `build` function; what it does not use stays 0. */
typedef struct OpCase {
    const char *name;
    /* Builds the forward graph from leaves of dtype F64; returns the value to differentiate, or
     * NULL when the op has no gradient. */
    Value *(*build)(Graph *g, const struct OpCase *c, const int64_t *n);
    Value *(*unary)(Graph *g, Value *x);
    Value *(*binary)(Graph *g, Value *x, Value *y);
    const char *dims, *sizes;
    const void *attrs;
    int64_t position;              /* RunTime.position */
    const int64_t *texts;          /* for the kernels: RunTime.text_position, of CASE_TEXTS rows */
    int64_t n[MAX_CASE_SIZES];     /* sizes, as `build` reads them */
    int64_t large[MAX_CASE_SIZES]; /* sizes to measure; all 0: not measured */
} OpCase;

/* The cases of all families in turn; NULL after the last one. */
const OpCase *op_case_at(int i);
int op_case_count(void);
/* Ops that mean nothing on one rank; their tests have ranks. */
bool op_needs_ranks(const OpDef *op);

/* A case made: the graph of the forward nodes, followed by that of the gradients. */
typedef struct CaseGraph {
    Graph *graph;
    Value *result;      /* NULL: no gradient */
    Value *result_grad; /* an input */
    Value **grad;       /* by id of a value */
    int64_t n_forward;  /* nodes */
} CaseGraph;

CaseGraph op_case_build(Arena *a, const OpCase *c, const int64_t *n);
#endif
