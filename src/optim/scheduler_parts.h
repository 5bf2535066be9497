/* scheduler_parts.h - what the components of schedulers share. */
#ifndef OPTIM_SCHEDULER_PARTS_H
#define OPTIM_SCHEDULER_PARTS_H
#include "config/builder.h"
#include "optim/optim.h"
#include "optim/scheduler.h"

/* The scheduler that is being built, but for its `rate`. */
Scheduler *scheduler_new(Builder *b, const Optimizer *o, int64_t last_epoch, const void *settings);

/* What every scheduler of torch keeps, as members of a JSON object: its first rates, the steps it
 * has made, how often it was stepped, and its rates after the step `last`, for each group. */
void put_torch_steps(const Scheduler *s, int64_t steps, int64_t count, int64_t last, Text *out);
/* The list of all groups' rates after a step. */
void put_torch_rates(const Scheduler *s, int64_t step, Text *out);

/* One value for all groups, or one for each, in their order. */
typedef struct PerGroup {
    int which;
    double all;
    FloatList each;
} PerGroup;
extern const Field per_group_fields[]; /* for FIELD_UNION */
double per_group(const PerGroup *p, int group);
bool per_group_differs(const PerGroup *p);
/* As torch refuses it. */
Error *per_group_check(const PerGroup *p, const char *name, const Optimizer *o);

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
