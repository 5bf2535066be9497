/* warmup_stable_decay_lr.c - linear up to the optimizer's rate, held there, and down at the end:
 * the steps between can be any number, since only the decay needs to know the end (Hu et al. 2024).
 */
#include "base/json.h"
#include "optim/scheduler_parts.h"
#include <inttypes.h>

enum { DECAY_LINEAR, DECAY_COSINE, DECAY_SQRT };

typedef struct Settings {
    Optimizer *optimizer;
    int64_t warmup_steps, total_steps, decay_steps;
    double final_lr;
    int decay;
    int64_t last_epoch;
} Settings;

static const char *const decays[] = { "linear", "cosine", "sqrt", NULL };
static const Field fields[] = {
    FIELD_OPTIMIZER(Settings),
    FIELD_INT(Settings, warmup_steps, NULL, 0, INFINITY, "steps from 0 to the optimizer's lr"),
    FIELD_INT(Settings, total_steps, NULL, 1, INFINITY, "steps until final_lr"),
    FIELD_INT(Settings, decay_steps, NULL, 0, INFINITY, "the last ones, in which the rate falls"),
    FIELD_FLOAT(Settings, final_lr, "0.0", 0, INFINITY, "rate from total_steps on"),
    FIELD_CHOICE(Settings, decay, "linear", decays,
                 "the way down: linear, cosine, or sqrt: 1 - sqrt of the share of its steps"),
    FIELD_LAST_EPOCH(Settings),
    { 0 },
};

static Error *check(const void *settings)
{
    const Settings *c = settings;
    if (c->warmup_steps + c->decay_steps <= c->total_steps) return NULL;
    return error_new("warmup_steps %" PRId64 " and decay_steps %" PRId64
                     " are more than total_steps %" PRId64,
                     c->warmup_steps, c->decay_steps, c->total_steps);
}

/* Step t has done t of the warmup's steps: the first one with a rate above 0 is step 0. */
static double rate(const Scheduler *self, int group, int64_t step)
{
    const Settings *c = self->settings;
    const int64_t decay_from = c->total_steps - c->decay_steps;
    if (step < c->warmup_steps)
        return self->base_lr[group] * (double)(step + 1) / (double)(c->warmup_steps + 1);
    if (step >= c->total_steps) return c->final_lr;
    if (step < decay_from) return self->base_lr[group];
    const double at = (double)(step - decay_from) / (double)c->decay_steps;
    switch (c->decay) {
    case DECAY_COSINE:
        return half_cosine(self->base_lr[group], c->final_lr, at);
    case DECAY_SQRT:
        return straight_line(self->base_lr[group], c->final_lr, sqrt(at));
    default:
        return straight_line(self->base_lr[group], c->final_lr, at);
    }
}

/* torch has none of this kind: what a LambdaLR of the same rates keeps. */
static void torch_state(const Scheduler *self, int64_t step, Text *out)
{
    text_putc(out, '{');
    put_torch_steps(self, step, step + 1, step, out);
    text_putc(out, '}');
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *c = settings;
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    for (int i = 0; i < s->n_groups; i++)
        if (c->final_lr > s->base_lr[i])
            return error_new("final_lr %g must not be greater than the optimizer's lr %g",
                             c->final_lr, s->base_lr[i]);
    s->rate = rate;
    s->torch_state = torch_state;
    s->held_after = c->total_steps;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_warmup_stable_decay_lr = {
    .kind = "scheduler",
    .variant = "warmup_stable_decay_lr",
    .doc = "linear up to the optimizer's rate, held, and down in the last steps",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
