/* shard.c - one walk over the nodes: chooses the split of every letter, brings operands to it. */
#include "passes/shard.h"
#include "graph/op.h"
#include "graph/split.h"
#include "models/model.h"
#include "ops/collective.h"
#include "passes/all_passes.h"
#include "passes/fuse.h"
#include <string.h>

/* The earlier rule wins where two would use one mesh axis in a node. */
typedef struct Rule {
    const char *axis;
    MeshAxis mesh;
} Rule;

/* A transfer that was put in, to be used again. */
typedef struct Sent {
    const Value *from;
    Value *made;
    int dim, moment;
    Phase phase;
    bool is_gather;
} Sent;

typedef struct Sharder {
    Graph *g;
    const Mesh *mesh;
    const Sharding *s;
    Rule rule[8];
    int n_rules;
    int moment; /* of the node at hand: 0 until the backward pass has come to the blocks */
    const Node *user;
    const int64_t *uses; /* by value, of the n_values that were there before */
    int64_t n_values;
    Sent *sent;
    int64_t n_sent, cap_sent;
} Sharder;

/* How a letter is to be split. */
typedef struct Want {
    uint8_t mesh[MAX_MESH_AXES];
    Layout layout;
    bool is_padded;
} Want;

static int n_axes(const uint8_t *mesh)
{
    int n = 0;
    while (n < MAX_MESH_AXES && mesh[n]) n++;
    return n;
}

static bool has_axis(const uint8_t *mesh, MeshAxis axis)
{
    for (int i = 0; i < MAX_MESH_AXES && mesh[i]; i++)
        if (mesh[i] == axis) return true;
    return false;
}

static void add_rule(Sharder *s, const char *axis, MeshAxis mesh, bool wanted)
{
    if (wanted && s->mesh->size[mesh] > 1) s->rule[s->n_rules++] = (Rule){ axis, mesh };
}

static void make_rules(Sharder *s)
{
    add_rule(s, "experts", MESH_EP, true);
    add_rule(s, "heads", MESH_TP, s->s->tensor);
    add_rule(s, "ff", MESH_TP, s->s->tensor);
    add_rule(s, "vocab", MESH_TP, s->s->tensor);
    add_rule(s, "seq", MESH_CP, s->s->context);
    add_rule(s, "rows", MESH_CP, s->s->context);
    add_rule(s, "seq", MESH_TP, s->s->sequence);
}

/* Dimensions of leaves; tokens come whole to the ranks along tp. */
static Error *split_leaf(const Sharder *s, Value *v)
{
    for (int d = 0; d < v->n_dims; d++)
        for (int i = 0; i < s->n_rules; i++) {
            const Rule *r = &s->rule[i];
            Dim *x = &v->dim[d];
            if (!x->axis || strcmp(x->axis, r->axis) || x->mesh[0]) continue;
            if (!strcmp(r->axis, "seq") && (r->mesh == MESH_TP || v->kind != VALUE_INPUT)) continue;
            int64_t n = s->mesh->size[r->mesh], unit = x->granule ? x->granule : 1;
            if (unit > 1 && x->size / unit % n)
                return error_new("%s: %lld units of %lld do not divide among %lld ranks of %s: "
                                 "allowed are divisors of %lld",
                                 v->name, (long long)(x->size / unit), (long long)unit,
                                 (long long)n, mesh_axis_names[r->mesh - 1],
                                 (long long)(x->size / unit));
            dim_divide(x, r->mesh);
            if (r->mesh == MESH_CP)
                x->layout = s->s->layout;
            else
                x->is_padded = x->size % n != 0;
        }
    return NULL;
}

typedef void VisitDim(Dim *d, const DimRef *ref, const Node *n, int64_t *granule);

static void each_dim(const Node *n, VisitDim *visit, int64_t *granule)
{
    for (int k = 0; k < n->n_in; k++)
        for (int d = 0; d < n->in[k]->n_dims; d++)
            visit(&n->in[k]->dim[d], &n->dims->in[k].dim[d], n, granule);
    for (int k = 0; k < n->n_out; k++)
        for (int d = 0; d < n->out[k]->n_dims; d++)
            visit(&n->out[k]->dim[d], &n->dims->out[k].dim[d], n, granule);
}

