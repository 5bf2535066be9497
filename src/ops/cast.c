/* cast.c - the same values in another dtype, rounded to nearest even. */
#include "ops/cast.h"
#include <string.h>

typedef struct Cast {
    int dtype;
} Cast;

static const Field attrs[] = {
    FIELD_CHOICE(Cast, dtype, NULL, dtype_choices, "of the result"),
    { 0 },
};

Value *cast(Graph *g, Value *x, Dtype t)
{
    return graph_add(g, &op_cast, &(Cast){ (int)t }, 1, &x)->out[0];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = (Dtype)((const Cast *)n->attrs)->dtype;
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = cast(g, dout[0], n->in[0]->dtype);
}

/* The rounding happens where results are written. */
static int reference(const Launch *l)
{
    memcpy(l->out[0].data, l->in[0].data, tensor_bytes(&l->out[0]));
    return KERNEL_OK;
}

const OpDef op_cast = {
    .name = "cast",
    .doc = "the same values in another dtype",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(Cast),
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
    .flags = OP_LINEAR | OP_ADDS,
};

const OpDef *const cast_ops[] = { &op_cast, NULL };
