/* epilogues.c - what follows a product of a linear layer becomes its end: a bias, gelu_tanh of
 * that, in the backward pass the slope of gelu_tanh, and a sum with something else. Likewise a
 * norm's gradient ends with the sum that makes it the gradient of the residual stream, with the
 * narrow copy of that which the products of the block before read, and with its sum over tokens,
 * which is the gradient of a bias; rotary positions end with rounding.
 *
 * A device that has such ends (Device.has_epilogues) saves a reading and a writing of the result
 * for each. It comes when ranks have agreed on what they divide: a sum that other ranks
 * have a part of ends elsewhere. */
#include "ops/cast.h"
#include "ops/contract.h"
#include "ops/contract_epilogue.h"
#include "ops/elementwise.h"
#include "ops/gelu_tanh.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "passes/all_passes.h"
#include "passes/fuse.h"
#include <string.h>

typedef struct Rewrite {
    Graph *graph;
    int64_t *uses;  /* by value */
    int64_t *place; /* by value: of the node that makes it */
    Value **narrow; /* by parameter: as products have it */
    Node **prepare; /* what makes those */
    int64_t n_prepare;
    Node **before; /* by node: what comes in front of it */
} Rewrite;

/* The product that makes `v`, which nobody else reads. */
static const Node *product_of_value(const Rewrite *w, const Value *v, const char *dims)
{
    const Node *n = v->from;
    const bool is_one = n && n->op == &op_contract && !strcmp(n->dims->text, dims) &&
                        w->uses[v->id] == 1 && !v->partial && n->out[0] == v;
    return is_one ? n : NULL;
}

static bool belong_together(const Node *a, const Node *b)
{
    return a->phase == b->phase && a->stage == b->stage && a->stream == b->stream;
}

/* `made`, which was just appended, writes these results in the place of node `at`. */
static void put(const Rewrite *w, Node *made, int64_t at, const Node *like, int n_out,
                Value *const *out)
{
    Graph *g = w->graph;
    g->n_nodes--;
    for (int k = 0; k < n_out; k++) {
        made->out[k] = out[k];
        if (out[k]->kind == VALUE_RESULT) out[k]->from = made;
        w->place[out[k]->id] = at;
    }
    made->phase = like->phase;
    made->block = like->block;
    made->stage = like->stage;
    made->module = like->module;
    g->node[at] = made;
}

/* The bias as the product has its elements: made when parameters have changed, or where ranks have
 * just gathered it, in front of node `at`. */
static Value *bias_of(Rewrite *w, Value *bias, Dtype t, int64_t at, const Node *like)
{
    Graph *g = w->graph;
    if (bias->dtype == t) return bias;
    Value *known = w->narrow[bias->id];
    if (known && known->dtype == t) return known;
    const bool is_param = bias->kind == VALUE_PARAM;
    Value *made = cast(g, bias, t);
    Node *n = g->node[--g->n_nodes];
    n->phase = is_param ? PREPARE : like->phase;
    n->block = is_param ? -1 : like->block;
    n->stage = like->stage;
    n->module = like->module;
    if (is_param)
        w->narrow[bias->id] = made, w->prepare[w->n_prepare++] = n;
    else
        w->before[at] = n;
    return made;
}

static bool end_with_bias(Rewrite *w, int64_t at)
{
    const Node *n = w->graph->node[at];
    if (n->op != &op_add_bias) return false;
    const Node *x = product_of_value(w, n->in[0], "*k,nk->*n");
    if (!x || !belong_together(n, x)) return false;
    Value *bias = bias_of(w, n->in[1], n->out[0]->dtype, at, x);
    put(w, contract_bias(w->graph, x->in[0], x->in[1], bias), at, x, 1, n->out);
    return true;
}

/* The product with its bias becomes one with gelu_tanh, where it stands: node `at` is dropped. */
static bool end_with_gelu(Rewrite *w, int64_t at)
{
    const Node *n = w->graph->node[at];
    if (n->op != &op_gelu_tanh) return false;
    const Node *x = n->in[0]->from;
    if (!x || x->op != &op_contract_bias || !belong_together(n, x)) return false;
    const bool keeps = w->uses[n->in[0]->id] > 1;
    put(w, contract_gelu(w->graph, x->in[0], x->in[1], x->in[2], keeps), w->place[n->in[0]->id], x,
        1 + keeps, (Value *[]){ n->out[0], n->in[0] });
    w->graph->node[at] = NULL;
    return true;
}

