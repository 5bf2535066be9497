/* optimizer_step.c - reads a step's microbatches, runs its schedule, and looks at loss and gradient
 * norm before the update; or, where the device has looked, while it does the next step already. An
 * update that is left out leaves out that of a step that was given after it, which is run again. */
#include "train/optimizer_step.h"
#include "base/log.h"
#include "train/evaluator.h"
#include "train/training_check.h"
#include "watch/profiler.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* After the sums of each microbatch. */
enum { LAST_LOSS, N_LAST_LOSSES, N_NOT_FINITE, N_LOSSES_NOT_FINITE, N_SINGLE };

Error *optimizer_step_new(Arena *a, const TrainingJob *job, ParamStore *store, OptimizerStep *out)
{
    StepSchedule plan;
    TRY(step_schedule_new(a, job->state->model->pipeline, &job->mesh, job->accumulation,
                          job->microbatch_size, &plan));
    *out = (OptimizerStep){
        .arena = a,
        .job = job,
        .store = store,
        .plan = plan,
        .data = { { .batch = NEW_N(a, Batch *, plan.n) }, { .batch = NEW_N(a, Batch *, plan.n) } },
        .loss = NEW_N(a, double, plan.n),
        .has_targets = NEW_N(a, bool, plan.n),
        .scaling = loss_scaling_is_wanted(job->state->model, &job->mesh) ? loss_scaling_new()
                                                                         : (LossScaling){ 0 },
        .position = NEW_N(a, int64_t, plan.n),
        .sum = NEW_N(a, double, 2 * plan.n + N_SINGLE)
    };
    return NULL;
}

static StepData *present(OptimizerStep *s)
{
    return &s->data[s->turn];
}

bool optimizer_step_is_ahead(const OptimizerStep *s)
{
    return s->data[!s->turn].is_begun;
}

/* The samples of a microbatch from `first` on. Batches of the loader are overwritten by the next; a
 * step needs all of its own. */
static Error *keep_samples(OptimizerStep *s, Batch **kept, const Batch *from, int64_t first)
{
    const int64_t n = s->plan.samples;
    Batch *to = *kept;
    if (!to) {
        to = *kept = NEW(s->arena, Batch);
        to->arena = s->arena;
    }
    to->n_samples = n;
    to->position = from->position + first;
    batch_clear(to);
    for (int i = 0; i < from->n; i++) {
        const Tensor *x = &from->item[i].tensor;
        int64_t size[MAX_DIMS];
        memcpy(size, x->size, sizeof size);
        if (s->plan.per_batch > 1) {
            if (x->n_dims == 0 || x->size[0] != from->n_samples)
                return error_new("the batch item %s cannot be cut into microbatches: its first "
                                 "dimension is not that of the samples",
                                 from->item[i].name);
            size[0] = n;
        }
        Tensor *y = batch_item(to, from->item[i].name, x->dtype, x->n_dims, size);
        size_t bytes = tensor_bytes(y);
        memcpy(y->data, (const char *)x->data + (size_t)first * (bytes / (size_t)n), bytes);
    }
    return NULL;
}

static Error *read_data(OptimizerStep *s, StepData *x)
{
    const StepSchedule *plan = &s->plan;
    if (x->is_read || s->has_ended) return NULL;
    for (int64_t m = 0; m < plan->n; m += plan->per_batch) {
        Batch *b;
        int64_t n_samples;
        TRY(loader_next(s->job->train, &b));
        if (!b) {
            s->has_ended = true;
            return NULL;
        }
        TRY(training_check_batch(s->job, b, &n_samples, &s->sequence));
        for (int64_t k = 0; k < plan->per_batch; k++)
            TRY(keep_samples(s, &x->batch[m + k], b, k * plan->samples));
    }
    x->loader_position = loader_position(s->job->train);
    x->is_read = true;
    return NULL;
}

Error *optimizer_step_read(OptimizerStep *s, bool *ended)
{
    Error *e = s->unread;
    s->unread = NULL;
    if (!e) e = read_data(s, present(s));
    *ended = !e && !present(s)->is_read;
    return e;
}

