/* overlap.c - how well transfers of data parallelism hide behind computing.
 *
 * usage: overlap [steps]      Two ranks of one thread each train 12 equal layers with a vocabulary
 * of 512, first with transfers that cost nothing, then over links of such a speed that all bytes
 * of a step take half of the time that it computes (transport `delayed`, which waits without using
 * a core). The ratio of the two is 1.5 when nothing is hidden; the bar is 1.10. */
#include "base/clock.h"
#include "comm/transports.h"
#include "graph/op.h"
#include "measure.h"
#include "models/gpt2.h"
#include "models/layers.h"
#include "ops/adam.h"
#include "optim/gradient_clipper.h"
#include "optim/optim.h"
#include "passes/data_parallel.h"
#include "train/session.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, WIDTH = 256, BATCH = 4, SEQUENCE = 256, VOCABULARY = 512 };

static Gpt2Settings model_settings(void)
{
    NormChoice n = { .norm_type = NORM_RMS,
                     .config = { .which = 0, .rms = { WIDTH, 1e-5, true } } };
    return (Gpt2Settings){ .sample_key = "input_ids",
                           .prediction_key = "logits",
                           .poe_type = POE_ABSOLUTE,
                           .sequence_length = SEQUENCE,
                           .vocab_size = VOCABULARY,
                           .n_layer = 12,
                           .n_head_q = 4,
                           .n_head_kv = 4,
                           .n_embd = WIDTH,
                           .ffn_hidden = 4 * WIDTH,
                           .activation_type = ACTIVATION_GELU,
                           .attention_norm_config = n,
                           .ffn_norm_config = n,
                           .lm_head_norm_config = n,
                           .enforce_swiglu_hidden_dim_multiple_of = 256 };
}

static void update(const Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   const ParamGroup *group)
{
    (void)self;
    const AdamSettings attrs = { .beta1 = 0.9,
                                 .beta2 = 0.95,
                                 .eps = 1e-8,
                                 .weight_decay = group->weight_decay,
                                 .decoupled = true };
    Value *moment[2];
    for (int i = 0; i < 2; i++)
        moment[i] = graph_state(g, arena_printf(g->arena, "m%d.%s", i, param->name), F32,
                                param->n_dims, param->dim);
    adam(g, param, grad, moment[0], moment[1], factor, &attrs);
}

/* One rank of a measurement, and what it found. */
typedef struct RankRun {
    const DataParallel *layout;
    Mesh mesh;
    Comm *comm;
    int n_steps;
    double best, bytes; /* seconds of a step; bytes that it sends in one, as `delayed` counts */
    pthread_t thread;
} RankRun;

static double bytes_of(const Graph *g)
{
    double bytes = 0, share = (RANKS - 1.0) / RANKS;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        bool gathers = !strcmp(n->op->name, "gather_unit"),
             sums = !strcmp(n->op->name, "reduce_bucket"),
             reduces = !strcmp(n->op->name, "reduce_unit");
        Value *const *whole = gathers ? n->out : n->in;
        for (int k = 0; (gathers || sums || reduces) && k < n->n_in; k++)
            bytes += (sums ? 2 : 1) * share * (double)value_count(whole[k]) *
                     (double)dtype_size(whole[k]->dtype);
    }
    return bytes;
}

static void run_step(Program *p, int64_t number)
{
    RunTime now = {
        .step = number, .updates = number, .loss_scale = 1, .rate = { { .lr = 1e-4 } }
    };
    die(program_run_phases(p, RUN_FORWARD | RUN_BACKWARD, &now));
    die(program_run_phases(p, RUN_REDUCE, &now));
    die(program_run_phases(p, RUN_UPDATE, &now));
}

