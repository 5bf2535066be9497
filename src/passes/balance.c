/* balance.c - biases of routers follow the load of their experts, once per step, over all ranks. */
#include "comm/groups.h"
#include "models/moe.h"
#include "ops/collective.h"
#include "ops/moe_bias.h"
#include "passes/all_passes.h"
#include "passes/data_parallel.h"
#include <string.h>

static void follow(Graph *g, const Mesh *mesh, Value *load, double rate)
{
    Value *bias = moe_bias_of(g, load), *total = load;
    const unsigned axes = load->partial | (mesh ? mesh_data_axes(mesh) : 0);
    g->phase = REDUCE;
    if (axes) reduce_list(graph_from(g, HERE), 1, &load, axes, &total);
    g->phase = UPDATE;
    Value *even = moe_even(g, total, load, rate);
    moe_shift(g, slice_as(graph_from(g, HERE), even, 0, &bias->dim[0]), bias);
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    const int64_t n = g->n_nodes;
    for (int64_t i = 0; i < n; i++)
        if (g->node[i]->op == &op_moe_load && g->node[i]->phase == FORWARD)
            follow(g, mesh, g->node[i]->out[0], *(const double *)settings);
    g->phase = FORWARD;
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    *settings = p->model->balance_rate;
    return p->optimize && p->model->balance_rate;
}

const PassDef pass_balance = {
    .name = "balance",
    .doc = "biases of routers follow the load of their experts",
    .run = run,
    .wanted = wanted,
};
