/* trainer.c - the loop over optimizer steps. */
#include "train/trainer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signal.h"
#include "monitor/results.h"
#include "optim/param_groups.h"
#include "passes/qk_clip.h"
#include "train/begin.h"
#include "train/checkpoint_samples.h"
#include "train/evaluator.h"
#include "train/expert_load.h"
#include "train/keep_pictures.h"
#include "train/optimizer_step.h"
#include "train/pace.h"
#include "train/preflight.h"
#include "train/session.h"
#include "train/shown_rates.h"
#include "train/state.h"
#include "train/state_saving.h"
#include "train/training_check.h"
#include "watch/profiler.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Trainer {
    Arena *arena;
    const TrainingJob *job;
    Session *session;
    OptimizerStep step;
    StateSaving *saving;
    SampleWriter *samples;
    int64_t steps, tokens; /* done, earlier runs included */
    Window window;
    Pace pace;
    int64_t loader_position; /* of the next batch */
    bool is_evaluated;       /* nothing is due that is not done */
    int64_t saved_steps;     /* of the newest checkpoint of this run; -1: none */
    int stop;                /* the signal that any rank got, as far as all know; 0: none */
    bool data_ended;         /* on any rank: there is no further step */
    ShownRates rates;
    ExpertLoad load;
} Trainer;

/* Of a pipeline only the last stage has losses. */
static int64_t n_ranks_with_loss(const TrainingJob *job)
{
    return job->mesh.world_size / job->mesh.size[MESH_PP];
}

static Error *run_step(Trainer *t)
{
    const TrainingJob *job = t->job;
    if (job->consensus) job->consensus->world->step = t->steps + 1; /* for its errors */
    TRY(optimizer_step_run(&t->step, t->steps));
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
    t->loader_position = loader_position(job->train);
    return NULL;
}

/* Of the last step, over the groups of parameters. */
static double mean_rate(const Trainer *t)
{
    return rates_mean(t->step.now.rate, param_groups_count(t->job->state->optimizer));
}

static void report_step(const Trainer *t)
{
    const StepReport r = { .step = t->steps,
                           .grad_norm = t->step.grad_norm,
                           .lr = mean_rate(t),
                           .n_microbatches = t->step.plan.n,
                           .loss = t->step.loss,
                           .sum = t->step.sum,
                           .position = t->step.position,
                           .store = session_store(t->session) };
    if (t->job->observe) t->job->observe(t->job->observer, &r);
}

static bool is_due(int64_t step, int64_t every)
{
    return step > 0 && step % every == 0;
}

static Progress progress_of(const Trainer *t)
{
    return (Progress){ .tag = loader_tag(t->job->train),
                       .done = t->steps,
                       .total = t->job->target_steps,
                       .tokens = t->tokens,
                       .loss = t->window.n_losses ? t->step.loss_last : NAN,
                       .lr = t->window.n_steps ? mean_rate(t) : NAN,
                       .grad_norm = t->window.n_steps ? t->step.grad_norm : NAN };
}

static Error *publish_progress(const Trainer *t, const Progress *p)
{
    return events_publish(t->job->events, (Event){ .kind = EVENT_PROGRESS, .progress = *p });
}

/* Largest resident memory of this process so far, in MiB. */
static double peak_memory_mb(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lf kB", &kib) == 1) break;
    if (f) fclose(f);
    return kib / 1024;
}

/* Those of the next step; after the end of a schedule those of the last. */
static Error *add_rates(Trainer *t, TrainingNumbers *n)
{
    const AppState *state = t->job->state;
    Rate rate[MAX_RATES];
    memcpy(rate, t->step.now.rate, sizeof rate);
    if (state->scheduler && t->steps <= state->scheduler->last_step)
        TRY(scheduler_rates(state->scheduler, state->optimizer, t->steps, rate));
    n->lr = rates_mean(rate, param_groups_count(state->optimizer));
    n->rate_name = t->rates.name;
    n->rate = shown_rates_take(&t->rates, rate);
    return NULL;
}

/* The largest of the last step, where they are watched; a rank knows that of its layers. */
static Error *add_attention_logit(Trainer *t, TrainingNumbers *n)
{
    const Program *p = t->step.program;
    n->has_attention_logit = t->job->state->model->qk_clip != NULL;
    if (!n->has_attention_logit) return NULL;
    if (program_has_scalar(p, ATTENTION_LOGIT_MAX))
        n->attention_logit = program_scalar(p, ATTENTION_LOGIT_MAX, 0);
    return consensus_reach(t->job->consensus, NULL, &n->attention_logit, 1);
}

