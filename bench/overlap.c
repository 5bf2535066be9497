/* overlap.c - how well transfers hide behind computing.
 *
 * usage: overlap [steps]      Two ranks of one thread each train 12 equal layers with a vocabulary
 * of 512, first with transfers that cost nothing, then over links of such a speed that all bytes
 * of a step take a given share of the time that it computes (transport `delayed`, which waits
 * without using a core). With a share of 50 % the ratio of the two is 1.5 when nothing is hidden;
 * the bar is 1.10, and 1.15 for async tensor parallelism. Context parallelism is measured with 20
 * %, at a length where attention is half the work. With MODALITIES_BENCH_WAITS=1 each row is
 * followed by what the computation waited for in its last step, and for how long. */
#include "bare_step.h"
#include "base/clock.h"
#include "comm/transports.h"
#include "exec/rank_plan.h"
#include "graph/op.h"
#include "measure.h"
#include "passes/data_parallel.h"
#include "passes/shard.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, VOCABULARY = 512 };

/* A row of the table. */
typedef struct Way {
    const char *name;
    MeshAxis axis;
    DataParallel layout;
    int64_t width, batch, sequence;
    double share, bar; /* transfers, and what a step may take, as parts of its computing */
} Way;

/* One rank of a measurement, and what it found. */
typedef struct RankRun {
    const Way *way;
    Mesh mesh;
    Comm *comm;
    int n_steps;
    double best, bytes, attention; /* seconds of a step; bytes that it sends in one, as `delayed`
                                      counts; the part of its FLOPs that attention has */
    struct WaitSum *wait;          /* in the last step */
    int n_waits;
    pthread_t thread;
} RankRun;

/* What the computation waited for, or sent itself. */
typedef struct WaitSum {
    const char *op;
    Phase phase;
    bool is_own; /* a transfer on the computation's own stream */
    int n;
    double seconds;
} WaitSum;

enum { MOST_WAITS = 64 };

static Error *note_wait(void *ctx, const NodeTime *t)
{
    RankRun *r = ctx;
    const bool is_own = !t->is_wait && t->node->axes && t->node->stream == STREAM_COMPUTE;
    int i = 0;
    if (!t->is_wait && !is_own) return NULL;
    while (i < r->n_waits && (strcmp(r->wait[i].op, t->node->op->name) != 0 ||
                              r->wait[i].phase != t->node->phase || r->wait[i].is_own != is_own))
        i++;
    if (i == MOST_WAITS) return NULL;
    if (i == r->n_waits)
        r->wait[r->n_waits++] = (WaitSum){ t->node->op->name, t->node->phase, is_own, 0, 0 };
    r->wait[i].n++;
    r->wait[i].seconds += t->seconds;
    return NULL;
}

static void print_waits(const RankRun *r)
{
    for (int i = 0; i < r->n_waits; i++)
        if (r->wait[i].seconds > 1e-5)
            printf("    %8.2f ms  %s %d x %s (%s)\n", 1e3 * r->wait[i].seconds,
                   r->wait[i].is_own ? "in" : "waiting for", r->wait[i].n, r->wait[i].op,
                   phase_name(r->wait[i].phase));
}

/* All that a rank sends in a step, whatever op sends it. */
static double bytes_of(const Program *p, Arena *a)
{
    const RankPlan plan = program_rank_plan(p, a);
    double bytes = 0;
    for (int64_t i = 0; i < plan.n_traffic; i++) bytes += plan.traffic[i].bytes;
    return bytes;
}

static double share_of_attention(const Graph *g)
{
    double attention = 0, all = 0;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const double flops = node_flops(g->node[i]);
        all += flops;
        if (g->node[i]->op->flags & OP_ATTENTION) attention += flops;
    }
    return attention / all;
}

