/* gelu_tanh.c - gelu by tanh instead of erf (Hendrycks and Gimpel 2016). */
#include "ops/gelu_tanh.h"

static const OpDef op_gelu_tanh, op_gelu_tanh_grad;

Value *gelu_tanh(Graph *g, Value *x)
{
    return graph_add(g, &op_gelu_tanh, NULL, 1, &x)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_gelu_tanh_grad, NULL, 2, (Value *[]){ n->in[0], dout[0] })->out[0];
}

/* The factor of x, and its slope. */
typedef struct Gate {
    double value, slope;
} Gate;

static Gate gate_of(double x)
{
    static const double cubic = 0.044715;
    const double root = sqrt(2 / M_PI), t = tanh(root * (x + cubic * x * x * x));
    return (Gate){ 0.5 * (1 + t), 0.5 * (1 - t * t) * root * (1 + 3 * cubic * x * x) };
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data;
    double *y = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) y[i] = x[i] * gate_of(x[i]).value;
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const double *x = l->in[0].data, *dy = l->in[1].data;
    double *dx = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) {
        Gate gate = gate_of(x[i]);
        dx[i] = dy[i] * (gate.value + x[i] * gate.slope);
    }
    return KERNEL_OK;
}

static const OpDef op_gelu_tanh = {
    .name = "gelu_tanh",
    .doc = "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
    .dims = "*->*",
    .grad = grad,
    .reference = reference,
};
static const OpDef op_gelu_tanh_grad = {
    .name = "gelu_tanh_grad",
    .doc = "gradient of gelu_tanh from its argument",
    .dims = "*,*->*",
    .reference = grad_reference,
};

const OpDef *const gelu_tanh_ops[] = { &op_gelu_tanh, &op_gelu_tanh_grad, NULL };
