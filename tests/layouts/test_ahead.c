/* test_ahead.c - parameters that are gathered once per step: they travel while others are updated
 * and while the host goes on, and whoever reads them waits. */
#include "../comm/rank_threads.h"
#include "../passes/tiny_model.h"
#include "comm/transports.h"
#include "models/loss.h"
#include "ops/adam.h"
#include "optim/gradient_clipper.h"
#include "optim/optim.h"
#include "passes/data_parallel.h"
#include "test.h"
#include "train/session.h"
#include <math.h>
#include <string.h>

enum { RANKS = 2, BATCH = 2, SEQUENCE = 8, STEPS = 3, MOST_SEEN = 64 };

/* The nodes that matter, in the order in which rank 0 runs them: G gathers, A updates, F and B are
 * passes. */
typedef struct Seen {
    char what[MOST_SEEN + 1];
    int n;
} Seen;

typedef enum Leaving { STAYS, BEFORE_PASSES, BEFORE_UPDATE } Leaving;

typedef struct Job {
    DataParallel layout;
    pthread_barrier_t together; /* before a rank leaves */
    bool looks_on;              /* at each node, which is waited for */
    bool is_late;               /* rank 1 updates when rank 0 has waited for its own update */
    Leaving leaving;            /* of rank 1, in its second step */
    bool is_timed;              /* nodes are, which changes what streams are given */
    Seen update[STEPS], passes[STEPS];
    double loss[STEPS], evaluated, evaluated_anew; /* on rank 0 */
    bool is_under_way;                             /* a gathering, after program_wait */
} Job;

typedef struct RankRun {
    Job *job;
    Arena *arena;
    Session *session;
    Program *program, *evaluation;
    Loss loss;
    int64_t rank;
} RankRun;

static void update(const Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   const ParamGroup *group)
{
    static const AdamSettings attrs = { 0.9, 0.95, 1e-8, 0.1, true, 0 };
    Value *moment[2];
    (void)self, (void)group;
    for (int i = 0; i < 2; i++)
        moment[i] = graph_state(g, arena_printf(g->arena, "m%d.%s", i, param->name), F32,
                                param->n_dims, param->dim);
    adam(g, param, grad, moment[0], moment[1], factor, &attrs);
}

static Error *see(void *ctx, const Node *n, const Launch *l, double seconds)
{
    Seen *s = ctx;
    (void)l, (void)seconds;
    char what = !strcmp(n->op->name, "gather_unit") ? 'G' : n->phase == UPDATE ? 'A' : 'P';
    if (n->phase == PREPARE && what == 'P') return NULL; /* tables */
    if (s->n && s->what[s->n - 1] == what) return NULL;  /* runs of them */
    if (s->n < MOST_SEEN) s->what[s->n++] = what;
    return NULL;
}

static Error *feed(const RankRun *r, Program *p)
{
    int32_t ids[BATCH * SEQUENCE];
    for (int i = 0; i < BATCH * SEQUENCE; i++) ids[i] = (int32_t)((i + 3 * r->rank) * 7919 % 13);
    TRY(program_write(p, "input_ids", 0, ids));
    TRY(program_write(p, "target_ids", 0, ids));
    return program_wait(p);
}

static Error *run_phases(RankRun *r, unsigned phases, int step, Seen *seen)
{
    const RunTime now = { .step = step, .updates = step, .loss_scale = 0.5, .rate = { { 0.01 } } };
    Seen other = { 0 };
    if (r->job->looks_on) program_set_hook(r->program, see, r->rank ? &other : seen);
    return program_run_phases(r->program, phases, &now);
}

static Error *run_step(RankRun *r, int step)
{
    Job *j = r->job;
    TRY(feed(r, r->program));
    if (j->leaving == BEFORE_PASSES && step == 1) {
        TRY(store_settle(session_store(r->session), NULL));
        pthread_barrier_wait(&j->together);
        if (r->rank == 1) return error_new("this rank leaves");
    }
    TRY(run_phases(r, RUN_FORWARD | RUN_BACKWARD, step, &j->passes[step]));
    TRY(run_phases(r, RUN_REDUCE, step, &j->passes[step]));
    if (r->rank == 0) j->loss[step] = program_scalar(r->program, "loss_mean", 0);
    if (j->leaving == BEFORE_UPDATE && step == 1) {
        pthread_barrier_wait(&j->together);
        if (r->rank == 1) return error_new("this rank leaves");
    }
    if (j->is_late && r->rank == 1) pthread_barrier_wait(&j->together);
    TRY(run_phases(r, RUN_UPDATE, step, &j->update[step]));
    if (j->is_late && r->rank == 0) pthread_barrier_wait(&j->together);
    return NULL;
}

/* Its inputs lie where gatherings that are under way have theirs. */
static Error *evaluate(RankRun *r, double *loss)
{
    TRY(feed(r, r->evaluation));
    if (session_store(r->session)->finish)
        return error_new("nobody has waited for what uses the memory of the inputs");
    TRY(program_run_phases(r->evaluation, RUN_FORWARD, &(RunTime){ .loss_scale = 1 }));
    if (r->rank == 0) *loss = program_scalar(r->evaluation, "loss_mean", 0);
    return NULL;
}

/* While parameters travel another program reads them; then once more, all gathered anew. */
static Error *run_steps(RankRun *r)
{
    ParamStore *store = session_store(r->session);
    for (int i = 0; i < STEPS; i++) TRY(run_step(r, i));
    if (r->rank == 0) r->job->is_under_way = store->finish != NULL;
    TRY(evaluate(r, &r->job->evaluated));
    if (store->finish) return error_new("nobody has waited for what travels");
    store_changed(store);
    return evaluate(r, &r->job->evaluated_anew);
}

