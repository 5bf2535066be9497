/* dummy_lr.c - the optimizer's own rate throughout. */
#include "optim/scheduler_parts.h"

typedef struct Settings {
    Optimizer *optimizer;
} Settings;

static const Field fields[] = { FIELD_OPTIMIZER(Settings), { 0 } };

static double rate(const Scheduler *self, int group, int64_t step)
{
    (void)step;
    return self->base_lr[group];
}

static void torch_state(const Scheduler *self, int64_t step, Text *out)
{
    text_putc(out, '{');
    put_torch_steps(self, step, step + 1, step, out);
    text_putc(out, '}');
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *c = settings;
    Scheduler *s = scheduler_new(b, c->optimizer, -1, c);
    s->rate = rate;
    s->torch_state = torch_state;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_dummy_lr = {
    .kind = "scheduler",
    .variant = "dummy_lr",
    .doc = "the optimizer's own rate throughout",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
