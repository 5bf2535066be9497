/* data_parallel.c - homes of parameters, what gathers them, and what reduces gradients. */
#include "passes/data_parallel.h"
#include "comm/groups.h"
#include "graph/op.h"
#include "graph/split.h"
#include "models/model.h"
#include "ops/accumulate.h"
#include "ops/cast.h"
#include "ops/collective.h"
#include "ops/elementwise.h"
#include "passes/all_passes.h"
#include <string.h>

unsigned mesh_shard_axes(const Mesh *m)
{
    return (1u << MESH_DP_SHARD | 1u << MESH_CP) & mesh_live_axes(m);
}

unsigned mesh_data_axes(const Mesh *m)
{
    return (1u << MESH_DP_REPLICATE | 1u << MESH_DP_SHARD) & mesh_live_axes(m);
}

/* Parameters that are whole together: those of some blocks, or what stands before the blocks or
 * after them. */
typedef struct Unit {
    int block;  /* the first of its blocks; -1: none */
    int region; /* with block -1: changes between blocks and what is none, so far; the head's
                   forward and backward pass are one */
    int pass;   /* of blocks 0: forward, 1: backward; 2: made once per step */
} Unit;

typedef struct Gathering {
    Unit unit;
    Value **home, **whole;
    int n;
    int64_t at; /* the index of its first user */
} Gathering;

typedef struct Work {
    Graph *g;
    const Mesh *mesh;
    const DataParallel *s;
    unsigned axes; /* of homes */
    Node **old;
    int64_t n_old;
    Unit *unit;    /* by node */
    bool *is_home; /* by value: a parameter, or a copy of one, of which each rank has its rows */
    Dim *rows;     /* by value: dimension 0 where it is whole for those who use it */
    Gathering *gathering;
    int64_t n_gatherings;
} Work;

static bool is_backward(const Node *n)
{
    return n->phase == BACKWARD_INPUT || n->phase == BACKWARD_WEIGHT;
}

static bool is_same_unit(const Unit *a, const Unit *b)
{
    return a->block == b->block && a->region == b->region && a->pass == b->pass;
}

/* The first block of the unit that a block belongs to. */
static int unit_of_block(const Work *w, int block)
{
    const BlockPlace *p = &w->g->place[block];
    int64_t first = p->index - p->index % w->s->blocks_per_unit;
    for (int b = 0; b < w->g->n_blocks; b++)
        if (w->g->place[b].index == first && !strcmp(w->g->place[b].stack, p->stack)) return b;
    return block;
}

static void find_units(Work *w)
{
    int region = 0;
    bool was_block = false;
    w->unit = NEW_N(w->g->arena, Unit, w->n_old);
    for (int64_t i = 0; i < w->n_old; i++) {
        const Node *n = w->old[i];
        Unit *u = &w->unit[i];
        bool is_block = n->block >= 0;
        if (n->phase != PREPARE && is_block != was_block) {
            region++;
            was_block = is_block;
        }
        *u = (Unit){ .block = is_block ? unit_of_block(w, n->block) : -1 };
        if (n->phase == PREPARE)
            u->pass = 2;
        else if (is_block)
            u->pass = is_backward(n);
        else
            u->region = region;
    }
}

static void divide(const Work *w, Value *v)
{
    if (w->axes >> MESH_DP_SHARD & 1) dim_divide(&v->dim[0], MESH_DP_SHARD);
    if (w->axes >> MESH_CP & 1) dim_divide(&v->dim[0], MESH_CP);
    v->dim[0].is_padded = true;
}

static bool is_param(const Value *v)
{
    return v->kind == VALUE_PARAM && v->n_dims > 0;
}

/* What is made of one element at a time can be made at home. */
static bool is_copy(const Node *n)
{
    return n->phase == PREPARE && n->n_in == 1 && n->n_out == 1 && !strcmp(n->dims->text, "*->*");
}

static void find_homes(Work *w)
{
    Graph *g = w->g;
    w->is_home = NEW_N(g->arena, bool, g->n_values);
    w->rows = NEW_N(g->arena, Dim, g->n_values);
    for (int64_t i = 0; i < g->n_values; i++)
        if (is_param(g->value[i])) {
            w->rows[i] = g->value[i]->dim[0];
            divide(w, g->value[i]);
            w->is_home[i] = true;
        }
    for (int64_t i = 0; i < w->n_old; i++) {
        const Node *n = w->old[i];
        if (!is_copy(n) || !w->is_home[n->in[0]->id]) continue;
        memcpy(n->out[0]->dim, n->in[0]->dim, sizeof n->in[0]->dim);
        w->is_home[n->out[0]->id] = true;
        w->rows[n->out[0]->id] = w->rows[n->in[0]->id];
    }
}

