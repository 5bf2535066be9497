/* shard_settle.c - the communication that brings a value to the splits in which a node needs it. */
#include "graph/op.h"
#include "graph/split.h"
#include "ops/collective.h"
#include "passes/shard_parts.h"
#include <string.h>

typedef struct Sent {
    const Value *from;
    Value *made;
    int dim, moment;
    Phase phase;
    bool is_gather;
} Sent;

int shard_n_axes(const uint8_t *mesh)
{
    int n = 0;
    while (n < MAX_MESH_AXES && mesh[n]) n++;
    return n;
}

bool shard_has_axis(const uint8_t *mesh, MeshAxis axis)
{
    for (int i = 0; i < MAX_MESH_AXES && mesh[i]; i++)
        if (mesh[i] == axis) return true;
    return false;
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

/* What a rank sends of its share in a sum: products, and sums of them, go as narrow as the factors
 * are, as Megatron sends them, but in bf16 where those have eight bits; ranks add up in F32.
 * Gradients that all ranks get stay F32: what they lose in a second rounding is more than one rank
 * loses in all. */
static Dtype wire_dtype(const Value *v)
{
    const Node *n = v->from;
    if (v->dtype != F32 || !n || !n->n_in) return v->dtype;
    if (n->op->flags & OP_MATMUL && dtype_size(n->in[0]->dtype) == 1) return BF16;
    if (n->op->flags & OP_MATMUL)
        return dtype_is_float(n->in[0]->dtype) && dtype_size(n->in[0]->dtype) < dtype_size(F32)
                   ? n->in[0]->dtype
                   : F32;
    const Dtype t = n->op->flags & OP_SUM ? wire_dtype(n->in[0]) : F32;
    for (int k = 1; k < n->n_in && t != F32; k++)
        if (wire_dtype(n->in[k]) != t) return F32;
    return t;
}

static Value *append(Graph *g, Move m, Value *v, int dim, int to, unsigned axes)
{
    const MeshAxis axis = only(axes);
    const Dtype wire =
        axis == MESH_TP && (m == SCATTER || g->phase == FORWARD) ? wire_dtype(v) : F32;
    switch (m) {
    case REDUCE_ALL:
        return all_reduce(graph_from(g, HERE), v, axes, wire);
    case SCATTER:
        return reduce_scatter(graph_from(g, HERE), v, dim, axis, wire);
    case GATHER:
        return all_gather(graph_from(g, HERE), v, dim, axes);
    case EXCHANGE:
        return all_to_all(graph_from(g, HERE), v, dim, to, axes);
    case SLICE:
        break;
    }
    return slice(graph_from(g, HERE), v, dim, axes);
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
    g->node[g->n_nodes - 1]->module = s->user->module;
    s->sent = arena_grow(g->arena, s->sent, s->n_sent, &s->cap_sent, sizeof *s->sent);
    s->sent[s->n_sent++] = (Sent){ .from = v,
                                   .made = made,
                                   .dim = dim,
                                   .moment = s->moment,
                                   .phase = s->user->phase,
                                   .is_gather = m == GATHER };
    return made;
}

/* The axes of a dimension after what it has in common with what is wanted. */
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
        int n = shard_n_axes(v->dim[d].mesh);
        if (n < MAX_MESH_AXES && want[d].mesh[n] == axis) return d;
    }
    return -1;
}

Value *shard_settle(Sharder *s, Value *v, unsigned partial, const Want *want)
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
        for (int i = shard_n_axes(v->dim[d].mesh); i < MAX_MESH_AXES && want[d].mesh[i]; i++)
            v = transfer(s, SLICE, v, d, 0, 1u << want[d].mesh[i], &want[d]);
    return v;
}
