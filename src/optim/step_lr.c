/* step_lr.c - multiplies the rate by gamma every step_size steps. */
#include "base/json.h"
#include "optim/scheduler_parts.h"
#include <inttypes.h>

typedef struct Settings {
    Optimizer *optimizer;
    int64_t step_size;
    double gamma;
    int64_t last_epoch;
} Settings;

static const Field fields[] = {
    FIELD_OPTIMIZER(Settings),
    FIELD_INT(Settings, step_size, NULL, 1, INFINITY, "steps between two drops",
              .flags = FIELD_STRICT),
    FIELD_FLOAT(Settings, gamma, NULL, 0, INFINITY, "factor of one drop", .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(Settings),
    { 0 },
};

static double rate(const Scheduler *self, int group, int64_t step)
{
    const Settings *c = self->settings;
    return self->base_lr[group] * pow(c->gamma, (double)(step / c->step_size));
}

static void torch_state(const Scheduler *self, int64_t step, Text *out)
{
    const Settings *c = self->settings;
    text_printf(out, "{\"step_size\": %" PRId64 ", \"gamma\": ", c->step_size);
    text_json_double(out, c->gamma);
    text_puts(out, ", ");
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

const ComponentDef scheduler_step_lr = {
    .kind = "scheduler",
    .variant = "step_lr",
    .doc = "lr * gamma^(step // step_size)",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
