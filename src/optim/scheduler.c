/* scheduler.c - asking a scheduler, and what the components of schedulers share. */
#include "base/json.h"
#include "base/log.h"
#include "optim/scheduler_parts.h"
#include <inttypes.h>

Error *scheduler_rate(const Scheduler *s, int64_t step, double *out)
{
    if (step > s->last_step)
        return error_new("%s ends at total_steps %" PRId64 ", but step %" PRId64 " was asked for",
                         s->name, s->last_step, step);
    *out = s->rate(s, step);
    return NULL;
}

Error *scheduler_check_steps(const Scheduler *s, int64_t to)
{
    if (to > s->last_step)
        return error_new("%s has total_steps %" PRId64 ", but training goes on to step %" PRId64
                         "; raise total_steps or lower num_target_steps",
                         s->name, s->last_step, to);
    if (to > s->held_after)
        log_warning("%s: steps %" PRId64 " to %" PRId64
                    " keep the last rate %g, because total_steps is %" PRId64,
                    s->name, s->held_after + 1, to, s->rate(s, to), s->held_after);
    return NULL;
}

Scheduler *scheduler_new(Builder *b, const Optimizer *o, int64_t last_epoch, const void *settings)
{
    Scheduler *s = NEW(builder_arena(b), Scheduler);
    *s = (Scheduler){ .name = builder_self(b)->variant,
                      .optimizer = o,
                      .base_lr = o->lr,
                      .first_step = last_epoch + 1,
                      .last_step = INT64_MAX,
                      .held_after = INT64_MAX,
                      .settings = settings };
    return s;
}

void put_per_group(Text *out, int n_groups, double x)
{
    text_putc(out, '[');
    for (int i = 0; i < n_groups; i++) {
        if (i) text_puts(out, ", ");
        text_json_double(out, x);
    }
    text_putc(out, ']');
}

void put_torch_steps(Text *out, int n_groups, double first, int64_t steps, int64_t count,
                     double last)
{
    text_puts(out, "\"base_lrs\": ");
    put_per_group(out, n_groups, first);
    text_printf(out,
                ", \"last_epoch\": %" PRId64 ", \"_step_count\": %" PRId64
                ", \"_is_initial\": false, \"_get_lr_called_within_step\": false, \"_last_lr\": ",
                steps, count);
    put_per_group(out, n_groups, last);
}

double half_cosine(double a, double b, double at)
{
    return b + (a - b) / 2 * (1 + cos(M_PI * at));
}
double straight_line(double a, double b, double at)
{
    return a + (b - a) * at;
}