/* A dimension made of several letters is split by the first: the others stay together. */
static void read_granule(Dim *d, const DimRef *ref, const Node *n, int64_t *granule)
{
    int64_t of_rest = 1;
    for (int i = 1; i < ref->n; i++) of_rest *= n->slot_size[ref->slot[i]];
    if (of_rest > d->granule) d->granule = of_rest;
    if (ref->n == 1 && d->granule > granule[ref->slot[0]]) granule[ref->slot[0]] = d->granule;
}

static void write_granule(Dim *d, const DimRef *ref, const Node *n, int64_t *granule)
{
    (void)n;
    if (ref->n == 1) d->granule = granule[ref->slot[0]];
}

/* From where dimensions are taken apart, through products, to their weights: both ways. */
static void find_granules(Graph *g)
{
    for (int round = 0; round < 2; round++)
        for (int64_t i = 0; i < 2 * g->n_nodes; i++) {
            const Node *n = g->node[i < g->n_nodes ? i : 2 * g->n_nodes - 1 - i];
            int64_t granule[N_SLOTS] = { 0 };
            each_dim(n, read_granule, granule);
            each_dim(n, write_granule, granule);
        }
}

static Error *split_leaves(const Sharder *s)
{
    Graph *g = s->g;
    find_granules(g);
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind != VALUE_RESULT) TRY(split_leaf(s, v));
    }
    return NULL;
}

static bool can_be_used_again(const Sharder *s, const Sent *t)
{
    if (t->phase > s->user->phase) return false;
    return !t->is_gather || t->moment == s->moment; /* gathered values are not kept for later */
}

static bool is_spread_as(const Value *a, const Value *b)
{
    bool same = a->partial == b->partial;
    for (int d = 0; same && d < a->n_dims; d++) same = dim_is_split_as(&a->dim[d], &b->dim[d]);
    return same;
}

static Value *find_sent(const Sharder *s, const Value *from, int dim, const Value *like,
                        bool is_gather)
{
    for (int64_t i = s->n_sent - 1; i >= 0; i--) {
        const Sent *t = &s->sent[i];
        if (t->from != from || t->dim != dim || t->is_gather != is_gather) continue;
        if (is_spread_as(t->made, like) && can_be_used_again(s, t)) return t->made;
    }
    return NULL;
}

typedef enum Move { REDUCE_ALL, SCATTER, GATHER, SLICE, EXCHANGE } Move;

static bool is_one(unsigned axes)
{
    return axes && !(axes & (axes - 1));
}

/* The first of them. */
static MeshAxis only(unsigned axes)
{
    MeshAxis m = MESH_NONE;
    while (!(axes >> m & 1)) m++;
    return m;
}

/* What a move makes of a value. `to`: the dimension that is divided by EXCHANGE. */
static Value made_by(Move m, const Value *v, int dim, int to, unsigned axes, const Want *want)
{
    Value like = *v;
    const MeshAxis axis = only(axes);
    if (m == REDUCE_ALL || m == SCATTER) like.partial &= ~axes;
    if (m == GATHER || m == EXCHANGE) dim_join(&like.dim[dim], axes);
    if (m == GATHER || m == REDUCE_ALL) return like;
    Dim *divided = &like.dim[m == EXCHANGE ? to : dim];
    if (!divided->mesh[0]) {
        divided->layout = want->layout;
        divided->is_padded = want->is_padded;
    }
    dim_divide(divided, axis);
    return like;
}

static Value *append(Graph *g, Move m, Value *v, int dim, int to, unsigned axes)
{
    const MeshAxis axis = only(axes);
    switch (m) {
    case REDUCE_ALL:
        return all_reduce(g, v, axes);
    case SCATTER:
        return reduce_scatter(g, v, dim, axis);
    case GATHER:
        return all_gather(g, v, dim, axes);
    case EXCHANGE:
        return all_to_all(g, v, dim, to, axis);
    case SLICE:
        break;
    }
    return slice(g, v, dim, axis);
}

