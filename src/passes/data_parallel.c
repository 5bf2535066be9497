/* data_parallel.c - homes of parameters, and what gathers them. */
#include "passes/data_parallel.h"
#include "comm/groups.h"
#include "graph/op.h"
#include "graph/split.h"
#include "models/model.h"
#include "ops/collective.h"
#include "passes/all_passes.h"
#include "passes/reduce_gradients.h"
#include "passes/units.h"
#include <string.h>

unsigned mesh_shard_axes(const Mesh *m)
{
    return (1u << MESH_DP_SHARD | 1u << MESH_EP | 1u << MESH_CP) & mesh_live_axes(m);
}

unsigned mesh_data_axes(const Mesh *m)
{
    return (1u << MESH_DP_REPLICATE | 1u << MESH_DP_SHARD | 1u << MESH_EP) & mesh_live_axes(m);
}

void data_parallel_place(const DataParallel *d, const Rank *rank, Mesh *m)
{
    const int64_t local = rank->local_world_size;
    if (!d || !d->is_hybrid || local < 1 || rank->is_uneven || m->size[MESH_DP_SHARD] % local)
        return;
    m->size[MESH_DP_REPLICATE] *= m->size[MESH_DP_SHARD] / local;
    m->size[MESH_DP_SHARD] = local;
}

unsigned home_axes(const Value *param, unsigned axes)
{
    for (int d = 0; d < param->n_dims; d++)
        for (int i = 0; i < MAX_MESH_AXES && param->dim[d].mesh[i]; i++)
            axes &= ~(1u << param->dim[d].mesh[i]);
    return axes;
}

typedef struct Gathering {
    Unit unit;
    unsigned axes;
    Value **home, **whole;
    int64_t n, cap;
    int64_t at;  /* the index of its first user */
    Phase phase; /* the first that has one: schedules may part phases whose nodes lie mixed */
} Gathering;

typedef struct Work {
    Graph *g;
    const Mesh *mesh;
    const DataParallel *s;
    unsigned axes; /* of homes */
    Node **old;
    int64_t n_old;
    const Unit *unit; /* by node */
    unsigned *home;   /* by value: the axes over which the rows of a parameter, or of a copy of one,
                         are divided; 0: they are not */
    Dim *rows;        /* by value: dimension 0 where it is whole for those who use it */
    Gathering *gathering;
    int64_t n_gatherings, cap_gatherings;
} Work;

static void divide(Value *v, unsigned axes)
{
    dim_divide_over(&v->dim[0], axes);
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
    w->home = NEW_N(g->arena, unsigned, g->n_values);
    w->rows = NEW_N(g->arena, Dim, g->n_values);
    for (int64_t i = 0; i < g->n_values; i++)
        if (is_param(g->value[i]) && (w->home[i] = home_axes(g->value[i], w->axes))) {
            w->rows[i] = g->value[i]->dim[0];
            divide(g->value[i], w->home[i]);
        }
    for (int64_t i = 0; i < w->n_old; i++) {
        const Node *n = w->old[i];
        if (!is_copy(n) || !w->home[n->in[0]->id]) continue;
        memcpy(n->out[0]->dim, n->in[0]->dim, sizeof n->in[0]->dim);
        w->home[n->out[0]->id] = w->home[n->in[0]->id];
        w->rows[n->out[0]->id] = w->rows[n->in[0]->id];
    }
}

/* The place in a unit's list of a home that it gathers; added if it is not there. */
static Value **whole_of(Work *w, const Unit *u, Value *home, int64_t at)
{
    Gathering *x = NULL;
    const unsigned axes = w->home[home->id];
    for (int64_t i = w->n_gatherings - 1; i >= 0 && !x; i--)
        if (w->gathering[i].axes == axes && unit_is_same(&w->gathering[i].unit, u))
            x = &w->gathering[i];
    if (!x) {
        w->gathering = arena_grow(w->g->arena, w->gathering, w->n_gatherings, &w->cap_gatherings,
                                  sizeof *w->gathering);
        x = &w->gathering[w->n_gatherings++];
        *x = (Gathering){ .unit = *u, .axes = axes, .at = at, .phase = w->old[at]->phase };
    }
    if (w->old[at]->phase < x->phase) x->phase = w->old[at]->phase;
    int64_t k = 0, cap = x->cap;
    while (k < x->n && x->home[k] != home) k++;
    if (k == x->n) {
        x->home = arena_grow(w->g->arena, x->home, x->n, &x->cap, sizeof *x->home);
        x->whole = arena_grow(w->g->arena, x->whole, x->n, &cap, sizeof *x->whole);
        x->home[x->n++] = home;
    }
    return &x->whole[k];
}

