/* lion.c - optimizer.lion (Chen et al. 2023): steps by the sign of a blend of gradient and moment.
 */
#include "config/builder.h"
#include "graph/op.h"
#include "optim/optim.h"

typedef struct Settings {
    double lr;
    struct Model *wrapped_model;
    double beta1, beta2, weight_decay;
} Settings;

typedef struct Attrs {
    double beta1, beta2, weight_decay;
    int64_t group;
} Attrs;

typedef struct Lion {
    Optimizer base;
    Attrs attrs;
} Lion;

static int step(const Launch *l)
{
    const Attrs *a = l->attrs;
    const double *param = l->in[0].data, *grad = l->in[1].data, *m = l->in[2].data,
                 factor = *(const double *)l->in[3].data, lr = l->now->rate[a->group].lr;
    double *new_param = l->out[0].data, *new_m = l->out[1].data, *cleared = l->out[2].data;
    for (int64_t i = 0, n = tensor_count(&l->in[0]); i < n; i++) {
        double g = grad[i] * factor, blend = a->beta1 * m[i] + (1 - a->beta1) * g;
        double sign = (blend > 0) - (blend < 0);
        new_param[i] = param[i] - lr * (sign + a->weight_decay * param[i]);
        new_m[i] = a->beta2 * m[i] + (1 - a->beta2) * g;
        cleared[i] = 0;
    }
    return KERNEL_OK;
}

static const Field attr_fields[] = {
    FIELD_FLOAT(Attrs, beta1, NULL, 0, 1, "share of the moment in a step"),
    FIELD_FLOAT(Attrs, beta2, NULL, 0, 1, "decay of the moment"),
    FIELD_FLOAT(Attrs, weight_decay, NULL, 0, 0, "strength of the decay"),
    FIELD_INT(Attrs, group, NULL, 0, 0, "whose rate it is"),
    { 0 },
};

static const OpDef op_lion = {
    .name = "lion",
    .doc = "one optimizer step: updates param and m, clears the gradient",
    .dims = "*,*,*,->*,*,*",
    .attrs = attr_fields,
    .attrs_size = sizeof(Attrs),
    .reference = step,
};

static void update(const Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   const ParamGroup *group)
{
    Attrs attrs = ((const Lion *)self)->attrs;
    attrs.weight_decay = group->weight_decay;
    attrs.group = group->number;
    const char *name = arena_printf(g->arena, "moment.%s", param->name);
    Value *m = graph_state(g, name, param->dtype, param->n_dims, param->dim);
    Value *in[] = { param, grad, m, factor }, *into[] = { param, m, grad };
    graph_add_into(g, &op_lion, op_lion.dims, NULL, &attrs, 4, in, 3, into);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    static const char *const none[] = { NULL };
    const Settings *s = settings;
    Lion *o = NEW(builder_arena(b), Lion);
    *o = (Lion){ .base = { .update = update,
                           .name = "lion",
                           .lr = s->lr,
                           .weight_decay = s->weight_decay,
                           .excluded = none,
                           .model = s->wrapped_model },
                 .attrs = { .beta1 = s->beta1, .beta2 = s->beta2 } };
    *out = o;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_FLOAT(Settings, lr, NULL, 0, 0, "learning rate that schedulers start from"),
    FIELD_COMPONENT(Settings, wrapped_model, struct Model, "model", NULL, "whose parameters are updated"),
    FIELD_FLOAT(Settings, beta1, "0.9", 0, 1, "share of the moment in a step"),
    FIELD_FLOAT(Settings, beta2, "0.99", 0, 1, "decay of the moment"),
    FIELD_FLOAT(Settings, weight_decay, "0.0", 0, INFINITY, "decay of the parameters"),
    { 0 },
};
/* clang-format on */

const ComponentDef optimizer_lion = {
    .kind = "optimizer",
    .variant = "lion",
    .doc = "Lion: steps of equal size in every element",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
