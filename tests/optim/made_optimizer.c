/* made_optimizer.c - builds optimizers as configurations do. */
#include "optim/made_optimizer.h"
#include "components.h"
#include "config/builder.h"
#include "models/model.h"
#include "test.h"

static Error *build_model(Builder *b, const void *settings, void **out)
{
    (void)settings;
    Model *m = NEW(builder_arena(b), Model);
    m->name = "nameless";
    *out = m;
    return NULL;
}

static const Field no_fields[] = { { 0 } };
static const ComponentDef model_nameless = {
    .kind = "model",
    .variant = "nameless",
    .doc = "a model without layers",
    .fields = no_fields,
    .settings_size = 1,
    .build = build_model,
};

Error *made_optimizer_try(Arena *a, const char *yaml, Optimizer **out)
{
    Registry *r;
    Yaml *root;
    void *made = NULL;
    assert_no_error(components_registry(a, &r));
    assert_no_error(registry_add(r, &model_nameless));
    const char *text = arena_printf(
        a, "model: {component_key: model, variant_key: nameless, config: {}}\n%s", yaml);
    assert_no_error(yaml_parse(a, str_of(text), "test.yaml", &root));
    Error *e = builder_get(builder_new(a, r, root, NULL), "optimizer", "optimizer", &made);
    *out = made;
    return e;
}

Optimizer *made_optimizer(Arena *a, const char *yaml)
{
    Optimizer *o;
    assert_no_error(made_optimizer_try(a, yaml, &o));
    return o;
}
