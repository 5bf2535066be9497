/* job_plan.c - builds one rank of every pipeline stage as its training would, and reads off its
 * memory plan. */
#include "train/job_plan.h"
#include "exec/pipeline_describe.h"
#include "train/step_plan.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    StepPlan step;
    Yaml *root;
    const StepPlanSource source = { s->config_file_path, s->experiments_root_path, s->overrides };
    TRY(step_plan_read(a, registry, &source, rank, &c, &root));
    const Yaml *copied = yaml_find(root, "checkpoint_saving.config.in_background");
    stage->in_background = copied && copied->type == YAML_BOOL && copied->boolean;
    plan->mesh = training_mesh(&c, rank);
    const bool is_first = !plan->stage; /* whose graph and schedule are shown */
    if (is_first && s->schedule_width)
        TRY(draw_schedule(a, &c, s->schedule_width, &plan->schedule));
    const Mesh *mesh = arena_copy(a, &plan->mesh, sizeof plan->mesh);
    const StepPlanSettings settings = { .trace = is_first ? &s->trace : NULL,
                                        .n_threads = mesh->world_size > 1 };
    Error *e = step_plan_new(a, &c, mesh, &settings, &step);
    if (!e) {
        plan->sequence = step.sequence;
        plan->microbatch = step.step.samples;
        plan->microbatches = step.step.n;
        plan->bubble = step.step.bubble;
        stage->plan = program_rank_plan(step.program, a);
        stage->largest = largest_of(a, step.program, s->n_largest);
        stage->transfers = transfers_of(a, step.program, &step.step.schedule);
    }
    step_plan_free(&step);
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
