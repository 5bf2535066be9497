/* job_plan.c - builds one rank of every pipeline stage as its training would, and reads off its
 * memory plan. */
#include "train/job_plan.h"
#include "config/config.h"
#include "exec/pipeline_describe.h"
#include "train/memory_budget.h"
#include "train/session.h"
#include "train/settings.h"
#include "train/step_schedule.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The keys of a training that decide what a rank takes; data is not needed. */
static const Field *needed_fields(Arena *a)
{
    static const char *const names[] = { "settings",         "app_state",          "loss_fn",
                                         "gradient_clipper", "scheduled_pipeline", "device_mesh" };
    enum { N = sizeof names / sizeof *names };
    return training_fields_named(a, names, N);
}

static Error *build_rank(Arena *a, const Registry *registry, const PlanSettings *s,
                         const Rank *rank, TrainingConfig *out, bool *in_background)
{
    Yaml *root;
    const ResolverContext context = { .rank = rank,
                                      .config_file_path = s->config_file_path,
                                      .experiments_root_path = s->experiments_root_path,
                                      .experiment_id = "plan" };
    Problems *unresolved = NEW(a, Problems);
    unresolved->arena = a;
    TRY(config_load_with_holes(a, s->config_file_path, s->overrides, &context, &root, unresolved));
    TRY(training_config_complete(a, root, rank, s->experiments_root_path));
    const Yaml *copied = yaml_find(root, "checkpoint_saving.config.in_background");
    *in_background = copied && copied->type == YAML_BOOL && copied->boolean;
    Builder *b = builder_new(a, registry, root, rank);
    builder_know(b, unresolved);
    builder_allow_absent(b);
    TRY(builder_try(b, needed_fields(a), out));
    if (!out->app_state || !out->loss_fn || !out->gradient_clipper)
        return error_new("%s: what it needs is not there, so there is nothing to plan",
                         s->config_file_path);
    return NULL;
}

static const char *largest_of(Arena *a, const Program *p, int64_t n)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    CHECK(to != NULL);
    if (n) program_print_largest(p, (int)n, to);
    CHECK(fclose(to) == 0);
    const char *kept = arena_string(a, text);
    free(text);
    return kept;
}

static Error *plan_program(Arena *a, int64_t n_largest, Session *session, const TrainingConfig *c,
                           const Mesh *mesh, JobPlan *plan, StagePlan *stage)
{
    const StepProfile *profile = &c->settings.step_profile;
    StepSchedule step;
    Program *p;
    TRY(step_schedule_new(a, c->app_state->model->pipeline, mesh,
                          profile->gradient_accumulation_steps,
                          profile->local_train_micro_batch_size, &step));
    plan->sequence = profile->sequence_length;
    plan->microbatch = step.samples;
    plan->microbatches = step.n;
    plan->bubble = step.bubble;
    TRY(memory_budget_keep(&(PlannedStep){ .model = c->app_state->model,
                                           .loss = c->loss_fn,
                                           .optimizer = c->app_state->optimizer,
                                           .clipper = c->gradient_clipper,
                                           .mesh = mesh,
                                           .schedule = &step,
                                           .sequence = plan->sequence,
                                           .n_threads = 1 }));
    TRY(session_training_program(session, c->loss_fn, c->app_state->optimizer, c->gradient_clipper,
                                 &step.schedule, plan->microbatch, plan->sequence, &p));
    stage->plan = program_rank_plan(p, a);
    stage->largest = largest_of(a, p, n_largest);
    stage->transfers = transfers_of(a, p, &step.schedule);
    return NULL;
}

static Error *draw_schedule(Arena *a, const TrainingConfig *c, int width, const char **out)
{
    const StepProfile *profile = &c->settings.step_profile;
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    CHECK(to != NULL);
    Error *e =
        pipeline_describe(c->app_state->model->pipeline, profile->gradient_accumulation_steps,
                          profile->local_train_micro_batch_size, width, to);
    CHECK(fclose(to) == 0);
    *out = arena_string(a, text);
    free(text);
    return e;
}

