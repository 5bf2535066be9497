/* recompute.c - activation checkpointing as a rewrite: a block's forward nodes are cloned in front
 * of its first backward node, and the backward nodes read the clones. Only what enters a block
 * stays alive. Random ops use counters, so a clone draws the same mask. What writes in place, as
 * the largest logits of a step, has done so. */
#include "passes/recompute.h"
#include "graph/op.h"
#include <string.h>

typedef struct Recomputer {
    Graph *g;
    Node **old;
    int64_t n_old;
    Value **clone; /* by value id */
    const Recompute *settings;
} Recomputer;

/* `n_products` counts the matrix products of the block: of those, every second is computed again.
 */
static bool is_saved(const Recompute *r, const Node *n, int *n_products)
{
    const bool is_product = n->op->flags & OP_MATMUL;
    if (is_product) ++*n_products;
    return n->op->flags & r->save && (!is_product || *n_products % 2 == 1);
}

static bool writes_in_place(const Node *n)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->kind != VALUE_RESULT) return true;
    return false;
}

static bool is_backward(const Node *n)
{
    return n->phase == BACKWARD_INPUT || n->phase == BACKWARD_WEIGHT;
}

static bool wants(const Recompute *r, const Graph *g, int block)
{
    if (block < 0) return false;
    const BlockPlace *p = &g->place[block];
    if (r->stack && strcmp(r->stack, p->stack) != 0) return false;
    if (r->of) return (p->index + 1) * r->n / r->of > p->index * r->n / r->of;
    return r->every > 0 && (p->index + 1) % r->every == 0;
}

static void keep(Graph *g, Node *n)
{
    g->node = arena_grow(g->arena, g->node, g->n_nodes, &g->cap_nodes, sizeof *g->node);
    g->node[g->n_nodes++] = n;
}

static void clone_block(Recomputer *r, int block)
{
    int n_products = 0;
    for (int64_t i = 0; i < r->n_old; i++) {
        Node *n = r->old[i];
        if (n->phase != FORWARD || n->block != block || writes_in_place(n) ||
            is_saved(r->settings, n, &n_products))
            continue;
        Node *c = graph_copy_node(r->g, n);
        c->phase = BACKWARD_INPUT;
        for (int k = 0; k < c->n_in; k++)
            if (r->clone[c->in[k]->id]) c->in[k] = r->clone[c->in[k]->id];
        for (int k = 0; k < c->n_out; k++) r->clone[n->out[k]->id] = c->out[k];
    }
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    Recomputer r = { .g = g, .n_old = g->n_nodes, .settings = settings };
    if (r.settings->of ? r.settings->n == 0 : r.settings->every <= 0) return NULL;
    bool *cloned = NEW_N(g->arena, bool, g->n_blocks);
    int64_t n_values = g->n_values;
    r.old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    r.clone = NEW_N(g->arena, Value *, n_values);
    g->n_nodes = 0;
    for (int64_t i = 0; i < r.n_old; i++) {
        Node *n = r.old[i];
        if (is_backward(n) && wants(r.settings, g, n->block)) {
            if (!cloned[n->block]) clone_block(&r, n->block);
            cloned[n->block] = true;
            for (int k = 0; k < n->n_in; k++)
                if (n->in[k]->id < n_values && r.clone[n->in[k]->id])
                    n->in[k] = r.clone[n->in[k]->id];
        }
        keep(g, n);
    }
    graph_prune(g);
    return NULL;
}

const PassDef pass_recompute = {
    .name = "recompute",
    .doc = "computes blocks of the forward pass again in the backward pass",
    .run = run,
    .backward = true,
};
