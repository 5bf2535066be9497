/* mixture.c - what a mixture of experts costs beside dense products of as many FLOPs.
 *
 * A layer of 8 experts, of which each of 2,048 tokens takes 2 (width 768, hidden 3,072), forward
 * and backward, beside a dense layer of the same kind over 4,096 tokens, whose products alone are
 * counted. The two take turns; the least of their rounds counts. */
#include "base/clock.h"
#include "base/thread.h"
#include "exec/program.h"
#include "graph/op.h"
#include "measure.h"
#include "models/moe.h"
#include "ops/elementwise.h"
#include "passes/all_passes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 768, HIDDEN = 3072, TOKENS = 2048, TOP_K = 2, EXPERTS = 8 };
static const double bar = 1.15;

typedef struct Layer {
    Arena *arena;
    Device *device;
    ParamStore *store;
    Program *program;
    double products, all; /* seconds of a round */
    double flops;
} Layer;

static const Moe mixture = { .n_experts = EXPERTS,
                             .top_k = TOP_K,
                             .hidden = HIDDEN,
                             .normalize = true,
                             .activation = ACTIVATE_SILU };

/* Products, and everything of the layer: the loss is neither's. */
static Error *note(void *ctx, const Node *n, const Launch *l, double seconds)
{
    Layer *x = ctx;
    (void)l;
    if (!strncmp(n->op->name, "cross_entropy", 13)) return NULL;
    x->all += seconds;
    if (node_flops(n) > 0) x->products += seconds;
    return NULL;
}

static Layer layer_new(const Moe *m, int64_t tokens)
{
    Layer x = { .arena = arena_new(), .device = cpu_device_new(thread_cores()) };
    Graph *g = graph_new(x.arena);
    PassList passes = { .arena = x.arena };
    const Dim dims[] = { { .size = 1 }, { .size = tokens }, { .size = WIDTH } };
    Value *in = graph_param(g, "x", 3, dims);
    in->init = (Init){ .kind = INIT_NORMAL, .std = 1 };
    MoeSums sums = { 0 };
    graph_enter(g, "h", 0);
    Value *y = m ? moe_layer(g, in, in, m, NULL, &sums)
                 : gated_mlp(g, in, ACTIVATE_SILU, HIDDEN, false, 1, 0);
    graph_leave(g);
    const ModelOutput out = { .logits = add(g, in, y) };
    model_loss(g, &out, graph_input(g, "targets", I32, 2, dims), false);
    passes_add(&passes, pass_find("autodiff"), NULL);
    passes_add(&passes, pass_find("fuse"), NULL);
    die(passes_run(g, NULL, &passes, NULL));
    for (int64_t i = 0; i < g->n_nodes; i++) x.flops += node_flops(g->node[i]);
    x.store = store_new(x.device);
    const ProgramSettings settings = {
        .device = x.device, .store = x.store, .level = cpu_level_available(), .name = "layer"
    };
    die(program_new(g, &settings, &x.program));
    die(store_initialize(x.store, 1));
    int32_t *targets = program_input(x.program, "targets", 0)->data;
    for (int64_t i = 0; i < tokens; i++) targets[i] = (int32_t)(i * 7919 % WIDTH);
    return x;
}

static void run(Layer *x)
{
    x->products = x->all = 0;
    program_set_hook(x->program, note, x);
    die(program_run_phases(x->program, RUN_FORWARD | RUN_BACKWARD, &(RunTime){ .loss_scale = 1 }));
}

static void layer_free(const Layer *x)
{
    program_free(x->program);
    store_free(x->store);
    x->device->free(x->device);
    arena_free(x->arena);
}

/* usage: mixture [rounds] */
int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 8;
    const Watch w = watch_start();
    Layer sparse = layer_new(&mixture, TOKENS), dense = layer_new(NULL, (int64_t)TOP_K * TOKENS);
    double all = INFINITY, products = INFINITY, of_dense = INFINITY;
    for (int i = 0; i <= rounds; i++) { /* the first one warms up */
        run(&sparse);
        run(&dense);
        if (!i) continue;
        all = fmin(all, sparse.all);
        products = fmin(products, sparse.products);
        of_dense = fmin(of_dense, dense.products);
    }
    const double ratio = all / of_dense;
    printf(
        "%d experts, top %d, %d tokens: %.1f ms (%.1f GFLOP, %.1f ms in products); dense products "
        "of %.1f GFLOP %.1f ms: %.3f times, bar %.2f %s\n",
        EXPERTS, TOP_K, TOKENS, 1e3 * all, sparse.flops * 1e-9, 1e3 * products, dense.flops * 1e-9,
        1e3 * of_dense, ratio, bar, ratio <= bar ? "met" : "NOT MET");
    watch_report(&w);
    layer_free(&sparse);
    layer_free(&dense);
    return 0;
}
