/* linear_warmup_cosine_annealing_lr.c - linear up to max_lr, then on a cosine to final_lr. */
#include "base/json.h"
#include "optim/scheduler_parts.h"
#include <inttypes.h>

typedef struct Settings {
    Optimizer *optimizer;
    int64_t warmup_steps, total_steps;
    double initial_lr, final_lr;
    PerGroup max_lr;
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
    FIELD_UNION(Settings, max_lr, PerGroup, per_group_fields, NULL,
                "the optimizer's lr, or that of each of its groups"),
    FIELD_LAST_EPOCH(Settings),
    { 0 },
};

static Error *check(const void *settings)
{
    const Settings *c = settings;
    if (c->total_steps <= c->warmup_steps)
        return error_new("total_steps %" PRId64 " must be greater than warmup_steps %" PRId64,
                         c->total_steps, c->warmup_steps);
    return NULL;
}

/* After total_steps torch's recursion rises again; nobody who asked for a final rate wants that. */
static double rate(const Scheduler *self, int group, int64_t step)
{
    const Settings *c = self->settings;
    if (step < c->warmup_steps)
        return straight_line(c->initial_lr, self->base_lr[group],
                             (double)step / (double)c->warmup_steps);
    if (step >= c->total_steps) return c->final_lr;
    return half_cosine(self->base_lr[group], c->final_lr,
                       (double)(step - c->warmup_steps) /
                           (double)(c->total_steps - c->warmup_steps));
}

/* torch chains two schedulers here: the first one is stepped until the milestone, the second one
 * from there on, where its first step is none that it counts. */
static void torch_state(const Scheduler *self, int64_t step, Text *out)
{
    const Settings *c = self->settings;
    int64_t first = step < c->warmup_steps ? step : c->warmup_steps - 1,
            second = step - c->warmup_steps;
    text_printf(out, "{\"_milestones\": [%" PRId64 "], \"last_epoch\": %" PRId64 ", \"_last_lr\": ",
                c->warmup_steps, step);
    put_torch_rates(self, step, out);
    text_puts(out, ", \"_schedulers\": [{\"start_factor\": ");
    text_json_double(out, c->initial_lr / self->base_lr[0]);
    text_printf(out, ", \"end_factor\": 1, \"total_iters\": %" PRId64 ", ", c->warmup_steps);
    put_torch_steps(self, first, first + 1, first, out);
    text_printf(out, "}, {\"T_max\": %" PRId64 ", \"eta_min\": ", c->total_steps - c->warmup_steps);
    text_json_double(out, c->final_lr);
    text_puts(out, ", ");
    put_torch_steps(self, second < 0 ? -1 : second, second < 1 ? 1 : second + 1,
                    second < 0 ? 0 : step, out);
    text_puts(out, "}]}");
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *c = settings;
    TRY(per_group_check(&c->max_lr, "max_lr", c->optimizer));
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    for (int i = 0; i < s->n_groups; i++) {
        const double max_lr = per_group(&c->max_lr, i);
        if (s->base_lr[i] != max_lr)
            return error_new("max_lr is %g but the optimizer's lr is %g; they must be equal",
                             max_lr, s->base_lr[i]);
        if (c->initial_lr > max_lr)
            return error_new("initial_lr %g must not be greater than max_lr %g", c->initial_lr,
                             max_lr);
    }
    s->rate = rate;
    s->torch_state = torch_state;
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
