/* optimizer_step.c - reads a step's microbatches, runs its schedule, and looks at loss and gradient
 * norm before the update. */
#include "train/optimizer_step.h"
#include "base/log.h"
#include "train/evaluator.h"
#include "watch/profiler.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

OptimizerStep optimizer_step_new(Arena *a, const TrainingJob *job, ParamStore *store)
{
    const int64_t n = job->accumulation;
    return (OptimizerStep){ .arena = a,
                            .job = job,
                            .store = store,
                            .schedule = schedule_accumulate(a, n),
                            .batch = NEW_N(a, Batch *, n),
                            .loss = NEW_N(a, double, n),
                            .has_targets = NEW_N(a, bool, n),
                            .position = NEW_N(a, int64_t, n) };
}

/* Batches of the loader are overwritten by the next; a step needs all of its own. */
static void keep_batch(OptimizerStep *s, int64_t m, const Batch *from)
{
    Batch *to = s->batch[m];
    if (!to) {
        to = s->batch[m] = NEW(s->arena, Batch);
        to->arena = s->arena;
    }
    to->n_samples = from->n_samples;
    to->position = from->position;
    batch_clear(to);
    for (int i = 0; i < from->n; i++) {
        const Tensor *x = &from->item[i].tensor;
        Tensor *y = batch_item(to, from->item[i].name, x->dtype, x->n_dims, x->size);
        memcpy(y->data, x->data, tensor_bytes(x));
    }
}

Error *optimizer_step_read(OptimizerStep *s, bool *ended)
{
    *ended = false;
    for (int64_t m = 0; m < s->job->accumulation; m++) {
        Batch *b;
        TRY(loader_next(s->job->train, &b));
        if (!b) {
            *ended = true;
            return NULL;
        }
        keep_batch(s, m, b);
    }
    return NULL;
}

static double loss_scale(const OptimizerStep *s)
{
    const TrainingJob *job = s->job;
    int64_t n = 0;
    if (!job->loss->global_tokens) return 1 / (double)job->accumulation;
    for (int64_t m = 0; m < job->accumulation; m++) n += batch_count_targets(job, s->batch[m]);
    return n ? 1 / (double)n : 0;
}

static Error *set_run_time(OptimizerStep *s, int64_t done)
{
    const TrainingJob *job = s->job;
    s->now.step = done;
    s->now.lr = job->state->optimizer->lr;
    const Scheduler *scheduler = job->state->scheduler;
    if (scheduler) TRY(scheduler_rate(scheduler, done, &s->now.lr));
    s->now.has_beta1 = scheduler && scheduler->beta1;
    if (s->now.has_beta1) s->now.beta1 = scheduler->beta1(scheduler, done);
    s->now.loss_scale = loss_scale(s);
    return NULL;
}

/* Runs the step's microbatches again with every result looked at. */
static Error *explain_nonfinite(OptimizerStep *s)
{
    Arena *a = arena_new();
    const char *found = NULL;
    Error *e = store_clear_gradients(s->store);
    for (int64_t i = 0; !e && !found && i < s->schedule.n; i++) {
        const Action *x = &s->schedule.action[i];
        if (!(x->phases & RUN_MICROBATCH)) continue;
        if (x->phases & RUN_FORWARD)
            e = program_feed(s->program, x->microbatch, s->batch[x->microbatch]);
        if (!e) e = program_find_nonfinite(s->program, x, &s->now, &found, a);
        if (!e && found)
            e = error_new("step %" PRId64 ", microbatch %" PRId64
                          ": the first NaN or infinity comes from %s; the step is not applied "
                          "(settings.on_nonfinite: stop; skip or ignore would go on)",
                          s->now.step + 1, x->microbatch, found);
    }
    if (!e)
        e = error_new(
            "step %" PRId64
            ": the gradient norm is %g although all gradients are finite; the step is not applied "
            "(settings.on_nonfinite: stop; skip or ignore would go on)",
            s->now.step + 1, s->grad_norm);
    arena_free(a);
    return e;
}

/* Of each microbatch; loss_last is the last that is one, or the first that is not finite. */
static void take_losses(OptimizerStep *s)
{
    const bool has_loss = program_has_scalar(s->program, "loss_mean"); /* not every stage has */
    s->loss_last = 0;
    for (int64_t m = 0; m < s->job->accumulation; m++) {
        s->loss[m] = has_loss ? program_scalar(s->program, "loss_mean", m) : 0;
        s->position[m] = s->batch[m]->position;
        s->has_targets[m] = has_loss && batch_count_targets(s->job, s->batch[m]) > 0;
        if (s->has_targets[m] && isfinite(s->loss_last)) s->loss_last = s->loss[m];
    }
}

/* The one point of a step at which the host looks at its numbers. */
static Error *gate_update(OptimizerStep *s)
{
    TRY(program_wait(s->program));
    take_losses(s);
    s->grad_norm = program_scalar(s->program, "grad_norm", 0);
    if ((isfinite(s->grad_norm) && isfinite(s->loss_last)) ||
        s->job->on_nonfinite == NONFINITE_IGNORE)
        return NULL;
    if (s->job->on_nonfinite == NONFINITE_STOP) return explain_nonfinite(s);
    log_warning("step %" PRId64 ": loss or gradient norm is not finite; the update is skipped",
                s->now.step + 1);
    s->skipped = true;
    return store_clear_gradients(s->store);
}

static Error *run_action(OptimizerStep *s, const Action *x)
{
    if (x->phases & RUN_UPDATE) {
        TRY(gate_update(s));
        if (s->skipped) return NULL;
        s->now.updates = (int64_t)s->updates++;
    }
    if (x->phases & RUN_FORWARD)
        TRY(program_feed(s->program, x->microbatch, s->batch[x->microbatch]));
    TRY(program_run(s->program, x, &s->now));
    bool is_done = x->phases >> BACKWARD_WEIGHT & 1 && x->stage == 0;
    return is_done ? profiler_step(s->job->profiler) : NULL;
}

Error *optimizer_step_run(OptimizerStep *s, int64_t done)
{
    TRY(set_run_time(s, done));
    s->skipped = false;
    for (int64_t i = 0; i < s->schedule.n; i++) TRY(run_action(s, &s->schedule.action[i]));
    return program_wait(s->program);
}
