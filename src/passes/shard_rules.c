/* shard_rules.c - which dimensions are split over which axes of the mesh, by their names. */
#include "graph/op.h"
#include "graph/split.h"
#include "passes/shard_parts.h"
#include <string.h>

static bool is_experts(const Sharding *s)
{
    (void)s;
    return true; /* an axis of its own, which only mixtures ask for */
}

static bool is_tensor(const Sharding *s)
{
    return s->tensor;
}

static bool is_sequence(const Sharding *s)
{
    return s->sequence;
}

static bool is_context(const Sharding *s)
{
    return s->context;
}

/* The earlier rule wins where two would use one mesh axis in a node. */
/* clang-format off */
static const Rule rules[] = {
    { "experts", MESH_EP, is_experts },
    { "heads", MESH_TP, is_tensor },
    { "ff", MESH_TP, is_tensor },
    { "vocab", MESH_TP, is_tensor },
    { "seq", MESH_CP, is_context },
    { "rows", MESH_CP, is_context },
    { "seq", MESH_TP, is_sequence },
};
/* clang-format on */
enum { N_RULES = sizeof rules / sizeof *rules };

static void choose_rules(Sharder *s)
{
    s->rule = NEW_N(s->g->arena, const Rule *, N_RULES);
    for (int i = 0; i < N_RULES; i++)
        if (s->mesh->size[rules[i].mesh] > 1 && rules[i].is_asked(s->s))
            s->rule[s->n_rules++] = &rules[i];
}

/* Dimensions of leaves; tokens come whole to the ranks along tp. */
static Error *split_leaf(const Sharder *s, Value *v)
{
    for (int d = 0; d < v->n_dims; d++)
        for (int i = 0; i < s->n_rules; i++) {
            const Rule *r = s->rule[i];
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

/* A dimension made of several letters is split by the first: the others stay together. Where that
 * one must be whole, nothing is split. */
static void read_granule(Dim *d, const DimRef *ref, const Node *n, int64_t *granule)
{
    int64_t of_rest = 1;
    for (int i = 1; i < ref->n && !n->dims->whole[ref->slot[0]]; i++)
        of_rest *= n->slot_size[ref->slot[i]];
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

Error *shard_leaves(Sharder *s)
{
    Graph *g = s->g;
    choose_rules(s);
    if (!s->n_rules) return NULL;
    find_granules(g);
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind != VALUE_RESULT) TRY(split_leaf(s, v));
    }
    return NULL;
}
