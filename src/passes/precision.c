/* precision.c - chooses the dtype of every value: all double, or mixed bf16 or f16 (Micikevicius et
 * al. 2018).
 *
 * Mixed bf16, and f16 alike: matrix products read bf16 copies of the weights, made once per step,
 * and bf16 activations. What adds up over layers or tokens stays f32: the residual stream and its
 * gradient, losses, normalisation statistics, weight gradients, master weights and optimizer state.
 * The copies in bf16 are high halves, so that they are the same where nothing but halves is kept.
 */
#include "passes/precision.h"
#include "ops/cast.h"
#include "ops/halves.h"
#include "passes/all_passes.h"
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
    Value **low;  /* by value id: its copy in the compute dtype */
    bool *narrow; /* by value id: result of the forward pass that is stored in the compute dtype */
    int64_t n_low;
    Dtype compute;
    bool wide; /* results stay f32, only what enters a product is rounded */
} Mixer;

static bool is_elementwise_linear(const Node *n)
{
    return n->op->flags & OP_LINEAR && !(n->op->flags & (OP_MATMUL | OP_ROWS | OP_COMM));
}

/* Narrow is what a product or a nonlinear function reads, possibly again in the backward pass: that
 * is what takes memory. What only linear steps read, and all terms and results of additions, stay
 * f32. */
static bool *find_narrow(const Graph *g)
{
    bool *narrow = NEW_N(g->arena, bool, g->n_values), *added = NEW_N(g->arena, bool, g->n_values);
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        bool addition = n->phase == FORWARD && n->op->flags & OP_SUM;
        for (int k = 0; k < n->n_in; k++) {
            if (!is_elementwise_linear(n)) narrow[n->in[k]->id] = true;
            if (addition) added[n->in[k]->id] = true;
        }
        for (int k = 0; addition && k < n->n_out; k++) added[n->out[k]->id] = true;
    }
    for (int64_t i = g->n_nodes - 1; i >= 0; i--) { /* a view is stored as what it shows */
        const Node *n = g->node[i];
        if (!(n->op->flags & OP_VIEW)) continue;
        narrow[n->in[0]->id] |= narrow[n->out[0]->id];
        added[n->in[0]->id] |= added[n->out[0]->id];
    }
    for (int64_t i = 0; i < g->n_values; i++) narrow[i] = narrow[i] && !added[i];
    return narrow;
}

static bool any_wide_input(const Node *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k]->dtype == F32 && n->in[k]->kind != VALUE_PARAM) return true;
    return false;
}

/* As the value itself, but f32 for parameters and for what a norm gave: several products add to it,
 * and its gradient is divided by the size of the residual. Rotated queries and keys are as they are
 * themselves: attention on GPUs gives no wider gradients. */
static Dtype gradient_dtype(const Value *of)
{
    if (of->kind == VALUE_PARAM) return F32;
    const unsigned others = OP_MATMUL | OP_LINEAR;
    bool is_norm = of->from && !(of->from->op->flags & others) && any_wide_input(of->from);
    return is_norm ? F32 : of->dtype;
}

/* The dtype of result k, given the dtypes of the inputs. */
static Dtype choose(const Mixer *m, const Node *n, int k)
{
    const Value *v = n->out[k];
    if (n->op->flags & (OP_VIEW | OP_COMM)) return n->in[0]->dtype;
    if (m->wide && !n->op->dtypes) return F32;
    if (v->grad_of) return gradient_dtype(v->grad_of);
    if (n->op->dtypes) {
        Dtype *t = NEW_N(m->g->arena, Dtype, n->n_out);
        for (int i = 0; i < n->n_out; i++) t[i] = i ? F32 : m->compute;
        n->op->dtypes(n, t);
        return t[k];
    }
    if (n->phase != FORWARD) return F32;
    return m->narrow[v->id] ? m->compute : F32;
}

static bool is_view_of_param(const Value *v)
{
    return v->from && v->from->op->flags & OP_VIEW && v->from->in[0]->kind == VALUE_PARAM;
}

/* The value in the compute dtype; made where it is first needed, for parameters before everything.
 * Of the view of a parameter it is the view of its copy. */
static Value *lowered(Mixer *m, Value *v, const Node *user)
{
    if (v->dtype != F32) return v;
    if (m->low[v->id]) return m->low[v->id];
    if (is_view_of_param(v)) {
        Value *copy = lowered(m, v->from->in[0], user);
        Node *view = graph_copy_node(m->g, v->from);
        view->in[0] = copy;
        view->out[0]->dtype = copy->dtype;
        return m->low[v->id] = view->out[0];
    }
    Phase phase = m->g->phase;
    int block = m->g->block;
    m->g->phase = v->kind == VALUE_PARAM ? PREPARE : user->phase;
    m->g->block = v->kind == VALUE_PARAM ? -1 : user->block;
    m->g->stage = user->stage;
    m->g->module = user->module;
    const bool may_be_half = v->kind == VALUE_PARAM && m->compute == BF16;
    Value *c = may_be_half ? high_half(m->g, v) : cast(m->g, v, m->compute);
    m->g->phase = phase;
    m->g->block = block;
    m->g->stage = 0;
    m->g->module = NULL;
    return m->low[v->id] = c;
}

/* An operand of a product, and not one number per token beside it such as a loss or its statistics.
 */
static bool is_factor(const Node *n, int k)
{
    for (int slot = 0; slot < N_LETTERS; slot++)
        if (dims_uses(&n->dims->in[k], slot)) return true;
    return false;
}

static void mix_node(Mixer *m, Node *n)
{
    if (n->op->flags & OP_MATMUL && !(m->wide && n->op->dtypes)) /* a loss stays exact */
        for (int k = 0; k < n->n_in; k++)
            if (is_factor(n, k)) n->in[k] = lowered(m, n->in[k], n);
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->is_cache) n->out[k]->dtype = n->op->dtypes ? choose(m, n, k) : m->compute;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->kind == VALUE_RESULT && dtype_is_float(n->out[k]->dtype) &&
            n->phase != PREPARE)
            n->out[k]->dtype = choose(m, n, k);
}

static Error *make_mixed(Graph *g, Dtype compute, bool wide)
{
    int64_t n = g->n_nodes;
    Mixer m = { .g = g, .n_old = n, .compute = compute, .wide = wide };
    m.old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n);
    m.low = NEW_N(g->arena, Value *, g->n_values);
    m.narrow = find_narrow(g);
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
    case F16:
        return make_mixed(g, p->compute, p->wide);
    default:
        return error_new("cannot compute in %s: allowed are f32, bf16, f16, f64",
                         dtype_name(p->compute));
    }
}

static bool wanted(const Purpose *p, const void **settings)
{
    *settings = p->precision;
    return true;
}

const PassDef pass_precision = {
    .name = "precision",
    .doc = "chooses the dtype of every value",
    .run = run,
    .wanted = wanted,
};