static Error *publish_results(Trainer *t)
{
    const TrainingJob *job = t->job;
    Window *w = &t->window;
    double seconds = clock_seconds() - w->started,
           rate = (double)(w->n_samples * job->dp_degree) / seconds;
    if (w->n_without_targets)
        log_warning("up to step %" PRId64 ": no token of %" PRId64 " of %" PRId64
                    " microbatches has a target; nothing was learnt from them",
                    t->steps, w->n_without_targets, w->n_without_targets + w->n_losses);
    TrainingNumbers n = {
        .tag = loader_tag(job->train),
        .step = t->steps,
        .consumed_tokens = t->tokens,
        .loss_avg = w->n_losses ? w->loss / (double)w->n_losses : 0,
        .loss_last = t->step.loss_last,
        .grad_norm_avg = w->n_steps > w->n_overflows
                             ? w->grad_norm / (double)(w->n_steps - w->n_overflows)
                             : t->step.grad_norm,
        .grad_norm_last = t->step.grad_norm,
        .samples_per_second = rate,
        .mfu = -1,
        .gradient_scale = t->step.scaling.scale,
        .peak_memory_mb = peak_memory_mb(),
    };
    if (job->mfu)
        n.mfu = mfu_compute(job->mfu, graph_parameter_count(program_graph(t->step.program)), rate,
                            session_peak_flops(t->session));
    TRY(add_rates(t, &n));
    TRY(expert_load_take(&t->load, t->step.program, t->step.plan.n, job->consensus));
    if (t->load.n) n.load_name = t->load.name;
    n.load = t->load.value;
    n.n_shown_loads = N_LOAD_SUMMARIES;
    TRY(add_attention_logit(t, &n));
    Results r = training_results(&n);
    *w = (Window){ .started = clock_seconds() };
    return events_publish(job->events, (Event){ .kind = EVENT_RESULTS, .results = &r });
}

/* Results first: they make a line of progress superfluous. */
static Error *publish(Trainer *t)
{
    const Progress p = progress_of(t);
    if (is_due(t->steps, t->job->log_every)) TRY(publish_results(t));
    return publish_progress(t, &p);
}

/* A JSON object. */
static const char *progress_to_save(Arena *a, const Trainer *t)
{
    const TrainingPosition position = {
        .steps = t->steps,
        .tokens = t->tokens,
        .loader_position = t->loader_position,
        .dp_degree = t->job->dp_degree,
        .samples_per_step = t->job->microbatch_size * t->job->accumulation * t->job->dp_degree,
        .n_samples = t->job->n_train_samples,
        .is_evaluated = t->is_evaluated,
        .window = t->window,
        .scaling = t->step.scaling
    };
    const TrainingFacts facts = { (int64_t)t->step.updates, (int64_t)t->step.now.seed,
                                  t->job->config_digest };
    return progress_json(a, &position, &facts);
}

static Error *save_is_safe(Trainer *t, int64_t steps)
{
    const CheckpointSaving *saving = t->job->saving;
    t->saved_steps = steps;
    if (!consensus_leads(t->job->consensus) || !saving->n_kept) return NULL;
    return events_publish(t->job->events, (Event){ .kind = EVENT_CHECKPOINT,
                                                   .text = saving->kept[saving->n_kept - 1] });
}

/* What a save came to, on all ranks. Its failure does not end the training where that is asked for,
 * unless the ranks cannot reach each other. */
static Error *judge_save(Trainer *t, Error *e, int64_t steps)
{
    Consensus *together = t->job->consensus;
    e = error_wrap(e, "checkpoint after step %" PRId64, steps);
    if (!e) return save_is_safe(t, steps);
    if (t->job->saving->on_failure == SAVING_STOPS) return e;
    e = consensus_hear(together, e);
    if (together && together->is_broken) return e;
    if (*error_text(e) && t->saved_steps < 0)
        log_warning("%s; the training goes on without a checkpoint of its own", error_text(e));
    else if (*error_text(e))
        log_warning("%s; the training goes on, and the checkpoint after step %" PRId64
                    " is still the last one",
                    error_text(e), t->saved_steps);
    error_free(e);
    return NULL;
}

