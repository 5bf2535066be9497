/* drop_scale.c - drops factors of 1. */
#include "ops/elementwise.h"
#include "passes/all_passes.h"
#include <string.h>

static bool is_idle(const Node *n)
{
    return n->phase == FORWARD && !strcmp(n->op->name, "scale") &&
           ((const Scale *)n->attrs)->factor == 1;
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh, (void)settings;
    for (int64_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i]->n_in; k++) {
            const Node *from = g->node[i]->in[k]->from;
            if (from && is_idle(from)) g->node[i]->in[k] = from->in[0];
        }
    graph_prune(g);
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    (void)p, (void)settings;
    return true;
}

const PassDef pass_drop_scale = {
    .name = "drop_scale",
    .doc = "drops factors of 1",
    .run = run,
    .wanted = wanted,
};
