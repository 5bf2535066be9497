/* muon.c - the steps of Muon (Jordan et al. 2024) around its matrix products. */
#include "ops/muon.h"

static const OpDef op_muon_momentum, op_unit_matrix, op_blend, op_muon_update;

static const Field momentum_attrs[] = {
    FIELD_FLOAT(MuonMomentum, momentum, NULL, 0, 1, "decay of the momentum"),
    FIELD_BOOL(MuonMomentum, nesterov, NULL, "look ahead along the momentum"),
    { 0 },
};
static const Field unit_attrs[] = {
    FIELD_FLOAT(UnitMatrix, eps, NULL, 0, 0, "the least norm to divide by"),
    { 0 },
};
static const Field blend_attrs[] = {
    FIELD_FLOAT(Blend, a, NULL, 0, 0, "factor of the first"),
    FIELD_FLOAT(Blend, b, NULL, 0, 0, "factor of the second"),
    { 0 },
};
static const Field update_attrs[] = {
    FIELD_FLOAT(MuonUpdate, weight_decay, NULL, 0, 0, "strength of the decay"),
    FIELD_FLOAT(MuonUpdate, scale, NULL, 0, 0, "factor of the rate for the direction"),
    FIELD_INT(MuonUpdate, group, NULL, 0, MAX_RATES - 1, "whose rate it is"),
    { 0 },
};

Value *muon_momentum(Graph *g, Value *grad, Value *momentum, Value *factor,
                     const MuonMomentum *attrs)
{
    Value *in[] = { grad, momentum, factor }, *into[] = { momentum, grad };
    return graph_add_into(g, &op_muon_momentum, op_muon_momentum.dims, NULL, attrs, 3, in, 2, into)
        ->out[2];
}

Value *unit_matrix(Graph *g, Value *x, double eps)
{
    return graph_add(g, &op_unit_matrix, &(UnitMatrix){ eps }, 1, &x)->out[0];
}

Value *blend(Graph *g, double a, Value *x, double b, Value *y)
{
    return graph_add(g, &op_blend, &(Blend){ a, b }, 2, (Value *[]){ x, y })->out[0];
}

void muon_update(Graph *g, Value *param, Value *direction, const MuonUpdate *attrs)
{
    Value *in[] = { param, direction };
    graph_add_into(g, &op_muon_update, op_muon_update.dims, NULL, attrs, 2, in, 1, &param);
}

static int momentum_reference(const Launch *l)
{
    const MuonMomentum *a = l->attrs;
    const double *grad = l->in[0].data, *m = l->in[1].data, factor = *(const double *)l->in[2].data;
    double *new_m = l->out[0].data, *cleared = l->out[1].data, *direction = l->out[2].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++) {
        const double g = grad[i] * factor;
        new_m[i] = a->momentum * m[i] + (1 - a->momentum) * g;
        direction[i] = a->nesterov ? a->momentum * new_m[i] + (1 - a->momentum) * g : new_m[i];
        cleared[i] = 0;
    }
    return KERNEL_OK;
}

static int unit_reference(const Launch *l)
{
    const Tensor *x = &l->in[0];
    const int64_t size = tensor_volume(x, x->n_dims - 2, x->n_dims);
    const double eps = ((const UnitMatrix *)l->attrs)->eps;
    for (int64_t m = 0; size && m < tensor_count(x) / size; m++) {
        const double *from = (const double *)x->data + m * size;
        double *to = (double *)l->out[0].data + m * size, sum = 0;
        for (int64_t i = 0; i < size; i++) sum += from[i] * from[i];
        const double norm = fmax(sqrt(sum), eps);
        for (int64_t i = 0; i < size; i++) to[i] = from[i] / norm;
    }
    return KERNEL_OK;
}

static int blend_reference(const Launch *l)
{
    const Blend *b = l->attrs;
    const double *x = l->in[0].data, *y = l->in[1].data;
    double *z = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++) z[i] = b->a * x[i] + b->b * y[i];
    return KERNEL_OK;
}

static int update_reference(const Launch *l)
{
    const MuonUpdate *a = l->attrs;
    const double *param = l->in[0].data, *direction = l->in[1].data;
    const double lr = l->now->rate[a->group].lr;
    double *out = l->out[0].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++)
        out[i] = param[i] * (1 - lr * a->weight_decay) - lr * a->scale * direction[i];
    return KERNEL_OK;
}

static const OpDef op_muon_momentum = {
    .name = "muon_momentum",
    .doc = "the direction of a step by momentum; clears the gradient",
    .dims = "*,*,->*,*,*",
    .attrs = momentum_attrs,
    .attrs_size = sizeof(MuonMomentum),
    .reference = momentum_reference,
};

static const OpDef op_unit_matrix = {
    .name = "unit_matrix",
    .doc = "matrices divided by their Frobenius norms",
    .dims = "*m!n!->*mn",
    .attrs = unit_attrs,
    .attrs_size = sizeof(UnitMatrix),
    .reference = unit_reference,
};

static const OpDef op_blend = {
    .name = "blend",
    .doc = "a x + b y with constant factors",
    .dims = "*,*->*",
    .attrs = blend_attrs,
    .attrs_size = sizeof(Blend),
    .reference = blend_reference,
};

static const OpDef op_muon_update = {
    .name = "muon_update",
    .doc = "one optimizer step of Muon along its direction",
    .dims = "*,*->*",
    .attrs = update_attrs,
    .attrs_size = sizeof(MuonUpdate),
    .reference = update_reference,
};

const OpDef *const muon_ops[] = { &op_muon_momentum, &op_unit_matrix, &op_blend, &op_muon_update,
                                  NULL };