/* `want` is that of the dimension to be divided. */
static Value *transfer(Sharder *s, Move m, Value *v, int dim, int to, unsigned axes,
                       const Want *want)
{
    const Value like = made_by(m, v, dim, to, axes, want);
    Value *made = find_sent(s, v, dim, &like, m == GATHER);
    if (made) return made;
    Graph *g = s->g;
    g->phase = s->user->phase;
    g->block = s->user->block;
    made = append(g, m, v, dim, to, axes);
    memcpy(made->dim, like.dim, sizeof like.dim);
    made->partial = like.partial;
    g->node[g->n_nodes - 1]->stage = s->user->stage;
    s->sent = arena_grow(g->arena, s->sent, s->n_sent, &s->cap_sent, sizeof *s->sent);
    s->sent[s->n_sent++] = (Sent){ .from = v,
                                   .made = made,
                                   .dim = dim,
                                   .moment = s->moment,
                                   .phase = s->user->phase,
                                   .is_gather = m == GATHER };
    return made;
}

/* The axes of a dimension behind what it has in common with what is wanted. */
static unsigned surplus(const Dim *have, const Want *want, int *common)
{
    unsigned axes = 0;
    int n = 0;
    while (n < MAX_MESH_AXES && have->mesh[n] && have->mesh[n] == want->mesh[n]) n++;
    *common = n;
    for (int i = n; i < MAX_MESH_AXES && have->mesh[i]; i++) axes |= 1u << have->mesh[i];
    return axes;
}

/* The dimension whose next axis is to be this one, or -1. */
static int lacking(const Value *v, const Want *want, MeshAxis axis)
{
    for (int d = 0; d < v->n_dims; d++) {
        int n = n_axes(v->dim[d].mesh);
        if (n < MAX_MESH_AXES && want[d].mesh[n] == axis) return d;
    }
    return -1;
}

/* Brings a value to the wanted splits, with nothing outstanding but what `partial` allows. What is
 * split otherwise is joined before anything is split. */
static Value *settle(Sharder *s, Value *v, unsigned partial, const Want *want)
{
    int common;
    for (int d = 0; d < v->n_dims; d++) {
        unsigned axes = surplus(&v->dim[d], &want[d], &common);
        int to = is_one(axes) ? lacking(v, want, only(axes)) : -1;
        if (to >= 0 && to != d)
            v = transfer(s, EXCHANGE, v, d, to, axes, &want[to]);
        else if (axes)
            v = transfer(s, GATHER, v, d, 0, axes, NULL);
    }
    for (MeshAxis m = MESH_PP; m < MESH_N_AXES; m++) {
        if (!(v->partial & ~partial & 1u << m)) continue;
        int d = v->reduce == REDUCE_SUM ? lacking(v, want, m) : -1;
        v = d < 0 ? transfer(s, REDUCE_ALL, v, 0, 0, 1u << m, NULL)
                  : transfer(s, SCATTER, v, d, 0, 1u << m, &want[d]);
    }
    for (int d = 0; d < v->n_dims; d++)
        for (int i = n_axes(v->dim[d].mesh); i < MAX_MESH_AXES && want[d].mesh[i]; i++)
            v = transfer(s, SLICE, v, d, 0, 1u << want[d].mesh[i], &want[d]);
    return v;
}

/* What may stay outstanding in the inputs of a node. Sums are added up before they are settled
 * where nobody else needs them: the gradients of the products that share an input. A residual
 * stream, which others read, too, is settled at once and stays split. */
static unsigned allowed_partial(const Sharder *s, const Node *n)
{
    unsigned all = ~0u;
    if (!(n->op->flags & OP_LINEAR) || n->op->flags & OP_MATMUL || !n->n_in) return 0;
    if (!(n->op->flags & OP_SUM)) return n->in[0]->reduce == REDUCE_SUM ? n->in[0]->partial : 0;
    for (int k = 0; k < n->n_in; k++) {
        const Value *v = n->in[k];
        bool is_shared = v->id < s->n_values && s->uses[v->id] > 1;
        all &= v->reduce == REDUCE_SUM && !is_shared ? v->partial : 0;
    }
    return all;
}

