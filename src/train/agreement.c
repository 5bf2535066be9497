/* agreement.c - refuses settings that name another model, optimizer or number of ranks than the
 * training's. */
#include "train/agreement.h"
#include "comm/mesh.h"
#include "data/data.h"
#include "models/decoder.h"
#include "optim/param_groups.h"
#include <inttypes.h>
#include <string.h>

typedef struct Review {
    const Builder *builder;
    Arena *arena;
    Error *error;
} Review;

/* `owner` is the component with the setting; NULL: it stands in `settings`. */
static void refuse(Review *r, const void *owner, const char *path, const char *text)
{
    const Component *c = owner ? builder_find(r->builder, owner) : NULL;
    const Yaml *at = c ? c->at : yaml_get(builder_root(r->builder), "settings");
    const char *above = c ? c->path : "settings";
    r->error = error_join(r->error, error_new("%s: %s%s%s: %s", at ? yaml_place(r->arena, at) : "",
                                              above, c ? ".config." : ".", path, text));
}

static void review_model(Review *r, const void *owner, const char *setting, const void *model,
                         const AppState *state)
{
    if (model != state->model)
        refuse(r, owner, setting, "this is not the model of app_state, which is what is trained");
}

static void review_models(Review *r, const void *owner, const ComponentList *models,
                          const AppState *state)
{
    for (int64_t i = 0; i < models->n; i++)
        review_model(r, owner, "wrapped_model", models->item[i], state);
}

static void review_scheduler(Review *r, const Scheduler *s, const TrainingConfig *c)
{
    int64_t seen = c->settings.training_progress.num_seen_steps;
    if (s->optimizer != c->app_state->optimizer)
        refuse(r, s, "optimizer",
               optimizer_has(c->app_state->optimizer, s->optimizer)
                   ? "this is one part of the optimizer of app_state; scheduler.combined brings "
                     "schedules of parts together"
                   : "this is not the optimizer of app_state, whose rate is scheduled");
    if (s->first_step && s->first_step != seen)
        refuse(r, s, "last_epoch",
               arena_printf(r->arena,
                            "the schedule would begin at step %" PRId64
                            ", but training_progress.num_seen_steps is %" PRId64
                            "; allowed are -1 and %" PRId64,
                            s->first_step, seen, seen - 1));
}

static void review_loss(Review *r, const Loss *l, const Model *m)
{
    if (strcmp(l->prediction_key, m->prediction_key))
        refuse(r, l, "prediction_key",
               arena_printf(r->arena, "there is no \"%s\"; the model's prediction_key is \"%s\"",
                            l->prediction_key, m->prediction_key));
}

static void review_count(Review *r, const void *owner, const char *path, int64_t n, int64_t ranks,
                         const char *what)
{
    if (n == ranks) return;
    const char *have = ranks == 1 ? arena_printf(r->arena, "one %srank", what)
                                  : arena_printf(r->arena, "%" PRId64 " %sranks", ranks, what);
    const char *hint =
        n > 1 && strstr(path, "world_size")
            ? arena_printf(r->arena,
                           "; for %" PRId64 ": --ranks %" PRId64 ", or mpirun -n %" PRId64, n, n, n)
            : "";
    refuse(r, owner, path,
           arena_printf(r->arena, "%" PRId64 ", but this run has %s%s", n, have, hint));
}

static void review_rank(Review *r, const void *owner, const char *path, int64_t rank)
{
    int64_t own = builder_rank(r->builder)->rank;
    if (rank == own) return;
    refuse(r, owner, path,
           arena_printf(r->arena,
                        "%" PRId64 ", but this is rank %" PRId64
                        "; ${cuda_env:RANK} gives each rank its own",
                        rank, own));
}

/* Ranks that work on one sample together (tp, cp, pp) must read the same; the others, other ones.
 */
static void review_sampler(Review *r, const Sampler *s, const Mesh *m)
{
    static const char remedy[] = "sampler.resumable_distributed_multi_dim_sampler with the "
                                 "device_mesh and dp_shard deals them out right";
    const int64_t n = mesh_dp_degree(m), rank = mesh_dp_place(m, m->rank);
    if (s->n_ranks != n)
        refuse(r, s, "num_replicas",
               arena_printf(r->arena,
                            "samples are dealt out to %" PRId64 " ranks, but %" PRId64
                            " of this run's %" PRId64 " ranks have samples of their own; %s",
                            s->n_ranks, n, m->world_size, remedy));
    else if (s->rank != rank)
        refuse(r, s, "rank",
               arena_printf(r->arena,
                            "%" PRId64 ", but rank %" PRId64 " is number %" PRId64
                            " of those that have samples of their own; %s",
                            s->rank, m->rank, rank, remedy));
}

static void review_samplers(Review *r, const Mesh *mesh)
{
    if (mesh->world_size == mesh_dp_degree(mesh)) return; /* no rank shares its samples */
    for (int64_t i = 0; i < builder_count(r->builder); i++) {
        const Component *x = builder_at(r->builder, i);
        const Sampler *s = x->object;
        const bool is_dealt = s && !strcmp(x->gives, "sampler"); /* NULL: its data is not there */
        if (is_dealt && s->n_ranks > 1) review_sampler(r, s, mesh);
    }
}

