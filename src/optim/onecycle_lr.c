/* onecycle_lr.c - the one-cycle schedule (Smith and Topin 2017) in torch's form. */
#include "base/json.h"
#include "base/log.h"
#include "optim/param_groups.h"
#include "optim/scheduler_parts.h"
#include <inttypes.h>

typedef struct OneCycleLr {
    Optimizer *optimizer;
    PerGroup max_lr;
    const int64_t *total_steps, *epochs, *steps_per_epoch;
    double pct_start;
    int anneal_strategy;
    bool cycle_momentum;
    PerGroup base_momentum, max_momentum;
    double div_factor, final_div_factor;
    bool three_phase;
    int64_t last_epoch;
} OneCycleLr;

enum { ANNEAL_COS, ANNEAL_LINEAR };
static const char *const anneal_choices[] = { "cos", "linear", NULL };

static const Field one_cycle_fields[] = {
    FIELD_OPTIMIZER(OneCycleLr),
    FIELD_UNION(OneCycleLr, max_lr, PerGroup, per_group_fields, NULL,
                "the highest rate, or that of each parameter group"),
    FIELD_INT(OneCycleLr, total_steps, "null", 1, INFINITY, "steps of the cycle",
              .flags = FIELD_STRICT),
    FIELD_INT(OneCycleLr, epochs, "null", 1, INFINITY,
              "instead of total_steps: factor of steps_per_epoch", .flags = FIELD_STRICT),
    FIELD_INT(OneCycleLr, steps_per_epoch, "null", 1, INFINITY,
              "instead of total_steps: factor of epochs", .flags = FIELD_STRICT),
    FIELD_FLOAT(OneCycleLr, pct_start, NULL, 0, 1, "part of the cycle in which the rate rises",
                .flags = FIELD_STRICT | FIELD_OPEN_MIN),
    FIELD_CHOICE(OneCycleLr, anneal_strategy, NULL, anneal_choices, "shape of each phase"),
    FIELD_BOOL(OneCycleLr, cycle_momentum, "false",
               "let beta1 fall while the rate rises, and back"),
    FIELD_UNION(OneCycleLr, base_momentum, PerGroup, per_group_fields, "0.85",
                "with cycle_momentum: beta1 at max_lr"),
    FIELD_UNION(OneCycleLr, max_momentum, PerGroup, per_group_fields, "0.95",
                "with cycle_momentum: beta1 at the first and the last rate"),
    FIELD_FLOAT(OneCycleLr, div_factor, NULL, 0, INFINITY, "max_lr / first rate",
                .flags = FIELD_STRICT | FIELD_OPEN_MIN),
    FIELD_FLOAT(OneCycleLr, final_div_factor, NULL, 0, INFINITY, "first rate / last rate",
                .flags = FIELD_STRICT | FIELD_OPEN_MIN),
    FIELD_BOOL(OneCycleLr, three_phase, "false",
               "fall to the first rate in the time of the rise, then to the last"),
    FIELD_LAST_EPOCH(OneCycleLr),
    { 0 },
};

static Error *check_momenta(const OneCycleLr *c)
{
    const PerGroup *const both[] = { &c->base_momentum, &c->max_momentum };
    static const char *const names[] = { "base_momentum", "max_momentum" };
    for (int i = 0; i < 2; i++) {
        TRY(per_group_check(both[i], names[i], c->optimizer));
        for (int k = 0; k < param_groups_count(c->optimizer); k++)
            if (per_group(both[i], k) >= 1)
                return error_new("%s: %g; allowed are 0 < beta1 < 1", names[i],
                                 per_group(both[i], k));
    }
    return NULL;
}

static Error *check_one_cycle(const void *settings)
{
    const OneCycleLr *c = settings;
    if (!c->total_steps && !(c->epochs && c->steps_per_epoch))
        return error_new("give total_steps, or epochs and steps_per_epoch");
    if (!c->total_steps && *c->epochs > INT64_MAX / *c->steps_per_epoch)
        return error_new("epochs %" PRId64 " times steps_per_epoch %" PRId64 " are too many steps",
                         *c->epochs, *c->steps_per_epoch);
    return NULL;
}

static int64_t one_cycle_steps(const OneCycleLr *c)
{
    return c->total_steps ? *c->total_steps : *c->epochs * *c->steps_per_epoch;
}

/* `value` at the ends of the phases, which lie between fractional steps; the last phase goes on
 * beyond its end, for the rate after the last step. A phase without length has its end's value. */
static double one_cycle_value(const OneCycleLr *c, const double *value, int64_t step)
{
    double total = (double)one_cycle_steps(c), top = c->pct_start * total - 1;
    const double end[] = { top, c->three_phase ? 2 * c->pct_start * total - 2 : total - 1,
                           total - 1 };
    int phase = 0, last_phase = c->three_phase ? 2 : 1;
    while (phase < last_phase && (double)step > end[phase]) phase++;
    double from = phase ? end[phase - 1] : 0;
    double at = end[phase] == from ? 1 : ((double)step - from) / (end[phase] - from);
    return (c->anneal_strategy == ANNEAL_COS ? half_cosine : straight_line)(value[phase],
                                                                            value[phase + 1], at);
}

