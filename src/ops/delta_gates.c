/* delta_gates.c - decays and rates of the gated delta rule. */
#include "ops/delta_gates.h"
#include <string.h>

static const OpDef op_delta_gates, op_delta_gates_grad;

static const Field delta_gates_fields[] = {
    FIELD_FLOAT(DeltaGatesAttrs, most, NULL, 0, 0, "what rates are below"),
    { 0 },
};

DeltaGates delta_gates(Graph *g, Value *x, Value *y, Value *speed, Value *bias, double most)
{
    const Node *n = graph_add(g, &op_delta_gates, &(DeltaGatesAttrs){ most }, 4,
                              (Value *[]){ x, y, speed, bias });
    return (DeltaGates){ n->out[0], n->out[1] };
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    CHECK(dout[0] && dout[1]); /* the rule reads both */
    Value *in[] = { n->in[0], n->in[1], n->in[2], n->in[3], dout[0], dout[1] };
    const Node *made = graph_add(g, &op_delta_gates_grad, n->attrs, 6, in);
    for (int k = 0; k < 4; k++) din[k] = made->out[k];
}

static double softplus(double x)
{
    return x > 30 ? x : log1p(exp(x));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data, *y = l->in[1].data, *speed = l->in[2].data,
                 *bias = l->in[3].data, most = ((const DeltaGatesAttrs *)l->attrs)->most;
    double *decay = l->out[0].data, *rate = l->out[1].data;
    const int64_t n = tensor_count(&l->in[2]);
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        decay[i] = -exp(speed[i % n]) * softplus(x[i] + bias[i % n]);
        rate[i] = most * sigmoid(y[i]);
    }
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const double *x = l->in[0].data, *y = l->in[1].data, *speed = l->in[2].data,
                 *bias = l->in[3].data, *ddecay = l->in[4].data, *drate = l->in[5].data,
                 most = ((const DeltaGatesAttrs *)l->attrs)->most;
    double *dx = l->out[0].data, *dy = l->out[1].data, *dspeed = l->out[2].data,
           *dbias = l->out[3].data;
    const int64_t n = tensor_count(&l->in[2]);
    memset(dspeed, 0, tensor_bytes(&l->out[2]));
    memset(dbias, 0, tensor_bytes(&l->out[3]));
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        const double a = x[i] + bias[i % n], s = sigmoid(y[i]), fast = exp(speed[i % n]);
        dx[i] = -ddecay[i] * fast * sigmoid(a);
        dy[i] = drate[i] * most * s * (1 - s);
        dspeed[i % n] -= ddecay[i] * fast * softplus(a);
        dbias[i % n] += dx[i];
    }
    return KERNEL_OK;
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = out[1] = dtype_for_sums(n->in[0]->dtype);
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < 4; k++) out[k] = n->in[k]->dtype;
}

static const OpDef op_delta_gates = {
    .name = "delta_gates",
    .doc = "how fast states of the gated delta rule fade, and by how much a token corrects them",
    .dims = "bsgr,bsgr,(gr),(gr)->bsgr,bsgr",
    .attrs = delta_gates_fields,
    .attrs_size = sizeof(DeltaGatesAttrs),
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
};
static const OpDef op_delta_gates_grad = {
    .name = "delta_gates_grad",
    .doc = "gradients of both products, of the speeds and of the biases",
    .dims = "bsgr,bsgr,(gr),(gr),bsgr,bsgr->bsgr,bsgr,(gr),(gr)",
    .attrs = delta_gates_fields,
    .attrs_size = sizeof(DeltaGatesAttrs),
    .dtypes = grad_dtypes,
    .reference = grad_reference,
};

const OpDef *const delta_gates_ops[] = { &op_delta_gates, &op_delta_gates_grad, NULL };
