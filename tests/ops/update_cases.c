/* update_cases.c - cases of what a step does after the backward pass: norms, clipping, optimizers.
 */
#include "case_leaves.h"
#include "ops/adam.h"
#include "ops/average.h"
#include "ops/gradient_norm.h"
#include "ops/halves.h"
#include "ops/muon.h"
#include "ops/stack.h"

/* Attributes: the order p of the norm, 0 for the largest element. */
static Value *build_norm_partial(Graph *g, const OpCase *c, const int64_t *n)
{
    norm_partial(g, floats(g, "x", count(n), n), *(const int64_t *)c->attrs);
    return NULL;
}

/* n[0] partials */
static Value *build_norm_total(Graph *g, const OpCase *c, const int64_t *n)
{
    Value **partial = NEW_N(g->arena, Value *, n[0]);
    for (int64_t k = 0; k < n[0]; k++)
        partial[k] = uniform(floats(g, arena_printf(g->arena, "part%d", (int)k), 0, NULL), 0, 4);
    norm_total(g, n[0], partial, *(const int64_t *)c->attrs);
    return NULL;
}

static Value *build_unscale(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    (void)n;
    unscale(g, uniform(floats(g, "norm", 0, NULL), 1, 3));
    return NULL;
}

static Value *build_clip_factor(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)n;
    double max_norm = (double)c->position / 2;
    clip_factor(g, uniform(floats(g, "norm", 0, NULL), 1, 3), max_norm);
    return NULL;
}

static Value *build_adam(Graph *g, const OpCase *c, const int64_t *n)
{
    int k = count(n);
    Value *param = state(g, "param", k, n), *grad = state(g, "grad", k, n);
    Value *m = state(g, "m", k, n), *v = uniform(state(g, "v", k, n), 0, 1);
    Value *factor = uniform(floats(g, "factor", 0, NULL), 0, 1);
    g->phase = UPDATE;
    adam(g, param, grad, m, v, factor, c->attrs);
    return NULL;
}

/* The parameter in two halves. */
static Value *build_adam_of_halves(Graph *g, const OpCase *c, const int64_t *n)
{
    build_adam(g, c, n);
    const Node *whole = g->node[--g->n_nodes];
    Dim dims[MAX_DIMS] = { 0 };
    set_sizes(dims, count(n), n);
    Value *low = uniform(graph_state(g, "low", I16, count(n), dims), -0x8000, 0x8000), *in[6],
          *into[5];
    for (int k = 0; k < 5; k++) in[k] = whole->in[k];
    for (int k = 0; k < 4; k++) into[k] = whole->out[k];
    in[5] = into[4] = low;
    graph_add_into(g, whole->op, whole->op->halves, NULL, c->attrs, 6, in, 5, into);
    return NULL;
}

static Value *build_high_half(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    high_half(g, floats(g, "x", count(n), n));
    return NULL;
}

static Value *build_join_halves(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *low = uniform(leaf(g, "low", I16, count(n), n), -0x8000, 0x8000);
    join_halves(g, floats(g, "high", count(n), n), low);
    return NULL;
}

static Value *build_muon_momentum(Graph *g, const OpCase *c, const int64_t *n)
{
    int k = count(n);
    Value *grad = state(g, "grad", k, n), *m = state(g, "m", k, n);
    Value *factor = uniform(floats(g, "factor", 0, NULL), 0, 1);
    g->phase = UPDATE;
    return muon_momentum(g, grad, m, factor, c->attrs);
}

/* rows, columns */
static Value *build_stack(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *x[] = { floats(g, "x", 2, n), floats(g, "y", 2, n), floats(g, "z", 2, n) }, *out[3];
    (void)c;
    unstack_matrices(g, stack_matrices(g, 3, x), out);
    return NULL;
}

static Value *build_muon_update(Graph *g, const OpCase *c, const int64_t *n)
{
    int k = count(n);
    Value *param = state(g, "param", k, n), *direction = state(g, "direction", k, n);
    g->phase = UPDATE;
    muon_update(g, param, direction, c->attrs);
    return NULL;
}

