/* pipeline_selector.c - pipeline.selector and pipeline.builder: parts of a pipeline to be wrapped,
 * and the pipeline of wrapped parts.
 *
 * In the original a part is the model of one stage. Here wrappers say what is to be done with the
 * whole model, whose graph is cut later, so that the parts are the model itself. */
#include "config/builder.h"
#include "models/model.h"
#include "passes/pipeline.h"

enum { PP_STAGE, MODEL_PART, PP_SCHEDULE };

typedef struct Selection {
    Pipeline *pipeline;
    int selection_type;
} Selection;

static Error *select_part(Builder *b, const void *settings, void **out)
{
    const Selection *s = settings;
    builder_gives(b, s->selection_type == MODEL_PART ? "model" : "pipeline");
    *out = s->selection_type == MODEL_PART ? (void *)s->pipeline->model : s->pipeline;
    return NULL;
}

typedef struct Parts {
    ComponentList pp_stages, model_parts;
    Pipeline *pp_schedule;
} Parts;

static Error *join_parts(Builder *b, const void *settings, void **out)
{
    (void)b;
    const Parts *s = settings;
    Pipeline *p = s->pp_stages.item[0];
    for (int64_t i = 0; i < s->pp_stages.n; i++)
        if (s->pp_stages.item[i] != p)
            return error_usage("pp_stages.%lld belongs to another pipeline", (long long)i);
    for (int64_t i = 0; i < s->model_parts.n; i++)
        if (((const Model *)s->model_parts.item[i])->pipeline != p)
            return error_usage("model_parts.%lld is no part of the pipeline of pp_stages",
                               (long long)i);
    if (s->pp_schedule && s->pp_schedule != p)
        return error_usage("pp_schedule is that of another pipeline");
    *out = p;
    return NULL;
}

static const char *const types[] = { "PP_STAGE", "MODEL_PART", "PP_SCHEDULE", NULL };
/* clang-format off */
static const Field selector_fields[] = {
    FIELD_COMPONENT(Selection, pipeline, Pipeline, "pipeline", NULL, "the pipeline"),
    FIELD_CHOICE(Selection, selection_type, NULL, types, "its stages, the models in them, or its schedule"),
    { 0 },
};
static const Field builder_fields[] = {
    FIELD_COMPONENTS(Parts, pp_stages, "pipeline", NULL, 1, INFINITY, "selected stages", .alias = "pp_stage", .flags = FIELD_LIST_OR_ONE),
    FIELD_COMPONENTS(Parts, model_parts, "model", NULL, 1, INFINITY, "their models, wrapped", .alias = "model_part", .flags = FIELD_LIST_OR_ONE),
    FIELD_COMPONENT(Parts, pp_schedule, Pipeline, "pipeline", "null", "a selected schedule"),
    { 0 },
};
/* clang-format on */

const ComponentDef pipeline_selector = {
    .kind = "pipeline",
    .variant = "selector",
    .doc = "a part of a pipeline, to be wrapped or initialised",
    .fields = selector_fields,
    .settings_size = sizeof(Selection),
    .build = select_part,
    .gives = GIVES_ANY,
};

const ComponentDef pipeline_builder = {
    .kind = "pipeline",
    .variant = "builder",
    .doc = "a pipeline whose parts have been wrapped",
    .fields = builder_fields,
    .settings_size = sizeof(Parts),
    .build = join_parts,
};
