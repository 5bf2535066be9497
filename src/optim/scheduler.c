/* scheduler.c - asking a scheduler, and what the components of schedulers share. */
#include "base/json.h"
#include "base/log.h"
#include "optim/param_groups.h"
#include "optim/scheduler_parts.h"
#include <inttypes.h>

const Scheduler *scheduler_of_group(const Scheduler *s, const Optimizer *o, int group, int *own)
{
    *own = group;
    if (!s || !s->n_parts) return s;
    const ParamGroup g = param_groups_at(o, group);
    *own = g.own_number;
    for (int i = 0; i < s->n_parts; i++)
        if (s->part[i]->optimizer == g.optimizer) return s->part[i];
    return NULL;
}

static Error *check_step(const Scheduler *s, int64_t step)
{
    for (int i = 0; i < s->n_parts; i++) TRY(check_step(s->part[i], step));
    if (step <= s->last_step) return NULL;
    return error_new("%s ends at total_steps %" PRId64 ", but step %" PRId64 " was asked for",
                     s->name, s->last_step, step);
}

Error *scheduler_rates(const Scheduler *s, const Optimizer *o, int64_t step, Rate *out)
{
    const int n = param_groups_count(o);
    if (s) TRY(check_step(s, step));
    for (int i = 0; i < n; i++) {
        int own;
        const Scheduler *x = scheduler_of_group(s, o, i, &own);
        out[i] = (Rate){ .lr = x ? x->rate(x, own, step) : param_groups_at(o, i).optimizer->lr };
        if (!x || !x->beta1) continue;
        out[i].has_beta1 = true;
        out[i].beta1 = x->beta1(x, own, step);
    }
    return NULL;
}

double rates_mean(const Rate *rate, int n)
{
    double sum = 0;
    for (int i = 1; i < n; i++) sum += rate[i].lr - rate[0].lr;
    return rate[0].lr + sum / n;
}

Error *scheduler_check_steps(const Scheduler *s, int64_t to)
{
    for (int i = 0; i < s->n_parts; i++) TRY(scheduler_check_steps(s->part[i], to));
    if (to > s->last_step)
        return error_new("%s has total_steps %" PRId64 ", but training goes on to step %" PRId64
                         "; raise total_steps or lower num_target_steps",
                         s->name, s->last_step, to);
    if (to > s->held_after)
        log_warning("%s: steps %" PRId64 " to %" PRId64
                    " keep the last rate %g, because total_steps is %" PRId64,
                    s->name, s->held_after + 1, to, s->rate(s, 0, to), s->held_after);
    return NULL;
}

Scheduler *scheduler_new(Builder *b, const Optimizer *o, int64_t last_epoch, const void *settings)
{
    Scheduler *s = NEW(builder_arena(b), Scheduler);
    *s = (Scheduler){ .name = builder_self(b)->variant,
                      .optimizer = o,
                      .n_groups = param_groups_count(o),
                      .first_step = last_epoch + 1,
                      .last_step = INT64_MAX,
                      .held_after = INT64_MAX,
                      .settings = settings };
    s->base_lr = NEW_N(builder_arena(b), double, s->n_groups);
    for (int i = 0; i < s->n_groups; i++) s->base_lr[i] = param_groups_at(o, i).optimizer->lr;
    return s;
}

static void put_list(const double *x, int n, Text *out)
{
    text_putc(out, '[');
    for (int i = 0; i < n; i++) {
        if (i) text_puts(out, ", ");
        text_json_double(out, x[i]);
    }
    text_putc(out, ']');
}

void put_torch_rates(const Scheduler *s, int64_t step, Text *out)
{
    double rate[MAX_RATES];
    for (int i = 0; i < s->n_groups; i++) rate[i] = s->rate(s, i, step);
    put_list(rate, s->n_groups, out);
}

void put_torch_steps(const Scheduler *s, int64_t steps, int64_t count, int64_t last, Text *out)
{
    text_puts(out, "\"base_lrs\": ");
    put_list(s->base_lr, s->n_groups, out);
    text_printf(out,
                ", \"last_epoch\": %" PRId64 ", \"_step_count\": %" PRId64
                ", \"_is_initial\": false, \"_get_lr_called_within_step\": false, \"_last_lr\": ",
                steps, count);
    put_torch_rates(s, last, out);
}

static const Field positive_item = { .type = FIELD_FLOAT,
                                     .max = INFINITY,
                                     .flags = FIELD_STRICT | FIELD_OPEN_MIN };

const Field per_group_fields[] = {
    FIELD_FLOAT(PerGroup, all, NULL, 0, INFINITY, "of all groups",
                .flags = FIELD_STRICT | FIELD_OPEN_MIN),
    FIELD_LIST(PerGroup, each, FloatList, &positive_item, NULL, 0, 0, "of each group"),
    { 0 },
};

double per_group(const PerGroup *p, int group)
{
    return p->which == 0 ? p->all : p->each.item[group];
}

bool per_group_differs(const PerGroup *p)
{
    for (int64_t i = 1; p->which == 1 && i < p->each.n; i++)
        if (p->each.item[i] != p->each.item[0]) return true;
    return false;
}

Error *per_group_check(const PerGroup *p, const char *name, const Optimizer *o)
{
    const int n = param_groups_count(o);
    if (p->which == 0 || p->each.n == n) return NULL;
    return error_new("%s has %lld numbers, but the optimizer has %d parameter group%s", name,
                     (long long)p->each.n, n, n == 1 ? "" : "s");
}

double half_cosine(double a, double b, double at)
{
    return b + (a - b) / 2 * (1 + cos(M_PI * at));
}
double straight_line(double a, double b, double at)
{
    return a + (b - a) * at;
}
