/* pipeline.c - what a rank of a pipeline keeps of the graph, what it sends and receives. */
#include "passes/pipeline.h"
#include "comm/mesh.h"
#include "graph/op.h"
#include "models/model.h"
#include "ops/transfer.h"
#include "passes/all_passes.h"
#include <string.h>

/* A value on its way to a stage of another rank. */
typedef struct Way {
    struct Way *next; /* of the same value */
    Value *value, *received;
    int64_t number; /* of all ways */
    int stage;      /* that uses it */
    int64_t before; /* the index of its first user there */
    Phase phase;    /* the first in which it is used there */
} Way;

typedef struct Cutter {
    Graph *g;
    const PipelineCut *cut;
    int rank;
    Node **old;
    int64_t n_old;
    Way **way; /* by value id: its ways */
    int64_t n_ways;
} Cutter;

static bool is_staged(const Node *n)
{
    return n->phase >= FORWARD && n->phase <= BACKWARD_WEIGHT;
}

static int rank_of(const Cutter *c, const Node *n)
{
    return c->cut->rank_of[n->stage];
}

static bool is_own(const Cutter *c, const Node *n)
{
    return !is_staged(n) || rank_of(c, n) == c->rank;
}

/* ---- caches ---- */

/* A cache as the rank of a reader has it: a state of its own, into which the same rows go. */
static Value *cache_of_rank(Graph *g, const Node *write, const Node *reader, int rank)
{
    const Value *v = write->out[0];
    Value *copy = graph_cache(g, arena_printf(g->arena, "pp%d.%s", rank, v->name), v->dtype,
                              v->n_dims, v->dim);
    Node *n = graph_copy_node(g, write);
    n->stage = reader->stage;
    n->block = reader->block;
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] == v) n->in[k] = copy;
    n->out[0] = copy;
    return copy;
}

/* Layers that read the keys and values of one on another rank: states are not sent, so each rank
 * writes what is sent of new tokens into a cache of its own. This comes before nodes are dropped: a
 * program that reads a prompt may not need what these layers give, but later ones need the cache.
 */
static void copy_caches(Graph *g, const PipelineCut *cut, int64_t n_ranks)
{
    const int64_t n_old = g->n_nodes, n_values = g->n_values;
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n_old),
         **write = NEW_N(g->arena, Node *, n_values);
    Value **copy = NEW_N(g->arena, Value *, n_values * n_ranks);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n_old; i++) {
        Node *n = old[i];
        const int rank = is_staged(n) ? cut->rank_of[n->stage] : -1;
        for (int k = 0; rank >= 0 && k < n->n_in; k++) {
            const Value *v = n->in[k];
            const Node *w = v->id < n_values ? write[v->id] : NULL;
            if (!w || cut->rank_of[w->stage] == rank) continue;
            Value **own = &copy[v->id * n_ranks + rank];
            if (!*own) *own = cache_of_rank(g, w, n, rank);
            n->in[k] = *own;
        }
        for (int k = 0; rank >= 0 && k < n->n_out; k++)
            if (n->out[k]->is_cache) write[n->out[k]->id] = n;
        graph_keep(g, n);
    }
}

/* ---- what is sent and received ---- */

static Way *find_way(const Cutter *c, const Value *v, int stage)
{
    for (Way *w = c->way[v->id]; w; w = w->next)
        if (w->stage == stage) return w;
    return NULL;
}

static void note_use(Cutter *c, Value *v, int64_t user)
{
    const Node *n = c->old[user];
    if (!v->from || !is_staged(v->from) || rank_of(c, v->from) == rank_of(c, n)) return;
    Way *w = find_way(c, v, n->stage);
    if (w) {
        if (n->phase < w->phase) w->phase = n->phase;
        return;
    }
    w = NEW(c->g->arena, Way);
    *w = (Way){ .next = c->way[v->id],
                .value = v,
                .number = c->n_ways++,
                .stage = n->stage,
                .before = user,
                .phase = n->phase };
    c->way[v->id] = w;
}

static Edge edge_of(const Cutter *c, const Way *w, int peer)
{
    return (Edge){
        .peer = peer, .number = w->number, .of = c->n_ways, .dtype = (int64_t)w->value->dtype
    };
}

static void keep(Graph *g, Node *n)
{
    g->node = arena_grow(g->arena, g->node, g->n_nodes, &g->cap_nodes, sizeof *g->node);
    g->node[g->n_nodes++] = n;
}

/* Nodes that are added take the place of `n` in the schedule. */
static void stand_at(Graph *g, const Node *n)
{
    g->phase = n->phase;
    g->stage = n->stage;
    g->block = n->block;
}

static void receive_for(Cutter *c, int64_t user)
{
    const Node *n = c->old[user];
    for (int k = 0; k < n->n_in; k++) {
        Way *w = find_way(c, n->in[k], n->stage);
        if (!w) continue;
        if (w->before == user && !w->received) {
            const Edge e = edge_of(c, w, rank_of(c, w->value->from));
            stand_at(c->g, n);
            c->g->phase = w->phase;
            w->received = receive_value(graph_from(c->g, HERE), w->value, &e);
        }
        n->in[k] = w->received;
    }
}

