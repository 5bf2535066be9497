/* clamped_swiglu.c - a gated activation whose factors are bounded. */
#include "ops/clamped_swiglu.h"

static const OpDef op_clamped_swiglu, op_clamped_swiglu_grad;

static const Field attrs[] = {
    FIELD_FLOAT(ClampedSwiglu, limit, NULL, 0, 0, "bound of the factors"),
    FIELD_BOOL(ClampedSwiglu, plain, NULL, "gate sigmoid(gate) up"),
    { 0 },
};

Value *clamped_swiglu(Graph *g, Value *gate, Value *up, double limit)
{
    Value *in[] = { gate, up };
    return graph_add(g, &op_clamped_swiglu, &(ClampedSwiglu){ limit, false }, 2, in)->out[0];
}

Value *bounded_swiglu(Graph *g, Value *gate, Value *up, double limit)
{
    Value *in[] = { gate, up };
    return graph_add(g, &op_clamped_swiglu, &(ClampedSwiglu){ limit, true }, 2, in)->out[0];
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    Value *in[] = { n->in[0], n->in[1], dout[0] };
    const Node *made = graph_add(g, &op_clamped_swiglu_grad, n->attrs, 3, in);
    din[0] = made->out[0];
    din[1] = made->out[1];
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double slope_of(const Launch *l)
{
    return ((const ClampedSwiglu *)l->attrs)->plain ? 1 : CLAMPED_SWIGLU_ALPHA;
}

/* To the second factor. */
static double added_to(const Launch *l)
{
    return ((const ClampedSwiglu *)l->attrs)->plain ? 0 : 1;
}

static int reference(const Launch *l)
{
    const double *gate = l->in[0].data, *up = l->in[1].data,
                 limit = ((const ClampedSwiglu *)l->attrs)->limit, alpha = slope_of(l),
                 more = added_to(l);
    double *y = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) {
        const double a = gate[i] > limit ? limit : gate[i], u = up[i] > limit    ? limit
                                                                : up[i] < -limit ? -limit
                                                                                 : up[i];
        y[i] = a * sigmoid(alpha * a) * (u + more);
    }
    return KERNEL_OK;
}

/* Nothing flows through a factor that is at its bound. */
static int grad_reference(const Launch *l)
{
    const double *gate = l->in[0].data, *up = l->in[1].data, *dy = l->in[2].data,
                 limit = ((const ClampedSwiglu *)l->attrs)->limit, alpha = slope_of(l),
                 more = added_to(l);
    double *dgate = l->out[0].data, *dup = l->out[1].data;
    for (int64_t i = 0, n = tensor_count(&l->out[0]); i < n; i++) {
        const bool gate_flows = !(gate[i] > limit), up_flows = !(up[i] > limit || up[i] < -limit);
        const double a = gate_flows ? gate[i] : limit,
                     u = up_flows    ? up[i]
                         : up[i] > 0 ? limit
                                     : -limit,
                     s = sigmoid(alpha * a);
        dgate[i] = gate_flows ? dy[i] * (u + more) * s * (1 + alpha * a * (1 - s)) : 0;
        dup[i] = up_flows ? dy[i] * a * s : 0;
    }
    return KERNEL_OK;
}

static const OpDef op_clamped_swiglu = {
    .name = "clamped_swiglu",
    .doc = "gate sigmoid(1.702 gate) (up + 1), or gate sigmoid(gate) up, of bounded factors",
    .dims = "*,*->*",
    .attrs = attrs,
    .attrs_size = sizeof(ClampedSwiglu),
    .grad = grad,
    .reference = reference,
};
static const OpDef op_clamped_swiglu_grad = {
    .name = "clamped_swiglu_grad",
    .doc = "gradients of both factors",
    .dims = "*,*,*->*,*",
    .attrs = attrs,
    .attrs_size = sizeof(ClampedSwiglu),
    .reference = grad_reference,
};

const OpDef *const clamped_swiglu_ops[] = { &op_clamped_swiglu, &op_clamped_swiglu_grad, NULL };
