/* overlap.c - lets transfers run beside the computation.
 *
 * A node on a further stream begins when the computation has come to its place in the list. So a
 * unit's parameters are gathered from the place at which the unit before begins: at most one unit
 * more is whole. And the computation waits for a unit's reduction when the next one begins: at most
 * one unit more keeps its whole gradients. Rows travel to experts and back while that part of their
 * block computes which does not need them: it moves ahead of what does. And parameters are updated
 * in the order in which the next step gathers them, which begins meanwhile (exec/program_ahead.c).
 * The order within every stream of transfers stays, so all ranks agree, and no number changes. */
#include "comm/mesh.h"
#include "graph/op.h"
#include "passes/all_passes.h"
#include <math.h>

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

/* Whether a node may not go ahead of others: it begins another part of the list, or its place is
 * chosen for what it begins or ends beside the computation. */
static bool keeps_its_place(const Node *n)
{
    return n->stream != STREAM_COMPUTE || n->phase == BACKWARD_LAST || n->after ||
           n->axes & 1u << MESH_PP;
}

/* Whether `later` has to come after `earlier`, which may be a view. */
static bool must_follow(const Node *later, const Node *earlier)
{
    for (int k = 0; k < later->n_in; k++)
        if (later->in[k]->from == earlier) return true;
    return reads_result_of(later, earlier) || nodes_conflict(later, earlier);
}

static bool follows_any(Node *const *list, int64_t n, const Node *x)
{
    for (int64_t i = 0; i < n; i++)
        if (must_follow(x, list[i])) return true;
    return false;
}

static bool precedes_any(Node *const *list, int64_t n, const Node *x)
{
    for (int64_t i = 0; i < n; i++)
        if (must_follow(list[i], x)) return true;
    return false;
}

static bool is_same_block(const Node *a, const Node *b)
{
    return is_of_microbatch(a) && is_same_run(a, b) && a->block == b->block;
}

/* The nodes of its block and pass around node i: the first, and one behind the last. */
static int64_t begin_of_run(const Graph *g, int64_t i)
{
    const Node *n = g->node[i];
    while (i > 0 && is_same_block(g->node[i - 1], n)) i--;
    return i;
}

static int64_t end_of_run(const Graph *g, int64_t i)
{
    const Node *n = g->node[i];
    while (i < g->n_nodes && is_same_block(g->node[i], n)) i++;
    return i;
}

/* Rows on their way; numbers of rows are few, and not worth waiting beside. */
static bool is_exchange(const Node *n)
{
    return is_transfer(n, STREAM_EXPERTS) && n->n_out == 1;
}

/* Nodes that follow a transfer: what goes ahead of those that need it, and the others. */
typedef struct Parting {
    Node **ahead, **behind;
    int64_t n_ahead, n_behind;
    int n_exchanges; /* of rows, itself included */
    double flops;    /* of what goes ahead */
} Parting;

/* As much goes ahead as makes `most` FLOPs; both keep their order. */
static void part(const Graph *g, int64_t i, double most, Parting *p)
{
    const int64_t end = end_of_run(g, i);
    p->flops = 0;
    p->n_ahead = p->n_behind = p->n_exchanges = 0;
    for (int64_t k = i; k < end; k++) {
        Node *n = g->node[k];
        p->n_exchanges += is_exchange(n);
        const bool goes =
            p->flops < most && !keeps_its_place(n) && !follows_any(p->behind, p->n_behind, n);
        if (goes) p->flops += node_flops(n);
        if (goes)
            p->ahead[p->n_ahead++] = n;
        else
            p->behind[p->n_behind++] = n;
    }
}

/* Exchanges of one run share the work that needs none of them. */
static void work_beside(Graph *g, int64_t i, Parting *p)
{
    part(g, i, INFINITY, p);
    if (p->n_exchanges > 1) part(g, i, p->flops / p->n_exchanges, p);
    for (int64_t k = 0; k < p->n_ahead; k++) g->node[i + 1 + k] = p->ahead[k];
    for (int64_t k = 1; k < p->n_behind; k++) g->node[i + p->n_ahead + k] = p->behind[k];
}

/* The transfer begins when what it needs is there; returns its new place. */
static int64_t begin_early(Graph *g, int64_t i, Parting *p)
{
    const int64_t begin = begin_of_run(g, i);
    p->n_ahead = p->n_behind = 0;
    p->ahead[p->n_ahead++] = g->node[i]; /* with what it needs, from the last to the first */
    for (int64_t k = i - 1; k >= begin; k--) {
        Node *n = g->node[k];
        if (keeps_its_place(n) || precedes_any(p->ahead, p->n_ahead, n))
            p->ahead[p->n_ahead++] = n;
        else
            p->behind[p->n_behind++] = n;
    }
    const int64_t place = begin + p->n_ahead - 1;
    for (int64_t k = 0; k < p->n_ahead; k++) g->node[place - k] = p->ahead[k];
    for (int64_t k = 0; k < p->n_behind; k++) g->node[i - k] = p->behind[k];
    return place;
}

static void exchange_beside(Graph *g)
{
    Parting p = { .ahead = NEW_N(g->arena, Node *, g->n_nodes),
                  .behind = NEW_N(g->arena, Node *, g->n_nodes) };
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (is_exchange(g->node[i])) i = begin_early(g, i, &p);
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (is_exchange(g->node[i])) work_beside(g, i, &p);
}

/* The list while the updates get another order. */
typedef struct Updates {
    Graph *g;
    Node **old;
    int64_t n;
    bool *is_kept;
} Updates;

/* With what it must follow, whichever that is. */
static void keep_update(Updates *u, int64_t i)
{
    if (u->is_kept[i]) return;
    u->is_kept[i] = true;
    for (int64_t k = 0; k < i; k++)
        if (!u->is_kept[k] && must_follow(u->old[i], u->old[k])) keep_update(u, k);
    graph_keep(u->g, u->old[i]);
}

static void keep_updates_of(Updates *u, const Value *param)
{
    for (int64_t i = 0; i < u->n; i++)
        for (int k = 0; u->old[i]->phase == UPDATE && k < u->old[i]->n_out; k++)
            if (u->old[i]->out[k] == param) keep_update(u, i);
}

static bool is_gathering_of_step(const Node *n)
{
    return n->phase == PREPARE && n->stream == STREAM_GATHER;
}

/* What a rank has of a parameter, or the copy of it that is sent. */
static const Value *parameter_of(const Value *home)
{
    while (home->from && home->from->phase == PREPARE && home->from->n_in == 1)
        home = home->from->in[0];
    return home;
}

static void update_as_gathered(Graph *g)
{
    Updates u = { .g = g,
                  .old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes),
                  .n = g->n_nodes,
                  .is_kept = NEW_N(g->arena, bool, g->n_nodes) };
    g->n_nodes = 0;
    for (int64_t i = 0; i < u.n; i++)
        if (u.old[i]->phase != UPDATE) {
            u.is_kept[i] = true;
            graph_keep(g, u.old[i]);
        }
    for (int64_t i = 0; i < u.n; i++)
        for (int k = 0; is_gathering_of_step(u.old[i]) && k < u.old[i]->n_in; k++)
            keep_updates_of(&u, parameter_of(u.old[i]->in[k]));
    for (int64_t i = 0; i < u.n; i++) keep_update(&u, i);
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh, (void)settings;
    gather_ahead(g);
    reduce_behind(g);
    exchange_beside(g);
    update_as_gathered(g);
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