/* A save in the background is done on all ranks, which all come here. */
static Error *finish_save(Trainer *t)
{
    int64_t steps;
    Error *e = state_saving_finish(t->saving, &steps);
    return judge_save(t, e, steps);
}

/* The one point of a step at which the ranks hear of each other: of errors, of signals, that there
 * are no further data, and that a save is safe. */
static Error *agree(Trainer *t, Error *mine)
{
    const bool is_saving = t->saving && state_saving_is_begun(t->saving);
    double want[] = { signal_number(), t->data_ended,
                      is_saving && state_saving_is_done(t->saving) ? 0 : 1 };
    TRY(consensus_reach(t->job->consensus, mine, want, 3));
    t->stop = (int)want[0];
    t->data_ended = want[1] > 0;
    return is_saving && want[2] < 1 ? consensus_error(t->job->consensus, finish_save(t)) : NULL;
}

static CheckpointTotals totals_after(const TrainingJob *job, int64_t steps, int64_t tokens)
{
    return (CheckpointTotals){ .seen_steps = steps,
                               .seen_tokens = tokens,
                               .target_steps = job->target_steps,
                               .target_tokens = job->target_tokens };
}

/* Before the first step. */
static Error *open_saving(Trainer *t)
{
    const TrainingJob *job = t->job;
    const CheckpointTotals first = totals_after(job, job->seen_steps + 1, job->seen_tokens),
                           last = totals_after(job, job->target_steps, job->target_tokens);
    RehearsedSize size = { 0 };
    Arena *a = arena_new();
    Error *e = state_saving_new(job, session_store(t->session), program_graph(t->step.program),
                                &t->step.updates, &t->saving);
    if (!e) e = state_saving_rehearse(t->saving, &first, &last, progress_to_save(a, t), &size);
    job->saving->bytes = size.bytes;
    if (!e && consensus_leads(job->consensus)) e = preflight(job, &size);
    arena_free(a);
    return e;
}

/* Waits for the save that is on its way. */
static Error *wait_for_save(Trainer *t)
{
    if (!t->saving || !state_saving_is_begun(t->saving)) return NULL;
    return consensus_error(t->job->consensus, finish_save(t));
}

/* Done on return. */
static Error *save_now(Trainer *t)
{
    const CheckpointTotals totals = totals_after(t->job, t->steps, t->tokens);
    TRY(wait_for_save(t));
    if (t->saved_steps == t->steps) return NULL; /* it was this one */
    Arena *a = arena_new();
    Error *e = state_saving_save(t->saving, &totals, progress_to_save(a, t));
    arena_free(a);
    return agree(t, judge_save(t, e, t->steps));
}

/* Done by a later step. */
static Error *save_in_background(Trainer *t)
{
    const CheckpointTotals totals = totals_after(t->job, t->steps, t->tokens);
    double is_busy = state_saving_is_begun(t->saving) && !state_saving_is_done(t->saving);
    TRY(consensus_reach(t->job->consensus, NULL, &is_busy, 1));
    if (is_busy > 0 && t->job->saving->when_busy == SAVING_SKIPS) {
        log_warning("no checkpoint after step %" PRId64
                    ": the one before is still being written (when_busy: skip)",
                    t->steps);
        return NULL;
    }
    TRY(wait_for_save(t));
    Arena *a = arena_new();
    Error *e = state_saving_begin(t->saving, &totals, progress_to_save(a, t));
    arena_free(a);
    return e ? agree(t, judge_save(t, e, t->steps)) : NULL;
}

static Error *save_checkpoint(Trainer *t)
{
    return t->job->saving->in_background ? save_in_background(t) : save_now(t);
}

static Error *evaluate_if_due(Trainer *t)
{
    const TrainingJob *job = t->job;
    if (!is_due(t->steps, job->evaluate_every)) return NULL;
    t->is_evaluated = false;
    return evaluate(t->session, job, t->steps, &t->is_evaluated);
}

static Error *save_if_due(Trainer *t)
{
    const TrainingJob *job = t->job;
    bool is_wanted =
        is_due(t->steps, job->checkpoint_every) && checkpoint_is_due(job->saving, t->steps);
    if (!is_wanted || t->stop) return NULL;
    TRY(save_checkpoint(t));
    return samples_write(t->samples, t->steps);
}

