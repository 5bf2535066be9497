/* step_schedule.c - the list of actions of one rank, by its place in the mesh. */
#include "train/step_schedule.h"
#include "exec/pipeline_schedule.h"

static int first_stage(const Schedule *s)
{
    int first = -1;
    for (int64_t i = 0; i < s->n; i++) {
        const Action *x = &s->action[i];
        if (x->phases & RUN_MICROBATCH && (first < 0 || x->stage < first)) first = x->stage;
    }
    return first;
}

static Error *of_pipeline(Arena *a, const Pipeline *p, const Mesh *mesh, StepSchedule *out)
{
    if (!p->schedule || !p->per_batch)
        return error_new("the model is cut into stages, but no pipeline.scheduled says how batches "
                         "go through them");
    out->per_batch = p->per_batch;
    out->n *= out->per_batch;
    if (out->samples % out->per_batch)
        return error_new("a batch of %lld samples cannot be cut into %lld microbatches",
                         (long long)out->samples, (long long)out->per_batch);
    out->samples /= out->per_batch;
    const PipelineShape shape = { (int)p->ranks, p->per_rank, out->n };
    PipelineSchedule *all;
    PipelineRun run;
    TRY(pipeline_schedule_new(a, p->schedule, &shape, &all));
    const PipelineCosts costs = pipeline_equal_costs(a, all, 1);
    TRY(pipeline_simulate(a, all, &costs, &run));
    out->n_stages = all->n_stages;
    out->bubble = run.bubble;
    out->schedule = all->rank[mesh_coordinate(mesh, MESH_PP, mesh->rank)];
    out->first_stage = first_stage(&out->schedule);
    return NULL;
}

Error *step_schedule_new(Arena *a, const Pipeline *p, const Mesh *mesh, int64_t batches,
                         int64_t samples, StepSchedule *out)
{
    *out = (StepSchedule){ .n_stages = 1, .n = batches, .samples = samples, .per_batch = 1 };
    if (p && mesh->size[MESH_PP] > 1) return of_pipeline(a, p, mesh, out);
    out->schedule = schedule_accumulate(a, batches);
    return NULL;
}
