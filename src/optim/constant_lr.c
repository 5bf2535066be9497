/* constant_lr.c - a factor on the rate for the first total_iters steps. */
#include "base/json.h"
#include "optim/scheduler_parts.h"
#include <inttypes.h>

typedef struct Settings {
    Optimizer *optimizer;
    double factor;
    int64_t total_iters, last_epoch;
} Settings;

static const Field fields[] = {
    FIELD_OPTIMIZER(Settings),
    FIELD_FLOAT(Settings, factor, NULL, 0, 1, "factor before total_iters", .flags = FIELD_STRICT),
    FIELD_INT(Settings, total_iters, NULL, 1, INFINITY, "steps with the factor",
              .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(Settings),
    { 0 },
};

static double rate(const Scheduler *self, int group, int64_t step)
{
    const Settings *c = self->settings;
    return step < c->total_iters ? self->base_lr[group] * c->factor : self->base_lr[group];
}

static void torch_state(const Scheduler *self, int64_t step, Text *out)
{
    const Settings *c = self->settings;
    text_puts(out, "{\"factor\": ");
    text_json_double(out, c->factor);
    text_printf(out, ", \"total_iters\": %" PRId64 ", ", c->total_iters);
    put_torch_steps(self, step, step + 1, step, out);
    text_putc(out, '}');
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *c = settings;
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    s->rate = rate;
    s->torch_state = torch_state;
    *out = s;
    return NULL;
}

const ComponentDef scheduler_constant_lr = {
    .kind = "scheduler",
    .variant = "constant_lr",
    .doc = "lr * factor for total_iters steps, then lr",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