/* What the plan takes, in full. */
static Error *publish_memory(const Trainer *t)
{
    char stored[32], planned[32], copy[32];
    format_bytes((double)session_store(t->session)->bytes, stored);
    format_bytes((double)program_bytes(t->step.program), planned);
    format_bytes((double)state_saving_bytes(t->saving), copy);
    const char *text = arena_printf(
        t->arena,
        "ready: %s for parameters, optimizer states and gradients, %s for activations%s%s%s%s",
        stored, planned, state_saving_bytes(t->saving) ? ", " : "",
        state_saving_bytes(t->saving) ? copy : "",
        state_saving_bytes(t->saving) ? " for the copy that is saved in the background" : "",
        t->job->mesh.world_size > 1 ? ", on rank 0" : "");
    return events_publish(t->job->events, (Event){ .kind = EVENT_NOTICE, .text = text });
}

/* What will be felt because nobody has written a tuned kernel for it. */
static Error *publish_slow_ops(const Trainer *t)
{
    const char *slow = program_slow_ops(t->step.program, t->step.plan.n, t->arena);
    if (!slow) return NULL;
    const char *text = arena_printf(t->arena, "slow on this machine: %s", slow);
    return events_publish(t->job->events, (Event){ .kind = EVENT_NOTICE, .text = text });
}

static Error *publish_fact(const Trainer *t)
{
    const Measure fact = { .name = "No. parameters",
                           .count = graph_parameter_count(program_graph(t->step.program)),
                           .is_count = true };
    return events_publish(t->job->events, (Event){ .kind = EVENT_FACT, .fact = fact });
}

/* Before the target is reached: what was learnt is kept, whatever the intervals. */
static Error *save_early(Trainer *t)
{
    bool wanted = t->job->saving->strategy.keep != 0 && t->steps > t->job->seen_steps;
    TRY(wait_for_save(t));
    return wanted && t->saved_steps != t->steps ? save_now(t) : NULL;
}

static Error *end_early(Trainer *t, EndReason reason, TrainingEnd *end)
{
    end->reason = reason;
    end->signal = t->stop;
    return save_early(t);
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
    return save_if_due(t);
}

static Error *publish_start(Trainer *t)
{
    const Progress start = progress_of(t);
    TRY(publish_memory(t));
    TRY(publish_slow_ops(t));
    TRY(publish_progress(t, &start));
    return begin_profile(t);
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
    Error *e = publish(t);
    if (!e) e = pace_end(&t->pace, job->target_steps - t->steps, job->events);
    if (is_due(t->steps, job->evaluate_every)) {
        TRY(consensus_error(job->consensus, e));
        e = NULL;
        TRY(evaluate_if_due(t));
    }
    return agree(t, e ? e : read_next(t));
}

static Error *load_state(Trainer *t)
{
    const TrainingJob *job = t->job;
    Error *e = begin_state(job, t->session, &t->step);
    if (e && job->state->checkpoint_path && consensus_leads(job->consensus))
        e = checkpoint_name_older(e, job->state->checkpoint_path);
    return e ? e : publish_fact(t);
}

/* All that comes before the first step. A stop is heeded after each part, as some take long. */
static Error *begin(Trainer *t)
{
    const TrainingJob *job = t->job;
    TRY(agree(t, begin_reading(t->arena, job, &t->session, &t->step, &t->data_ended)));
    if (t->data_ended || t->stop) return NULL;
    TRY(agree(t, begin_program(job, t->session, &t->step)));
    if (t->stop) return NULL;
    TRY(agree(t, load_state(t)));
    if (t->stop) return NULL;
    TRY(consensus_error(job->consensus, open_saving(t)));
    TRY(agree(t, samples_begin(job, t->session, &t->samples)));
    if (t->stop) return NULL;
    if (consensus_leads(job->consensus)) keep_pictures(job, t->step.program);
    TRY(catch_up(t));
    return agree(t, publish_start(t));
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
        TRY(run_step(t));
        report_step(t);
        Error *e = finish_step(t);
        if (e) return error_join(e, save_early(t)); /* the steps up to here are good */
        TRY(save_if_due(t));
        bool is_whole = t->steps >= job->target_steps && t->is_evaluated;
        if (t->stop && !is_whole) return end_early(t, END_SIGNAL, end);
        if (t->data_ended) return end_early(t, END_OF_DATA, end);
    }
    end->reason = END_TARGET;
    TRY(consensus_error(job->consensus, profiler_end(job->profiler)));
    TRY(wait_for_save(t));
    return t->stop ? save_early(t) : NULL; /* it kept what was due from being saved */
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
