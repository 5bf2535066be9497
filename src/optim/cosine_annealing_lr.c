/* cosine_annealing_lr.c - from the rate to eta_min and back, on a cosine. */
#include "base/json.h"
#include "optim/scheduler_parts.h"
#include <inttypes.h>

typedef struct Settings {
    Optimizer *optimizer;
    int64_t t_max;
    double eta_min;
    int64_t last_epoch;
} Settings;

static const Field fields[] = {
    FIELD_OPTIMIZER(Settings),
    FIELD_INT(Settings, t_max, NULL, 1, INFINITY, "steps of half a period", .flags = FIELD_STRICT,
              .alias = "T_max"),
    FIELD_FLOAT(Settings, eta_min, NULL, 0, INFINITY, "the least rate", .flags = FIELD_STRICT),
    FIELD_LAST_EPOCH(Settings),
    { 0 },
};

static double rate(const Scheduler *self, int group, int64_t step)
{
    const Settings *c = self->settings;
    return half_cosine(self->base_lr[group], c->eta_min, (double)step / (double)c->t_max);
}

static void torch_state(const Scheduler *self, int64_t step, Text *out)
{
    const Settings *c = self->settings;
    text_printf(out, "{\"T_max\": %" PRId64 ", \"eta_min\": ", c->t_max);
    text_json_double(out, c->eta_min);
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

const ComponentDef scheduler_cosine_annealing_lr = {
    .kind = "scheduler",
    .variant = "cosine_annealing_lr",
    .doc = "from lr to eta_min and back on a cosine with half period t_max",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