/* All ranks of a mesh that share their samples see the same targets. */
static Error *count_all_targets(const OptimizerStep *s, const StepData *x, double *n)
{
    const TrainingJob *job = s->job;
    int64_t mine = 0;
    for (int64_t m = 0; m < s->plan.n; m++) mine += batch_count_targets(job, x->batch[m]);
    *n = (double)mine;
    TRY(consensus_sum(job->consensus, n, 1));
    *n /= (double)(job->mesh.world_size / mesh_dp_degree(&job->mesh));
    return NULL;
}

/* `ahead`: the step before will have been a good one, or this one is run again. */
static Error *set_loss_scale(const OptimizerStep *s, StepData *x, bool ahead)
{
    const TrainingJob *job = s->job;
    double n = (double)(s->plan.n * mesh_dp_degree(&job->mesh));
    if (job->loss->global_tokens) TRY(count_all_targets(s, x, &n));
    x->now.loss_scale = n > 0 ? 1 / n : 0;
    LossScaling scaling = s->scaling;
    if (scaling.scale > 0) {
        if (ahead) loss_scaling_adapt(&scaling, true);
        x->now.gradient_scale = scaling.scale;
        x->now.loss_scale *= scaling.scale;
    }
    return NULL;
}

/* Only the host knows of other ranks, and lets through what is not finite. */
static bool is_gated_by_device(const OptimizerStep *s)
{
    return program_can_gate(s->program) && s->job->mesh.world_size == 1 &&
           s->job->on_nonfinite != NONFINITE_IGNORE;
}

static Error *set_run_time(const OptimizerStep *s, StepData *x, int64_t done, bool ahead)
{
    const TrainingJob *job = s->job;
    const int64_t updates = (int64_t)s->updates + ahead;
    x->now = s->now;
    x->now.step = done;
    x->now.updates = updates;
    x->now.is_gated = is_gated_by_device(s);
    x->now.is_ahead = ahead;
    TRY(scheduler_rates(job->state->scheduler, job->state->optimizer, done, x->now.rate));
    return set_loss_scale(s, x, ahead);
}

/* Where a step's first number that is not finite comes from. */
typedef struct Culprit {
    double order; /* of all that happens in the step, on all ranks; INFINITY: none */
    int64_t microbatch;
    const char *place;
} Culprit;

/* Numbers go through the stages upwards, then back, and never from one microbatch to another. */
static double order_of(const OptimizerStep *s, const Action *x, int64_t node)
{
    int n = s->plan.n_stages, place = x->phases & RUN_FORWARD ? x->stage : 2 * n - 1 - x->stage;
    return ((double)x->microbatch * 2 * n + place) * 0x1p24 + (double)node;
}

/* Runs the step's microbatches again with every result looked at, to their end: other ranks may
 * have to find something yet. */
static Error *find_culprit(OptimizerStep *s, Culprit *out, Arena *a)
{
    *out = (Culprit){ .order = INFINITY };
    TRY(store_clear_gradients(s->store));
    for (int64_t i = 0; i < s->plan.schedule.n; i++) {
        const Action *x = &s->plan.schedule.action[i];
        NonfinitePlace found = { 0 };
        if (!(x->phases & RUN_MICROBATCH)) continue;
        if (x->phases & RUN_FORWARD)
            TRY(program_feed(s->program, x->microbatch, present(s)->batch[x->microbatch]));
        TRY(program_find_nonfinite(s->program, x, &s->now, &found, a));
        double order = order_of(s, x, found.node);
        if (found.text && order < out->order) *out = (Culprit){ order, x->microbatch, found.text };
    }
    return NULL;
}

/* The rank whose culprit comes first; -1: there is none. */
static Error *find_first_rank(OptimizerStep *s, const Culprit *c, int64_t *rank)
{
    Consensus *together = s->job->consensus;
    double first = -c->order, lowest;
    TRY(consensus_reach(together, NULL, &first, 1));
    lowest =
        isfinite(c->order) && -c->order >= first ? -(double)consensus_rank(together) : -INFINITY;
    TRY(consensus_reach(together, NULL, &lowest, 1));
    *rank = isfinite(lowest) ? (int64_t)-lowest : -1;
    return NULL;
}

