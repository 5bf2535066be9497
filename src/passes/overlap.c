/* overlap.c - lets transfers run beside the computation.
 *
 * A node on a further stream begins when the computation has come to its place in the list. So a
 * unit's parameters are gathered from the place at which the unit before begins: at most one unit
 * more is whole. And the computation waits for a unit's reduction when the next one begins: at most
 * one unit more keeps its whole gradients. The order within every stream stays, so all ranks agree,
 * and no number changes. */
#include "comm/mesh.h"
#include "graph/op.h"
#include "passes/all_passes.h"

static bool is_of_microbatch(const Node *n)
{
    return n->phase >= FORWARD && n->phase <= BACKWARD_LAST;
}

/* Whether two nodes run one after the other without a rest in between. */
static bool is_same_run(const Node *a, const Node *b)
{
    return a->stage == b->stage && (a->phase == FORWARD) == (b->phase == FORWARD);
}

static bool is_transfer(const Node *n, int stream)
{
    return n->stream == stream && n->axes && is_of_microbatch(n);
}

/* The transfer of the same run that comes next on this one's stream; NULL: none. */
static Node *next_transfer(Node *const *node, int64_t n, int64_t i)
{
    for (int64_t k = i + 1; k < n; k++)
        if (is_transfer(node[k], node[i]->stream) && is_same_run(node[k], node[i])) return node[k];
    return NULL;
}

static bool reads_result_of(const Node *n, const Node *from)
{
    int64_t at;
    for (int k = 0; k < n->n_in; k++)
        if (value_storage(n->in[k], &at)->from == from) return true;
    return false;
}

/* Whether all that a node reads is there before node `at` of the list. */
static bool may_begin_at(Node *const *node, int64_t n, int64_t at, const Node *x)
{
    for (int64_t k = at; k < n && node[k] != x; k++)
        if (reads_result_of(x, node[k])) return false;
    return true;
}

/* Every gathering moves to where the one before it was. */
static void gather_ahead(Graph *g)
{
    int64_t n = g->n_nodes;
    Node **old = arena_copy(g->arena, g->node, sizeof *old * (size_t)n);
    bool *is_moved = NEW_N(g->arena, bool, n);
    Node **moved = NEW_N(g->arena, Node *, n);
    int64_t n_moved = 0;
    g->n_nodes = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < n_moved && !is_moved[i]; k++) is_moved[i] = moved[k] == old[i];
        if (!is_moved[i]) graph_keep(g, old[i]);
        if (!is_transfer(old[i], STREAM_GATHER)) continue;
        Node *next = next_transfer(old, n, i);
        if (!next || !may_begin_at(old, n, i, next)) continue;
        moved[n_moved++] = next;
        graph_keep(g, next);
    }
}

/* The first node of the computation after node `from` that runs whenever `n` does. */
static Node *first_behind(const Graph *g, int64_t from, const Node *n)
{
    for (int64_t k = from; k < g->n_nodes; k++) {
        Node *x = g->node[k];
        if (x->stream == STREAM_COMPUTE && x->phase == BACKWARD_WEIGHT && x->stage == n->stage &&
            !(x->op->flags & OP_VIEW))
            return x;
    }
    return NULL;
}

/* What a reduction to homes reads, and its scratch memory, are free again one unit later. */
static void reduce_behind(Graph *g)
{
    const Node *last = NULL;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        if (!is_transfer(n, STREAM_REDUCE) || n->n_out == 0 || n->in[0] == n->out[0]) continue;
        if (last && is_same_run(last, n)) {
            Node *x = first_behind(g, i + 1, last);
            if (x) x->after = last;
        }
        last = n;
    }
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh, (void)settings;
    gather_ahead(g);
    reduce_behind(g);
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    (void)settings;
    return p->mesh && p->mesh->world_size > 1;
}

const PassDef pass_overlap = {
    .name = "overlap",
    .doc = "lets transfers run beside the computation, one unit ahead and behind",
    .run = run,
    .wanted = wanted,
};
