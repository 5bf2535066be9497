/* average.c - averages of parameters: kept by training, read by evaluation; model.averaged asks for
 * them. */
#include "passes/average.h"
#include "config/builder.h"
#include "graph/op.h"
#include "models/model.h"
#include "ops/average.h"
#include "passes/all_passes.h"

static Error *keep(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    const Average *s = settings;
    const int64_t n = g->n_values;
    g->phase = UPDATE;
    for (int64_t i = 0; i < n; i++) {
        Value *v = g->value[i];
        if (v->kind != VALUE_PARAM || v->is_frozen) continue;
        const char *name = arena_printf(g->arena, AVERAGE "%s", v->name);
        average(g, v, graph_state(g, name, v->dtype, v->n_dims, v->dim), s->decay);
    }
    g->phase = FORWARD;
    return NULL;
}

static bool is_kept(const Purpose *p, const void **settings)
{
    *settings = p->model->average;
    return p->model->average && p->optimize;
}

const PassDef pass_average = {
    .name = "average",
    .doc = "averages of parameters over the steps",
    .run = keep,
    .wanted = is_kept,
};

static Error *read_averages(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh, (void)settings;
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind == VALUE_PARAM && !v->is_frozen)
            v->name = arena_printf(g->arena, AVERAGE "%s", v->name);
    }
    return NULL;
}

static bool is_read(const Purpose *p, const void **settings)
{
    *settings = p->model->average;
    return p->averages && p->model->average && p->model->average->evaluation;
}

const PassDef pass_read_averages = {
    .name = "read_averages",
    .doc = "averages stand for the parameters, in evaluation and generation",
    .run = read_averages,
    .wanted = is_read,
};

typedef struct Settings {
    Model *model;
    double decay;
    bool evaluation;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Average *a = NEW(builder_arena(b), Average);
    *a = (Average){ s->decay, s->evaluation };
    s->model->average = a;
    *out = s->model;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_FLOAT(Settings, decay, "0.999", 0, 1, "of the average in a step", .flags = FIELD_OPEN_MAX),
    FIELD_BOOL(Settings, evaluation, "true", "evaluation and generation read the averages"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_averaged = {
    .kind = "model",
    .variant = "averaged",
    .doc = "training keeps an exponential moving average of the parameters",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
