/* schedule_def.h - what a pipeline schedule is: a name, where stages lie, and the list of a rank.
 *
 * Generators number the stages of a rank from 0: its chunks. */
#ifndef EXEC_SCHEDULES_SCHEDULE_DEF_H
#define EXEC_SCHEDULES_SCHEDULE_DEF_H
#include "exec/pipeline_schedule.h"

/* The list of one rank while it is made. */
typedef struct ActionList {
    Arena *arena;
    const struct ScheduleDef *def;
    const PipelineShape *shape;
    int rank;
    Schedule schedule;
    bool *beside; /* as in PipelineSchedule */
    int64_t cap;
} ActionList;

typedef struct ScheduleDef {
    const char *name, *doc;
    bool turns;                    /* odd chunks lie on the ranks from the last to the first: V */
    int per_rank;                  /* stages on each rank; 0: any number */
    int64_t microbatches_per_rank; /* at least so many are needed */
    /* Appends what a rank does for microbatches; those beyond the last one are left out. */
    void (*generate)(ActionList *l, const PipelineShape *s, int rank);
    /* The most activations, of one stage and one microbatch each, that a rank holds at a time. */
    int64_t (*live)(const PipelineShape *s, int rank);
} ScheduleDef;

/* The schedules that this program has; NULL after the last. */
const ScheduleDef *schedule_def_at(int i);

/* Appends an action, unless there is no such microbatch. */
void add_forward(ActionList *l, int chunk, int64_t microbatch);
/* Gradients of the input and of the weights together. */
void add_backward(ActionList *l, int chunk, int64_t microbatch);
/* A forward, and a backward of another chunk that may run side by side with it. */
void add_side_by_side(ActionList *l, int chunk, int64_t forward, int other, int64_t backward);
void add_input(ActionList *l, int chunk, int64_t microbatch);
void add_weight(ActionList *l, int chunk, int64_t microbatch);
#endif