static double one_cycle_rate(const Scheduler *self, int group, int64_t step)
{
    const OneCycleLr *c = self->settings;
    double first = self->base_lr[group], last = first / c->final_div_factor,
           max_lr = per_group(&c->max_lr, group);
    return one_cycle_value(
        c, (const double[]){ first, max_lr, c->three_phase ? first : last, last }, step);
}

static double one_cycle_beta1(const Scheduler *self, int group, int64_t step)
{
    const OneCycleLr *c = self->settings;
    double base = per_group(&c->base_momentum, group), max = per_group(&c->max_momentum, group);
    return one_cycle_value(c, (const double[]){ max, base, max, max }, step);
}

static void put_phase(Text *out, double end, bool is_whole, const char *start_lr,
                      const char *end_lr, const char *start_momentum, const char *end_momentum)
{
    text_puts(out, "{\"end_step\": ");
    if (is_whole)
        text_printf(out, "%.0f", end);
    else
        text_json_double(out, end);
    text_printf(out,
                ", \"start_lr\": \"%s\", \"end_lr\": \"%s\", \"start_momentum\": \"%s\", "
                "\"end_momentum\": \"%s\"}",
                start_lr, end_lr, start_momentum, end_momentum);
}

static void torch_state(const Scheduler *self, int64_t step, Text *out)
{
    const OneCycleLr *c = self->settings;
    int64_t total = one_cycle_steps(c);
    double part = c->pct_start * (double)total;
    text_printf(out, "{\"total_steps\": %" PRId64 ", \"_schedule_phases\": [", total);
    put_phase(out, part - 1, false, "initial_lr", "max_lr", "max_momentum", "base_momentum");
    text_puts(out, ", ");
    if (c->three_phase) {
        put_phase(out, 2 * c->pct_start * (double)total - 2, false, "max_lr", "initial_lr",
                  "base_momentum", "max_momentum");
        text_puts(out, ", ");
    }
    put_phase(out, (double)total - 1, true, c->three_phase ? "initial_lr" : "max_lr", "min_lr",
              c->three_phase ? "max_momentum" : "base_momentum", "max_momentum");
    text_printf(out, "], \"_anneal_func_type\": \"%s\", \"cycle_momentum\": %s, %s",
                anneal_choices[c->anneal_strategy], c->cycle_momentum ? "true" : "false",
                c->cycle_momentum ? "\"use_beta1\": true, " : "");
    put_torch_steps(self, step, step + 1, step, out);
    text_putc(out, '}');
}

static void torch_group(const Scheduler *self, int group, Text *out)
{
    const OneCycleLr *c = self->settings;
    text_puts(out, "\"initial_lr\": ");
    text_json_double(out, self->base_lr[group]);
    text_puts(out, ", \"max_lr\": ");
    text_json_double(out, per_group(&c->max_lr, group));
    text_puts(out, ", \"min_lr\": ");
    text_json_double(out, self->base_lr[group] / c->final_div_factor);
    if (!c->cycle_momentum) return;
    text_puts(out, ", \"max_momentum\": ");
    text_json_double(out, per_group(&c->max_momentum, group));
    text_puts(out, ", \"base_momentum\": ");
    text_json_double(out, per_group(&c->base_momentum, group));
}

/* Others than the defaults. */
static bool has_momenta(const OneCycleLr *c)
{
    return c->base_momentum.which != 0 || c->base_momentum.all != 0.85 ||
           c->max_momentum.which != 0 || c->max_momentum.all != 0.95;
}

static Error *build_one_cycle(Builder *b, const void *settings, void **out)
{
    const OneCycleLr *c = settings;
    TRY(per_group_check(&c->max_lr, "max_lr", c->optimizer));
    if (c->cycle_momentum)
        TRY(check_momenta(c));
    else if (has_momenta(c))
        log_warning(
            "onecycle_lr: base_momentum and max_momentum have no effect without cycle_momentum");
    Scheduler *s = scheduler_new(b, c->optimizer, c->last_epoch, c);
    for (int i = 0; i < s->n_groups; i++) s->base_lr[i] = per_group(&c->max_lr, i) / c->div_factor;
    s->rates_differ = per_group_differs(&c->max_lr);
    s->rate = one_cycle_rate;
    s->torch_state = torch_state;
    s->torch_group = torch_group;
    s->beta1 = c->cycle_momentum ? one_cycle_beta1 : NULL;
    s->last_step = one_cycle_steps(c);
    *out = s;
    return NULL;
}

const ComponentDef scheduler_onecycle_lr = {
    .kind = "scheduler",
    .variant = "onecycle_lr",
    .doc = "from max_lr / div_factor up to max_lr, then down to a final_div_factor-th of the first "
           "rate",
    .fields = one_cycle_fields,
    .settings_size = sizeof(OneCycleLr),
    .check = check_one_cycle,
    .build = build_one_cycle,
};
