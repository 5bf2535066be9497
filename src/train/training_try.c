/* training_try.c - builds and reads what a training begins with, and plans its step, for
 * `config check`. */
#include "train/training_try.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "config/field_paths.h"
#include "exec/rank_plan.h"
#include "train/checkpoint_samples.h"
#include "train/state.h"
#include "train/step_plan.h"
#include "train/training_check.h"

static Error *check_paths(Arena *a, const Builder *b)
{
    PathRoles *roles = path_roles_new(a);
    path_roles_add(roles, PATH_READ, "--config_file_path", builder_root(b)->file);
    builder_paths_add(roles, b, training_config_fields);
    return path_roles_check(roles);
}

/* `sequence`: tokens of a sample, as the data have them. */
static Error *check_first_batch(const TrainingConfig *c, int64_t *sequence)
{
    const TrainingJob job = { .state = c->app_state,
                              .loss = c->loss_fn,
                              .train = c->train_dataloader,
                              .microbatch_size =
                                  c->settings.step_profile.local_train_micro_batch_size };
    Batch *batch;
    int64_t n_samples;
    if (!job.train) return NULL;
    loader_check_ids(job.train, job.state->model->vocab_size);
    TRY(loader_next(job.train, &batch));
    return batch ? training_check_batch(&job, batch, &n_samples, sequence) : NULL;
}

static Error *check_checkpoint(Builder *b, const ParamStore *s, const char *path, StateParts parts)
{
    Error *e = file_exists(path) ? state_check(s, path, parts)
                                 : error_as_absent(error_new("cannot open %s: there is no such "
                                                             "checkpoint",
                                                             path));
    return builder_judge(b, e);
}

/* In the order in which a training reads them. */
static Error *check_state(Builder *b, const TrainingConfig *c, const ParamStore *s)
{
    const AppState *state = c->app_state;
    const Model *m = state->model;
    const TrainingProgress *p = &c->settings.training_progress;
    const bool from_hf = m->hf && !m->initializer && !m->weights_path;
    const char *with_optimizer =
        state->checkpoint_path ? state->checkpoint_path : state->optimizer->state_path;
    if (m->weights_path) TRY(check_checkpoint(b, s, m->weights_path, STATE_OF_MODEL));
    if (from_hf) TRY(builder_judge(b, state_check_hf(s, m->hf)));
    if (!with_optimizer) return NULL;
    TRY(check_checkpoint(b, s, with_optimizer,
                         state->checkpoint_path ? STATE_OF_BOTH : STATE_OF_OPTIMIZER));
    if (!file_exists(with_optimizer)) return NULL;
    return state_check_progress(with_optimizer, p->num_seen_steps, p->global_num_seen_tokens);
}

/* Of the machine on which this is asked; of many ranks each may have its own. */
static Error *check_memory(Builder *b, const Program *p, Arena *a)
{
    const RankPlan plan = program_rank_plan(p, a);
    const size_t needed = rank_plan_bytes(&plan), there = memory_available();
    char need[32], have[32];
    if (builder_rank(b)->world_size > 1 || !there || needed <= there || device_choose(NULL, 1))
        return NULL;
    format_bytes((double)needed, need);
    format_bytes((double)there, have);
    return builder_judge(b, error_as_absent(error_new("a training step takes %s, but only %s of "
                                                      "memory are free here",
                                                      need, have)));
}

static Error *check_step(Arena *a, Builder *b, const TrainingConfig *c, int64_t sequence)
{
    const Mesh mesh = training_mesh(c, builder_rank(b));
    const TrainingSettings *s = &c->settings;
    const CheckpointSamples *samples = c->checkpoint_samples;
    const StepPlanSettings settings = { .sequence = sequence, .n_threads = 1 };
    StepPlan plan;
    Error *e = step_plan_new(a, c, &mesh, &settings, &plan);
    if (!e) e = check_state(b, c, session_store(plan.session));
    if (!e) e = check_memory(b, plan.program, a);
    if (!e && samples) e = samples_check(samples, c->app_state->model, &mesh);
    if (!e)
        e = training_check_profile(c->profiler, s->training_progress.num_seen_steps,
                                   s->training_target.num_target_steps, plan.step.n);
    step_plan_free(&plan);
    return e;
}

static Error *try_parts(Arena *a, Builder *b, const TrainingConfig *c)
{
    int64_t sequence = 0;
    TRY(check_paths(a, b));
    if (training_is_done(&c->settings)) return NULL;
    TRY(check_first_batch(c, &sequence));
    return check_step(a, b, c, sequence);
}

Error *training_config_try(Builder *b, TrainingConfig *c, const char *warmstart_path)
{
    TRY(builder_try(b, training_config_fields, c));
    bool is_whole = c->app_state && c->loss_fn && c->gradient_clipper &&
                    training_settings_are_whole(&c->settings);
    if (!is_whole) return NULL; /* something that they need is not there yet */
    TRY(training_check(b, c, warmstart_path));
    Arena *a = arena_new();
    Error *e = try_parts(a, b, c);
    arena_free(a);
    return e;
}
