/* freeze.c - marks parameters that are not trained; model.frozen asks for it. */
#include "passes/freeze.h"
#include "config/builder.h"
#include "models/model.h"
#include "models/parameter_pattern.h"
#include "passes/all_passes.h"

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    const Freeze *f = settings;
    TRY(error_wrap(parameter_patterns_check(f->parameters, g), "model.frozen: parameters"));
    TRY(error_wrap(parameter_patterns_check(f->except, g), "model.frozen: except"));
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind == VALUE_PARAM && parameter_matches(f->parameters, v) &&
            !parameter_matches(f->except, v))
            v->is_frozen = true;
    }
    return NULL;
}

const PassDef pass_freeze = {
    .name = "freeze",
    .doc = "marks parameters that are not trained",
    .run = run,
};

typedef struct Settings {
    Model *model;
    StringList parameters, except;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    Freeze *f = NEW(a, Freeze);
    TRY(parameter_patterns(a, "parameters", &s->parameters, &f->parameters));
    TRY(parameter_patterns(a, "except", &s->except, &f->except));
    passes_add(&s->model->passes, &pass_freeze, f);
    *out = s->model;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_STRINGS(Settings, parameters, NULL, 1, INFINITY, "patterns of names (*.mlp.*), or @matrices, @embeddings, @head, @norms, @biases: what is not trained"),
    FIELD_STRINGS(Settings, except, "[]", 0, 0, "of these, what is trained after all"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_frozen = {
    .kind = "model",
    .variant = "frozen",
    .doc = "some parameters stay what they are: without gradients, states, and memory for them",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
