/* stack.c - copies of matrices, one after the other. */
#include "ops/stack.h"
#include <string.h>

static const OpDef op_stack, op_unstack;

/* "mn," n times. */
static char *matrices(Arena *a, int n)
{
    char *dims = arena_alloc(a, 3 * (size_t)n + 8);
    for (int i = 0; i < n; i++) memcpy(dims + 3 * i, "mn,", 3);
    dims[3 * n - 1] = 0;
    return dims;
}

Value *stack_matrices(Graph *g, int n, Value *const *x)
{
    const char *dims = arena_printf(g->arena, "%s->emn", matrices(g->arena, n)),
               *size = arena_printf(g->arena, "e=%d", n);
    return graph_add_dims(g, &op_stack, dims, size, NULL, n, x)->out[0];
}

void unstack_matrices(Graph *g, Value *x, Value **out)
{
    const int n = (int)x->dim[0].size;
    const char *dims = arena_printf(g->arena, "e!mn->%s", matrices(g->arena, n));
    const Node *made = graph_add_dims(g, &op_unstack, dims, NULL, NULL, 1, &x);
    memcpy(out, made->out, sizeof *out * (size_t)n);
}

static void same_dtype(const Node *n, Dtype *out)
{
    for (int k = 0; k < n->n_out; k++) out[k] = n->in[0]->dtype;
}

static int stack_reference(const Launch *l)
{
    const size_t bytes = tensor_bytes(&l->in[0]);
    for (int k = 0; k < l->n_in; k++)
        memcpy((char *)l->out[0].data + bytes * (size_t)k, l->in[k].data, bytes);
    return KERNEL_OK;
}

static int unstack_reference(const Launch *l)
{
    const size_t bytes = tensor_bytes(&l->out[0]);
    for (int k = 0; k < l->n_out; k++)
        memcpy(l->out[k].data, (const char *)l->in[0].data + bytes * (size_t)k, bytes);
    return KERNEL_OK;
}

static const OpDef op_stack = {
    .name = "stack",
    .doc = "matrices one after the other",
    .dtypes = same_dtype,
    .reference = stack_reference,
};
static const OpDef op_unstack = {
    .name = "unstack",
    .doc = "the matrices of a stack",
    .dtypes = same_dtype,
    .reference = unstack_reference,
};

const OpDef *const stack_ops[] = { &op_stack, &op_unstack, NULL };