static void *run_rank(void *arg)
{
    RankRun *r = arg;
    Arena *a = arena_new();
    const Way *w = r->way;
    const int64_t n = w->batch * w->sequence;
    const Gpt2Settings settings =
        bench_gpt2(12, 4, w->width, VOCABULARY, w->sequence, bench_rms(w->width));
    Model *model = gpt2_new(a, &settings);
    static const Sharding in_pieces = { .tensor = true, .sequence = true, .async = true };
    model->data_parallel = &w->layout;
    if (w->axis == MESH_TP) model->sharding = &in_pieces;
    SessionSettings ss = { .model = model,
                           .n_threads = 1,
                           .groups = groups_new(a, &r->mesh, r->comm) };
    Session *s;
    die(session_new(&ss, &s));
    Program *p = bench_training(a, s, model, F32, w->batch, w->sequence);
    int32_t *ids = NEW_N(a, int32_t, n);
    for (int64_t i = 0; i < n; i++) ids[i] = (int32_t)(i * 7919 % VOCABULARY);
    die(program_write(p, "input_ids", 0, ids));
    die(program_write(p, "target_ids", 0, ids));
    r->bytes = bytes_of(p, a);
    r->attention = share_of_attention(program_graph(p));
    r->best = INFINITY;
    const bool has_waits = getenv("MODALITIES_BENCH_WAITS") != NULL;
    if (has_waits) program_set_times(p, note_wait, r);
    for (int k = 0; k <= r->n_steps; k++) { /* the first one warms up */
        r->n_waits = 0;
        double start = clock_seconds();
        bench_step(p, k);
        if (k) r->best = fmin(r->best, clock_seconds() - start);
    }
    session_free(s);
    arena_free(a);
    return NULL;
}

/* The slower rank's best step. */
static RankRun measure(const Way *w, const CommLink *link, int n_steps)
{
    Comm *comm[RANKS];
    RankRun rank[RANKS];
    Mesh mesh = { .world_size = RANKS, .device_type = "cpu" };
    for (int i = MESH_PP; i < MESH_N_AXES; i++) mesh.size[i] = i == (int)w->axis ? RANKS : 1;
    if (link)
        comm_delayed_new(RANKS, link, 1, comm);
    else
        comm_threads_new(RANKS, comm);
    for (int i = 0; i < RANKS; i++) {
        rank[i] = (RankRun){ .way = w,
                             .mesh = mesh,
                             .comm = comm[i],
                             .n_steps = n_steps,
                             .wait = calloc(MOST_WAITS, sizeof(WaitSum)) };
        if (!rank[i].wait) die(error_new("no memory"));
        rank[i].mesh.rank = i;
        if (pthread_create(&rank[i].thread, NULL, run_rank, &rank[i])) die(error_new("no thread"));
    }
    for (int i = 0; i < RANKS; i++) pthread_join(rank[i].thread, NULL);
    for (int i = 0; i < RANKS; i++) comm[i]->free(comm[i]);
    const int slower = rank[0].best <= rank[1].best;
    free(rank[!slower].wait);
    return rank[slower];
}

static void compare(const Way *w, int n_steps)
{
    const RankRun free_of_delay = measure(w, NULL, n_steps);
    const double sending = w->share * free_of_delay.best;
    const CommLink link = { .latency = 20e-6, .bytes_per_second = free_of_delay.bytes / sending };
    const RankRun slow = measure(w, &link, n_steps);
    const double ratio = slow.best / free_of_delay.best;
    printf("%-24s %7.1f ms a step, %2.0f %% of the FLOPs in attention; with transfers of %7.1f ms "
           "%7.1f ms: %.3f times, bar %.2f %s (nothing hidden %.2f)\n",
           w->name, 1e3 * free_of_delay.best, 1e2 * free_of_delay.attention, 1e3 * sending,
           1e3 * slow.best, ratio, w->bar, ratio <= w->bar ? "met" : "NOT MET", 1 + w->share);
    print_waits(&slow);
    free(free_of_delay.wait);
    free(slow.wait);
}

#define OF_DATA .width = 256, .batch = 4, .sequence = 256, .share = 0.5, .bar = 1.10

int main(int argc, char **argv)
{
    static const Way ways[] = {
        { "DDP", MESH_DP_REPLICATE, { ZERO_NONE, .blocks_per_unit = 1 }, OF_DATA },
        { "ZeRO 1", MESH_DP_SHARD, { ZERO_STATES, .blocks_per_unit = 1 }, OF_DATA },
        { "FSDP, no resharding", MESH_DP_SHARD, { ZERO_GRADIENTS, .blocks_per_unit = 1 }, OF_DATA },
        { "FSDP", MESH_DP_SHARD, { ZERO_PARAMETERS, .blocks_per_unit = 1 }, OF_DATA },
        { "async TP",
          MESH_TP,
          { ZERO_NONE, .blocks_per_unit = 1 },
          .width = 256,
          .batch = 4,
          .sequence = 256,
          .share = 0.5,
          .bar = 1.15 },
        { "ring CP",
          MESH_CP,
          { ZERO_NONE, .blocks_per_unit = 1 },
          .width = 128,
          .batch = 1,
          .sequence = 1536,
          .share = 0.2,
          .bar = 1.10 },
    };
    const int n_steps = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 6;
    Watch w = watch_start();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) compare(&ways[i], n_steps);
    watch_report(&w);
    return 0;
}