static Value *build_average(Graph *g, const OpCase *c, const int64_t *n)
{
    int k = count(n);
    Value *x = state(g, "x", k, n), *kept = state(g, "kept", k, n);
    (void)c;
    g->phase = UPDATE;
    average(g, x, kept, 0.9);
    return NULL;
}

static Value *unit(Graph *g, Value *x)
{
    return unit_matrix(g, x, 1e-7);
}

static Value *blend_some(Graph *g, Value *x, Value *y)
{
    return blend(g, -4.775, x, 2.0315, y);
}

/* clang-format off */
const OpCase update_cases[] = {
    { "norm_partial 1", build_norm_partial, .attrs = &(const int64_t){ 1 }, .n = { 6, 7 } },
    { "norm_partial 2", build_norm_partial, .attrs = &(const int64_t){ 2 }, .n = { 6, 7 }, .large = { 768, 3072 } },
    { "norm_partial 2 of many elements", build_norm_partial, .attrs = &(const int64_t){ 2 }, .n = { 123, 457 } },
    { "norm_partial 2 of some elements", build_norm_partial, .attrs = &(const int64_t){ 2 }, .n = { 123, 200 } },
    { "norm_partial infinity", build_norm_partial, .attrs = &(const int64_t){ 0 }, .n = { 6, 7 } },
    { "norm_total 2", build_norm_total, .attrs = &(const int64_t){ 2 }, .n = { 3 } },
    { "norm_total 2 of many", build_norm_total, .attrs = &(const int64_t){ 2 }, .n = { 50 } },
    { "norm_total of one", build_norm_total, .attrs = &(const int64_t){ 1 }, .n = { 1 } },
    { "norm_total infinity", build_norm_total, .attrs = &(const int64_t){ 0 }, .n = { 3 } },
    { "unscale", build_unscale, .position = 0 },
    { "clip_factor", build_clip_factor, .position = 1 },
    { "adam", build_adam, .attrs = &(const AdamSettings){ 0.9, 0.95, 1e-3, 0.1, false, 0 }, .n = { 6, 7 } },
    { "adam of halves", build_adam_of_halves, .attrs = &(const AdamSettings){ 0.9, 0.95, 1e-3, 0.1, true, 0 }, .n = { 122, 457 },
      .large = { 768, 3072 } },
    { "high_half", build_high_half, .n = { 122, 457 }, .large = { 768, 3072 } },
    { "join_halves", build_join_halves, .n = { 122, 457 }, .large = { 768, 3072 } },
    { "average", build_average, .n = { 122, 457 }, .large = { 768, 3072 } },
    { "muon_momentum", build_muon_momentum, .attrs = &(const MuonMomentum){ 0.95, true }, .n = { 123, 457 }, .large = { 768, 3072 } },
    { "muon_momentum without Nesterov", build_muon_momentum, .attrs = &(const MuonMomentum){ 0.9, false }, .n = { 6, 7 } },
    { "unit_matrix", build_unary, .unary = unit, .n = { 2, 6, 7 }, .large = { 1, 768, 3072 } },
    { "unit_matrix of several", build_unary, .unary = unit, .n = { 3, 123, 157 } },
    { "blend", build_binary, .binary = blend_some, .n = { 124, 57 }, .large = { 768, 3072 } },
    { "stack of matrices, and apart", build_stack, .n = { 122, 456 } },
    { "muon_update", build_muon_update, .attrs = &(const MuonUpdate){ 0.1, 1.5, 0 }, .n = { 122, 457 }, .large = { 768, 3072 } },
    { "adam, decoupled", build_adam, .attrs = &(const AdamSettings){ 0.9, 0.95, 1e-3, 0.1, true, 0 }, .n = { 6, 7 },
      .large = { 768, 3072 } },
    { "adam of many elements", build_adam, .attrs = &(const AdamSettings){ 0.9, 0.95, 1e-3, 0.1, true, 0 }, .n = { 123, 457 } },
    { 0 },
};
/* clang-format on */
