/* trainer_results.c - what a training publishes: progress, results, and what there is to say before
 * its first step. */
#include "base/clock.h"
#include "base/log.h"
#include "exec/rank_plan.h"
#include "models/decoder.h"
#include "monitor/results.h"
#include "optim/param_groups.h"
#include "passes/qk_clip.h"
#include "train/trainer_state.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of the last step, over the groups of parameters. */
static double mean_rate(const Trainer *t)
{
    return rates_mean(t->step.now.rate, param_groups_count(t->job->state->optimizer));
}

void trainer_report_step(const Trainer *t)
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

static const char *const ahead_names[MAX_AHEAD] = {
    "train loss of token +2", "train loss of token +3", "train loss of token +4",
    "train loss of token +5", "train loss of token +6", "train loss of token +7",
    "train loss of token +8", "train loss of token +9",
};

/* The sum over the microbatches of the last step. */
static double sum_of(const Trainer *t, const char *output, double *n)
{
    const Program *p = t->step.program;
    double sum = 0;
    for (int64_t m = 0; m < t->step.plan.n && program_has_scalar(p, output); m++, ++*n)
        sum += program_scalar(p, output, m);
    return sum;
}

/* Means over the microbatches of all ranks; those of a pipeline that have no head have none. */
static Error *add_ahead(Trainer *t, TrainingNumbers *n)
{
    const Decoder *d = decoder_of(t->job->state->model);
    const int depth = d && d->multi_token ? (int)d->multi_token->depth : 0;
    double sum[MAX_AHEAD + 1] = { 0 }, count = 0;
    Arena *a = arena_new();
    for (int i = 0; i < depth; i++) {
        sum[i] = sum_of(t, model_ahead_name(a, i), &count);
        t->ahead_name[i] = ahead_names[i];
    }
    arena_free(a);
    sum[MAX_AHEAD] = count;
    if (depth) TRY(consensus_sum(t->job->consensus, sum, MAX_AHEAD + 1));
    for (int i = 0; i < depth; i++) t->ahead[i] = sum[i] * depth / fmax(sum[MAX_AHEAD], 1);
    if (depth) n->ahead_name = t->ahead_name;
    n->ahead = t->ahead;
    return NULL;
}

/* Likewise, where indexers of sparse attention are trained. */
static Error *add_index_loss(const Trainer *t, TrainingNumbers *n)
{
    const Decoder *d = decoder_of(t->job->state->model);
    double sum[2] = { 0 };
    if (!d || !d->sparse || d->sparse->index_loss <= 0) return NULL;
    sum[0] = sum_of(t, INDEX_LOSS, &sum[1]);
    TRY(consensus_sum(t->job->consensus, sum, 2));
    n->has_index_loss = sum[1] > 0;
    n->index_loss = sum[0] / fmax(sum[1], 1);
    return NULL;
}

/* By the original's formula, and by what the graphs of all ranks need. */
static Error *add_mfu(const Trainer *t, TrainingNumbers *n)
{
    const TrainingJob *job = t->job;
    const Program *p = t->step.program;
    const double peak = session_peak_flops(t->session), rate = n->samples_per_second;
    double flops = program_needed_flops(p);
    TRY(consensus_sum(job->consensus, &flops, 1));
    const double microbatches = rate / (double)(job->dp_degree * job->microbatch_size);
    n->mfu = mfu_compute(job->mfu, graph_parameter_count(program_graph(p)), rate, peak);
    if (peak > 0) n->mfu_products = flops * microbatches / (peak * (double)job->mfu->world_size);
    return NULL;
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
    if (job->mfu) TRY(add_mfu(t, &n));
    TRY(add_rates(t, &n));
    TRY(expert_load_take(&t->load, t->step.program, t->step.plan.n, job->consensus));
    if (t->load.n) n.load_name = t->load.name;
    n.load = t->load.value;
    n.n_shown_loads = N_LOAD_SUMMARIES;
    TRY(add_attention_logit(t, &n));
    TRY(add_ahead(t, &n));
    TRY(add_index_loss(t, &n));
    Results r = training_results(&n);
    *w = (Window){ .started = clock_seconds() };
    return events_publish(job->events, (Event){ .kind = EVENT_RESULTS, .results = &r });
}

/* Results first: they make a line of progress superfluous. */
Error *trainer_publish(Trainer *t)
{
    const Progress p = progress_of(t);
    if (trainer_is_due(t->steps, t->job->log_every)) TRY(publish_results(t));
    return publish_progress(t, &p);
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
        stored, planned, state_saving_bytes(t->saving) ? ", at most " : "",
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

Error *trainer_publish_fact(const Trainer *t)
{
    const Measure fact = { .name = "No. parameters",
                           .count = graph_parameter_count(program_graph(t->step.program)),
                           .is_count = true };
    return events_publish(t->job->events, (Event){ .kind = EVENT_FACT, .fact = fact });
}

Error *trainer_publish_start(Trainer *t)
{
    const Progress start = progress_of(t);
    TRY(publish_memory(t));
    TRY(publish_slow_ops(t));
    return publish_progress(t, &start);
}