/* What is written in place has its split. */
static void take_written(const Node *n, Want *of_slot, unsigned *used)
{
    for (int k = 0; k < n->n_out; k++) {
        const Value *v = n->out[k];
        for (int d = 0; v->kind != VALUE_RESULT && d < v->n_dims; d++) {
            const Dim *x = &v->dim[d];
            if (!x->mesh[0] || !n->dims->out[k].dim[d].n) continue;
            Want *w = &of_slot[n->dims->out[k].dim[d].slot[0]];
            memcpy(w->mesh, x->mesh, sizeof w->mesh);
            w->layout = x->layout;
            w->is_padded = x->is_padded;
            for (int i = 0; i < MAX_MESH_AXES && x->mesh[i]; i++) *used |= 1u << x->mesh[i];
        }
    }
}

static bool is_of_input(const Node *n, int slot)
{
    for (int k = 0; k < n->n_in; k++)
        if (dims_uses(&n->dims->in[k], slot)) return true;
    return false;
}

/* Rows that a node makes anew are made where those of the parameter are whose gradient they are (an
 * embedding's), from the tokens of all ranks: these are fewer bytes than the table. */
static void take_made(const Node *n, unsigned *used)
{
    for (int k = 0; k < n->n_out; k++) {
        const Value *of = n->out[k]->grad_of;
        for (int d = 0; of && d < of->n_dims && d < n->dims->out[k].n_dims; d++) {
            const DimRef *ref = &n->dims->out[k].dim[d];
            if (ref->n != 1 || is_of_input(n, ref->slot[0]) || !of->dim[d].mesh[0]) continue;
            Dim *x = &n->out[k]->dim[d];
            memcpy(x->mesh, of->dim[d].mesh, sizeof x->mesh);
            x->layout = of->dim[d].layout;
            x->is_padded = of->dim[d].is_padded;
            for (int i = 0; i < MAX_MESH_AXES && x->mesh[i]; i++) *used |= 1u << x->mesh[i];
        }
    }
}

static bool divides(const Sharder *s, const Dim *d, const Want *w, MeshAxis axis)
{
    int64_t n = s->mesh->size[axis];
    for (int i = 0; i < MAX_MESH_AXES && w->mesh[i]; i++) n *= s->mesh->size[w->mesh[i]];
    return d->is_padded || d->size / (d->granule ? d->granule : 1) % n == 0;
}

static void add_want(const Sharder *s, Want *w, const Dim *from, MeshAxis axis)
{
    int n = n_axes(w->mesh);
    w->mesh[n] = (uint8_t)axis;
    if (axis == MESH_CP) w->layout = s->s->layout;
    if (has_axis(from->mesh, axis)) w->is_padded = from->is_padded;
}

/* Heads have an axis that is the tokens', behind attention with all tokens of some heads. */
static bool is_elsewhere(const Value *v, MeshAxis axis)
{
    for (int d = 0; axis == MESH_CP && d < v->n_dims; d++)
        if (has_axis(v->dim[d].mesh, axis)) return true;
    return false;
}

/* In attention ranks along cp get heads for tokens. */
static Error *take_heads(const Sharder *s, const Node *n, Want *of_slot, unsigned *used)
{
    if (!(n->op->flags & OP_ATTENTION) || !s->s->context || s->s->method != CONTEXT_ULYSSES ||
        s->mesh->size[MESH_CP] == 1 || *used >> MESH_CP & 1)
        return NULL;
    const int heads = n->dims->in[1].dim[2].slot[0]; /* keys are [b t g d] */
    const Dim *x = &n->in[1]->dim[2];
    int64_t ranks = s->mesh->size[MESH_CP] * (s->s->tensor ? s->mesh->size[MESH_TP] : 1);
    if (x->size % ranks)
        return error_new("%lld heads of keys do not divide among %lld ranks of cp and tp, as "
                         "context parallelism by heads (ulysses) needs",
                         (long long)x->size, (long long)ranks);
    add_want(s, &of_slot[heads], x, MESH_CP);
    of_slot[heads].layout = CONTIGUOUS;
    *used |= 1u << MESH_CP;
    return NULL;
}

/* A dimension takes an axis of its rule if an input is split over it there already, or owes a sum
 * over it, which then costs half. */