/* The place in a unit's list of a home that it gathers; added if it is not there. */
static Value **whole_of(Work *w, const Unit *u, Value *home, int64_t at)
{
    Gathering *x = NULL;
    for (int64_t i = w->n_gatherings - 1; i >= 0 && !x; i--)
        if (is_same_unit(&w->gathering[i].unit, u)) x = &w->gathering[i];
    if (!x) {
        x = &w->gathering[w->n_gatherings++];
        *x = (Gathering){ .unit = *u, .at = at };
        x->home = NEW_N(w->g->arena, Value *, w->g->n_values);
        x->whole = NEW_N(w->g->arena, Value *, w->g->n_values);
    }
    int k = 0;
    while (k < x->n && x->home[k] != home) k++;
    if (k == x->n) x->home[x->n++] = home;
    return &x->whole[k];
}

/* Whole parameters that a node reads; with ZERO_PARAMETERS each unit gathers them anew. */
static Unit unit_for(const Work *w, int64_t i)
{
    Unit u = w->unit[i];
    if (w->s->stage < ZERO_PARAMETERS) u = (Unit){ .block = u.block, .pass = 2 };
    return u;
}

static bool gathers(const Work *w, const Node *n)
{
    return n->phase <= BACKWARD_WEIGHT && !(is_copy(n) && w->is_home[n->in[0]->id]);
}

static void keep(Graph *g, Node *n)
{
    g->node = arena_grow(g->arena, g->node, g->n_nodes, &g->cap_nodes, sizeof *g->node);
    g->node[g->n_nodes++] = n;
}

static void add_gathering(const Work *w, const Gathering *x)
{
    Graph *g = w->g;
    const Node *user = w->old[x->at];
    g->phase = x->unit.pass == 2 ? PREPARE : user->phase;
    g->block = x->unit.pass == 2 ? -1 : user->block;
    gather_unit(g, x->n, x->home, w->axes, x->whole);
    for (int k = 0; k < x->n; k++) x->whole[k]->dim[0] = w->rows[x->home[k]->id];
    g->node[g->n_nodes - 1]->stage = user->stage;
}

/* Puts a gathering before the first user of each unit, and lets all users read what it made. */
static void add_gatherings(Work *w)
{
    Graph *g = w->g;
    w->old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    w->n_old = g->n_nodes;
    find_units(w);
    w->gathering = NEW_N(g->arena, Gathering, w->n_old);
    const int64_t n_values = g->n_values;
    for (int64_t i = 0; i < w->n_old; i++)
        for (int k = 0; gathers(w, w->old[i]) && k < w->old[i]->n_in; k++) {
            Value *v = w->old[i]->in[k];
            if (v->id < n_values && w->is_home[v->id]) {
                const Unit u = unit_for(w, i);
                whole_of(w, &u, v, i);
            }
        }
    g->n_nodes = 0;
    for (int64_t i = 0, x = 0; i < w->n_old; i++) {
        for (; x < w->n_gatherings && w->gathering[x].at == i; x++)
            add_gathering(w, &w->gathering[x]);
        Node *n = w->old[i];
        for (int k = 0; gathers(w, n) && k < n->n_in; k++)
            if (n->in[k]->id < n_values && w->is_home[n->in[k]->id]) {
                const Unit u = unit_for(w, i);
                n->in[k] = *whole_of(w, &u, n->in[k], i);
            }
        keep(g, n);
    }
}

/* Gradients of one unit that are complete and wait for their reduction. */
typedef struct Pending {
    Value **whole, **home;
    int n;
    Unit unit;
    int stage;
} Pending;

static void flush(const Work *w, Pending *p)
{
    Graph *g = w->g;
    if (!p->n) return;
    g->phase = BACKWARD_WEIGHT;
    g->block = p->unit.block;
    for (int k = 0; w->s->reduce_dtype == BF16 && k < p->n; k++)
        if (p->whole[k]->dtype == F32) p->whole[k] = cast(g, p->whole[k], BF16);
    reduce_unit(g, p->n, p->whole, w->axes, p->home);
    g->node[g->n_nodes - 1]->stage = p->stage;
    p->n = 0;
}

