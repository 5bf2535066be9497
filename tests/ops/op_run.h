/* op_run.h - runs the nodes of a tiny graph one after the other on host memory.
 *
 * Every value has a tensor of its own, whole and of its own dtype. Inputs, parameters and states
 * get content that depends on their names only: normal numbers, or what Value.init says (UNIFORM);
 * integers uniform in [low, high). A name "targets" gets some IGNORED_TARGET, "documents" rising
 * ids. */
#ifndef TESTS_OPS_OP_RUN_H
#define TESTS_OPS_OP_RUN_H
#include "graph/op.h"
#include "ops/kernels.h"

typedef struct OpRun {
    Arena *arena;
    Graph *graph;
    Tensor *tensor; /* by id of the value */
    RunTime now;
} OpRun;

/* Sizes end with 0. */
#define SIZES(...) ((const int64_t[]){ __VA_ARGS__, 0 })
Value *op_input(Graph *g, const char *name, Dtype t, const int64_t *size);

/* Tensors for all values that the graph has now; `position` is RunTime.position. */
OpRun *op_run_new(Arena *a, Graph *g, int64_t position);
/* Runs the nodes [from, to) by their references; a status other than KERNEL_OK is a bug. */
void op_run_nodes(OpRun *r, int64_t from, int64_t to);

/* A node with its inputs as they were and its results as they are made (nothing added). */
typedef struct NodeRun {
    const OpRun *run;
    const Node *node;
    Tensor *in, *out;
} NodeRun;

/* Runs node i; the tensors are copies from `a`. */
NodeRun op_run_node(OpRun *r, Arena *a, int64_t i);

/* A tensor with zeroed memory and no parts. */
Tensor op_tensor(Arena *a, Dtype t, int n_dims, const int64_t *size);
/* A copy with memory of its own, in another dtype. */
Tensor op_tensor_as(Arena *a, Dtype t, const Tensor *from);
double op_get(const Tensor *t, int64_t i);
/* A launch of `n` on these tensors, without scratch or stream. */
Launch op_launch(const Node *n, const Tensor *in, Tensor *out, const RunTime *now);
/* The dtypes that a kernel's row wants for the operands of a node: where the value is a float,
 * `any` in place k stands for BF16 if bit k of `narrow` is set, else F32. False when the row is for
 * other operands. */
bool op_row_types(const char *types, const Node *n, unsigned narrow, Dtype *out);
/* Runs the reference (a view: copies) with scratch from `a` and returns its status. */
int op_reference(Arena *a, const OpDef *op, Launch l);
/* Runs a kernel on so many threads; a status other than KERNEL_OK is a bug. */
void op_kernel_run(const KernelDef *k, Launch l, int n_threads);
/* The level of the kernels that multiply at a level; tiles are for some products alone. */
CpuLevel op_product_level(CpuLevel level, bool has_tiles);

/* Appends the gradient of all inputs and parameters with respect to `y`, given that of y; returns
 * them by id of the value, NULL where there is none. */
Value **op_differentiate(Graph *g, Value *y, Value *dy);
#endif
