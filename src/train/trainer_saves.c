/* trainer_saves.c - the checkpoints of a training: when they are due, what a failure of one means,
 * and how the ranks agree that one is safe. */
#include "base/log.h"
#include "base/signal.h"
#include "train/preflight.h"
#include "train/trainer_state.h"
#include <inttypes.h>
#include <string.h>

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

Error *trainer_agree(Trainer *t, Error *mine)
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

Error *trainer_open_saving(Trainer *t)
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

Error *trainer_wait_for_save(Trainer *t)
{
    if (!t->saving || !state_saving_is_begun(t->saving)) return NULL;
    return consensus_error(t->job->consensus, finish_save(t));
}

/* Done on return. */
static Error *save_now(Trainer *t)
{
    const CheckpointTotals totals = totals_after(t->job, t->steps, t->tokens);
    TRY(trainer_wait_for_save(t));
    if (t->saved_steps == t->steps) return NULL; /* it was this one */
    Arena *a = arena_new();
    Error *e = state_saving_save(t->saving, &totals, progress_to_save(a, t));
    arena_free(a);
    return trainer_agree(t, judge_save(t, e, t->steps));
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
    TRY(trainer_wait_for_save(t));
    Arena *a = arena_new();
    Error *e = state_saving_begin(t->saving, &totals, progress_to_save(a, t));
    arena_free(a);
    return e ? trainer_agree(t, judge_save(t, e, t->steps)) : NULL;
}

static Error *save_checkpoint(Trainer *t)
{
    return t->job->saving->in_background ? save_in_background(t) : save_now(t);
}

Error *trainer_save_if_due(Trainer *t)
{
    const TrainingJob *job = t->job;
    bool is_wanted =
        trainer_is_due(t->steps, job->checkpoint_every) && checkpoint_is_due(job->saving, t->steps);
    if (!is_wanted || t->stop) return NULL;
    TRY(save_checkpoint(t));
    return samples_write(t->samples, t->steps);
}

Error *trainer_save_early(Trainer *t)
{
    bool wanted = t->job->saving->strategy.keep != 0 && t->steps > t->job->seen_steps;
    TRY(trainer_wait_for_save(t));
    return wanted && t->saved_steps != t->steps ? save_now(t) : NULL;
}
