/* combined.c - optimizer.combined: several optimizers in one run, each for some of the parameters;
 * scheduler.combined: a schedule for each of them. */
#include "config/builder.h"
#include "models/parameter_pattern.h"
#include "optim/param_groups.h"
#include "optim/scheduler_parts.h"
#include <string.h>

typedef struct PartSettings {
    Optimizer *optimizer;
    StringList parameters;
    const char *name;
} PartSettings;

typedef struct PartList {
    PartSettings *item;
    int64_t n;
} PartList;

typedef struct Settings {
    struct Model *wrapped_model;
    PartList parts;
} Settings;

static Error *check_names(const OptimizerPart *part, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(part[i].name, part[k].name))
                return error_new("parts.%d and parts.%d have the same name %s; `name` gives them "
                                 "others",
                                 k, i, part[i].name);
    return NULL;
}

static Error *make_part(Arena *a, const Settings *s, int i, OptimizerPart *out)
{
    const PartSettings *p = &s->parts.item[i];
    if (p->optimizer->n_parts)
        return error_new("parts.%d.optimizer: this is optimizer.combined itself", i);
    if (p->optimizer->model != s->wrapped_model)
        return error_new("parts.%d.optimizer: its wrapped_model is another one", i);
    if (p->optimizer->state_path)
        return error_new("parts.%d.optimizer: states are loaded for all parts together", i);
    for (int k = 0; k < i; k++)
        if (s->parts.item[k].optimizer == p->optimizer)
            return error_new("parts.%d.optimizer: it is that of parts.%d, too", i, k);
    *out = (OptimizerPart){ .name = p->name ? p->name : p->optimizer->name,
                            .optimizer = p->optimizer };
    return parameter_patterns(a, arena_printf(a, "parts.%d.parameters", i), &p->parameters,
                              &out->parameters);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    static const char *const none[] = { NULL };
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    const int n = (int)s->parts.n;
    OptimizerPart *part = NEW_N(a, OptimizerPart, n);
    for (int i = 0; i < n; i++) TRY(make_part(a, s, i, &part[i]));
    TRY(check_names(part, n));
    Optimizer *o = NEW(a, Optimizer);
    *o = (Optimizer){ .name = "combined",
                      .lr = part[0].optimizer->lr,
                      .excluded = none,
                      .part = part,
                      .n_parts = n,
                      .model = s->wrapped_model };
    if (param_groups_count(o) > MAX_RATES)
        return error_new("parts have %d groups of parameters; allowed are %d",
                         param_groups_count(o), MAX_RATES);
    *out = o;
    return NULL;
}

/* clang-format off */
static const Field part_fields[] = {
    FIELD_COMPONENT(PartSettings, optimizer, Optimizer, "optimizer", NULL, "what updates them"),
    FIELD_STRINGS(PartSettings, parameters, NULL, 1, INFINITY, "patterns of names (*.mlp.*), or @matrices, @embeddings, @head, @norms, @biases; * for all that is left"),
    FIELD_STRING(PartSettings, name, "null", "what results call it; its optimizer's variant if left out"),
    { 0 },
};
static const Field fields[] = {
    FIELD_COMPONENT(Settings, wrapped_model, struct Model, "model", NULL, "the model of all parts", .alias = "model_parts", .flags = FIELD_MAPS),
    FIELD_STRUCTS(Settings, parts, PartList, part_fields, NULL, 1, MAX_RATES, "optimizers and their parameters: each parameter belongs to the first part that takes it"),
    { 0 },
};
/* clang-format on */

const ComponentDef optimizer_combined = {
    .kind = "optimizer",
    .variant = "combined",
    .doc = "several optimizers, each for some of the parameters",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};

typedef struct Schedulers {
    Optimizer *optimizer;
    ComponentList schedulers;
} Schedulers;

static double rate(const Scheduler *self, int group, int64_t step)
{
    int own;
    const Scheduler *s = scheduler_of_group(self, self->optimizer, group, &own);
    return s ? s->rate(s, own, step) : self->base_lr[group];
}

static Error *check_part(const Schedulers *c, int64_t i)
{
    const Scheduler *s = c->schedulers.item[i];
    if (s->n_parts)
        return error_new("schedulers.%lld: this is scheduler.combined itself", (long long)i);
    if (!optimizer_has(c->optimizer, s->optimizer) || s->optimizer == c->optimizer)
        return error_new("schedulers.%lld: its optimizer is no part of this one's", (long long)i);
    for (int64_t k = 0; k < i; k++)
        if (((const Scheduler *)c->schedulers.item[k])->optimizer == s->optimizer)
            return error_new("schedulers.%lld: its optimizer has a schedule already, that of "
                             "schedulers.%lld",
                             (long long)i, (long long)k);
    return NULL;
}

static Error *build_schedulers(Builder *b, const void *settings, void **out)
{
    const Schedulers *c = settings;
    const int n = (int)c->schedulers.n;
    if (!c->optimizer->n_parts)
        return error_new("optimizer: allowed is optimizer.combined; others have one scheduler");
    Scheduler *s = scheduler_new(b, c->optimizer, -1, c);
    const Scheduler **part = NEW_N(builder_arena(b), const Scheduler *, n);
    for (int i = 0; i < n; i++) {
        TRY(check_part(c, i));
        part[i] = c->schedulers.item[i];
        if (part[i]->last_step < s->last_step) s->last_step = part[i]->last_step;
        if (part[i]->first_step != part[0]->first_step)
            return error_new("schedulers.%d: its last_epoch differs from that of schedulers.0", i);
    }
    s->rate = rate;
    s->first_step = part[0]->first_step;
    s->part = part;
    s->n_parts = n;
    *out = s;
    return NULL;
}

/* clang-format off */
static const Field scheduler_fields[] = {
    FIELD_COMPONENT(Schedulers, optimizer, Optimizer, "optimizer", NULL, "optimizer.combined, whose rates are scheduled"),
    FIELD_COMPONENTS(Schedulers, schedulers, "scheduler", NULL, 1, MAX_RATES, "at most one for the optimizer of each part; a part without one keeps its rate"),
    { 0 },
};
/* clang-format on */

const ComponentDef scheduler_combined = {
    .kind = "scheduler",
    .variant = "combined",
    .doc = "a schedule for each optimizer of optimizer.combined",
    .fields = scheduler_fields,
    .settings_size = sizeof(Schedulers),
    .build = build_schedulers,
};
