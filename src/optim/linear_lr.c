/* linear_lr.c - a factor on the rate that goes linearly from start_factor to end_factor. */
#include "base/json.h"
#include "optim/scheduler_parts.h"
#include <inttypes.h>

typedef struct Settings {
    Optimizer *optimizer;
    double start_factor, end_factor;
    int64_t total_iters, last_epoch;
} Settings;

static const Field fields[] = {
    FIELD_OPTIMIZER(Settings),
    FIELD_FLOAT(Settings, start_factor, NULL, 0, 1, "factor at the first step",
                .flags = FIELD_STRICT | FIELD_OPEN_MIN),
    FIELD_FLOAT(Settings, end_factor, NULL, 0, 1, "factor from total_iters on",
                .flags = FIELD_STRICT),
    FIELD_INT(Settings, total_iters, NULL, 1, INFINITY, "steps between the two",
              .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(Settings),
    { 0 },
};

static double rate(const Scheduler *self, int group, int64_t step)
{
    const Settings *c = self->settings;
    int64_t at = step < c->total_iters ? step : c->total_iters;
    return self->base_lr[group] *
           straight_line(c->start_factor, c->end_factor, (double)at / (double)c->total_iters);
}

static void torch_state(const Scheduler *self, int64_t step, Text *out)
{
    const Settings *c = self->settings;
    text_puts(out, "{\"start_factor\": ");
    text_json_double(out, c->start_factor);
    text_puts(out, ", \"end_factor\": ");
    text_json_double(out, c->end_factor);
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

const ComponentDef scheduler_linear_lr = {
    .kind = "scheduler",
    .variant = "linear_lr",
    .doc = "lr times a factor that goes linearly from start to end",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