static Error *plan_stage(Arena *a, const Registry *registry, const PlanSettings *s,
                         const Rank *rank, JobPlan *plan, StagePlan *stage)
{
    TrainingConfig c = { 0 };
    Session *session;
    TRY(build_rank(a, registry, s, rank, &c, &stage->in_background));
    plan->mesh = training_mesh(&c, rank);
    if (rank->rank == 0 && s->schedule_width)
        TRY(draw_schedule(a, &c, s->schedule_width, &plan->schedule));
    Mesh *mesh = arena_copy(a, &plan->mesh, sizeof plan->mesh);
    SessionSettings settings = { .model = c.app_state->model, .n_threads = 1, .is_plan = true };
    if (rank->rank == 0) settings.trace = &s->trace;
    if (mesh->world_size > 1) settings.groups = groups_planned(a, mesh);
    TRY(session_new(&settings, &session));
    Error *e = plan_program(a, s->n_largest, session, &c, mesh, plan, stage);
    session_free(session);
    return e;
}

static const Rank *rank_of_job(Arena *a, const PlanSettings *s, int64_t rank)
{
    Rank *r = arena_copy(a, s->process, sizeof *r);
    if (s->n_ranks) *r = (Rank){ .world_size = s->n_ranks, .launcher = LAUNCHER_NONE };
    r->rank = r->local_rank = rank;
    r->local_world_size = r->world_size;
    return r;
}

Error *job_plan(Arena *a, const Registry *registry, const PlanSettings *s, JobPlan *out)
{
    StagePlan first = { 0 };
    *out = (JobPlan){ 0 };
    if (s->n_ranks && s->process->world_size > 1 && s->n_ranks != s->process->world_size)
        return error_usage("--ranks %" PRId64 ", but WORLD_SIZE says %" PRId64, s->n_ranks,
                           s->process->world_size);
    TRY(plan_stage(a, registry, s, rank_of_job(a, s, 0), out, &first));
    const int64_t n = out->mesh.size[MESH_PP], of_each = out->mesh.world_size / n;
    out->stage = NEW_N(a, StagePlan, n);
    out->stage[0] = first;
    for (int64_t i = 1; i < n; i++)
        TRY(error_wrap(
            plan_stage(a, registry, s, rank_of_job(a, s, i * of_each), out, &out->stage[i]),
            "rank %" PRId64, i * of_each));
    TransferList *transfers = NEW_N(a, TransferList, n);
    for (int64_t i = 0; i < n; i++) {
        out->stage[i].first_rank = i * of_each;
        out->stage[i].n_ranks = of_each;
        transfers[i] = out->stage[i].transfers;
    }
    return transfers_check(a, transfers, (int)n, &out->messages);
}

static void print_job(const JobPlan *p, FILE *to)
{
    fprintf(to, "%" PRId64 " rank%s", p->mesh.world_size, p->mesh.world_size == 1 ? "" : "s:");
    for (int i = MESH_PP, any = 0; i < MESH_N_AXES; i++)
        if (p->mesh.size[i] > 1)
            fprintf(to, "%s %s %" PRId64, any++ ? " x" : "", mesh_axis_names[i - 1],
                    p->mesh.size[i]);
    fprintf(to, "\na step: %" PRId64 " microbatch%s of %" PRId64 " x %" PRId64 " tokens%s\n",
            p->microbatches, p->microbatches == 1 ? "" : "es", p->microbatch, p->sequence,
            p->mesh.world_size == 1 ? "" : " on each data-parallel rank");
    if (p->mesh.size[MESH_PP] > 1)
        fprintf(to,
                "bubble: %.1f %% of the time of the pipeline's ranks, if all stages take "
                "equally long\nmessages: %" PRId64 " a step along each pipeline, every one with "
                "its counterpart\n",
                100 * p->bubble, p->messages);
}

/* What several ranks have alike, one of them copies. */
static void print_copy(const StagePlan *s, FILE *to)
{
    char text[32];
    if (!s->in_background) return;
    format_bytes((double)(s->plan.parameters + s->plan.states), text);
    fprintf(to, "%12s  at most, for the copy of a checkpoint that is saved in the background\n",
            text);
}

void job_plan_print(const JobPlan *p, FILE *to)
{
    print_job(p, to);
    for (int64_t i = 0; i < p->mesh.size[MESH_PP]; i++) {
        const StagePlan *s = &p->stage[i];
        if (p->mesh.world_size == 1)
            fprintf(to, "\n");
        else if (s->n_ranks == 1)
            fprintf(to, "\nrank %" PRId64 "\n", s->first_rank);
        else
            fprintf(to, "\neach of the ranks %" PRId64 " to %" PRId64 "\n", s->first_rank,
                    s->first_rank + s->n_ranks - 1);
        rank_plan_print(&s->plan, to);
        print_copy(s, to);
        fputs(s->largest, to);
    }
    if (p->schedule) fprintf(to, "\n%s", p->schedule);
}
