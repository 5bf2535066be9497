/* fuse.c - rewrites that change no number but by rounding: first, producers add to accumulators
 * themselves.
 *
 * `x = contract(dy, a); accumulate(x) -> grad` becomes `contract(dy, a) -> grad`, where Launch.add
 * makes the kernel add to what is there. */
#include "passes/fuse.h"
#include "ops/accumulate.h"
#include "passes/all_passes.h"

int64_t *fuse_count_uses(const Graph *g)
{
    int64_t *uses = NEW_N(g->arena, int64_t, g->n_values);
    for (int64_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i]->n_in; k++) uses[g->node[i]->in[k]->id]++;
    for (int64_t i = 0; i < g->n_outputs; i++) uses[g->output[i].value->id]++;
    return uses;
}

static bool has_result(const Node *n, const Value *v)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] == v) return true;
    return false;
}

static bool fold_accumulate(const Node *n, const int64_t *uses)
{
    Value *x = n->in[0], *into = n->out[0];
    Node *from = x->from;
    if (!from || uses[x->id] != 1 || !(from->op->flags & OP_ADDS) || has_result(from, into))
        return false;
    if (from->phase == FORWARD || from->op->flags & OP_VIEW) return false;
    for (int k = 0; k < from->n_out; k++)
        if (from->out[k] == x) from->out[k] = into;
    return true;
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh, (void)settings;
    const int64_t *uses = fuse_count_uses(g);
    int64_t kept = 0;
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (g->node[i]->op != &op_accumulate || !fold_accumulate(g->node[i], uses))
            g->node[kept++] = g->node[i];
    g->n_nodes = kept;
    fuse_head(g);
    graph_prune(g);
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    (void)p, (void)settings;
    return true;
}

const PassDef pass_fuse = {
    .name = "fuse",
    .doc = "joins nodes, lets producers add to gradient accumulators, drops what nobody needs",
    .run = run,
    .wanted = wanted,
};