static bool end_with_slope(Rewrite *w, int64_t at)
{
    const Node *n = w->graph->node[at];
    if (n->op != &op_gelu_tanh_grad) return false;
    const Node *dy = product_of_value(w, n->in[1], "*n,nk->*k");
    if (!dy || !belong_together(n, dy) || n->out[0]->dtype != dy->out[0]->dtype) return false;
    put(w, contract_gelu_grad(w->graph, dy->in[0], dy->in[1], n->in[0]), at, dy, 1, n->out);
    return true;
}

/* Term `k` of the sum at node `at` is a product that may end with the other one. */
static bool end_term_with_sum(Rewrite *w, int64_t at, int k)
{
    Graph *g = w->graph;
    const Node *n = g->node[at], *x = n->in[k]->from;
    Value *other = n->in[1 - k], *sum = n->out[0];
    if (!x || w->uses[n->in[k]->id] != 1 || n->in[k]->partial || other->partial ||
        !belong_together(n, x) || n->in[k]->dtype != sum->dtype || other->dtype != sum->dtype)
        return false;
    Node *made = NULL;
    if (x->op == &op_contract_bias)
        made = contract_add(g, x->in[0], x->in[1], x->in[2], other);
    else if (product_of_value(w, n->in[k], "*k,nk->*n"))
        made = contract_add(g, x->in[0], x->in[1], NULL, other);
    else if (product_of_value(w, n->in[k], "*n,nk->*k"))
        made = contract_grad_add(g, x->in[0], x->in[1], other);
    if (made) put(w, made, at, x, 1, n->out);
    return made != NULL;
}

static bool end_with_sum(Rewrite *w, int64_t at)
{
    const Node *n = w->graph->node[at];
    return n->op == &op_add && (end_term_with_sum(w, at, 1) || end_term_with_sum(w, at, 0));
}

/* The rotation whose result reaches `v` through nothing but views, and nobody else. */
static Node *rotation_behind(const Rewrite *w, const Value *v)
{
    while (v->from && v->from->op->flags & OP_VIEW && w->uses[v->id] == 1) v = v->from->in[0];
    return v->from && v->from->op == &op_rope && w->uses[v->id] == 1 ? v->from : NULL;
}

/* Rotated gradients are rounded for the products that read them: the rotation writes them rounded,
 * to the same bits, and node `at` is dropped. */
static bool end_with_rounding(const Rewrite *w, int64_t at)
{
    const Node *n = w->graph->node[at];
    if (n->op != &op_cast || dtype_size(n->out[0]->dtype) != 2) return false;
    Node *last = n->in[0]->from, *x = rotation_behind(w, n->in[0]);
    if (!x || !belong_together(n, x) || x->out[0]->dtype != F32) return false;
    for (Node *v = last; v != x; v = v->in[0]->from) v->out[0]->dtype = n->out[0]->dtype;
    x->out[0]->dtype = n->out[0]->dtype;
    last->out[0] = n->out[0];
    n->out[0]->from = last;
    w->graph->node[at] = NULL;
    return true;
}

static bool touches(const Node *n, const Value *v)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] == v) return true;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] == v) return true;
    return false;
}

/* Whether nodes between those at `from` and `to` read or write results `first` and on of `n`. */
static bool is_touched(const Rewrite *w, int64_t from, int64_t to, const Node *n, int first)
{
    for (int64_t i = from + 1; i < to; i++)
        for (int k = first; k < n->n_out && w->graph->node[i]; k++)
            if (touches(w->graph->node[i], n->out[k])) return true;
    return false;
}

/* Term `k` of the sum at node `at` is a norm's gradient that may end with the other one, where
 * nobody wants the gradients of weight and bias in front of it. */
static bool end_norm_with_sum(Rewrite *w, int64_t at, int k)
{
    Graph *g = w->graph;
    const Node *n = g->node[at];
    Value *dx = n->in[k], *other = n->in[1 - k], *sum = n->out[0];
    const Node *x = dx->from;
    if (!x || x->out[0] != dx || w->uses[dx->id] != 1 || dx->partial || other->partial ||
        !belong_together(n, x) || dx->dtype != sum->dtype || other->dtype != sum->dtype ||
        norm_grad_add_attrs(x) || is_touched(w, w->place[dx->id], at, x, 1))
        return false;
    Node *made = norm_grad_add(g, x, other, false, false);
    if (!made) return false;
    Value *out[3] = { sum };
    CHECK(x->n_out <= 3);
    for (int i = 1; i < x->n_out; i++) out[i] = x->out[i];
    put(w, made, at, x, x->n_out, out);
    g->node[w->place[dx->id]] = NULL;
    return true;
}

