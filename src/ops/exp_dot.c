/* exp_dot.c - the exponential of a product of two vectors. */
#include "ops/exp_dot.h"
#include <math.h>

static const OpDef op_exp_dot, op_exp_dot_grad;

Value *exp_dot(Graph *g, Value *a, Value *b)
{
    return graph_add_dims(g, &op_exp_dot, "d!,d!->o", "o=1", NULL, 2, (Value *[]){ a, b })->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { dout[0], n->out[0], n->in[0], n->in[1] };
    const Node *made = graph_add(g, &op_exp_dot_grad, NULL, 4, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

static int reference(const Launch *l)
{
    const double *a = l->in[0].data, *b = l->in[1].data;
    double dot = 0;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++) dot += a[i] * b[i];
    *(double *)l->out[0].data = exp(dot);
    return KERNEL_OK;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    out[0] = n->in[2]->dtype;
    out[1] = n->in[3]->dtype;
}

static int grad_reference(const Launch *l)
{
    const double *dy = l->in[0].data, *y = l->in[1].data, *a = l->in[2].data, *b = l->in[3].data;
    double *da = l->out[0].data, *db = l->out[1].data;
    for (int64_t i = 0, n = tensor_count(&l->in[2]); i < n; i++) {
        da[i] = *dy * *y * b[i];
        db[i] = *dy * *y * a[i];
    }
    return KERNEL_OK;
}

static const OpDef op_exp_dot = {
    .name = "exp_dot",
    .doc = "exponential of the product of two vectors",
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
};
static const OpDef op_exp_dot_grad = {
    .name = "exp_dot_grad",
    .doc = "gradients of the vectors, from that of the result and it",
    .dims = "o,o,d!,d!->d,d",
    .dtypes = grad_dtypes,
    .reference = grad_reference,
    .flags = OP_LINEAR,
};

const OpDef *const exp_dot_ops[] = { &op_exp_dot, &op_exp_dot_grad, NULL };
