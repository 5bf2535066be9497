/* delta_gates.c - decays and rates of linear attention. */
#include "ops/delta_step.h"
#include <string.h>

static const OpDef op_delta_gates, op_delta_gates_grad;

static const Field delta_gates_fields[] = {
    FIELD_FLOAT(DeltaGatesAttrs, most, NULL, 0, 0, "what rates are below"),
    FIELD_FLOAT(DeltaGatesAttrs, least_step, "0.0", 0, 0, "smaller steps are that"),
    FIELD_FLOAT(DeltaGatesAttrs, most_step, "0.0", 0, 0, "larger steps are that; 0: none are"),
    FIELD_FLOAT(DeltaGatesAttrs, bound, "0.0", 0, 0,
                "decays are above minus that; 0: there is no bound"),
    { 0 },
};

DeltaGates delta_gates(Graph *g, Value *x, Value *y, Value *speed, Value *bias,
                       const DeltaGatesAttrs *attrs)
{
    const bool by_row = x->n_dims == 5;
    CHECK(y || (!by_row && !(attrs->bound > 0)));
    const char *dims = by_row ? "bsgrd,(gr),(grd),bsgr->bsgrd,bsgr"
                       : y    ? "bsgr,(gr),(gr),bsgr->bsgr,bsgr"
                              : "bsgr,(gr),(gr)->bsgr,bsgr";
    const Node *n = graph_add_dims(g, &op_delta_gates, dims, NULL, attrs, y ? 4 : 3,
                                   (Value *[]){ x, speed, bias, y });
    return (DeltaGates){ n->out[0], n->out[1] };
}

static void grad(Graph *g, const Node *n, Value *const *dout, Value **din)
{
    CHECK(dout[0] && dout[1]); /* the rule reads both */
    Value *in[] = {
        n->in[0], n->in[1], n->in[2], dout[0], dout[1], n->n_in == 4 ? n->in[3] : NULL
    };
    const char *dims = n->in[0]->n_dims == 5
                           ? "bsgrd,(gr),(grd),bsgrd,bsgr,bsgr->bsgrd,(gr),(grd),bsgr"
                       : n->n_in == 4 ? "bsgr,(gr),(gr),bsgr,bsgr,bsgr->bsgr,(gr),(gr),bsgr"
                                      : "bsgr,(gr),(gr),bsgr,bsgr->bsgr,(gr),(gr)";
    const Node *made =
        graph_add_dims(g, &op_delta_gates_grad, dims, NULL, n->attrs, n->n_in + 2, in);
    for (int k = 0; k < n->n_in; k++) din[k] = made->out[k];
}

/* The decays of a token, and those of each of its heads. */
typedef struct Counts {
    int64_t token, head;
} Counts;

static Counts counts_of(const Launch *l)
{
    const int64_t n = tensor_count(&l->in[2]);
    return (Counts){ n, n / tensor_count(&l->in[1]) };
}

static int reference(const Launch *l)
{
    const DeltaGatesAttrs *a = l->attrs;
    const double *x = l->in[0].data, *speed = l->in[1].data, *bias = l->in[2].data,
                 *y = l->n_in == 4 ? l->in[3].data : NULL;
    double *decay = l->out[0].data, *rate = l->out[1].data;
    const Counts n = counts_of(l);
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        const DeltaDecay d = delta_decay(a, x[i] + bias[i % n.token], speed[i % n.token / n.head]);
        decay[i] = -d.fast * d.step;
        if (!y) rate[i] = d.step;
    }
    for (int64_t i = 0; y && i < tensor_count(&l->out[1]); i++)
        rate[i] = a->most * delta_sigmoid(y[i]);
    return KERNEL_OK;
}

static int grad_reference(const Launch *l)
{
    const DeltaGatesAttrs *a = l->attrs;
    const double *x = l->in[0].data, *speed = l->in[1].data, *bias = l->in[2].data,
                 *ddecay = l->in[3].data, *drate = l->in[4].data,
                 *y = l->n_in == 6 ? l->in[5].data : NULL;
    double *dx = l->out[0].data, *dspeed = l->out[1].data, *dbias = l->out[2].data,
           *dy = y ? l->out[3].data : NULL;
    const Counts n = counts_of(l);
    memset(dspeed, 0, tensor_bytes(&l->out[1]));
    memset(dbias, 0, tensor_bytes(&l->out[2]));
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        const int64_t head = i % n.token / n.head;
        const DeltaDecay d = delta_decay(a, x[i] + bias[i % n.token], speed[head]);
        dx[i] = ((y ? 0 : drate[i]) - ddecay[i] * d.fast) * d.slope;
        dspeed[head] -= ddecay[i] * d.fast * d.by_speed;
        dbias[i % n.token] += dx[i];
    }
    for (int64_t i = 0; y && i < tensor_count(&l->in[4]); i++) {
        const double s = delta_sigmoid(y[i]);
        dy[i] = drate[i] * a->most * s * (1 - s);
    }
    return KERNEL_OK;
}

static void dtypes(const Node *n, Dtype *out)
{
    out[0] = out[1] = dtype_for_sums(n->in[0]->dtype);
}

static void grad_dtypes(const Node *n, Dtype *out)
{
    for (int k = 0; k < 3; k++) out[k] = n->in[k]->dtype;
    if (n->n_in == 6) out[3] = n->in[5]->dtype;
}

static const OpDef op_delta_gates = {
    .name = "delta_gates",
    .doc = "how fast states of linear attention fade, and by how much a token corrects them, or "
           "adds to them",
    .attrs = delta_gates_fields,
    .attrs_size = sizeof(DeltaGatesAttrs),
    .dtypes = dtypes,
    .grad = grad,
    .reference = reference,
};
static const OpDef op_delta_gates_grad = {
    .name = "delta_gates_grad",
    .doc = "gradients of the products, of the speeds and of the biases",
    .attrs = delta_gates_fields,
    .attrs_size = sizeof(DeltaGatesAttrs),
    .dtypes = grad_dtypes,
    .reference = grad_reference,
};

const OpDef *const delta_gates_ops[] = { &op_delta_gates, &op_delta_gates_grad, NULL };
