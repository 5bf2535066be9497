/* step_plan.c - builds the program of a training's steps as its first step would, and plans it. */
#include "train/step_plan.h"
#include "config/config.h"
#include "train/memory_budget.h"

/* The keys of a training that decide what a rank takes. */
static const Field *needed_fields(Arena *a)
{
    static const char *const names[] = { "settings",         "app_state",          "loss_fn",
                                         "gradient_clipper", "scheduled_pipeline", "device_mesh" };
    enum { N = sizeof names / sizeof *names };
    return training_fields_named(a, names, N);
}

Error *step_plan_read(Arena *a, const Registry *r, const StepPlanSource *source, const Rank *rank,
                      TrainingConfig *out, Yaml **root)
{
    const ResolverContext context = { .rank = rank,
                                      .config_file_path = source->config_file_path,
                                      .experiments_root_path = source->experiments_root_path,
                                      .experiment_id = "plan" };
    Problems *unresolved = NEW(a, Problems);
    unresolved->arena = a;
    TRY(config_load_with_holes(a, source->config_file_path, source->overrides, &context, root,
                               unresolved));
    TRY(training_config_complete(a, *root, rank, source->experiments_root_path));
    Builder *b = builder_new(a, r, *root, rank);
    builder_know(b, unresolved);
    builder_allow_absent(b);
    TRY(builder_try(b, needed_fields(a), out));
    if (!out->app_state || !out->loss_fn || !out->gradient_clipper)
        return error_new("%s: what it needs is not there, so there is nothing to plan",
                         source->config_file_path);
    return NULL;
}

static Error *plan(Arena *a, const TrainingConfig *c, const Mesh *mesh, const StepPlanSettings *s,
                   StepPlan *out)
{
    const StepProfile *profile = &c->settings.step_profile;
    const AppState *state = c->app_state;
    const int64_t batch = s->batch ? s->batch : profile->local_train_micro_batch_size;
    out->sequence = s->sequence ? s->sequence : profile->sequence_length;
    TRY(step_schedule_new(a, state->model->pipeline, mesh, profile->gradient_accumulation_steps,
                          batch, &out->step));
    TRY(memory_budget_keep(&(PlannedStep){ .model = state->model,
                                           .loss = c->loss_fn,
                                           .optimizer = state->optimizer,
                                           .clipper = c->gradient_clipper,
                                           .mesh = mesh,
                                           .schedule = &out->step,
                                           .sequence = out->sequence,
                                           .n_threads = s->n_threads }));
    return session_training_program(out->session, c->loss_fn, state->optimizer, c->gradient_clipper,
                                    &out->step.schedule, out->step.samples, out->sequence,
                                    &out->program);
}

Error *step_plan_new(Arena *a, const TrainingConfig *c, const Mesh *mesh, const StepPlanSettings *s,
                     StepPlan *out)
{
    SessionSettings settings = { .model = c->app_state->model,
                                 .n_threads = s->n_threads,
                                 .is_plan = true,
                                 .precision = s->precision,
                                 .trace = s->trace,
                                 .rounded_buffers = c->app_state->model->compute == BF16 };
    *out = (StepPlan){ 0 };
    if (mesh->world_size > 1) settings.groups = groups_planned(a, mesh);
    TRY(session_new(&settings, &out->session));
    return plan(a, c, mesh, s, out);
}

void step_plan_free(StepPlan *p)
{
    session_free(p->session);
    *p = (StepPlan){ 0 };
}