static Error *tell_culprit(const OptimizerStep *s, const Culprit *c, int64_t rank)
{
    static const char hint[] = "the step is not applied (settings.on_nonfinite: stop; skip or "
                               "ignore would go on)";
    if (rank < 0)
        return error_new("step %" PRId64 ": the gradient norm is %g although all gradients are "
                         "finite; %s",
                         s->now.step + 1, s->grad_norm, hint);
    if (rank != consensus_rank(s->job->consensus)) return NULL;
    return error_new("step %" PRId64 ", microbatch %" PRId64
                     ": the first NaN or infinity comes from %s; %s",
                     s->now.step + 1, c->microbatch, c->place, hint);
}

static Error *explain_nonfinite(OptimizerStep *s)
{
    Arena *a = arena_new();
    Culprit c;
    int64_t rank;
    Error *e = find_culprit(s, &c, a);
    if (!e) e = find_first_rank(s, &c, &rank);
    if (!e) e = consensus_error(s->job->consensus, tell_culprit(s, &c, rank));
    arena_free(a);
    return e;
}

/* Of each microbatch; loss_last is the last that is one, or the first that is not finite. */
static bool take_losses(OptimizerStep *s)
{
    const bool has_loss = program_has_scalar(s->program, "loss_mean"); /* not every stage has */
    bool has_last = false;
    s->loss_last = 0;
    for (int64_t m = 0; m < s->plan.n; m++) {
        s->loss[m] = has_loss ? program_scalar(s->program, "loss_mean", m) : 0;
        s->position[m] = present(s)->batch[m]->position;
        s->has_targets[m] = has_loss && batch_count_targets(s->job, present(s)->batch[m]) > 0;
        if (s->has_targets[m] && isfinite(s->loss_last)) s->loss_last = s->loss[m];
        has_last |= s->has_targets[m];
    }
    return has_last;
}

/* The same numbers on all ranks, and with them the same decisions. */
static Error *sum_over_ranks(OptimizerStep *s, bool has_last, bool *is_finite, bool *has_loss)
{
    const int n = (int)s->plan.n;
    double *single = s->sum + 2 * n;
    for (int m = 0; m < n; m++) {
        s->sum[m] = s->has_targets[m] ? s->loss[m] : 0;
        s->sum[n + m] = s->has_targets[m];
    }
    single[LAST_LOSS] = s->loss_last;
    single[N_LAST_LOSSES] = has_last;
    single[N_NOT_FINITE] = s->now.is_gated ? program_left_out(s->program)
                                           : !isfinite(s->grad_norm) || !isfinite(s->loss_last);
    single[N_LOSSES_NOT_FINITE] = !isfinite(s->loss_last);
    TRY(consensus_sum(s->job->consensus, s->sum, 2 * n + N_SINGLE));
    if (single[N_LAST_LOSSES] > 0) s->loss_last = single[LAST_LOSS] / single[N_LAST_LOSSES];
    *is_finite = single[N_NOT_FINITE] == 0;
    *has_loss = single[N_LOSSES_NOT_FINITE] == 0;
    return NULL;
}

/* Gradients that a smaller scale may bring back into the range of F16 are nothing to stop for. */
static bool is_overflow(OptimizerStep *s, bool is_finite, bool has_loss)
{
    const LossScaling was = s->scaling;
    if (was.scale == 0) return false;
    loss_scaling_adapt(&s->scaling, is_finite);
    return !is_finite && has_loss && loss_scaling_can_help(&was);
}

static Error *skip_update(OptimizerStep *s)
{
    s->skipped = true;
    return store_clear_gradients(s->store);
}

/* The present step is done, and its numbers are known. */
static Error *hear(OptimizerStep *s)
{
    return optimizer_step_is_ahead(s) ? program_reach(s->program, true) : program_wait(s->program);
}

/* The step after one whose update was left out was for nothing, and begins again. That a kernel has
 * failed may be why, and is told now. */
static Error *call_back(OptimizerStep *s)
{
    if (!optimizer_step_is_ahead(s)) return NULL;
    s->data[!s->turn].is_begun = false;
    TRY(program_wait(s->program));
    return program_reach(s->program, true); /* its numbers are those to be shown */
}

/* The one point of a step at which the host looks at its numbers: before its update, or, where the
 * device has looked at them itself, after it. */
