/* op_sheet.h - a graph with typed-in inputs and expected numbers.
 *
 * Give the inputs, build with the builders of src/ops, then expect: the graph runs at the first
 * expectation. */
#ifndef TESTS_OPS_OP_SHEET_H
#define TESTS_OPS_OP_SHEET_H
#include "graph/op.h"
#include "op_run.h"

typedef struct Sheet {
    Arena *arena;
    Graph *graph;
    OpRun *run; /* after the first expectation */
    RunTime now;
    struct Given *given;
} Sheet;

/* RunTime: step 3, microbatch 1, position 0, lr 0.01, loss scale 0.25, seed 7, unless changed. */
Sheet *sheet_new(void);
void sheet_free(Sheet *s);
/* Inputs of dtype F64 and I32. */
Value *give(Sheet *s, const char *name, const int64_t *size, const double *content);
Value *give_ints(Sheet *s, const char *name, const int64_t *size, const double *content);
/* The value has these n elements, within 1e-12 (relative or absolute). */
void expect(Sheet *s, const Value *v, int64_t n, const double *expected);
/* The status of the last node when run on its own. */
int sheet_status(Sheet *s);

#define NUMBERS(...) ((const double[]){ __VA_ARGS__ })
/* For expect: number of elements, and the elements. */
#define ARE(...) (int64_t)(sizeof NUMBERS(__VA_ARGS__) / sizeof(double)), NUMBERS(__VA_ARGS__)
#endif