/* In place of `accumulate`: the sum of a microbatch's contributions, reduced with its unit. */
static void reduce_after_backward(Work *w)
{
    Graph *g = w->g;
    w->old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    w->n_old = g->n_nodes;
    find_units(w);
    int64_t n_values = g->n_values;
    int *left = NEW_N(g->arena, int, n_values);
    Value **sum = NEW_N(g->arena, Value *, n_values);
    Pending p = { .whole = NEW_N(g->arena, Value *, n_values),
                  .home = NEW_N(g->arena, Value *, n_values) };
    for (int64_t i = 0; i < w->n_old; i++)
        if (w->old[i]->op == &op_accumulate) left[w->old[i]->out[0]->id]++;
    g->n_nodes = 0;
    for (int64_t i = 0; i < w->n_old; i++) {
        Node *n = w->old[i];
        if (n->phase != PREPARE && !is_same_unit(&p.unit, &w->unit[i])) flush(w, &p);
        if (n->op != &op_accumulate) {
            keep(g, n);
            continue;
        }
        Value *x = n->in[0], *to = n->out[0];
        g->phase = n->phase;
        g->block = n->block;
        sum[to->id] = sum[to->id] ? add(g, sum[to->id], x) : x;
        if (--left[to->id]) continue;
        p.unit = w->unit[i];
        p.stage = n->stage;
        p.whole[p.n] = sum[to->id];
        p.home[p.n++] = to;
    }
    flush(w, &p);
}

/* In place of the accumulators that the backward pass adds to, homes of them are what the norm and
 * the update read; the whole ones are reduced once per step and cleared. */
static void reduce_once(Work *w, Value *const *param, int64_t n)
{
    Graph *g = w->g;
    Value **whole = NEW_N(g->arena, Value *, n), **home = NEW_N(g->arena, Value *, n);
    for (int64_t i = 0; i < n; i++) {
        whole[i] = param[i]->grad;
        home[i] = param[i]->grad = graph_accumulator_named(g, "home", param[i]);
    }
    g->phase = REDUCE;
    g->block = -1;
    Value **sent = arena_copy(g->arena, whole, sizeof *whole * (size_t)n);
    for (int64_t i = 0; i < n && w->s->reduce_dtype == BF16; i++)
        if (whole[i]->dtype == F32) sent[i] = cast(g, whole[i], BF16);
    reduce_unit(g, (int)n, sent, w->axes, home);
    clear_unit(g, (int)n, whole);
}

/* What is made once per step comes first, so that a unit's parameters can be gathered together. */
static void move_prepare_up(Work *w)
{
    Graph *g = w->g;
    int64_t at = 0;
    for (int prepare = 1; prepare >= 0; prepare--)
        for (int64_t i = 0; i < w->n_old; i++)
            if ((w->old[i]->phase == PREPARE) == prepare) g->node[at++] = w->old[i];
}

static int64_t find_params(const Graph *g, Value **param)
{
    int64_t n = 0;
    for (int64_t i = 0; i < g->n_values; i++)
        if (is_param(g->value[i]) && g->value[i]->grad) param[n++] = g->value[i];
    return n;
}

/* Sums that are still outstanding: one node for all gradients that miss the same ranks. */
static void reduce_rest(Graph *g, Value *const *param, int64_t n, const unsigned *rest)
{
    Value **x = NEW_N(g->arena, Value *, n);
    g->phase = REDUCE;
    g->block = -1;
    for (unsigned axes = 1; axes < 1u << MESH_N_AXES; axes++) {
        int k = 0;
        for (int64_t i = 0; i < n; i++)
            if (rest[i] == axes) x[k++] = param[i]->grad;
        if (k) reduce_bucket(g, k, x, axes);
    }
    for (int64_t i = 0; i < n; i++) param[i]->grad->partial = 0;
}

static Error *run(Graph *g, const Mesh *mesh, const void *settings)
{
    Work w = { .g = g, .mesh = mesh, .s = settings };
    if (w.s->stage > ZERO_NONE) w.axes = mesh_shard_axes(mesh);
    Value **param = NEW_N(g->arena, Value *, g->n_values);
    int64_t n = find_params(g, param);
    unsigned *rest = NEW_N(g->arena, unsigned, n);
    for (int64_t i = 0; i < n; i++)
        rest[i] = (param[i]->grad->partial | mesh_data_axes(mesh)) & ~w.axes;
    w.old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    w.n_old = g->n_nodes;
    if (w.axes) {
        move_prepare_up(&w);
        find_homes(&w);
        add_gatherings(&w);
        if (n && w.s->stage == ZERO_STATES) reduce_once(&w, param, n);
        if (n && w.s->stage > ZERO_STATES) {
            for (int64_t i = 0; i < n; i++)
                memcpy(param[i]->grad->dim, param[i]->dim, sizeof param[i]->dim);
            reduce_after_backward(&w);
        }
    }
    if (n) reduce_rest(g, param, n, rest);
    g->phase = FORWARD;
    g->block = -1;
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    static const DataParallel ddp = { .stage = ZERO_NONE, .blocks_per_unit = 1 };
    *settings = p->model->data_parallel ? p->model->data_parallel : &ddp;
    return p->mesh && p->mesh->world_size > 1;
}

const PassDef pass_data_parallel = {
    .name = "data_parallel",
    .doc = "gathers parameters that ranks share, reduces gradients over ranks with other data",
    .run = run,
    .wanted = wanted,
};
