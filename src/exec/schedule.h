/* schedule.h - a step as data: which phases run for which microbatch, in which order. */
#ifndef EXEC_SCHEDULE_H
#define EXEC_SCHEDULE_H
#include "graph/graph.h"

typedef struct Action {
    unsigned phases; /* bit mask of 1 << Phase, run together in the order of the nodes */
    int stage;       /* REDUCE and UPDATE: of all stages, whatever stands here */
    int64_t microbatch;
} Action;

typedef struct Schedule {
    Action *action;
    int64_t n;
} Schedule;

enum {
    RUN_FORWARD = 1 << FORWARD,
    RUN_BACKWARD = 1 << BACKWARD_INPUT | 1 << BACKWARD_WEIGHT,
    RUN_LAST = 1 << BACKWARD_LAST, /* added by schedule_with_last */
    RUN_REDUCE = 1 << REDUCE,
    RUN_UPDATE = 1 << UPDATE,
    RUN_MICROBATCH = RUN_FORWARD | RUN_BACKWARD, /* what runs for each microbatch */
    RUN_STEP = RUN_REDUCE | RUN_UPDATE           /* what runs once per step */
};

/* Gradient accumulation on one stage: F0 B0 F1 B1 ... R U. */
Schedule schedule_accumulate(Arena *a, int64_t n_microbatches);
/* One microbatch forward through the stages, and back; then R U. */
Schedule schedule_once(Arena *a, int n_stages);
/* The largest number of microbatches whose forward is done and whose backward is not: how often
 * memory for activations is needed. */
int64_t schedule_live(const Schedule *s, int stage);
/* Of all actions: one more than the last microbatch, and one more than the last stage. */
int64_t schedule_microbatches(const Schedule *s);
int schedule_stages(const Schedule *s);
/* A copy in which the last BACKWARD_WEIGHT of every stage runs BACKWARD_LAST, too; *last has the
 * microbatch in which that is, by stage of schedule_stages; -1: a stage without one. */
Schedule schedule_with_last(Arena *a, const Schedule *s, int64_t **last);
/* On every stage each microbatch goes forward once, then through BACKWARD_INPUT, then through
 * BACKWARD_WEIGHT (these two together or apart), stages in order; the reduction and the update come
 * after all of it, in actions of their own. */
Error *schedule_verify(const Schedule *s, int n_stages, int64_t n_microbatches);
#endif
