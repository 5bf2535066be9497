/* precision.c - chooses the dtype of every value: all double, or mixed bf16 (Micikevicius et al.
 * 2018).
 *
 * Mixed bf16: matrix products read bf16 copies of the weights, made once per step, and bf16
 * activations. What adds up over layers or tokens stays f32: the residual stream and its gradient,
 * losses, normalisation statistics, weight gradients, master weights and optimizer state. */
#include "ops/ops.h"
#include "passes/passes.h"
#include <string.h>

static void make_double(Graph *g)
{
    for (int64_t i = 0; i < g->n_values; i++)
        if (dtype_is_float(g->value[i]->dtype)) g->value[i]->dtype = F64;
}

typedef struct Mixer {
    Graph *g;
    Node **old;
    int64_t n_old;
    Value **low; /* by value id: its copy in the compute dtype */
    int64_t n_low;
    Dtype compute;
} Mixer;

static bool any_wide_input(const Node *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->dtype == F32 && n->in[k]->kind != VALUE_PARAM) return true;
    return false;
}

/* The dtype of result k, given the dtypes of the inputs. */
static Dtype choose(const Mixer *m, const Node *n, int k)
{
    const Value *v = n->out[k];
    if (v->grad_of) return v->grad_of->kind == VALUE_PARAM ? F32 : v->grad_of->dtype;
    if (n->op->dtypes) {
        Dtype t[MAX_DIMS] = { F32, F32, F32, F32, F32, F32 };
        CHECK(n->n_out <= MAX_DIMS);
        t[0] = m->compute;
        n->op->dtypes(n, t);
        return t[k];
    }
    if (n->phase != FORWARD) return F32;
    if (n->op->flags & OP_LINEAR && !(n->op->flags & OP_MATMUL))
        return any_wide_input(n) ? F32 : m->compute;
    return m->compute;
}

/* The value in the compute dtype; made where it is first needed, for parameters before everything.
 */
static Value *lowered(Mixer *m, Value *v, const Node *user)
{
    if (v->dtype != F32) return v;
    if (m->low[v->id]) return m->low[v->id];
    Phase phase = m->g->phase;
    int block = m->g->block;
    m->g->phase = v->kind == VALUE_PARAM ? PREPARE : user->phase;
    m->g->block = v->kind == VALUE_PARAM ? -1 : user->block;
    Value *c = cast(m->g, v, m->compute);
    m->g->phase = phase;
    m->g->block = block;
    return m->low[v->id] = c;
}

/* Losses and statistics, whose op fixed their dtype, and the gradients of such. */
static bool is_exact(const Value *v)
{
    if (v->from && v->from->op->dtypes) return true;
    return v->grad_of && v->grad_of->from && v->grad_of->from->op->dtypes;
}

static void mix_node(Mixer *m, Node *n)
{
    if (n->op->flags & OP_MATMUL)
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k]->n_dims >= 2 && !is_exact(n->in[k])) n->in[k] = lowered(m, n->in[k], n);
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->kind == VALUE_STATE && n->phase == FORWARD)
            n->out[k]->dtype = m->compute; /* caches */
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->kind == VALUE_RESULT && dtype_is_float(n->out[k]->dtype) &&
            n->phase != PREPARE)
            n->out[k]->dtype = choose(m, n, k);
}

static Error *make_mixed(Graph *g, Dtype compute)
{
    int64_t n = g->n_nodes;
    Mixer m = { .g = g, .n_old = n, .compute = compute };
    m.old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n);
    m.low = NEW_N(g->arena, Value *, g->n_values);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n; i++) {
        mix_node(&m, m.old[i]);
        g->node = arena_grow(g->arena, g->node, g->n_nodes, &g->cap_nodes, sizeof *g->node);
        g->node[g->n_nodes++] = m.old[i];
    }
    return NULL;
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    const Precision *p = settings;
    switch (p->compute) {
    case F32:
        return NULL;
    case F64:
        make_double(g);
        return NULL;
    case BF16:
        return make_mixed(g, BF16);
    default:
        return error_new("cannot compute in %s: allowed are f32, bf16, f64",
                         dtype_name(p->compute));
    }
}

const PassDef pass_precision = {
    .name = "precision",
    .doc = "chooses the dtype of every value",
    .order = ORDER_PRECISION,
    .run = run,
};
