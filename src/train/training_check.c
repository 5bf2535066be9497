/* training_check.c - what is made sure of before the first step, by trainings and `config check`.
 */
#include "train/training_check.h"
#include "base/log.h"
#include "train/agreement.h"
#include "train/evaluator.h"
#include <inttypes.h>
#include <string.h>

/* A warm start with the YAML of a fresh run would begin anew without a word. */
static Error *check_goes_on(const AppState *state, const char *path)
{
    if (!path || state->checkpoint_path || state->model->weights_path) return NULL;
    return error_new(
        "%s: nothing in it loads the checkpoint, so warmstart would begin anew: "
        "app_state must be app_state.dcp with a checkpoint_dir_path from "
        "${warmstart_env:checkpoint_paths}, as in configs/training/small_warmstart.yaml",
        path);
}

static bool is_done(const TrainingSettings *s)
{
    return s->training_progress.num_seen_steps >= s->training_target.num_target_steps;
}

/* The original's configurations have no place for how ranks attend to each other's tokens. */
static void say_context_method(const Builder *b, const TrainingConfig *c)
{
    const Mesh mesh = training_mesh(c, builder_rank(b));
    if (mesh.size[MESH_CP] == 1) return;
    for (int64_t i = 0; i < builder_count(b); i++) {
        const Component *x = builder_at(b, i);
        if (!strcmp(x->kind, "model") && !strcmp(x->variant, "parallelized")) return;
    }
    log_info("the %" PRId64 " ranks along cp have their tokens in zig-zag, and keys and values go "
             "round them in a ring; model.parallelized has other ways",
             mesh.size[MESH_CP]);
}

Error *training_check(const Builder *b, const TrainingConfig *c, const char *warmstart_path)
{
    const AppState *state = c->app_state;
    TRY(training_agreement_check(b, c));
    say_context_method(b, c);
    TRY(check_goes_on(state, warmstart_path));
    if (state->scheduler && !is_done(&c->settings))
        TRY(scheduler_check_steps(state->scheduler, c->settings.training_target.num_target_steps));
    const Dataset *data = c->train_dataset;
    return data ? training_dataset_check(&c->settings, data->count(data)) : NULL;
}

Error *training_check_batch(const TrainingJob *job, const Batch *batch, int64_t *n_samples,
                            int64_t *sequence)
{
    TRY(batch_shape(job, job->train, batch, n_samples, sequence));
    if (*n_samples == job->microbatch_size) return NULL;
    return error_new("the batches of '%s' hold %" PRId64
                     " samples, but settings.step_profile.local_train_micro_batch_size is %" PRId64,
                     loader_tag(job->train), *n_samples, job->microbatch_size);
}

static Error *check_first_batch(const TrainingConfig *c)
{
    const TrainingJob job = { .state = c->app_state,
                              .loss = c->loss_fn,
                              .train = c->train_dataloader,
                              .microbatch_size =
                                  c->settings.step_profile.local_train_micro_batch_size };
    Batch *batch;
    int64_t n_samples, sequence;
    loader_check_ids(job.train, job.state->model->vocab_size);
    TRY(loader_next(job.train, &batch));
    return batch ? training_check_batch(&job, batch, &n_samples, &sequence) : NULL;
}

Error *training_config_try(Builder *b, TrainingConfig *c, const char *warmstart_path)
{
    TRY(builder_try(b, training_config_fields, c));
    bool is_whole = c->app_state && c->loss_fn && c->gradient_clipper &&
                    training_settings_are_whole(&c->settings);
    if (!is_whole) return NULL; /* something that they need is not there yet */
    TRY(training_check(b, c, warmstart_path));
    return c->train_dataloader && !is_done(&c->settings) ? check_first_batch(c) : NULL;
}