static void send_results(const Cutter *c, const Node *n)
{
    for (int k = 0; k < n->n_out; k++)
        for (const Way *w = c->way[n->out[k]->id]; w; w = w->next) {
            const Edge e = edge_of(c, w, c->cut->rank_of[w->stage]);
            stand_at(c->g, n);
            send_value(graph_from(c->g, HERE), n->out[k], &e);
        }
}

static void cut_nodes(Cutter *c)
{
    Graph *g = c->g;
    g->n_nodes = 0;
    for (int64_t i = 0; i < c->n_old; i++) {
        Node *n = c->old[i];
        if (!is_own(c, n)) continue;
        if (is_staged(n)) receive_for(c, i);
        keep(g, n);
        if (is_staged(n)) send_results(c, n);
    }
}

static void drop_outputs(const Cutter *c)
{
    Graph *g = c->g;
    int64_t n = 0;
    for (int64_t i = 0; i < g->n_outputs; i++) {
        const Value *v = g->output[i].value;
        if (!v->from || is_own(c, v->from)) g->output[n++] = g->output[i];
    }
    g->n_outputs = n;
}

/* By value id: a bit for each rank that uses a parameter, directly or by what is made of it once
 * per step. */
static uint64_t *find_users(const Cutter *c)
{
    uint64_t *users = NEW_N(c->g->arena, uint64_t, c->g->n_values);
    for (int64_t i = c->n_old - 1; i >= 0; i--) {
        const Node *n = c->old[i];
        uint64_t by = is_staged(n) ? UINT64_C(1) << rank_of(c, n) : 0;
        for (int k = 0; k < n->n_out && n->phase == PREPARE; k++) by |= users[n->out[k]->id];
        for (int k = 0; k < n->n_in; k++) users[n->in[k]->id] |= by;
    }
    return users;
}

static void note_elsewhere(const Cutter *c, const uint64_t *users)
{
    Graph *g = c->g;
    g->elsewhere = NEW_N(g->arena, Value *, g->n_values);
    for (int64_t i = 0; i < g->n_values; i++)
        if (g->value[i]->kind == VALUE_PARAM && users[i] && !(users[i] >> c->rank & 1))
            g->elsewhere[g->n_elsewhere++] = g->value[i];
}

/* Numbers the parameters of the whole model, and joins the copies of one. */
static void join_copies(Cutter *c, const uint64_t *users)
{
    Graph *g = c->g;
    g->phase = REDUCE;
    g->stage = 0;
    g->block = -1;
    for (int64_t i = 0, n = g->n_values; i < n; i++) {
        Value *v = g->value[i];
        if (v->kind != VALUE_PARAM || !v->grad) continue;
        v->place = (int)g->n_places++;
        bool is_shared = (users[i] & (users[i] - 1)) != 0;
        if (!is_shared || !(users[i] >> c->rank & 1)) continue;
        v->is_copy = (users[i] & ((UINT64_C(1) << c->rank) - 1)) != 0;
        sum_copies(graph_from(g, HERE), v->grad, users[i]);
    }
    g->phase = FORWARD;
}

static Error *run(Graph *g, const Mesh *mesh, const void *settings)
{
    enum { MOST_RANKS = 64 };
    if (!mesh || mesh->size[MESH_PP] == 1) return NULL;
    if (mesh->size[MESH_PP] > MOST_RANKS)
        return error_usage("a pipeline of %lld ranks; allowed are up to %d",
                           (long long)mesh->size[MESH_PP], MOST_RANKS);
    copy_caches(g, settings, mesh->size[MESH_PP]);
    graph_prune(g); /* nobody sends what another rank does not use */
    Cutter c = { .g = g,
                 .cut = settings,
                 .rank = (int)mesh_coordinate(mesh, MESH_PP, mesh->rank),
                 .n_old = g->n_nodes };
    c.old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    c.way = NEW_N(g->arena, Way *, g->n_values);
    for (int64_t i = 0; i < c.n_old; i++)
        for (int k = 0; is_staged(c.old[i]) && k < c.old[i]->n_in; k++)
            note_use(&c, c.old[i]->in[k], i);
    const uint64_t *users = find_users(&c);
    note_elsewhere(&c, users);
    cut_nodes(&c);
    drop_outputs(&c);
    join_copies(&c, users);
    graph_prune(g);
    graph_forget_unused(g);
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    bool is_cut = p->model->pipeline && p->mesh && p->mesh->size[MESH_PP] > 1;
    if (is_cut) *settings = &p->model->pipeline->cut;
    return is_cut;
}

const PassDef pass_pipeline = {
    .name = "pipeline",
    .doc = "keeps the stages of this rank, which sends to the others and receives from them",
    .run = run,
    .wanted = wanted,
};
