/* begin.c - a session, the first batches, the program that fits them, and its first state. */
#include "train/begin.h"
#include "base/log.h"
#include "checkpoint/hf_weights.h"
#include "train/memory_budget.h"
#include "train/memory_remedy.h"
#include "train/state.h"
#include "watch/profiler.h"

/* More ranks than GPUs: which rank it is, and of how many. */
static Error *of_rank(const TrainingJob *job, Error *e)
{
    const Mesh *m = &job->mesh;
    if (m->world_size < 2) return e;
    return error_wrap(e, "rank %lld of %lld", (long long)m->rank, (long long)m->world_size);
}

Error *begin_reading(Arena *a, const TrainingJob *job, Session **session, OptimizerStep *step,
                     bool *ended)
{
    const Model *model = job->state->model;
    Groups *groups = job->consensus ? groups_new(a, &job->mesh, job->consensus->world) : NULL;
    SessionSettings settings = { .model = model,
                                 .device = job->device,
                                 .local_rank = job->local_rank,
                                 .n_threads = job->n_threads,
                                 .memory = job->memory,
                                 .groups = groups,
                                 .trace = &job->trace,
                                 .rounded_buffers = model->compute == BF16,
                                 .watches = job->profiler ? job->profiler->watches : NULL,
                                 .rank = job->mesh.rank };
    TRY(of_rank(job, session_new(&settings, session)));
    loader_check_ids(job->train, model->vocab_size);
    TRY(optimizer_step_new(a, job, session_store(*session), step));
    return optimizer_step_read(step, ended);
}

Error *begin_program(const TrainingJob *job, Session *session, OptimizerStep *step)
{
    const PlannedStep planned = { .model = job->state->model,
                                  .loss = job->loss,
                                  .optimizer = job->state->optimizer,
                                  .clipper = job->clipper,
                                  .mesh = &job->mesh,
                                  .schedule = &step->plan,
                                  .sequence = step->sequence,
                                  .device = job->device,
                                  .local_rank = job->local_rank,
                                  .n_threads = job->n_threads };
    TRY(memory_budget_keep(&planned));
    Error *e = session_training_program(session, job->loss, job->state->optimizer, job->clipper,
                                        &step->plan.schedule, step->plan.samples, step->sequence,
                                        &step->program);
    if (e) return memory_remedy(e, &planned, session_free_bytes(session));
    step->now.seed = (uint64_t)job->state->model->seed;
    step->now.n_replicas = mesh_dp_degree(&job->mesh);
    step->now.replica = mesh_dp_place(&job->mesh, job->mesh.rank);
    return NULL;
}

/* A checkpoint without a scale, as of a training in another format, leaves the first one. */
static Error *read_scaling(const char *checkpoint, OptimizerStep *step)
{
    if (step->scaling.scale == 0) return NULL;
    Arena *a = arena_new();
    TrainingPosition p = { 0 };
    Error *e = progress_read(a, checkpoint, &p);
    if (!e && p.scaling.scale > 0) step->scaling = p.scaling;
    arena_free(a);
    return e;
}

/* What of a Hugging Face folder a training that begins with it does not take along. */
static void tell_left_out(const TrainingJob *job)
{
    const Model *m = job->state->model;
    const char *tensors, *why;
    if (!m->hf || m->initializer || m->weights_path || job->mesh.rank) return;
    Arena *a = arena_new();
    if (hf_weights_ahead(a, m->hf, &tensors, &why))
        log_info("%s has blocks for later tokens (%s), which are not trained: %s", m->hf->folder,
                 tensors, why);
    arena_free(a);
}

Error *begin_state(const TrainingJob *job, Session *session, OptimizerStep *step)
{
    ParamStore *s = session_store(session);
    Comm *comm = job->consensus ? job->consensus->world : NULL;
    if (job->state->checkpoint_path) {
        TRY(error_wrap(state_load(s, job->state->checkpoint_path, comm, true, &step->updates), "%s",
                       job->state->checkpoint_path));
        TRY(state_check_progress(job->state->checkpoint_path, job->seen_steps, job->seen_tokens));
        TRY(read_scaling(job->state->checkpoint_path, step));
    }
    if (!job->state->checkpoint_path) tell_left_out(job);
    const char *states = job->state->optimizer->state_path;
    if (states && !job->state->checkpoint_path) {
        TRY(error_wrap(state_load_optimizer(s, states, comm, &step->updates), "%s", states));
        TRY(state_check_progress(states, job->seen_steps, job->seen_tokens));
    }
    if (job->initial_weights)
        TRY(error_wrap(state_load(s, job->initial_weights, comm, false, NULL), "%s",
                       job->initial_weights));
    return store_initialize(s, (uint64_t)job->state->model->seed);
}
