/* pipeline_schedule.h - what each rank of a pipeline does in a step, by the rules of a schedule.
 *
 * The layers are cut into stages, each rank holds as many stages as the others, and a schedule says
 * which rank holds which and in which order it runs them (schedules/). */
#ifndef EXEC_PIPELINE_SCHEDULE_H
#define EXEC_PIPELINE_SCHEDULE_H
#include "exec/schedule.h"

typedef struct PipelineShape {
    int ranks, per_rank; /* ranks of the pipeline, and stages on each of them */
    int64_t microbatches;
} PipelineShape;

typedef struct PipelineSchedule {
    const struct ScheduleDef *def;
    PipelineShape shape;
    int n_stages;
    int *rank_of;   /* by stage */
    Schedule *rank; /* the actions of each rank; the step's reduction and update are the last */
    bool **beside;  /* [rank][action]: it may run side by side with the action after it */
} PipelineSchedule;

/* The schedule of that name, whatever the case of its letters; NULL: there is none. */
const struct ScheduleDef *pipeline_schedule_find(const char *name);
/* All names, "GPipe, 1F1B ..."; with `per_rank` those that can run so many stages on a rank. */
const char *pipeline_schedule_names(Arena *a, int per_rank);
/* Which rank holds a stage. */
int pipeline_rank_of(const struct ScheduleDef *d, const PipelineShape *s, int stage);
/* Makes the lists of all ranks and verifies them. Unknown names, and shapes that the schedule
 * cannot run, are usage errors that say what is allowed. */
Error *pipeline_schedule_new(Arena *a, const char *name, const PipelineShape *s,
                             PipelineSchedule **out);
/* Every action is there once, on the rank of its stage, after what it needs; no rank waits for
 * ever when each runs its list in order and what it sends is kept until it is received; and no rank
 * holds more microbatches than the schedule says. */
Error *pipeline_schedule_verify(const PipelineSchedule *p);
/* The most activations that a rank holds at a time, counted as those of one stage and one
 * microbatch. */
int64_t pipeline_live(const PipelineSchedule *p, int rank);

/* How long the parts of a step take, in any unit. */
typedef struct StageCosts {
    double forward, backward_input, backward_weight;
} StageCosts;
typedef struct PipelineCosts {
    const StageCosts *stage; /* of each stage */
    double transfer;         /* from rank to rank */
    bool side_by_side;       /* actions that may do, begin and end together */
} PipelineCosts;

typedef struct PipelineEvent {
    int rank;
    const Action *action;
    double start, end;
} PipelineEvent;

/* A step as it runs. */
typedef struct PipelineRun {
    PipelineEvent *event; /* those of microbatches; each after all that it needs */
    int64_t n;
    double seconds; /* in the unit of the costs */
    double bubble;  /* the part of all ranks' time in which they wait */
} PipelineRun;

/* Runs the lists of all ranks in thought. An error tells who waits for what when none can go on. */
Error *pipeline_simulate(Arena *a, const PipelineSchedule *p, const PipelineCosts *costs,
                         PipelineRun *out);
/* Costs as one tells them without knowing more: on every stage the three parts take the same time,
 * `unit` for a whole rank, and transfers none. */
PipelineCosts pipeline_equal_costs(Arena *a, const PipelineSchedule *p, double unit);
/* All ranks' actions as a list for one rank that holds all stages. */
Error *pipeline_merge(Arena *a, const PipelineSchedule *p, Schedule *out);
/* A picture of the step with equal costs: a row per rank, a cell per unit of time, in lines of at
 * most `width` characters. */
Error *pipeline_print(const PipelineSchedule *p, int width, FILE *to);
#endif
