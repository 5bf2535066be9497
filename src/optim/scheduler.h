/* scheduler.h - learning rates as functions of the number of steps; no scheduler has a state. */
#ifndef OPTIM_SCHEDULER_H
#define OPTIM_SCHEDULER_H
#include "base/error.h"
#include "base/str.h"
#include "device/device.h"
#include <stdint.h>

/* `step` counts scheduler steps, one per optimizer step: rate(0) is in effect for the first
 * optimizer step, and what is logged after it is rate(1). */
typedef struct Scheduler {
    const char *name; /* its variant: "onecycle_lr" */
    /* Of one of the optimizer's groups (param_groups.h). */
    double (*rate)(const struct Scheduler *self, int group, int64_t step);
    /* Decay of Adam's first moment likewise; NULL: the optimizer's own. */
    double (*beta1)(const struct Scheduler *self, int group, int64_t step);
    const struct Optimizer *optimizer; /* whose rate it is */
    int n_groups;
    double *base_lr;   /* of each group: the optimizer's own, or the schedule's first */
    bool rates_differ; /* between the groups of one optimizer */
    const struct Scheduler *const *part; /* of a combined one: those of single optimizers */
    int n_parts;
    int64_t first_step; /* last_epoch + 1; 0: where the training stands */
    int64_t last_step;  /* later steps are an error; INT64_MAX: none is */
    int64_t held_after; /* from here on the rate stays; INT64_MAX: it has its own end or none */
    const void *settings;
    /* For checkpoints that torch reads: the state dict of torch's scheduler of this kind after
     * `step` steps, as JSON (NULL: torch has none), and what it adds to the settings of a group's
     * parameters (members of a JSON object; NULL: the first rate alone). */
    void (*torch_state)(const struct Scheduler *self, int64_t step, Text *out);
    void (*torch_group)(const struct Scheduler *self, int group, Text *out);
} Scheduler;

/* The rates of all groups after `step` steps, or an error that names step and total_steps. Without
 * a scheduler each optimizer's own. */
Error *scheduler_rates(const Scheduler *s, const struct Optimizer *o, int64_t step, Rate *out);
/* Their mean, as the results have it. */
double rates_mean(const Rate *rate, int n);
/* The scheduler of one group, and its number there: of a combined one that of its optimizer, or
 * NULL. */
const Scheduler *scheduler_of_group(const Scheduler *s, const struct Optimizer *o, int group,
                                    int *own);
/* Before training up to `to` steps: an error if the schedule is shorter; one warning if it holds
 * its last value on the way. */
Error *scheduler_check_steps(const Scheduler *s, int64_t to);
#endif
