/* trainer.c - the loop over optimizer steps. */
#include "train/trainer.h"
#include "base/clock.h"
#include "base/signal.h"
#include "monitor/event.h"
#include "train/begin.h"
#include "train/evaluator.h"
#include "train/keep_pictures.h"
#include "train/state.h"
#include "train/trainer_state.h"
#include "train/training_check.h"
#include "watch/profiler.h"

bool trainer_is_due(int64_t step, int64_t every)
{
    return step > 0 && step % every == 0;
}

/* Of a pipeline only the last stage has losses. */
static int64_t n_ranks_with_loss(const TrainingJob *job)
{
    return job->mesh.world_size / job->mesh.size[MESH_PP];
}

/* Whether nothing but results wants to know how the next step ends, so that the one after it may be
 * given to the device before. */
static bool may_go_ahead(const Trainer *t)
{
    const TrainingJob *job = t->job;
    const int64_t steps = t->steps + 1;
    return steps < job->target_steps && !trainer_is_due(steps, job->evaluate_every) &&
           !trainer_is_due(steps, job->checkpoint_every) && !job->profiler && !job->is_observed &&
           !signal_number();
}

static Error *run_step(Trainer *t, bool ahead)
{
    const TrainingJob *job = t->job;
    if (job->consensus) job->consensus->world->step = t->steps + 1; /* for its errors */
    TRY(ahead ? optimizer_step_run_ahead(&t->step, t->steps)
              : optimizer_step_run(&t->step, t->steps));
    Window *w = &t->window;
    for (int64_t m = 0; m < t->step.plan.n; m++) {
        const double *sum = t->step.sum, *n = t->step.sum + t->step.plan.n;
        w->loss += sum[m];
        w->n_losses += (int64_t)n[m];
        w->n_without_targets += n_ranks_with_loss(job) - (int64_t)n[m];
    }
    t->steps++;
    t->tokens += job->microbatch_size * job->sequence_length * job->accumulation * job->dp_degree;
    if (t->step.overflowed)
        w->n_overflows++;
    else
        w->grad_norm += t->step.grad_norm;
    w->n_steps++;
    w->n_samples += job->microbatch_size * job->accumulation;
    t->loader_position = t->step.loader_position;
    return NULL;
}

static Error *evaluate_if_due(Trainer *t)
{
    const TrainingJob *job = t->job;
    if (!trainer_is_due(t->steps, job->evaluate_every)) return NULL;
    t->is_evaluated = false;
    return evaluate(t->session, job, t->steps, &t->is_evaluated);
}

static Error *end_early(Trainer *t, EndReason reason, TrainingEnd *end)
{
    end->reason = reason;
    end->signal = t->stop;
    return trainer_save_early(t);
}

/* Refused now, and not when the training is done. */
static Error *begin_profile(const Trainer *t)
{
    const TrainingJob *job = t->job;
    if (!job->profiler) return NULL;
    TRY(training_check_profile(job->profiler, job->seen_steps, job->target_steps, t->step.plan.n));
    return profiler_begin(job->profiler);
}

/* What an earlier run has left to do at this step. */
static Error *catch_up(Trainer *t)
{
    const TrainingJob *job = t->job;
    if (job->resumed) return job->resumed->is_evaluated ? NULL : evaluate_if_due(t);
    if (t->steps == 0) return NULL;
    TRY(evaluate_if_due(t)); /* a warm start on a multiple of the interval, as the original */
    return trainer_save_if_due(t);
}

static Error *read_next(Trainer *t)
{
    if (t->steps >= t->job->target_steps) return NULL;
    pace_begin(&t->pace);
    Error *e = optimizer_step_read(&t->step, &t->data_ended);
    pace_pause(&t->pace);
    return e;
}

/* What a step showed, its evaluation, and the data of the next one. */
static Error *finish_step(Trainer *t)
{
    const TrainingJob *job = t->job;
    Error *e = trainer_publish(t);
    if (!e) e = pace_end(&t->pace, job->target_steps - t->steps, job->events);
    if (trainer_is_due(t->steps, job->evaluate_every)) {
        TRY(consensus_error(job->consensus, e));
        e = NULL;
        TRY(evaluate_if_due(t));
    }
    return trainer_agree(t, e ? e : read_next(t));
}

