/* gpt2_tp.c - model.gpt2_tp: tensor parallelism, with tokens split between the layers' products. */
#include "config/builder.h"
#include "models/model.h"
#include "passes/shard.h"

typedef struct Settings {
    Model *model;
    Mesh *device_mesh;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    const Mesh *m = s->device_mesh;
    if (!mesh_has(m, MESH_TP))
        return error_new("device_mesh has no dimension tp: model.gpt2_tp needs a "
                         "tensor_parallel_degree above 1");
    if (mesh_has(m, MESH_DP_REPLICATE))
        return error_new("device_mesh has a data_parallel_replicate_degree of %lld: model.gpt2_tp "
                         "allows 1; data_parallel_shard_degree and model.fsdp2_wrapped go with it",
                         (long long)m->size[MESH_DP_REPLICATE]);
    Sharding *sharding = NEW(builder_arena(b), Sharding);
    *sharding = sharding_of(s->model, m);
    sharding->tensor = sharding->sequence = true;
    s->model->sharding = sharding;
    *out = s->model;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_COMPONENT(Settings, device_mesh, Mesh, "device_mesh", NULL, "the ranks; its dimension tp shares each matrix"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_gpt2_tp = {
    .kind = "model",
    .variant = "gpt2_tp",
    .doc = "splits heads, hidden units and vocabulary over the tensor-parallel ranks, and tokens "
           "between them",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
