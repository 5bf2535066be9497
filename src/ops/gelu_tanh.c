/* gelu_tanh.c - gelu by tanh instead of erf (Hendrycks and Gimpel 2016). */
#include "ops/gelu_tanh.h"

Value *gelu_tanh(Graph *g, Value *x)
{
    return graph_add(g, &op_gelu_tanh, NULL, 1, &x)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    din[0] = graph_add(g, &op_gelu_tanh_grad, NULL, 2, (Value *[]){ n->in[0], dout[0] })->out[0];
}

double gelu_tanh_of(double x, double *slope)
{
    static const double cubic = 0.044715;
    const double root = sqrt(2 / M_PI), t = tanh(root * (x + cubic * x * x * x));
    const double gate = 0.5 * (1 + t);
    *slope = gate + x * 0.5 * (1 - t * t) * root * (1 + 3 * cubic * x * x);
    return x * gate;
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data;
    double *y = l->out[0].data, slope;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) y[i] = gelu_tanh_of(x[i], &slope);
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const double *x = l->in[0].data, *dy = l->in[1].data;
    double *dx = l->out[0].data, slope;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) {
        gelu_tanh_of(x[i], &slope);
        dx[i] = dy[i] * slope;
    }
    return KERNEL_OK;
}

const OpDef op_gelu_tanh = {
    .name = "gelu_tanh",
    .doc = "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
    .dims = "*->*",
    .grad = grad,
    .reference = reference,
};
const OpDef op_gelu_tanh_grad = {
    .name = "gelu_tanh_grad",
    .doc = "gradient of gelu_tanh from its argument",
    .dims = "*,*->*",
    .reference = grad_reference,
};

const OpDef *const gelu_tanh_ops[] = { &op_gelu_tanh, &op_gelu_tanh_grad, NULL };
