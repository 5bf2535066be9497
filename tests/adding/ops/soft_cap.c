/* soft_cap.c - y = cap * tanh(x / cap). */
#include "ops/soft_cap.h"

static const OpDef op_soft_cap, op_soft_cap_grad;

static const Field attrs[] = {
    FIELD_FLOAT(SoftCap, cap, NULL, 0, 0, "bound of the result"),
    { 0 },
};

Value *soft_cap(Graph *g, Value *x, double cap)
{
    return graph_add(g, &op_soft_cap, &(SoftCap){ cap }, 1, &x)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], dout[0] };
    din[0] = graph_add(g, &op_soft_cap_grad, n->attrs, 2, in)->out[0];
}

static int forward(const Launch *l)
{
    const double cap = ((const SoftCap *)l->attrs)->cap, *x = l->in[0].data;
    double *y = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++) y[i] = cap * tanh(x[i] / cap);
    return KERNEL_OK;
}

static int backward(const Launch *l)
{
    const double cap = ((const SoftCap *)l->attrs)->cap, *x = l->in[0].data, *dy = l->in[1].data;
    double *dx = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++) {
        double t = tanh(x[i] / cap);
        dx[i] = dy[i] * (1 - t * t);
    }
    return KERNEL_OK;
}

static const OpDef op_soft_cap = {
    .name = "soft_cap",
    .doc = "cap * tanh(x / cap)",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(SoftCap),
    .grad = grad,
    .reference = forward,
};
static const OpDef op_soft_cap_grad = {
    .name = "soft_cap_grad",
    .doc = "gradient of x",
    .dims = "*,*->*",
    .attrs = attrs,
    .attrs_size = sizeof(SoftCap),
    .reference = backward,
};

const OpDef *const soft_cap_ops[] = { &op_soft_cap, &op_soft_cap_grad, NULL };
