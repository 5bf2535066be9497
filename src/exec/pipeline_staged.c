/* pipeline_staged.c - pipeline.staged: a model cut into stages for the ranks of a pipeline. */
#include "comm/mesh.h"
#include "config/builder.h"
#include "exec/pipeline_cut.h"
#include "exec/pipeline_schedule.h"
#include "models/model.h"

typedef struct Settings {
    Model *whole_model;
    StagesGenerator *stages_generator;
    Mesh *device_mesh;
    int64_t local_rank;
    const char *pp_schedule_name;
    int64_t num_layers_per_stage;
} Settings;

static Error *check(const void *settings)
{
    const char *name = ((const Settings *)settings)->pp_schedule_name;
    if (pipeline_schedule_find(name)) return NULL;
    Arena *a = arena_new();
    Error *e = error_usage("pp_schedule_name: there is no pipeline schedule %s; there are %s", name,
                           pipeline_schedule_names(a, 0));
    arena_free(a);
    return e;
}

/* As many as the layers fill, with what the embedding and the head count for. */
static Error *count_stages(const Settings *s, int64_t ranks, int64_t *out)
{
    const StagesGenerator *g = s->stages_generator;
    int64_t layers = g->blocks + g->input + g->output;
    *out = (layers + s->num_layers_per_stage - 1) / s->num_layers_per_stage;
    if (g->blocks != s->whole_model->n_layer)
        return error_usage("stages_generator: num_model_layers is %lld, but the model has %lld "
                           "blocks",
                           (long long)g->blocks, (long long)s->whole_model->n_layer);
    if (*out % ranks == 0) return NULL;
    return error_usage("num_layers_per_stage %lld cuts %lld layers%s into %lld stages, which %lld "
                       "ranks cannot share equally",
                       (long long)s->num_layers_per_stage, (long long)layers,
                       g->input + g->output ? " (embedding and head included)" : "",
                       (long long)*out, (long long)ranks);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    const StagesGenerator *g = s->stages_generator;
    int64_t ranks = s->device_mesh->size[MESH_PP], n;
    Pipeline *p;
    TRY(count_stages(s, ranks, &n));
    const PipelineWish wish = {
        .model = s->whole_model,
        .schedule = s->pp_schedule_name,
        .ranks = ranks,
        .per_rank = n / ranks,
        .stages = { .by_cost = g->by_cost, .input = g->input, .output = g->output },
    };
    TRY(error_wrap(pipeline_cut(builder_arena(b), &wish, &p),
                   "num_layers_per_stage %lld gives %lld stages on %lld ranks",
                   (long long)s->num_layers_per_stage, (long long)n, (long long)ranks));
    *out = p;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, whole_model, Model, "model", NULL, "the model"),
    FIELD_COMPONENT(Settings, stages_generator, StagesGenerator, "stages_generator", NULL, "where it is cut"),
    FIELD_COMPONENT(Settings, device_mesh, Mesh, "device_mesh", NULL, "the ranks; its dimension pp is the pipeline"),
    FIELD_INT(Settings, local_rank, NULL, 0, INFINITY, "the rank on its machine", .flags = FIELD_STRICT, .no_effect = "a rank is told its place by the launcher"),
    FIELD_STRING(Settings, pp_schedule_name, NULL, "the schedule, which says on which rank each stage lies: GPipe, 1F1B, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble, ZBVZeroBubble or DualPipeV, in whatever case"),
    FIELD_INT(Settings, num_layers_per_stage, NULL, 1, INFINITY, "blocks of a stage", .flags = FIELD_STRICT),
    { 0 },
};
/* clang-format on */

const ComponentDef pipeline_staged = {
    .kind = "pipeline",
    .variant = "staged",
    .doc = "a model cut into stages for the ranks of a pipeline",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