/* Whole parameters that a node reads; with ZERO_PARAMETERS each unit gathers them anew. */
static Unit unit_for(const Work *w, int64_t i)
{
    Unit u = w->unit[i];
    if (w->s->stage < ZERO_PARAMETERS) u = (Unit){ .block = u.block, .pass = UNIT_PREPARE };
    return u;
}

static bool gathers(const Work *w, const Node *n)
{
    return n->phase <= BACKWARD_WEIGHT && !(is_copy(n) && w->home[n->in[0]->id]);
}

static void add_gathering(const Work *w, const Gathering *x)
{
    Graph *g = w->g;
    const Node *user = w->old[x->at];
    g->phase = x->unit.pass == UNIT_PREPARE ? PREPARE : x->phase;
    g->block = x->unit.pass == UNIT_PREPARE ? -1 : user->block;
    gather_unit(graph_from(g, HERE), (int)x->n, x->home, x->axes, x->whole);
    for (int64_t k = 0; k < x->n; k++) x->whole[k]->dim[0] = w->rows[x->home[k]->id];
    g->node[g->n_nodes - 1]->stage = user->stage;
    g->node[g->n_nodes - 1]->stream = STREAM_GATHER;
}

/* Puts a gathering before the first user of each unit, and lets all users read what it made. */
static void add_gatherings(Work *w)
{
    Graph *g = w->g;
    w->old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    w->n_old = g->n_nodes;
    w->unit = units_find(g, w->s->blocks_per_unit);
    const int64_t n_values = g->n_values;
    for (int64_t i = 0; i < w->n_old; i++)
        for (int k = 0; gathers(w, w->old[i]) && k < w->old[i]->n_in; k++) {
            Value *v = w->old[i]->in[k];
            if (v->id < n_values && w->home[v->id]) {
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
            if (n->in[k]->id < n_values && w->home[n->in[k]->id]) {
                const Unit u = unit_for(w, i);
                n->in[k] = *whole_of(w, &u, n->in[k], i);
            }
        graph_keep(g, n);
    }
}

/* 0: it makes a copy of a parameter; 1: it makes something else once per step; 2: it runs with
 * every microbatch. `copies` has the copies so far, by value. */
static int place_of(const Node *n, bool *copies)
{
    if (n->phase != PREPARE) return 2;
    if (!is_copy(n) || !(is_param(n->in[0]) || copies[n->in[0]->id])) return 1;
    copies[n->out[0]->id] = true;
    return 0;
}

/* What is made once per step comes first, and copies before whatever reads them, so that a unit's
 * parameters can be gathered together. */
static void move_prepare_up(Work *w)
{
    Graph *g = w->g;
    bool *copies = NEW_N(g->arena, bool, g->n_values);
    int *place = NEW_N(g->arena, int, w->n_old);
    int64_t at = 0;
    for (int64_t i = 0; i < w->n_old; i++) place[i] = place_of(w->old[i], copies);
    for (int now = 0; now <= 2; now++)
        for (int64_t i = 0; i < w->n_old; i++)
            if (place[i] == now) g->node[at++] = w->old[i];
}

static Error *run(Graph *g, const Mesh *mesh, const void *settings)
{
    Work w = { .g = g, .mesh = mesh, .s = settings };
    if (w.s->stage > ZERO_NONE) w.axes = mesh_shard_axes(mesh);
    Reductions *r = reductions_find(g, mesh, w.s, w.axes);
    w.old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    w.n_old = g->n_nodes;
    if (w.axes) {
        move_prepare_up(&w);
        find_homes(&w);
        add_gatherings(&w);
    }
    reductions_add(r);
    g->phase = FORWARD;
    g->block = -1;
    g->stage = 0;
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
