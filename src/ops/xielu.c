/* xielu.c - x squared above 0, an exponential below, each by a learned factor. */
#include "ops/xielu.h"

static const OpDef op_xielu, op_xielu_grad;

Value *xielu(Graph *g, Value *x, Value *alpha_p, Value *alpha_n)
{
    return graph_add(g, &op_xielu, NULL, 3, (Value *[]){ x, alpha_p, alpha_n })->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], n->in[2], dout[0] };
    const Node *made = graph_add(g, &op_xielu_grad, NULL, 4, in);
    for (int k = 0; k < 3; k++) din[k] = made->out[k];
}

static double softplus(double x)
{
    return x > 30 ? x : log1p(exp(x));
}

/* e^x - 1 - x, nearly. */
static double curve(double x)
{
    return expm1(fmin(x, XIELU_EPS)) - x;
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data, p = softplus(*(const double *)l->in[1].data),
                 n = XIELU_BETA + softplus(*(const double *)l->in[2].data);
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++)
        ((double *)l->out[0].data)[i] =
            (x[i] > 0 ? p * x[i] * x[i] : n * curve(x[i])) + XIELU_BETA * x[i];
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const double *x = l->in[0].data, *dy = l->in[3].data, of_p = *(const double *)l->in[1].data,
                 of_n = *(const double *)l->in[2].data, p = softplus(of_p),
                 n = XIELU_BETA + softplus(of_n);
    double above = 0, below = 0;
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        const double slope = x[i] > 0 ? 2 * p * x[i] : n * ((x[i] < XIELU_EPS ? exp(x[i]) : 0) - 1);
        ((double *)l->out[0].data)[i] = dy[i] * (slope + XIELU_BETA);
        if (x[i] > 0)
            above += dy[i] * x[i] * x[i];
        else
            below += dy[i] * curve(x[i]);
    }
    *(double *)l->out[1].data = above / (1 + exp(-of_p));
    *(double *)l->out[2].data = below / (1 + exp(-of_n));
    return KERNEL_OK;
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < 3; k++) out[k] = n->in[k]->dtype;
}

static const OpDef op_xielu = {
    .name = "xielu",
    .doc = "x squared above 0, an exponential below, by learned factors",
    .dims = "*,o,o->*",
    .grad = grad,
    .reference = reference,
};
static const OpDef op_xielu_grad = {
    .name = "xielu_grad",
    .doc = "gradients of x and of what the factors are made from",
    .dims = "*,o,o,*->*,o,o",
    .dtypes = grad_dtypes,
    .reference = grad_reference,
};

const OpDef *const xielu_ops[] = { &op_xielu, &op_xielu_grad, NULL };