static Error *told(void *ctx, const NodeTime *x)
{
    (void)ctx, (void)x;
    return NULL;
}

static Error *make_programs(RankRun *r, const Model *m)
{
    static const char *const none[] = { NULL };
    const Optimizer optimizer = { .update = update, .excluded = none, .model = m };
    const GradientClipper clipper = { .norm_type = 2, .max_norm = 1 };
    TRY(session_training_program(
        r->session, &r->loss, arena_copy(r->arena, &optimizer, sizeof optimizer),
        arena_copy(r->arena, &clipper, sizeof clipper), NULL, BATCH, SEQUENCE, &r->program));
    if (r->job->is_timed) program_set_times(r->program, told, NULL);
    TRY(session_evaluation_program(r->session, &r->loss, BATCH, SEQUENCE, &r->evaluation));
    return store_initialize(session_store(r->session), 1);
}

static Error *run_rank(Comm *c, void *arg)
{
    RankRun r = { .job = arg, .arena = arena_new(), .rank = c->rank };
    Mesh mesh = { .world_size = RANKS, .rank = c->rank, .device_type = "cpu" };
    for (int i = MESH_PP; i < MESH_N_AXES; i++) mesh.size[i] = i == MESH_DP_SHARD ? RANKS : 1;
    const Gpt2Settings settings = tiny_settings(true);
    Model *m = gpt2_new(r.arena, &settings);
    m->data_parallel = &r.job->layout;
    r.loss = loss_of_tokens("target_ids");
    const SessionSettings s = { .model = m,
                                .n_threads = 1,
                                .groups = groups_new(r.arena, &mesh, c) };
    Error *e = session_new(&s, &r.session);
    if (!e) e = make_programs(&r, m);
    if (!e) e = run_steps(&r);
    if (e) c->abort(c, "another rank failed");
    session_free(r.session);
    arena_free(r.arena);
    return e;
}

static Job run_job(ZeroStage stage, bool looks_on)
{
    static const CommLink link = { .latency = 0.01, .bytes_per_second = 1e9 };
    Job job = { .layout = { .stage = stage, .blocks_per_unit = 1 }, .looks_on = looks_on };
    Comm *comm[RANKS];
    comm_delayed_new(RANKS, &link, 1, comm);
    run_rank_threads(comm, RANKS, run_rank, &job, NULL);
    return job;
}

static void check_stage(ZeroStage stage)
{
    const Job none = run_job(ZERO_NONE, false), job = run_job(stage, false);
    assert_false(none.is_under_way);
    assert_true(job.is_under_way);
    for (int i = 0; i < STEPS; i++) assert_true(fabs(job.loss[i] - none.loss[i]) < 1e-5);
    assert_true(fabs(job.evaluated - none.evaluated) < 1e-5);
    assert_true(job.evaluated < job.loss[0]);
    assert_memory_equal(&job.evaluated, &job.evaluated_anew, sizeof job.evaluated);
}

TEST(whoever_reads_parameters_that_still_travel_waits_for_them)
{
    check_stage(ZERO_STATES);
    check_stage(ZERO_GRADIENTS);
}
FENCED(whoever_reads_parameters_that_still_travel_waits_for_them)

/* One after the other: gatherings begin when their own parameters are updated, and the passes of
 * the next step find all there. */
TEST(parameters_are_gathered_while_others_are_updated)
{
    for (int stage = ZERO_STATES; stage <= ZERO_GRADIENTS; stage++) {
        const Job job = run_job((ZeroStage)stage, true);
        for (int i = 0; i < STEPS; i++) {
            assert_string_equal(job.update[i].what, "AGAGAGAG");
            assert_string_equal(job.passes[i].what, i ? "P" : "GP");
        }
    }
    const Job anew = run_job(ZERO_PARAMETERS, true);
    assert_string_equal(anew.update[0].what, "A");
}

TEST(the_host_goes_on_while_parameters_travel)
{
    Job job = { .layout = { .stage = ZERO_STATES, .blocks_per_unit = 1 }, .is_late = true };
    pthread_barrier_init(&job.together, NULL, RANKS);
    on_ranks(RANKS, run_rank, &job, NULL);
    pthread_barrier_destroy(&job.together);
    assert_true(job.is_under_way);
}

static void check_failure(ZeroStage stage, Leaving leaving, bool is_timed, const char *op)
{
    Job job = { .layout = { .stage = stage, .blocks_per_unit = 1 },
                .leaving = leaving,
                .is_timed = is_timed };
    Error *error[RANKS];
    pthread_barrier_init(&job.together, NULL, RANKS);
    on_ranks(RANKS, run_rank, &job, error);
    pthread_barrier_destroy(&job.together);
    assert_non_null(error[0]);
    assert_non_null(strstr(error_text(error[0]), op));
    assert_non_null(strstr(error_text(error[1]), "leaves"));
    for (int i = 0; i < RANKS; i++) error_free(error[i]);
}

TEST(a_transfer_that_fails_beside_the_computation_is_named)
{
    for (int is_timed = 0; is_timed < 2; is_timed++) {
        check_failure(ZERO_GRADIENTS, BEFORE_UPDATE, is_timed, "gather_unit (prepare)");
        check_failure(ZERO_STATES, BEFORE_PASSES, is_timed, "reduce_unit (backward_last)");
    }
}