static Error *load_state(Trainer *t)
{
    const TrainingJob *job = t->job;
    Error *e = begin_state(job, t->session, &t->step);
    if (e && job->state->checkpoint_path && consensus_leads(job->consensus))
        e = checkpoint_name_older(e, job->state->checkpoint_path);
    return e ? e : trainer_publish_fact(t);
}

/* All that comes before the first step. A stop is heeded after each part, as some take long. */
static Error *begin(Trainer *t)
{
    const TrainingJob *job = t->job;
    TRY(trainer_agree(t, begin_reading(t->arena, job, &t->session, &t->step, &t->data_ended)));
    if (t->data_ended || t->stop) return NULL;
    TRY(trainer_agree(t, begin_program(job, t->session, &t->step)));
    if (t->stop) return NULL;
    TRY(trainer_agree(t, load_state(t)));
    if (t->stop) return NULL;
    TRY(consensus_error(job->consensus, trainer_open_saving(t)));
    TRY(trainer_agree(t, samples_begin(job, t->session, &t->samples)));
    if (t->stop) return NULL;
    if (consensus_leads(job->consensus)) keep_pictures(job, t->step.program);
    TRY(catch_up(t));
    Error *e = trainer_publish_start(t);
    return trainer_agree(t, e ? e : begin_profile(t));
}

/* The steps up to here are, and one that is under way. */
static Error *save_what_is_good(Trainer *t)
{
    if (optimizer_step_is_ahead(&t->step)) TRY(run_step(t, false));
    return trainer_save_early(t);
}

static Error *train(Trainer *t, TrainingEnd *end)
{
    const TrainingJob *job = t->job;
    TRY(begin(t));
    if (t->data_ended) return end_early(t, END_OF_DATA, end);
    if (t->stop) return end_early(t, END_SIGNAL, end);
    if (!job->resumed) t->window.started = clock_seconds();
    while (t->steps < job->target_steps) {
        pace_begin(&t->pace);
        TRY(run_step(t, may_go_ahead(t)));
        trainer_report_step(t);
        Error *e = finish_step(t);
        if (e) return error_join(e, save_what_is_good(t));
        if (optimizer_step_is_ahead(&t->step)) continue; /* nothing is due */
        TRY(trainer_save_if_due(t));
        bool is_whole = t->steps >= job->target_steps && t->is_evaluated;
        if (t->stop && !is_whole) return end_early(t, END_SIGNAL, end);
        if (t->data_ended) return end_early(t, END_OF_DATA, end);
    }
    end->reason = END_TARGET;
    TRY(consensus_error(job->consensus, profiler_end(job->profiler)));
    TRY(trainer_wait_for_save(t));
    return t->stop ? trainer_save_early(t) : NULL; /* it kept what was due from being saved */
}

Error *trainer_run(const TrainingJob *job, TrainingEnd *end)
{
    *end = (TrainingEnd){ .reason = END_NOTHING_LEFT, .steps = job->seen_steps, .saved_steps = -1 };
    bool is_evaluated = !job->resumed || job->resumed->is_evaluated;
    if (job->seen_steps >= job->target_steps && is_evaluated) return NULL;
    Arena *a = arena_new();
    Trainer *t = NEW(a, Trainer);
    *t = (Trainer){ .arena = a,
                    .job = job,
                    .steps = job->seen_steps,
                    .tokens = job->seen_tokens,
                    .loader_position = loader_position(job->train),
                    .is_evaluated = true,
                    .saved_steps = job->resumed ? job->seen_steps : -1 };
    if (job->resumed) t->window = job->resumed->window;
    shown_rates_find(a, job->state, &t->rates);
    expert_load_new(a, job->state->model, &t->load);
    Error *e = train(t, end);
    end->steps = t->steps;
    end->saved_steps = t->saved_steps;
    state_saving_free(t->saving);
    samples_free(t->samples);
    session_free(t->session);
    arena_free(a);
    return e;
}
