/* pipeline_cut.h - a model becomes a pipeline: stages for its ranks, in the order of a schedule. */
#ifndef EXEC_PIPELINE_CUT_H
#define EXEC_PIPELINE_CUT_H
#include "passes/pipeline.h"

/* What is cut, and how; `schedule` in whatever case. */
typedef struct PipelineWish {
    struct Model *model;
    const char *schedule;
    int64_t ranks, per_rank; /* stages on each rank; 0: as many as the schedule runs, at least 2
                                where it runs any number */
    Stages stages;           /* but for their number */
} PipelineWish;

/* Makes the pipeline, of `a`, and gives it to the model. Errors: no such schedule; it runs another
 * number of stages. */
Error *pipeline_cut(Arena *a, const PipelineWish *w, Pipeline **out);
#endif
