/* offset.c - x plus a constant; the result stays f32 where others become narrow, since a small x
 * would be lost beside 1. */
#include "ops/offset.h"

static const OpDef op_offset;

static const Field attrs[] = {
    FIELD_FLOAT(Offset, by, NULL, 0, 0, "what is added to every element"),
    { 0 },
};

Value *offset(Graph *g, Value *x, double by)
{
    return graph_add(g, &op_offset, &(Offset){ by }, 1, &x)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    (void)g, (void)n;
    din[0] = dout[0];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data, by = ((const Offset *)l->attrs)->by;
    double *y = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) y[i] = x[i] + by;
    return KERNEL_OK;
}

static const OpDef op_offset = {
    .name = "offset",
    .doc = "x plus a constant",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Offset),
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
};

const OpDef *const offset_ops[] = { &op_offset, NULL };
