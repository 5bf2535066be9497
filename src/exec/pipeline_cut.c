/* pipeline_cut.c - a model becomes a pipeline: stages for its ranks, in the order of a schedule. */
#include "exec/pipeline_cut.h"
#include "exec/pipeline_schedule.h"
#include "exec/schedules/schedule_def.h"
#include "models/model.h"

enum { FEWEST_INTERLEAVED = 2 };

Error *pipeline_cut(Arena *a, const PipelineWish *w, Pipeline **out)
{
    const ScheduleDef *d = pipeline_schedule_find(w->schedule);
    if (!d)
        return error_usage("there is no pipeline schedule %s; there are %s", w->schedule,
                           pipeline_schedule_names(a, 0));
    int64_t per_rank = w->per_rank;
    if (!per_rank) per_rank = d->per_rank ? d->per_rank : FEWEST_INTERLEAVED;
    if (d->per_rank && d->per_rank != per_rank)
        return error_usage("the pipeline schedule %s runs %d stage%s on each rank, not %lld; %s "
                           "run so many",
                           d->name, d->per_rank, d->per_rank == 1 ? "" : "s", (long long)per_rank,
                           pipeline_schedule_names(a, (int)per_rank));
    const PipelineShape shape = { (int)w->ranks, (int)per_rank, 1 };
    const int n = (int)(w->ranks * per_rank);
    int *rank_of = NEW_N(a, int, n);
    for (int i = 0; i < n; i++) rank_of[i] = pipeline_rank_of(d, &shape, i);
    Pipeline *p = NEW(a, Pipeline);
    *p = (Pipeline){ .model = w->model,
                     .ranks = w->ranks,
                     .per_rank = (int)per_rank,
                     .stages = w->stages,
                     .cut = { .rank_of = rank_of },
                     .schedule = d->name };
    p->stages.n = n;
    p->stages.kept = NEW(a, StagesKept);
    p->stages.kept->room = (int)w->model->n_layer + 2;
    p->stages.kept->stage_of = NEW_N(a, int, p->stages.kept->room);
    w->model->pipeline = *out = p;
    return NULL;
}
