/* relu.c - max(x, 0), whose gradient needs the result alone, and its square. */
#include "ops/relu.h"

static const OpDef op_relu, op_relu_grad, op_relu_squared, op_relu_squared_grad;

Value *relu(Graph *g, Value *x)
{
    return graph_add(g, &op_relu, NULL, 1, &x)->out[0];
}

Value *relu_squared(Graph *g, Value *x)
{
    return graph_add(g, &op_relu_squared, NULL, 1, &x)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_relu_grad, NULL, 2, (Value *[]){ n->out[0], dout[0] })->out[0];
}

static void squared_grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_relu_squared_grad, NULL, 2, (Value *[]){ n->in[0], dout[0] })->out[0];
}

static double above(double x)
{
    return x < 0 ? 0 : x; /* NaN stays */
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data;
    double *y = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) y[i] = above(x[i]);
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const double *y = l->in[0].data, *dy = l->in[1].data;
    double *dx = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) dx[i] = y[i] > 0 ? dy[i] : 0;
    return KERNEL_OK;
}

static int squared_reference(const Launch *l)
{
    const double *x = l->in[0].data;
    double *y = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) y[i] = above(x[i]) * above(x[i]);
    return KERNEL_OK;
}

static int squared_grad_reference(const Launch *l)
{
    const double *x = l->in[0].data, *dy = l->in[1].data;
    double *dx = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) dx[i] = 2 * above(x[i]) * dy[i];
    return KERNEL_OK;
}

static const OpDef op_relu = {
    .name = "relu",
    .doc = "max(x, 0)",
    .dims = "*->*",
    .grad = grad,
    .reference = reference,
};
static const OpDef op_relu_grad = {
    .name = "relu_grad",
    .doc = "gradient of relu from its result",
    .dims = "*,*->*",
    .reference = grad_reference,
};
static const OpDef op_relu_squared = {
    .name = "relu_squared",
    .doc = "max(x, 0)^2",
    .dims = "*->*",
    .grad = squared_grad,
    .reference = squared_reference,
};
static const OpDef op_relu_squared_grad = {
    .name = "relu_squared_grad",
    .doc = "gradient of relu_squared from its argument",
    .dims = "*,*->*",
    .reference = squared_grad_reference,
};

const OpDef *const relu_ops[] = { &op_relu, &op_relu_grad, &op_relu_squared, &op_relu_squared_grad,
                                  NULL };
