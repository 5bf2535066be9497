/* offload.c - activations that wait in host memory, from their forward pass to their backward pass.
 *
 * What a block makes for the backward pass is copied out when it is there, on a stream of its own,
 * and the computation is at most one block ahead of that. It comes back one block before the one
 * that reads it; outside of pipelines, what the first block of the backward pass reads stays. */
#include "passes/offload.h"
#include "comm/mesh.h"
#include "graph/op.h"
#include "ops/host_copy.h"

typedef struct Move {
    Value *value;   /* a result of the forward pass, with storage of its own */
    int64_t before; /* the node of the backward pass before which it is fetched */
    Value *there;   /* in host memory; NULL: not yet */
} Move;

typedef struct Offloader {
    Graph *g;
    int64_t every;
    bool is_pipeline;
    Node **old;
    int64_t n_old, n_values;
    int64_t *first; /* by value id: the first node of the backward pass that reads it; -1: none */
    bool *stays;    /* by value id: others read it, too */
    Move **move;    /* by value id; NULL: it stays */
    Node **last;    /* by block: its last copy to the host; NULL: none */
    Value **back;   /* by value id: what the backward pass reads instead; NULL: not made yet */
} Offloader;

/* The block that runs on a stage, and the one before it; -1: none. */
typedef struct Runs {
    int now, before;
} Runs;

static const Value *root_of(const Value *v)
{
    int64_t at;
    return value_storage(v, &at);
}

static bool is_backward(const Node *n)
{
    return n->phase == BACKWARD_INPUT || n->phase == BACKWARD_WEIGHT;
}

static void find_reads(Offloader *o)
{
    for (int64_t i = o->n_old - 1; i >= 0; i--) {
        const Node *n = o->old[i];
        for (int k = 0; k < n->n_in; k++) {
            const Value *v = root_of(n->in[k]);
            if (is_backward(n)) o->first[v->id] = i;
            if (!is_backward(n) && n->phase != FORWARD) o->stays[v->id] = true;
            if (is_backward(n) && v->from && v->from->stage != n->stage) o->stays[v->id] = true;
        }
    }
    for (int64_t i = 0; i < o->g->n_outputs; i++)
        o->stays[root_of(o->g->output[i].value)->id] = true;
}

/* The node before i of the same stage's backward pass; -1: none. */
static int64_t previous(const Offloader *o, int64_t i)
{
    const int stage = o->old[i]->stage;
    while (--i >= 0)
        if (o->old[i]->stage == stage && is_backward(o->old[i])) return i;
    return -1;
}

/* Where the run of nodes of one block begins that node i is part of. */
static int64_t block_begin(const Offloader *o, int64_t i)
{
    const int block = o->old[i]->block;
    for (int64_t k = i; (k = previous(o, k)) >= 0 && o->old[k]->block == block;) i = k;
    return i;
}

/* A block before the one that reads it. Where there is none, the value may as well stay (-1); but
 * stages of a pipeline keep many microbatches until their backward pass. */
static int64_t place_of_fetch(const Offloader *o, const Value *v)
{
    const int64_t reader = o->first[v->id];
    if (o->old[reader]->block < 0) return -1;
    const int64_t begin = block_begin(o, reader), before = previous(o, begin);
    if (before >= 0 && o->old[before]->block >= 0) return block_begin(o, before);
    return o->is_pipeline ? begin : -1;
}

static bool is_wanted(const Offloader *o, const Value *v)
{
    const Node *n = v->from;
    if (v->kind != VALUE_RESULT || n->phase != FORWARD || n->block < 0) return false;
    if (n->op->flags & OP_VIEW || o->first[v->id] < 0 || o->stays[v->id]) return false;
    return (o->g->place[n->block].index + 1) % o->every == 0;
}

static void choose(Offloader *o)
{
    for (int64_t i = 0; i < o->n_values; i++) {
        Value *v = o->g->value[i];
        int64_t before = is_wanted(o, v) ? place_of_fetch(o, v) : -1;
        if (before < 0) continue;
        o->move[i] = NEW(o->g->arena, Move);
        *o->move[i] = (Move){ .value = v, .before = before };
    }
}

