/* scheduler_parts.h - what the components of schedulers share. */
#ifndef OPTIM_SCHEDULER_PARTS_H
#define OPTIM_SCHEDULER_PARTS_H
#include "config/builder.h"
#include "optim/optim.h"
#include "optim/scheduler.h"

/* The scheduler that is being built, but for its `rate`. */
Scheduler *scheduler_new(Builder *b, const Optimizer *o, int64_t last_epoch, const void *settings);

/* What every scheduler of torch keeps, as members of a JSON object: its first rate, the steps it
 * has made, how often it was stepped, and its last rate, for each group. */
void put_torch_steps(Text *out, int n_groups, double first, int64_t steps, int64_t count,
                     double last);
/* A list of equal numbers, one per group. */
void put_per_group(Text *out, int n_groups, double x);

/* From a (at 0) to b (at 1): on half a period of a cosine, which goes on beyond 1; straight. */
double half_cosine(double a, double b, double at);
double straight_line(double a, double b, double at);

/* clang-format off */
#define FIELD_OPTIMIZER(T) \
    FIELD_COMPONENT(T, optimizer, Optimizer, "optimizer", NULL, "whose rate is scheduled", .flags = FIELD_MAPS)
#define FIELD_LAST_EPOCH(T) \
    FIELD_INT(T, last_epoch, "-1", -1, INFINITY, "the step before the one to begin with (a warm start: last_step)", \
              .flags = FIELD_STRICT)
/* clang-format on */
#endif
