/* optimizer.c - a plugin's optimizer: one op of its own updates a parameter and what is kept of it.
 */
#include "models/model.h"
#include "optim/optim.h"
#include "optim/weight_decay.h"
#include "plugin/parts.h"

typedef struct Own {
    double lr;
    Model *wrapped_model;
    double weight_decay;
    StringList weight_decay_groups_excluded;
    int64_t group; /* of a node: whose rate it is */
} Own;
_Static_assert(sizeof(Own) <= OWN_SETTINGS, "the program's settings fit in front");

typedef struct PluginOptimizer {
    ComponentDef component;
    OpDef op;
    const ModalitiesOptimizer *from;
    int n_states;
} PluginOptimizer;

typedef struct Made {
    Optimizer base;
    const PluginOptimizer *def;
    const Own *settings;
} Made;

/* Inputs: parameter, gradient, clipping factor, states; results: parameter, gradient, states. */
static int step(const Launch *l)
{
    const PluginOptimizer *o =
        (const PluginOptimizer *)((const char *)l->op - offsetof(PluginOptimizer, op));
    const Own *attrs = l->attrs;
    const double *param = l->in[0].data, *grad = l->in[1].data,
                 factor = *(const double *)l->in[2].data;
    double *new_param = l->out[0].data, *clipped = l->out[1].data;
    ModalitiesUpdate u = { .param = new_param,
                           .grad = clipped,
                           .n = tensor_count(&l->in[0]),
                           .lr = l->now->rate[attrs->group].lr,
                           .weight_decay = attrs->weight_decay,
                           .step = l->now->updates };
    for (int64_t i = 0; i < u.n; i++) {
        new_param[i] = param[i];
        clipped[i] = grad[i] * factor;
    }
    for (int s = 0; s < o->n_states; s++) {
        const double *old = l->in[3 + s].data;
        u.state[s] = l->out[2 + s].data;
        for (int64_t i = 0; i < u.n; i++) u.state[s][i] = old[i];
    }
    o->from->update(plugin_settings(l->attrs), &u);
    for (int64_t i = 0; i < u.n; i++) clipped[i] = 0;
    return KERNEL_OK;
}

static void update(const Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   const ParamGroup *group)
{
    const Made *m = (const Made *)self;
    Value *in[3 + MODALITIES_MAX_STATES] = { param, grad, factor },
                  *into[2 + MODALITIES_MAX_STATES] = { param, grad };
    for (int s = 0; s < m->def->n_states; s++) {
        const char *name = arena_printf(g->arena, "%s.%s", m->def->from->states[s], param->name);
        in[3 + s] = into[2 + s] = graph_state(g, name, param->dtype, param->n_dims, param->dim);
    }
    Own *attrs = arena_copy(g->arena, m->settings, m->def->op.attrs_size);
    attrs->weight_decay = group->weight_decay;
    attrs->group = group->number;
    graph_add_into(g, &m->def->op, m->def->op.dims, NULL, attrs, 3 + m->def->n_states, in,
                   2 + m->def->n_states, into);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Own *s = settings;
    const PluginOptimizer *def = (const PluginOptimizer *)builder_self(b)->def;
    const StringList *groups = &s->weight_decay_groups_excluded;
    const char **excluded = NEW_N(builder_arena(b), const char *, groups->n + 1);
    for (int64_t i = 0; i < groups->n; i++) excluded[i] = groups->item[i];
    Made *m = NEW(builder_arena(b), Made);
    *m = (Made){ .base = { .update = update,
                           .name = def->from->variant,
                           .lr = s->lr,
                           .weight_decay = s->weight_decay,
                           .excluded = excluded,
                           .model = s->wrapped_model },
                 .def = def,
                 .settings = s };
    *out = m;
    return weight_decay_check(&m->base);
}

/* clang-format off */
static const Field own[] = {
    FIELD_FLOAT(Own, lr, NULL, 0, INFINITY, "learning rate that schedulers start from"),
    FIELD_COMPONENT(Own, wrapped_model, Model, "model", NULL, "whose parameters are updated", .alias = "model_parts", .flags = FIELD_MAPS),
    FIELD_FLOAT(Own, weight_decay, "0.0", 0, INFINITY, "decay of the parameters outside the excluded groups"),
    FIELD_STRINGS(Own, weight_decay_groups_excluded, "[]", 0, 0, "groups without decay: linear, embedding, layernorm"),
    { 0 },
};
static const Field decay[] = {
    FIELD_FLOAT(Own, weight_decay, NULL, 0, 0, "strength of the decay"),
    FIELD_INT(Own, group, "0", 0, MAX_RATES - 1, "whose rate it is"),
    { 0 },
};
/* clang-format on */

/* "*,*,,*->*,*,*" for one state. */
static const char *dims_of(Arena *a, int n_states)
{
    Text t = { 0 };
    text_puts(&t, "*,*,");
    for (int s = 0; s < n_states; s++) text_puts(&t, ",*");
    text_puts(&t, "->*,*");
    for (int s = 0; s < n_states; s++) text_puts(&t, ",*");
    const char *dims = arena_string(a, t.ptr);
    text_free(&t);
    return dims;
}

Error *plugin_optimizer(Arena *a, const ModalitiesOptimizer *from, const ComponentDef **out)
{
    if (!from->variant || !from->update) return error_new("an optimizer needs variant and update");
    PluginOptimizer *o = NEW(a, PluginOptimizer);
    const Field *attrs;
    const size_t size = OWN_SETTINGS + from->settings_size;
    const ComponentDef self = { .kind = "optimizer",
                                .variant = from->variant,
                                .doc = from->doc,
                                .fields = own,
                                .build = build };
    TRY(plugin_component(a, self, from->settings, from->settings_size, &o->component));
    TRY(plugin_fields(a, decay, from->settings, from->settings_size, &attrs));
    while (o->n_states < MODALITIES_MAX_STATES && from->states[o->n_states]) o->n_states++;
    o->from = from;
    o->op = (OpDef){ .name = from->variant,
                     .doc = "one optimizer step: updates what it is given, clears the gradient",
                     .dims = dims_of(a, o->n_states),
                     .attrs = attrs,
                     .attrs_size = size,
                     .reference = step };
    *out = &o->component;
    return NULL;
}