static Node *copy_node(Offloader *o, const Node *like, Phase phase, bool to_host, Value *x)
{
    Graph *g = o->g;
    g->phase = phase;
    g->stage = like->stage;
    g->block = like->block;
    g->module = like->module;
    Node *n = host_copy(g, x, to_host)->from;
    n->stream = STREAM_OFFLOAD;
    return n;
}

static void send_away(Offloader *o, const Node *n)
{
    for (int k = 0; k < n->n_out; k++) {
        Move *m = n->out[k]->id < o->n_values ? o->move[n->out[k]->id] : NULL;
        if (!m || m->there) continue;
        Node *copy = copy_node(o, n, FORWARD, true, m->value);
        m->there = copy->out[0];
        o->last[n->block] = copy;
    }
}

static void fetch(Offloader *o, int64_t before)
{
    for (int64_t i = 0; i < o->n_values; i++) {
        const Move *m = o->move[i];
        if (!m || m->before != before) continue;
        const Node *reader = o->old[o->first[i]];
        o->back[i] = copy_node(o, reader, BACKWARD_INPUT, false, m->there)->out[0];
        o->back[i]->grad_of = m->value->grad_of;
    }
}

/* What the backward pass reads in place of v; views of what came back are made anew. */
static Value *value_back(Offloader *o, Value *v)
{
    const Value *root = root_of(v);
    if (v->id >= o->n_values || root->id >= o->n_values || !o->move[root->id]) return v;
    if (o->back[v->id] || is_backward(v->from)) return o->back[v->id] ? o->back[v->id] : v;
    Value *of = value_back(o, v->from->in[0]);
    Node *n = graph_copy_node(o->g, v->from);
    n->in[0] = of;
    n->phase = BACKWARD_INPUT;
    return o->back[v->id] = n->out[0];
}

/* The computation of a block waits for the copies of the one before the last. */
static void hold_back(const Offloader *o, Node *n, Runs *r)
{
    if (n->phase != FORWARD || n->block < 0 || n->block == r->now || n->op->flags & OP_VIEW ||
        n->stream)
        return;
    if (r->before >= 0 && !n->after) n->after = o->last[r->before];
    *r = (Runs){ n->block, r->now };
}

static void rewrite(Offloader *o)
{
    const int n_stages = graph_stages(o->g);
    Runs *runs = NEW_N(o->g->arena, Runs, n_stages);
    for (int i = 0; i < n_stages; i++) runs[i] = (Runs){ -1, -1 };
    o->g->n_nodes = 0;
    for (int64_t i = 0; i < o->n_old; i++) {
        Node *n = o->old[i];
        if (is_backward(n)) fetch(o, i);
        for (int k = 0; k < n->n_in && is_backward(n); k++) n->in[k] = value_back(o, n->in[k]);
        hold_back(o, n, &runs[n->stage]);
        graph_keep(o->g, n);
        if (n->phase == FORWARD && n->block >= 0) send_away(o, n);
    }
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    Arena *a = g->arena;
    const int64_t n = g->n_values;
    Offloader o = { .g = g,
                    .every = ((const Offload *)settings)->every,
                    .is_pipeline = mesh && mesh->size[MESH_PP] > 1,
                    .old = arena_copy(a, g->node, sizeof *g->node * (size_t)g->n_nodes),
                    .n_old = g->n_nodes,
                    .n_values = n,
                    .first = NEW_N(a, int64_t, n),
                    .stays = NEW_N(a, bool, n),
                    .move = NEW_N(a, Move *, n),
                    .last = NEW_N(a, Node *, g->n_blocks),
                    .back = NEW_N(a, Value *, n) };
    for (int64_t i = 0; i < n; i++) o.first[i] = -1;
    find_reads(&o);
    choose(&o);
    rewrite(&o);
    return NULL;
}

const PassDef pass_offload = {
    .name = "offload",
    .doc = "keeps activations in host memory between the forward and the backward pass",
    .run = run,
    .backward = true,
};
