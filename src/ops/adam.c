/* adam.c - one step of Adam (Kingma and Ba 2015) or AdamW (Loshchilov and Hutter 2019), in place.
 *
 * The gradient is read once, scaled by the clipping factor and cleared for the next step. */
#include "ops/adam.h"
#include "tensor/halves.h"

static const OpDef op_adam;

static const Field attrs[] = {
    FIELD_FLOAT(AdamSettings, beta1, NULL, 0, 1, "decay of the first moment"),
    FIELD_FLOAT(AdamSettings, beta2, NULL, 0, 1, "decay of the second moment"),
    FIELD_FLOAT(AdamSettings, eps, NULL, 0, 0, "added to the root of the second moment"),
    FIELD_FLOAT(AdamSettings, weight_decay, NULL, 0, 0, "strength of the decay"),
    FIELD_INT(AdamSettings, group, "0", 0, MAX_RATES - 1, "whose rate it is"),
    FIELD_BOOL(AdamSettings, decoupled, NULL, "AdamW: decay outside of the gradient"),
    { 0 },
};

void adam(Graph *g, Value *param, Value *grad, Value *m, Value *v, Value *factor,
          const AdamSettings *a)
{
    Value *in[] = { param, grad, m, v, factor }, *into[] = { param, m, v, grad };
    graph_add_into(g, &op_adam, op_adam.dims, NULL, a, 5, in, 4, into);
}

static double whole_param(const Launch *l, int64_t i)
{
    const double param = ((const double *)l->in[0].data)[i];
    if (l->n_in < 6) return param;
    return float_of_halves(high_half_of((float)param),
                           (int16_t)((const int32_t *)l->in[5].data)[i]);
}

static void put_param(const Launch *l, int64_t i, double x)
{
    double *param = l->out[0].data;
    param[i] = x;
    if (l->n_in < 6) return;
    param[i] = bf16_to_float(high_half_of((float)x));
    ((int32_t *)l->out[4].data)[i] = low_half_of((float)x);
}

static int reference(const Launch *l)
{
    const AdamSettings *a = l->attrs;
    const double *grad = l->in[1].data;
    const double *m = l->in[2].data, *v = l->in[3].data, factor = *(const double *)l->in[4].data;
    double *new_m = l->out[1].data, *new_v = l->out[2].data;
    const Rate *rate = &l->now->rate[a->group];
    double *cleared = l->out[3].data, lr = rate->lr, t = (double)l->now->updates + 1;
    double beta1 = rate->has_beta1 ? rate->beta1 : a->beta1;
    double unbias1 = 1 - pow(beta1, t), unbias2 = sqrt(1 - pow(a->beta2, t));
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++) {
        double p = whole_param(l, i), g = grad[i] * factor;
        if (a->decoupled)
            p *= 1 - lr * a->weight_decay;
        else
            g += a->weight_decay * p;
        new_m[i] = beta1 * m[i] + (1 - beta1) * g;
        new_v[i] = a->beta2 * v[i] + (1 - a->beta2) * g * g;
        put_param(l, i, p - lr / unbias1 * new_m[i] / (sqrt(new_v[i]) / unbias2 + a->eps));
        cleared[i] = 0;
    }
    return KERNEL_OK;
}

static const OpDef op_adam = {
    .name = "adam",
    .doc = "one optimizer step: updates param, m and v, clears the gradient",
    .dims = "*,*,*,*,->*,*,*,*",
    .halves = "*,*,*,*,,*->*,*,*,*,*",
    .attrs = attrs,
    .attrs_size = sizeof(AdamSettings),
    .reference = reference,
};

const OpDef *const adam_ops[] = { &op_adam, NULL };