static void take_rule(const Sharder *s, const Node *n, const Rule *r, unsigned partial,
                      Want *of_slot, unsigned *used)
{
    if (n->op->flags & OP_ROWS && r->mesh == MESH_TP) return;
    for (int k = 0; k < n->n_in; k++)
        for (int d = 0; d < n->in[k]->n_dims; d++) {
            const Dim *x = &n->in[k]->dim[d];
            const DimRef *ref = &n->dims->in[k].dim[d];
            if (*used >> r->mesh & 1 || !ref->n || !x->axis || strcmp(x->axis, r->axis)) continue;
            bool owes = n->in[k]->partial & ~partial & 1u << r->mesh;
            Want *w = &of_slot[ref->slot[0]];
            if (!has_axis(x->mesh, r->mesh) && !owes && !is_elsewhere(n->in[k], r->mesh)) continue;
            if (n->dims->whole[ref->slot[0]] || !divides(s, x, w, r->mesh)) continue;
            add_want(s, w, x, r->mesh);
            *used |= 1u << r->mesh;
        }
}

static Error *shard_node(Sharder *s, Node *n)
{
    Graph *g = s->g;
    Want of_slot[N_SLOTS];
    unsigned partial = allowed_partial(s, n), used = 0;
    memset(of_slot, 0, sizeof of_slot);
    s->user = n;
    take_written(n, of_slot, &used);
    take_made(n, &used);
    partial &= ~used;
    for (int i = 0; i < s->n_rules; i++) {
        if (s->rule[i].mesh == MESH_CP) TRY(take_heads(s, n, of_slot, &used));
        take_rule(s, n, &s->rule[i], partial, of_slot, &used);
    }
    for (int k = 0; k < n->n_in && !n->op->spread; k++) {
        Want want[MAX_DIMS] = { 0 };
        for (int d = 0; d < n->in[k]->n_dims; d++)
            if (n->dims->in[k].dim[d].n) want[d] = of_slot[n->dims->in[k].dim[d].slot[0]];
        n->in[k] = settle(s, n->in[k], partial, want);
    }
    g->node = arena_grow(g->arena, g->node, g->n_nodes, &g->cap_nodes, sizeof *g->node);
    g->node[g->n_nodes++] = n;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->kind == VALUE_ACCUMULATOR && n->n_in)
            n->out[k]->partial |= n->in[0]->partial;
    if (n->op->spread) n->op->spread(n);
    return error_wrap(split_infer(g->arena, n, s->mesh), "%s (block %d, %s)", n->op->name, n->block,
                      phase_name(n->phase));
}

/* The host reads outputs whole. */
static void settle_outputs(Sharder *s)
{
    const Want whole[MAX_DIMS] = { 0 };
    for (int64_t i = 0; i < s->g->n_outputs; i++) {
        Output *o = &s->g->output[i];
        if (!o->value->from) continue;
        s->user = o->value->from;
        o->value = settle(s, o->value, 0, whole);
    }
}

static bool is_backward(const Node *n)
{
    return n->phase == BACKWARD_INPUT || n->phase == BACKWARD_WEIGHT;
}

static Error *run(Graph *g, const Mesh *mesh, const void *settings)
{
    const Sharding asked = sharding_of(settings, mesh);
    Sharder s = { .g = g, .mesh = mesh, .s = &asked };
    if (mesh->size[MESH_TP] > 1 && !asked.tensor)
        return error_new("tensor_parallel_degree is %lld, but nothing splits the model's matrices: "
                         "model.gpt2_tp does",
                         (long long)mesh->size[MESH_TP]);
    make_rules(&s);
    if (!s.n_rules) return NULL;
    s.uses = fuse_count_uses(g);
    s.n_values = g->n_values;
    TRY(split_leaves(&s));
    int64_t n = g->n_nodes;
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n; i++) {
        if (is_backward(old[i]) && old[i]->block >= 0) s.moment = 1;
        TRY(shard_node(&s, old[i]));
    }
    settle_outputs(&s);
    g->phase = FORWARD;
    g->block = -1;
    return NULL;
}

Sharding sharding_of(const Model *m, const Mesh *mesh)
{
    if (m->sharding) return *m->sharding;
    return (Sharding){ .context = mesh->size[MESH_CP] > 1, .layout = ZIGZAG };
}

static bool wanted(const Purpose *p, const void **settings)
{
    *settings = p->model;
    return p->mesh && p->mesh->world_size > 1;
}

const PassDef pass_shard = {
    .name = "shard",
    .doc = "splits dimensions over the ranks of tp and cp, puts in what they send each other",
    .run = run,
    .wanted = wanted,
};
