/* reduce_gradients.c - buckets and units of gradients, and the nodes that reduce them. */
#include "passes/reduce_gradients.h"
#include "ops/accumulate.h"
#include "ops/cast.h"
#include "ops/collective.h"
#include "ops/elementwise.h"
#include "passes/units.h"
#include <string.h>

/* A bucket begins its way when it is full, and what is not full by the end of the backward pass is
 * not hidden: a sixteenth of all at most. */
enum { MOST_BYTES = 25 << 20, LEAST_BYTES = 1 << 20, BUCKETS = 16 };

/* Gradients that are complete and wait for their reduction. `whole` are sums over this rank's
 * tokens, `home` what the norm and the update read: the same where nothing is split. */
typedef struct Pending {
    Value **whole, **home;
    unsigned *axes; /* over which a reduction goes to homes; 0: there is none */
    unsigned *rest;
    int n;
    int64_t bytes;
    Unit unit;
    int stage;
} Pending;

struct Reductions {
    Graph *g;
    const DataParallel *s;
    unsigned axes; /* of homes */
    Value **param;
    int64_t n;
    unsigned *home_of; /* by parameter: the axes of its home */
    unsigned *rest;    /* by parameter: axes that a reduction to its home leaves outstanding */
    unsigned *axes_of, *rest_of; /* the same by value, for accumulators */
    Node **old;                  /* the nodes before */
    int64_t n_old, n_values;
    int *left; /* by value: contributions to an accumulator that are still to come */
};

static bool is_by_unit(const Reductions *r)
{
    return r->axes && r->s->stage > ZERO_STATES;
}

/* Axes over which ranks sum what each has of a parameter's gradient: those of its own sums, and of
 * ranks that share a sequence and its rows. */
static unsigned summed_axes(const Value *param, unsigned axes)
{
    return param->grad->partial | (home_axes(param, axes) & 1u << MESH_CP);
}

/* What every rank of a sequence has whole, such as the gradient of what windows of all of its
 * tokens add, each of them gives an equal part of, where their sum is to come. `summed` by value.
 */
static void share_whole(Graph *g, const Mesh *mesh, const unsigned *summed)
{
    const int64_t n_old = g->n_nodes;
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n_old);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n_old; i++) {
        Node *n = old[i];
        if (n->op == &op_accumulate && summed[n->out[0]->id] & ~n->in[0]->partial & 1u << MESH_CP) {
            g->phase = n->phase;
            g->block = n->block;
            g->stage = n->stage;
            n->in[0] = scale(graph_from(g, HERE), n->in[0], 1 / (double)mesh->size[MESH_CP]);
        }
        graph_keep(g, n);
    }
}

Reductions *reductions_find(Graph *g, const Mesh *mesh, const DataParallel *s, unsigned axes)
{
    Reductions *r = NEW(g->arena, Reductions);
    *r = (Reductions){ .g = g, .s = s, .axes = axes };
    r->param = NEW_N(g->arena, Value *, g->n_values);
    r->rest = NEW_N(g->arena, unsigned, g->n_values);
    r->home_of = NEW_N(g->arena, unsigned, g->n_values);
    unsigned *summed = NEW_N(g->arena, unsigned, g->n_values);
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind != VALUE_PARAM || v->n_dims == 0 || !v->grad) continue;
        summed[v->grad->id] = summed_axes(v, axes);
        r->home_of[r->n] = home_axes(v, axes);
        r->rest[r->n] = (v->grad->partial | home_axes(v, mesh_data_axes(mesh))) & ~axes;
        r->param[r->n++] = v;
    }
    share_whole(g, mesh, summed);
    return r;
}

/* The nodes to come run once per step, with the last backward pass of a stage. */
static void begin_last(const Reductions *r, const Pending *p)
{
    r->g->phase = BACKWARD_LAST;
    r->g->block = p->unit.block;
    r->g->stage = p->stage;
}

static void run_beside(const Graph *g, int stream)
{
    g->node[g->n_nodes - 1]->stream = stream;
}

