/* preflight.c - what is told before the first step: what there is to do, and whether the disk will
 * do. */
#include "train/preflight.h"
#include "base/log.h"
#include <inttypes.h>

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Steps between two checkpoints; 0: none is due before the target. */
static int64_t distance(const TrainingJob *job)
{
    int64_t every = job->saving->strategy.every, all;
    bool is_too_far = __builtin_mul_overflow(every / common_divisor(every, job->checkpoint_every),
                                             job->checkpoint_every, &all);
    return is_too_far || all > job->target_steps ? 0 : all;
}

static int64_t count_checkpoints(const TrainingJob *job)
{
    int64_t every = distance(job);
    return every ? job->target_steps / every - job->seen_steps / every : 0;
}

/* Of the first n of them. */
static int64_t count_archived(const TrainingJob *job, int64_t n)
{
    const int64_t every = distance(job), archive = job->saving->strategy.keep_every;
    int64_t n_archived = 0;
    if (!every || !archive) return 0;
    for (int64_t i = 0, step = job->seen_steps / every * every; i < n; i++)
        n_archived += (step += every) % archive == 0;
    return n_archived;
}

/* "6 checkpoints of 1.5 GB = 9 GB, 40 GB free". */
static void put_checkpoints(const TrainingJob *job, const RehearsedSize *size, Text *out)
{
    int64_t n = count_checkpoints(job), keep = job->saving->strategy.keep;
    int64_t n_kept = keep >= 0 && keep < n ? keep + count_archived(job, n - keep) : n;
    char one[32], all[32], left[32];
    if (keep == 0) {
        text_puts(out, "no checkpoints, as checkpoint_saving_strategy says");
        return;
    }
    format_bytes((double)size->bytes, one);
    format_bytes((double)size->bytes * (double)n_kept, all);
    format_bytes((double)size->free_bytes, left);
    text_printf(out, "%" PRId64 " checkpoint%s of %s", n, n == 1 ? "" : "s", one);
    if (n_kept < n) text_printf(out, ", the newest %" PRId64 " stay%s", keep, keep == 1 ? "s" : "");
    if (n_kept > keep && keep > 0 && keep < n)
        text_printf(out, ", and %" PRId64 " archived", n_kept - keep);
    if (n > 1) text_printf(out, " = %s", all);
    text_printf(out, ", %s free", left);
    if (job->saving->in_background) text_puts(out, "; written in the background");
    if (job->saving->when_busy == SAVING_SKIPS) text_puts(out, "; left out when due too early");
    if (job->saving->on_failure == SAVING_GOES_ON) text_puts(out, "; one that fails is a warning");
}

/* An old checkpoint is deleted when the new one is complete. */
static void warn_of_little_space(const TrainingJob *job, const RehearsedSize *size)
{
    int64_t n = count_checkpoints(job), keep = job->saving->strategy.keep;
    int64_t n_at_once = keep > 0 && keep < n ? keep + 1 + count_archived(job, n - keep) : n;
    double needed = (double)size->bytes * (double)n_at_once;
    char all[32];
    if (needed <= (double)size->free_bytes) return;
    format_bytes(needed, all);
    log_warning("the checkpoints to come need %s, more than is free in %s; saving more rarely "
                "(checkpointing_interval_in_steps) or keeping fewer "
                "(save_k_most_recent_checkpoints_strategy) needs less",
                all, job->saving->execution.checkpoint_path);
}

static Error *tell(const TrainingJob *job, const RehearsedSize *size)
{
    char tokens[32];
    int64_t n = job->target_steps - job->seen_steps;
    Text t = { 0 };
    format_count(
        (double)(job->microbatch_size * job->sequence_length * job->accumulation * job->dp_degree) *
            (double)n,
        tokens);
    text_printf(&t, "to do: %" PRId64 " step%s, %s tokens, ", n, n == 1 ? "" : "s", tokens);
    put_checkpoints(job, size, &t);
    Error *e = events_publish(job->events, (Event){ .kind = EVENT_NOTICE, .text = t.ptr });
    text_free(&t);
    return e;
}

Error *preflight(const TrainingJob *job, const RehearsedSize *size)
{
    TRY(tell(job, size));
    warn_of_little_space(job, size);
    return NULL;
}
