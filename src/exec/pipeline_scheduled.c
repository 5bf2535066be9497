/* pipeline_scheduled.c - pipeline.scheduled: how batches go through the stages of a pipeline. */
#include "config/builder.h"
#include "exec/pipeline_schedule.h"
#include "exec/schedules/schedule_def.h"
#include "models/loss.h"
#include "passes/pipeline.h"
#include <strings.h>

typedef struct Settings {
    Loss *loss_fn;
    const char *pp_schedule_name;
    int64_t batch_size, microbatch_size, pp_degree;
    Pipeline *pipeline;
} Settings;

static Error *check(const void *settings)
{
    const Settings *s = settings;
    if (!pipeline_schedule_find(s->pp_schedule_name)) {
        Arena *a = arena_new();
        Error *e = error_usage("pp_schedule_name: there is no pipeline schedule %s; there are %s",
                               s->pp_schedule_name, pipeline_schedule_names(a, 0));
        arena_free(a);
        return e;
    }
    if (s->batch_size % s->microbatch_size == 0) return NULL;
    return error_usage("batch_size %lld is no multiple of microbatch_size %lld",
                       (long long)s->batch_size, (long long)s->microbatch_size);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Pipeline *p = s->pipeline;
    if (strcasecmp(s->pp_schedule_name, p->schedule) != 0)
        return error_usage("pp_schedule_name is %s here, but %s in pipeline.staged",
                           s->pp_schedule_name, p->schedule);
    if (s->pp_degree != p->ranks)
        return error_usage("pp_degree is %lld, but the device mesh has %lld ranks along pp",
                           (long long)s->pp_degree, (long long)p->ranks);
    p->loss = s->loss_fn;
    p->batch_size = s->batch_size;
    p->per_batch = s->batch_size / s->microbatch_size;
    *out = p;
    PipelineSchedule *unused;
    const PipelineShape shape = { (int)p->ranks, p->per_rank, p->per_batch };
    return pipeline_schedule_new(builder_arena(b), p->schedule, &shape, &unused);
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, loss_fn, Loss, "loss", NULL, "the loss, on the last stage"),
    FIELD_STRING(Settings, pp_schedule_name, NULL, "the schedule, as in pipeline.staged"),
    FIELD_INT(Settings, batch_size, NULL, 1, INFINITY, "samples of a batch of the loader", .flags = FIELD_STRICT),
    FIELD_INT(Settings, microbatch_size, NULL, 1, INFINITY, "samples that go through a stage at a time", .flags = FIELD_STRICT),
    FIELD_INT(Settings, pp_degree, NULL, 2, INFINITY, "ranks of the pipeline", .flags = FIELD_STRICT),
    FIELD_COMPONENT(Settings, pipeline, Pipeline, "pipeline", NULL, "the stages"),
    { 0 },
};
/* clang-format on */

const ComponentDef pipeline_scheduled = {
    .kind = "pipeline",
    .variant = "scheduled",
    .doc = "the order in which the ranks of a pipeline run their stages for the microbatches",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
