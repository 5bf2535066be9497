/* adam.c - optimizer.adam (Kingma and Ba 2015; L2 in the gradient) and optimizer.adam_w (Loshchilov
 * and Hutter 2019; decoupled decay). They differ in one flag. */
#include "ops/adam.h"
#include "base/json.h"
#include "config/builder.h"
#include "models/model.h"
#include "optim/optim.h"
#include "optim/weight_decay.h"

typedef struct Settings {
    double lr;
    Model *wrapped_model;
    FloatList betas;
    double eps, weight_decay;
    StringList weight_decay_groups_excluded;
    const bool *foreach, *fused;
    int master_weights; /* MasterWeights */
    int exp_avg_dtype;  /* of moment_dtypes */
} Settings;

typedef enum MasterWeights { MASTER_HALVES, MASTER_F32 } MasterWeights;
static const char *const master_weights[] = { "halves", "FP_32", NULL };
static const char *const moment_dtypes[] = { "FP_32", "BF_16", NULL };

typedef struct Adam {
    Optimizer base;
    AdamSettings attrs;
    const bool *foreach, *fused;
    Dtype exp_avg_dtype;
} Adam;

static Value *moment(Graph *g, const char *name, const Value *param, Dtype t)
{
    const char *full = arena_printf(g->arena, "%s.%s", name, param->name);
    return graph_state(g, full, t, param->n_dims, param->dim);
}

static void update(const Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   const ParamGroup *group)
{
    const Adam *o = (const Adam *)self;
    const Dtype t = o->exp_avg_dtype == BF16 && param->dtype == F32 ? BF16 : param->dtype;
    AdamSettings attrs = o->attrs;
    attrs.weight_decay = group->weight_decay;
    attrs.group = group->number;
    adam(g, param, grad, moment(g, "exp_avg", param, t),
         moment(g, "exp_avg_sq", param, param->dtype), factor, &attrs);
}

static const char *bool_text(const bool *x)
{
    return !x ? "null" : *x ? "true" : "false";
}

static void torch_group(const Optimizer *self, double lr, double beta1, double weight_decay,
                        Text *out)
{
    const Adam *o = (const Adam *)self;
    text_puts(out, "\"weight_decay\": ");
    text_json_double(out, weight_decay);
    text_puts(out, ", \"lr\": ");
    text_json_double(out, lr);
    text_puts(out, ", \"betas\": {\"tuple\": [");
    text_json_double(out, isnan(beta1) ? o->attrs.beta1 : beta1);
    text_puts(out, ", ");
    text_json_double(out, o->attrs.beta2);
    text_puts(out, "]}, \"eps\": ");
    text_json_double(out, o->attrs.eps);
    text_printf(
        out,
        ", \"amsgrad\": false, \"maximize\": false, \"foreach\": %s, \"capturable\": false, "
        "\"differentiable\": false, \"fused\": %s, \"decoupled_weight_decay\": %s",
        bool_text(o->foreach), bool_text(o->fused), o->attrs.decoupled ? "true" : "false");
}

static Error *check(const void *settings)
{
    const Settings *s = settings;
    if (s->betas.n != 2)
        return error_new("betas has %lld numbers instead of 2", (long long)s->betas.n);
    for (int i = 0; i < 2; i++)
        if (!(s->betas.item[i] >= 0 && s->betas.item[i] < 1))
            return error_new("betas.%d: %g: allowed are 0 <= beta < 1", i, s->betas.item[i]);
    return NULL;
}

static Error *make(Builder *b, const Settings *s, bool decoupled, void **out)
{
    Arena *a = builder_arena(b);
    Adam *o = NEW(a, Adam);
    *o = (Adam){
        .base = { .update = update,
                  .name = builder_self(b)->variant,
                  .lr = s->lr,
                  .weight_decay = s->weight_decay,
                  .excluded = excluded_groups(a, &s->weight_decay_groups_excluded),
                  .torch_group = torch_group,
                  .keeps_whole = s->master_weights == MASTER_F32,
                  .model = s->wrapped_model },
        .attrs = { .beta1 = s->betas.item[0],
                   .beta2 = s->betas.item[1],
                   .eps = s->eps,
                   .decoupled = decoupled },
        .foreach = s->foreach,
        .fused = s->fused,
        .exp_avg_dtype = s->exp_avg_dtype ? BF16 : F32,
    };
    *out = o;
    return weight_decay_check(&o->base);
}

static Error *build_adam(Builder *b, const void *settings, void **out)
{
    return make(b, settings, false, out);
}

static Error *build_adam_w(Builder *b, const void *settings, void **out)
{
    return make(b, settings, true, out);
}

/* clang-format off */
static const Field fields[] = {
    FIELD_FLOAT(Settings, lr, NULL, 0, INFINITY, "learning rate that schedulers start from"),
    FIELD_COMPONENT(Settings, wrapped_model, Model, "model", NULL, "whose parameters are updated", .alias = "model_parts", .flags = FIELD_MAPS),
    FIELD_FLOATS(Settings, betas, NULL, 2, 2, "decay of the two moments"),
    FIELD_FLOAT(Settings, eps, NULL, 0, INFINITY, "added to the root of the second moment"),
    FIELD_FLOAT(Settings, weight_decay, NULL, 0, INFINITY, "decay of the parameters outside the excluded groups"),
    FIELD_STRINGS(Settings, weight_decay_groups_excluded, NULL, 0, 0, "groups without decay: linear, embedding, layernorm"),
    FIELD_BOOL(Settings, foreach, "null", "all parameters by one call", .no_effect = "always so"),
    FIELD_BOOL(Settings, fused, "null", "the update in one kernel", .no_effect = "always so"),
    FIELD_CHOICE(Settings, master_weights, "halves", master_weights, "how parameters are kept that only products in bf16 read: halves as bf16 and the 16 bits that it lacks of f32, f32 as that beside a copy in bf16; the numbers are the same"),
    FIELD_CHOICE(Settings, exp_avg_dtype, "FP_32", moment_dtypes, "dtype of the first moment; bf16 takes half the memory, and rounds it once per step"),
    { 0 },
};
/* clang-format on */

const ComponentDef optimizer_adam = {
    .kind = "optimizer",
    .variant = "adam",
    .doc = "Adam; weight decay is added to the gradient",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build_adam,
};

const ComponentDef optimizer_adam_w = {
    .kind = "optimizer",
    .variant = "adam_w",
    .doc = "AdamW; weight decay is decoupled from the gradient",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build_adam_w,
};
