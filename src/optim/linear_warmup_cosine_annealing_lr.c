/* linear_warmup_cosine_annealing_lr.c - linear up to max_lr, then on a cosine to final_lr. */
#include "optim/scheduler_parts.h"
#include <inttypes.h>

typedef struct Settings {
    Optimizer *optimizer;
    int64_t warmup_steps, total_steps;
    double initial_lr, final_lr, max_lr;
    int64_t last_epoch;
} Settings;

static const Field fields[] = {
    FIELD_OPTIMIZER(Settings),
    FIELD_INT(Settings, warmup_steps, NULL, 1, INFINITY, "steps from initial_lr to max_lr",
              .flags = FIELD_STRICT),
    FIELD_INT(Settings, total_steps, NULL, 1, INFINITY, "steps until final_lr, the warmup included",
              .flags = FIELD_STRICT),
    FIELD_FLOAT(Settings, initial_lr, NULL, 0, INFINITY, "rate of the first step",
                .flags = FIELD_STRICT),
    FIELD_FLOAT(Settings, final_lr, NULL, 0, INFINITY, "rate from total_steps on",
                .flags = FIELD_STRICT),
    FIELD_FLOAT(Settings, max_lr, NULL, 0, INFINITY, "the optimizer's lr", .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(Settings),
    { 0 },
};

static Error *check(const void *settings)
{
    const Settings *c = settings;
    if (c->total_steps <= c->warmup_steps)
        return error_new("total_steps %" PRId64 " must be greater than warmup_steps %" PRId64,
                         c->total_steps, c->warmup_steps);
    if (c->initial_lr > c->max_lr)
        return error_new("initial_lr %g must not be greater than max_lr %g", c->initial_lr,
                         c->max_lr);
    return NULL;
}

/* After total_steps torch's recursion rises again; nobody who asked for a final rate wants that. */
static double rate(const Scheduler *self, int64_t step)
{
    const Settings *c = self->settings;
    if (step < c->warmup_steps)
        return straight_line(c->initial_lr, c->max_lr, (double)step / (double)c->warmup_steps);
    if (step >= c->total_steps) return c->final_lr;
    return half_cosine(c->max_lr, c->final_lr,
                       (double)(step - c->warmup_steps) /
                           (double)(c->total_steps - c->warmup_steps));
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *c = settings;
    if (c->optimizer->lr != c->max_lr)
        return error_new("max_lr is %g but the optimizer's lr is %g; they must be equal", c->max_lr,
                         c->optimizer->lr);
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    s->rate = rate;
    s->held_after = c->total_steps;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_linear_warmup_cosine_annealing_lr = {
    .kind = "scheduler",
    .variant = "linear_warmup_cosine_annealing_lr",
    .doc = "linear from initial_lr to max_lr, then a cosine to final_lr",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