/* One node for all gradients that miss the same ranks. */
static void reduce_rest(const Reductions *r, const Pending *p)
{
    Graph *g = r->g;
    Value **x = NEW_N(g->arena, Value *, p->n);
    begin_last(r, p);
    for (unsigned axes = 1; axes < 1u << MESH_N_AXES; axes++) {
        int n = 0;
        for (int k = 0; k < p->n; k++)
            if (p->rest[k] == axes) x[n++] = p->home[k];
        if (!n) continue;
        reduce_bucket(graph_from(g, HERE), n, x, axes);
        run_beside(g, r->axes ? STREAM_COPIES : STREAM_REDUCE);
    }
}

/* A gradient as it is sent. */
static Value *to_send(const Reductions *r, Value *x)
{
    const Dtype t = r->s->reduce_dtype;
    return (t == BF16 || t == F16) && x->dtype == F32 ? cast(r->g, x, t) : x;
}

/* One node for all gradients whose homes are divided over the same ranks. */
static void reduce_to_homes(const Reductions *r, const Pending *p, unsigned axes)
{
    Graph *g = r->g;
    int n = 0;
    for (int k = 0; k < p->n; k++) n += p->axes[k] == axes;
    if (!n) return;
    Value **sent = NEW_N(g->arena, Value *, n), **whole = NEW_N(g->arena, Value *, n),
          **home = NEW_N(g->arena, Value *, n);
    n = 0;
    for (int k = 0; k < p->n; k++) {
        if (p->axes[k] != axes) continue;
        sent[n] = to_send(r, p->whole[k]);
        whole[n] = p->whole[k];
        home[n++] = p->home[k];
    }
    reduce_unit(graph_from(g, HERE), n, sent, axes, home);
    run_beside(g, STREAM_REDUCE);
    if (is_by_unit(r)) return;
    clear_unit(graph_from(g, HERE), n, whole);
    run_beside(g, STREAM_REDUCE);
}

static void flush(const Reductions *r, Pending *p)
{
    Graph *g = r->g;
    if (!p->n) return;
    if (r->axes) {
        begin_last(r, p);
        if (is_by_unit(r)) g->phase = BACKWARD_WEIGHT;
        for (unsigned axes = 1; axes <= r->axes; axes++) reduce_to_homes(r, p, axes);
    }
    reduce_rest(r, p);
    p->n = 0;
    p->bytes = 0;
}

static Pending pending_new(const Reductions *r)
{
    Arena *a = r->g->arena;
    return (Pending){ .whole = NEW_N(a, Value *, r->n),
                      .home = NEW_N(a, Value *, r->n),
                      .axes = NEW_N(a, unsigned, r->n),
                      .rest = NEW_N(a, unsigned, r->n) };
}

static void add_pending(const Reductions *r, Pending *p, Value *whole, Value *home)
{
    p->whole[p->n] = whole;
    p->home[p->n] = home;
    p->axes[p->n] = r->axes_of[home->id];
    p->rest[p->n++] = r->rest_of[home->id];
    p->bytes += value_bytes(whole);
}

/* In place of `accumulate`: the sum of a microbatch's contributions, reduced with its unit. */
static void reduce_by_unit(Reductions *r)
{
    Graph *g = r->g;
    const Unit *unit = units_find(g, r->s->blocks_per_unit);
    Value **sum = NEW_N(g->arena, Value *, r->n_values);
    Pending p = pending_new(r);
    g->n_nodes = 0;
    for (int64_t i = 0; i < r->n_old; i++) {
        Node *n = r->old[i];
        if (n->phase != PREPARE && !unit_is_same(&p.unit, &unit[i])) flush(r, &p);
        if (n->op != &op_accumulate) {
            graph_keep(g, n);
            continue;
        }
        Value *x = n->in[0], *to = n->out[0];
        g->phase = n->phase;
        g->block = n->block;
        g->stage = n->stage;
        if (!r->axes_of[to->id])
            graph_keep(g, n);
        else
            sum[to->id] = sum[to->id] ? add(g, sum[to->id], x) : x;
        if (--r->left[to->id]) continue;
        p.unit = unit[i];
        p.stage = n->stage;
        add_pending(r, &p, sum[to->id] ? sum[to->id] : to, to);
    }
    flush(r, &p);
}