static void *run_rank(void *arg)
{
    static const char *const none[] = { NULL };
    RankRun *r = arg;
    Arena *a = arena_new();
    const Gpt2Settings settings = model_settings();
    Model *model = gpt2_new(a, &settings);
    model->data_parallel = r->layout;
    SessionSettings ss = { .model = model,
                           .n_threads = 1,
                           .groups = groups_new(a, &r->mesh, r->comm) };
    Session *s;
    Program *p;
    Loss loss = loss_of_tokens("target_ids");
    Optimizer optimizer = { .update = update, .excluded = none, .model = model };
    GradientClipper clipper = { .norm_type = 2, .max_norm = 1 };
    die(session_new(&ss, &s));
    die(session_training_program(s, &loss, &optimizer, &clipper, NULL, BATCH, SEQUENCE, &p));
    die(store_initialize(session_store(s), 1));
    int32_t *ids = NEW_N(a, int32_t, BATCH * SEQUENCE);
    for (int i = 0; i < BATCH * SEQUENCE; i++) ids[i] = i * 7919 % VOCABULARY;
    die(program_write(p, "input_ids", 0, ids));
    die(program_write(p, "target_ids", 0, ids));
    r->bytes = bytes_of(program_graph(p));
    r->best = INFINITY;
    for (int k = 0; k <= r->n_steps; k++) { /* the first one warms up */
        double start = clock_seconds();
        run_step(p, k);
        if (k) r->best = fmin(r->best, clock_seconds() - start);
    }
    session_free(s);
    arena_free(a);
    return NULL;
}

/* The slower rank's best step. */
static RankRun measure(const DataParallel *layout, MeshAxis axis, const CommLink *link, int n_steps)
{
    Comm *comm[RANKS];
    RankRun rank[RANKS];
    Mesh mesh = { .world_size = RANKS, .device_type = "cpu" };
    for (int i = MESH_PP; i < MESH_N_AXES; i++) mesh.size[i] = i == (int)axis ? RANKS : 1;
    if (link)
        comm_delayed_new(RANKS, link, 1, comm);
    else
        comm_threads_new(RANKS, comm);
    for (int i = 0; i < RANKS; i++) {
        rank[i] = (RankRun){ .layout = layout, .mesh = mesh, .comm = comm[i], .n_steps = n_steps };
        rank[i].mesh.rank = i;
        if (pthread_create(&rank[i].thread, NULL, run_rank, &rank[i])) die(error_new("no thread"));
    }
    for (int i = 0; i < RANKS; i++) pthread_join(rank[i].thread, NULL);
    for (int i = 0; i < RANKS; i++) comm[i]->free(comm[i]);
    return rank[0].best > rank[1].best ? rank[0] : rank[1];
}

static void compare(const char *name, const DataParallel *layout, MeshAxis axis, int n_steps)
{
    const RankRun free = measure(layout, axis, NULL, n_steps);
    const CommLink link = { .latency = 20e-6, .bytes_per_second = free.bytes / (free.best / 2) };
    const RankRun slow = measure(layout, axis, &link, n_steps);
    printf("%-24s %7.1f ms a step; with transfers of %7.1f ms %7.1f ms: %.3f times (bar 1.10, "
           "nothing hidden 1.50)\n",
           name, 1e3 * free.best, 5e2 * free.best, 1e3 * slow.best, slow.best / free.best);
}

int main(int argc, char **argv)
{
    static const DataParallel ddp = { .stage = ZERO_NONE, .blocks_per_unit = 1 },
                              zero1 = { .stage = ZERO_STATES, .blocks_per_unit = 1 },
                              zero2 = { .stage = ZERO_GRADIENTS, .blocks_per_unit = 1 },
                              fsdp = { .stage = ZERO_PARAMETERS, .blocks_per_unit = 1 };
    int n_steps = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 6;
    Watch w = watch_start();
    compare("DDP", &ddp, MESH_DP_REPLICATE, n_steps);
    compare("ZeRO 1", &zero1, MESH_DP_SHARD, n_steps);
    compare("FSDP, no resharding", &zero2, MESH_DP_SHARD, n_steps);
    compare("FSDP", &fsdp, MESH_DP_SHARD, n_steps);
    watch_report(&w);
    return 0;
}
