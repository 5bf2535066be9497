/* scheduler.h - learning rates as functions of the number of steps; no scheduler has a state. */
#ifndef OPTIM_SCHEDULER_H
#define OPTIM_SCHEDULER_H
#include "base/error.h"
#include "base/str.h"
#include <stdint.h>

/* `step` counts scheduler steps, one per optimizer step: rate(0) is in effect for the first
 * optimizer step, and what is logged after it is rate(1). */
typedef struct Scheduler {
    const char *name; /* its variant: "onecycle_lr" */
    double (*rate)(const struct Scheduler *self, int64_t step);
    /* Decay of Adam's first moment likewise; NULL: the optimizer's own. */
    double (*beta1)(const struct Scheduler *self, int64_t step);
    const struct Optimizer *optimizer; /* whose rate it is */
    double base_lr;                    /* the optimizer's own */
    int64_t first_step;                /* last_epoch + 1; 0: where the training stands */
    int64_t last_step;                 /* later steps are an error; INT64_MAX: none is */
    int64_t held_after; /* from here on the rate stays; INT64_MAX: it has its own end or none */
    const void *settings;
    /* For checkpoints that torch reads: the state dict of torch's scheduler of this kind after
     * `step` steps, as JSON, and what it adds to the settings of parameters (members of a JSON
     * object; NULL: the first rate alone). */
    void (*torch_state)(const struct Scheduler *self, int64_t step, int n_groups, Text *out);
    void (*torch_group)(const struct Scheduler *self, Text *out);
} Scheduler;

/* The rate after `step` steps, or an error that names step and total_steps. */
Error *scheduler_rate(const Scheduler *s, int64_t step, double *out);
/* Before training up to `to` steps: an error if the schedule is shorter; one warning if it holds
 * its last value on the way. */
Error *scheduler_check_steps(const Scheduler *s, int64_t to);
#endif