static int64_t bucket_bytes(const Reductions *r)
{
    int64_t bytes = 0;
    if (r->s->bucket_bytes) return r->s->bucket_bytes;
    for (int64_t i = 0; i < r->n; i++)
        bytes += value_count(r->param[i]) * (int64_t)dtype_size(r->param[i]->grad->dtype);
    bytes /= BUCKETS;
    return bytes < LEAST_BYTES ? LEAST_BYTES : bytes > MOST_BYTES ? MOST_BYTES : bytes;
}

/* After the contribution that completes the last gradient of a bucket. Stages have buckets of
 * their own, since their last backward passes come at different times. `home` by value. */
static void reduce_by_bucket(Reductions *r, Value *const *home)
{
    Graph *g = r->g;
    const int64_t most = bucket_bytes(r);
    const int n_stages = graph_stages(g);
    Pending **bucket = NEW_N(g->arena, Pending *, n_stages);
    g->n_nodes = 0;
    for (int64_t i = 0; i < r->n_old; i++) {
        Node *n = r->old[i];
        graph_keep(g, n);
        if (n->op != &op_accumulate || --r->left[n->out[0]->id]) continue;
        Pending **p = &bucket[n->stage];
        if (!*p) {
            *p = NEW(g->arena, Pending);
            **p = pending_new(r);
            (*p)->unit.block = -1;
            (*p)->stage = n->stage;
        }
        add_pending(r, *p, n->out[0], home[n->out[0]->id]);
        if ((*p)->bytes >= most) flush(r, *p);
    }
    for (int s = 0; s < n_stages; s++)
        if (bucket[s]) flush(r, bucket[s]);
}

static void substitute(Value **list, int n, const Value *from, Value *to)
{
    for (int k = 0; k < n; k++)
        if (list[k] == from) list[k] = to;
}

/* Gradients of the optimizer's own, of this rank's rows; what is summed over the copies of a
 * parameter is those. By value: an accumulator's home, itself if it has none. */
static Value **make_homes(Reductions *r)
{
    Graph *g = r->g;
    Value **home = NEW_N(g->arena, Value *, g->n_values);
    for (int64_t i = 0; i < r->n; i++) {
        Value *whole = r->param[i]->grad;
        home[whole->id] = whole;
        if (!r->home_of[i]) continue;
        home[whole->id] = r->param[i]->grad = graph_accumulator_named(g, "home", r->param[i]);
        for (int64_t k = 0; k < g->n_nodes; k++) {
            Node *n = g->node[k];
            if (n->phase != REDUCE) continue;
            substitute(n->in, n->n_in, whole, home[whole->id]);
            substitute(n->out, n->n_out, whole, home[whole->id]);
        }
    }
    return home;
}

void reductions_add(Reductions *r)
{
    Graph *g = r->g;
    Value **home = NULL;
    if (!r->n) return;
    if (is_by_unit(r)) {
        for (int64_t i = 0; i < r->n; i++)
            memcpy(r->param[i]->grad->dim, r->param[i]->dim, sizeof r->param[i]->dim);
    } else {
        home = make_homes(r);
    }
    r->n_values = g->n_values;
    r->old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)g->n_nodes);
    r->n_old = g->n_nodes;
    r->left = NEW_N(g->arena, int, g->n_values);
    r->rest_of = NEW_N(g->arena, unsigned, g->n_values);
    r->axes_of = NEW_N(g->arena, unsigned, g->n_values);
    for (int64_t i = 0; i < r->n; i++) {
        r->rest_of[r->param[i]->grad->id] = r->rest[i];
        r->axes_of[r->param[i]->grad->id] = r->home_of[i];
    }
    for (int64_t i = 0; i < r->n_old; i++)
        if (r->old[i]->op == &op_accumulate) r->left[r->old[i]->out[0]->id]++;
    if (home)
        reduce_by_bucket(r, home);
    else
        reduce_by_unit(r);
    for (int64_t i = 0; i < r->n; i++) r->param[i]->grad->partial = 0;
}
