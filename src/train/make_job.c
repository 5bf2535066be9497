/* make_job.c - copies what a configuration says to what the trainer and the report are given. */
#include "train/make_job.h"
#include "train/crew.h"
#include "watch/check_kernels.h"
#include "watch/ops_profile.h"
#include <stdio.h>

TrainingPlan training_plan(const TrainingSettings *s, int64_t n_samples)
{
    const ConsistencyEnforcement *c = &s->consistency_enforcement;
    return (TrainingPlan){
        .num_target_tokens = s->training_target.num_target_tokens,
        .num_target_steps = s->training_target.num_target_steps,
        .training_log_interval_in_steps = s->intervals.training_log_interval_in_steps,
        .checkpointing_interval_in_steps = s->intervals.checkpointing_interval_in_steps,
        .evaluation_interval_in_steps = s->intervals.evaluation_interval_in_steps,
        .gradient_accumulation_steps = s->step_profile.gradient_accumulation_steps,
        .local_train_micro_batch_size = s->step_profile.local_train_micro_batch_size,
        .sequence_length = s->step_profile.sequence_length,
        .dp_degree = s->step_profile.dp_degree,
        .local_rank = s->cuda_env.local_rank,
        .world_size = s->cuda_env.world_size,
        .global_rank = s->cuda_env.global_rank,
        .enforce_tokens_per_step_consistency = c->enforce_tokens_per_step_consistency,
        .enforce_last_step_logged = c->enforce_last_step_logged,
        .enforce_last_step_evaluated = c->enforce_last_step_evaluated,
        .enforce_last_step_checkpointed = c->enforce_last_step_checkpointed,
        .enforce_enough_tokens_in_dataset = c->enforce_enough_tokens_in_dataset,
        .global_num_seen_tokens = s->training_progress.global_num_seen_tokens,
        .num_seen_steps = s->training_progress.num_seen_steps,
        .num_seen_samples = s->training_progress.num_seen_samples,
        .last_step = s->training_progress.last_step,
        .n_samples = n_samples,
    };
}

/* Those of the YAML and of the command line. */
static Profiler *profilers_of(Arena *a, const RunSettings *run, Profiler *p)
{
    if (run->profile_ops) p = profiler_and(a, p, ops_profile_new(a, run->profile_ops, stdout));
    if (run->check) p = profiler_and(a, p, check_kernels_new(a, run->check, stdout));
    return p;
}

const char *training_device(const RunSettings *run)
{
    return device_choose(run->device, run->rank ? run->rank->world_size : 1);
}

TrainingJob training_job(Arena *a, const RunSettings *run, const RunConfig *from, Events *events)
{
    const TrainingConfig *c = &from->config;
    const TrainingSettings *s = &c->settings;
    Consensus *together = crew_consensus(run->crew);
    return (TrainingJob){
        .state = c->app_state,
        .loss = c->loss_fn,
        .clipper = c->gradient_clipper,
        .train = c->train_dataloader,
        .evaluation = { (Loader **)c->eval_dataloaders.item, c->eval_dataloaders.n },
        .saving = c->checkpoint_saving,
        .mfu = c->mfu_calculator,
        .events = events,
        .profiler = profilers_of(a, run, c->profiler),
        .samples = c->checkpoint_samples,
        .folder = from->folder,
        .accumulation = s->step_profile.gradient_accumulation_steps,
        .microbatch_size = s->step_profile.local_train_micro_batch_size,
        .sequence_length = s->step_profile.sequence_length,
        .dp_degree = s->step_profile.dp_degree,
        .n_train_samples = c->train_dataset->count(c->train_dataset),
        .target_steps = s->training_target.num_target_steps,
        .target_tokens = s->training_target.num_target_tokens,
        .seen_steps = s->training_progress.num_seen_steps,
        .seen_tokens = s->training_progress.global_num_seen_tokens,
        .log_every = s->intervals.training_log_interval_in_steps,
        .evaluate_every = s->intervals.evaluation_interval_in_steps,
        .evaluation_batches =
            s->intervals.evaluation_batches ? *s->intervals.evaluation_batches : 0,
        .checkpoint_every = s->intervals.checkpointing_interval_in_steps,
        .on_nonfinite = (OnNonfinite)s->on_nonfinite,
        .resumed = run->resume && run->resume->checkpoint ? &run->resume->position : NULL,
        .initial_weights = run->initial_weights_path,
        .config_digest = run_config_digest(a, from),
        .trace = { .print = consensus_leads(together) ? run->print_graph : NULL, .to = stdout },
        .consensus = together,
        .mesh = training_mesh(c, run->rank),
        .device = training_device(run),
        .local_rank = run->rank ? (int)run->rank->local_rank : 0,
        .n_threads = run->crew ? run->crew->n_threads : 0,
        .memory = run->crew ? run->crew->memory : 0,
        .observe = run->observe,
        .observer = run->observer,
        .is_observed = run->observe != NULL,
    };
}