static Error *gate_update(OptimizerStep *s)
{
    bool is_finite, has_loss;
    TRY(hear(s));
    bool has_last = take_losses(s);
    s->grad_norm = program_scalar(s->program, "grad_norm", 0);
    TRY(sum_over_ranks(s, has_last, &is_finite, &has_loss));
    if (!is_finite) TRY(call_back(s));
    s->overflowed = is_overflow(s, is_finite, has_loss);
    if (s->overflowed) {
        log_info("step %" PRId64 ": gradients are too large for float16 with a loss scale of %g; "
                 "the update is skipped, the scale is %g now",
                 s->now.step + 1, s->now.gradient_scale, s->scaling.scale);
        return skip_update(s);
    }
    if (is_finite || s->job->on_nonfinite == NONFINITE_IGNORE) return NULL;
    if (s->job->on_nonfinite == NONFINITE_STOP) return explain_nonfinite(s);
    log_warning("step %" PRId64 ": loss or gradient norm is not finite; the update is skipped",
                s->now.step + 1);
    return skip_update(s);
}

static Error *run_action(OptimizerStep *s, const StepData *x, const Action *action)
{
    if (action->phases & RUN_UPDATE && !x->now.is_gated) {
        TRY(gate_update(s));
        if (s->skipped) return NULL;
    }
    if (action->phases & RUN_FORWARD)
        TRY(program_feed(s->program, action->microbatch, x->batch[action->microbatch]));
    return program_run(s->program, action, &x->now);
}

static Error *run_each(OptimizerStep *s, const StepData *x)
{
    for (int64_t i = 0; i < s->plan.schedule.n; i++) {
        const Action *action = &s->plan.schedule.action[i];
        TRY(run_action(s, x, action));
        if (action->phases >> BACKWARD_WEIGHT & 1 && action->stage == s->plan.first_stage)
            TRY(profiler_step(s->job->profiler));
    }
    return NULL;
}

/* Nothing is looked at before the end. */
static Error *run_in_one(OptimizerStep *s, const StepData *x)
{
    bool again;
    TRY(program_begin_step(s->program));
    TRY(program_end_step(s->program, run_each(s, x), &again));
    for (int64_t i = 0; i < s->plan.schedule.n && again; i++)
        TRY(run_action(s, x, &s->plan.schedule.action[i]));
    return NULL;
}

/* Of a step that is gated by the device all is given. */
static Error *begin(OptimizerStep *s, StepData *x, int64_t done, bool ahead)
{
    TRY(set_run_time(s, x, done, ahead));
    if (!x->now.is_gated) return NULL;
    TRY(run_in_one(s, x));
    x->is_begun = true;
    return NULL;
}

/* An error of its data is told when they are asked for. */
static Error *go_ahead(OptimizerStep *s, int64_t done)
{
    StepData *next = &s->data[!s->turn];
    if (!program_can_go_ahead(s->program) || !present(s)->now.is_gated || s->unread) return NULL;
    s->unread = read_data(s, next);
    return next->is_read ? begin(s, next, done, true) : NULL;
}

static Error *finish(OptimizerStep *s)
{
    StepData *x = present(s);
    s->now = x->now;
    s->skipped = s->overflowed = false;
    if (x->now.is_gated) {
        TRY(gate_update(s));
    } else {
        TRY(run_each(s, x));
        TRY(program_wait(s->program));
    }
    if (!s->skipped) s->updates++;
    s->loader_position = x->loader_position;
    x->is_read = x->is_begun = false;
    s->turn = !s->turn;
    return NULL;
}

static Error *run(OptimizerStep *s, int64_t done, bool may_go_ahead)
{
    StepData *x = present(s);
    if (!x->is_begun) TRY(begin(s, x, done, false));
    if (may_go_ahead) TRY(go_ahead(s, done + 1));
    return finish(s);
}

Error *optimizer_step_run(OptimizerStep *s, int64_t done)
{
    return consensus_break(s->job->consensus, run(s, done, false));
}

Error *optimizer_step_run_ahead(OptimizerStep *s, int64_t done)
{
    return consensus_break(s->job->consensus, run(s, done, true));
}