static void review_ranks(Review *r, const TrainingConfig *c)
{
    const TrainingSettings *s = &c->settings;
    const Rank *rank = builder_rank(r->builder);
    const Mesh of_training = training_mesh(c, rank), *mesh = &of_training;
    const CheckpointExecution *saving =
        c->checkpoint_saving ? &c->checkpoint_saving->execution : NULL;
    review_count(r, NULL, "cuda_env.world_size", s->cuda_env.world_size, rank->world_size, "");
    review_rank(r, NULL, "cuda_env.global_rank", s->cuda_env.global_rank);
    if (saving)
        review_rank(r, c->checkpoint_saving, "checkpoint_saving_execution.config.global_rank",
                    saving->global_rank);
    for (int64_t i = 0; i < builder_count(r->builder); i++) {
        const Component *x = builder_at(r->builder, i);
        if (!x->object || strcmp(x->gives, "device_mesh")) continue;
        review_count(r, x->object, "world_size", ((const Mesh *)x->object)->world_size,
                     rank->world_size, "");
    }
    if (mesh->world_size != rank->world_size) return;
    review_samplers(r, mesh);
    review_count(r, NULL, "step_profile.dp_degree", s->step_profile.dp_degree, mesh_dp_degree(mesh),
                 rank->world_size == 1 ? "" : "data-parallel ");
}

static const Component *find_scheduled(const Builder *b)
{
    for (int64_t i = 0; i < builder_count(b); i++) {
        const Component *x = builder_at(b, i);
        if (!strcmp(x->kind, "pipeline") && !strcmp(x->variant, "scheduled")) return x;
    }
    return NULL;
}

static void review_batch_size(Review *r, const Pipeline *p, int64_t local)
{
    const Component *c = find_scheduled(r->builder);
    if (!c || !p->batch_size || p->batch_size == local) return;
    r->error = error_join(
        r->error, error_new("%s: %s.config.batch_size: %" PRId64 ", but settings.step_profile."
                            "local_train_micro_batch_size is %" PRId64,
                            yaml_place(r->arena, c->at), c->path, p->batch_size, local));
}

/* Ranks along pp have stages of the model that is trained, and a schedule. */
static void review_pipeline(Review *r, const TrainingConfig *c)
{
    const Pipeline *p = c->app_state->model->pipeline;
    for (int64_t i = 0; i < builder_count(r->builder); i++) {
        const Component *x = builder_at(r->builder, i);
        if (strcmp(x->gives, "device_mesh") || ((const Mesh *)x->object)->size[MESH_PP] == 1)
            continue;
        if (!p)
            refuse(r, x->object, "pipeline_parallel_degree",
                   "nothing cuts the model of app_state into stages; pipeline.staged or "
                   "model.parallelized would");
    }
    if (p && !p->per_batch)
        refuse(r, p, "whole_model",
               "the model is cut into stages, but no pipeline.scheduled (at the top: "
               "scheduled_pipeline) says how batches go through them");
    if (c->scheduled_pipeline && c->scheduled_pipeline != p)
        refuse(r, c->scheduled_pipeline, "whole_model", "this is not the model of app_state");
    if (p && p->loss && p->loss != c->loss_fn)
        refuse(r, p->loss, "target_key",
               "this is the loss of scheduled_pipeline, but not the loss_fn of the training");
    if (p) review_batch_size(r, p, c->settings.step_profile.local_train_micro_batch_size);
}

/* Ranks along ep have as many experts each. */
static void review_experts(Review *r, const TrainingConfig *c)
{
    const Decoder *d = decoder_of(c->app_state->model);
    for (int64_t i = 0; d && d->moe && i < builder_count(r->builder); i++) {
        const Component *x = builder_at(r->builder, i);
        if (strcmp(x->gives, "device_mesh")) continue;
        const int64_t ranks = ((const Mesh *)x->object)->size[MESH_EP];
        if (d->moe->n_experts % ranks)
            refuse(r, x->object, "expert_parallel_degree",
                   arena_printf(r->arena,
                                "the model's %" PRId64 " experts do not divide among %" PRId64
                                " ranks; allowed are divisors of %" PRId64,
                                d->moe->n_experts, ranks, d->moe->n_experts));
    }
}

Error *training_agreement_check(const Builder *b, const TrainingConfig *c)
{
    Review r = { .builder = b, .arena = arena_new() };
    const AppState *state = c->app_state;
    review_model(&r, state->optimizer, "wrapped_model", state->optimizer->model, state);
    if (state->scheduler) review_scheduler(&r, state->scheduler, c);
    review_models(&r, c->gradient_clipper, &c->gradient_clipper->models, state);
    if (c->mfu_calculator)
        review_models(&r, c->mfu_calculator, &c->mfu_calculator->model_parts, state);
    review_loss(&r, c->loss_fn, state->model);
    review_ranks(&r, c);
    review_pipeline(&r, c);
    review_experts(&r, c);
    arena_free(r.arena);
    return r.error;
}
