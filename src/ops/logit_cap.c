/* logit_cap.c - cap tanh(x / cap), as Gemma 2 bends its logits. */
#include "ops/logit_cap.h"

static const OpDef op_logit_cap, op_logit_cap_grad;

static const Field attrs[] = {
    FIELD_FLOAT(LogitCap, cap, NULL, 0, INFINITY, "bound of the results", .flags = FIELD_OPEN_MIN),
    { 0 },
};

Value *logit_cap(Graph *g, Value *x, double cap)
{
    return graph_add(g, &op_logit_cap, &(LogitCap){ cap }, 1, &x)->out[0];
}

/* From the result y: 1 - (y / cap)^2. */
static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->out[0], dout[0] };
    din[0] = graph_add(g, &op_logit_cap_grad, n->attrs, 2, in)->out[0];
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = dtype_for_sums(n->in[0]->dtype);
}

static int reference(const Launch *l)
{
    const double *x = l->in[0].data, cap = ((const LogitCap *)l->attrs)->cap;
    double *y = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) y[i] = cap * tanh(x[i] / cap);
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const double *y = l->in[0].data, *dy = l->in[1].data, cap = ((const LogitCap *)l->attrs)->cap;
    double *dx = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) {
        double t = y[i] / cap;
        dx[i] = dy[i] * (1 - t * t);
    }
    return KERNEL_OK;
}

static const OpDef op_logit_cap = {
    .name = "logit_cap",
    .doc = "cap tanh(x / cap)",
    .dims = "*->*",
    .attrs = attrs,
    .attrs_size = sizeof(LogitCap),
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
};
static const OpDef op_logit_cap_grad = {
    .name = "logit_cap_grad",
    .doc = "gradient of logit_cap from its result",
    .dims = "*,*->*",
    .attrs = attrs,
    .attrs_size = sizeof(LogitCap),
    .reference = grad_reference,
};

const OpDef *const logit_cap_ops[] = { &op_logit_cap, &op_logit_cap_grad, NULL };
