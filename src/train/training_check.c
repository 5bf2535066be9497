/* training_check.c - rules between the parts of a training, its batches, and what it profiles. */
#include "train/training_check.h"
#include "base/log.h"
#include "train/agreement.h"
#include "train/evaluator.h"
#include "watch/profiler.h"
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

bool training_is_done(const TrainingSettings *s)
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

/* The error names the place of the numbers. */
static Error *check_dataset(const Builder *b, const TrainingConfig *c)
{
    const Dataset *data = c->train_dataset;
    const Yaml *settings = yaml_get(builder_root(b), "settings");
    Error *e = data ? training_dataset_check(&c->settings, data->count(data)) : NULL;
    Arena *a = arena_new();
    if (settings) e = error_wrap(e, "%s: settings", yaml_place(a, settings));
    arena_free(a);
    return e;
}

Error *training_check(const Builder *b, const TrainingConfig *c, const char *warmstart_path)
{
    const AppState *state = c->app_state;
    TRY(training_agreement_check(b, c));
    say_context_method(b, c);
    TRY(check_goes_on(state, warmstart_path));
    if (state->scheduler && !training_is_done(&c->settings))
        TRY(scheduler_check_steps(state->scheduler, c->settings.training_target.num_target_steps));
    return check_dataset(b, c);
}

Error *training_check_profile(const Profiler *p, int64_t seen_steps, int64_t target_steps,
                              int64_t microbatches)
{
    const int64_t there = (target_steps - seen_steps) * microbatches;
    if (!p || p->n_steps <= there) return NULL;
    return error_new("the profiler needs %" PRId64 " microbatches, but only %" PRId64
                     " are left (steps %" PRId64 " to %" PRId64 " of %" PRId64
                     " microbatches each)",
                     p->n_steps, there, seen_steps + 1, target_steps, microbatches);
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