static bool end_gradient_with_sum(Rewrite *w, int64_t at)
{
    const Node *n = w->graph->node[at];
    return n->op == &op_add && (end_norm_with_sum(w, at, 1) || end_norm_with_sum(w, at, 0));
}

/* A norm's gradient with a sum makes `v`, in the stage and stream of `user`. */
static const Node *sum_of_value(const Value *v, const Node *user)
{
    const Node *x = v->from;
    const bool is_one = x && norm_grad_add_attrs(x) && x->out[0] == v && x->stage == user->stage &&
                        x->stream == user->stream;
    return is_one ? x : NULL;
}

/* `x` once more, where it stands, with one result more: that of node `at`, which is dropped. */
static void replace_sum(const Rewrite *w, const Node *x, int64_t at, bool is_copy)
{
    Graph *g = w->graph;
    const NormAttrs *a = norm_grad_add_attrs(x);
    Value *more = g->node[at]->out[0], *out[5] = { 0 };
    int n = 0;
    for (int k = 0; k < x->n_out; k++) {
        out[n++] = x->out[k];
        if (k == 0 && is_copy) out[n++] = more;
    }
    if (!is_copy) out[n++] = more;
    Node *made = norm_grad_add(g, x, x->in[x->n_in - 1], a->copies || is_copy, a->sums || !is_copy);
    put(w, made, w->place[x->out[0]->id], x, n, out);
    g->node[at] = NULL;
}

static bool end_with_copy(const Rewrite *w, int64_t at)
{
    const Node *n = w->graph->node[at];
    if (n->op != &op_cast || n->out[0]->kind != VALUE_RESULT) return false;
    const Node *x = sum_of_value(n->in[0], n);
    if (!x || x->phase != n->phase || norm_grad_add_attrs(x)->copies) return false;
    replace_sum(w, x, at, true);
    return true;
}

/* The gradient of a bias comes with that of what the bias was added to, as those of the norm do,
 * though its phase is that of weights. */
static bool end_with_column_sums(const Rewrite *w, int64_t at)
{
    const Node *n = w->graph->node[at];
    if (n->op != &op_add_bias_grad) return false;
    const Node *x = sum_of_value(n->in[0], n);
    if (!x || (x->phase != n->phase && n->phase != BACKWARD_WEIGHT) ||
        norm_grad_add_attrs(x)->sums || n->out[0]->dtype != n->in[0]->dtype ||
        is_touched(w, w->place[n->in[0]->id], at, n, 0))
        return false;
    replace_sum(w, x, at, false);
    return true;
}

/* With what was added. */
static void rebuild(const Rewrite *w, int64_t n)
{
    Graph *g = w->graph;
    Node **old = arena_copy(g->arena, g->node, sizeof(Node *) * (size_t)n);
    g->n_nodes = 0;
    for (int64_t i = 0; i < w->n_prepare; i++) graph_keep(g, w->prepare[i]);
    for (int64_t i = 0; i < n; i++) {
        if (w->before[i]) graph_keep(g, w->before[i]);
        if (old[i]) graph_keep(g, old[i]);
    }
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh, (void)settings;
    const int64_t n = g->n_nodes, n_values = g->n_values;
    Rewrite w = { .graph = g,
                  .uses = fuse_count_uses(g),
                  .place = NEW_N(g->arena, int64_t, n_values),
                  .narrow = NEW_N(g->arena, Value *, n_values),
                  .prepare = NEW_N(g->arena, Node *, n),
                  .before = NEW_N(g->arena, Node *, n) };
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < g->node[i]->n_out; k++) w.place[g->node[i]->out[k]->id] = i;
        if (end_with_bias(&w, i) || end_with_gelu(&w, i) || end_with_slope(&w, i) ||
            end_with_sum(&w, i) || end_with_rounding(&w, i) || end_gradient_with_sum(&w, i) ||
            end_with_copy(&w, i) || end_with_column_sums(&w, i))
            continue;
    }
    rebuild(&w, n);
    graph_prune(g);
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    (void)settings;
    return p->epilogues;
}

const PassDef pass_epilogues = {
    .name = "epilogues",
    .doc = "products, rotations and gradients of norms end with what follows them, where the "
           "device can",
    .run = run,
    .wanted = wanted,
};
