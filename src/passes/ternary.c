/* ternary.c - products of linear layers of blocks read weights that are -1, 0 or 1 times the mean
 * |w| of the matrix, and activations in steps of 1/127 of the largest of their token (BitNet b1.58,
 * Ma et al. 2024): in the forward pass, and where the backward pass reads them again. Gradients of
 * what was rounded are those of what it was before.
 *
 * Numbers keep their dtype, so that products stay what they are. Weights are rounded once per step,
 * but where ranks gather them for each use: there anew each time, so that nothing is kept. */
#include "comm/mesh.h"
#include "models/adapter_names.h"
#include "models/model.h"
#include "ops/contract.h"
#include "ops/grid.h"
#include "passes/all_passes.h"
#include "passes/data_parallel.h"
#include "passes/float8.h"
#include <string.h>

enum { OF_WEIGHTS = 1, OF_TOKENS = 127 }; /* steps on each side of 0 */

/* A value on the grid. */
typedef struct OnGrid {
    Value *value;
    Phase phase;
    int block;
    struct OnGrid *next;
} OnGrid;

typedef struct Rewrite {
    Graph *g;
    OnGrid **rounded; /* by id of a value */
    int64_t n_values;
    bool gathers; /* weights are gathered for each use */
} Rewrite;

/* The weight of a linear layer that a factor is, or a copy of; NULL: it is none. */
static const Value *weight_of(const Value *v)
{
    while (v->from && v->from->phase == PREPARE && v->from->n_in == 1) v = v->from->in[0];
    const bool is_meant = v->kind == VALUE_PARAM && v->n_dims == 2 && !v->is_bias &&
                          v->block >= 0 && v->role <= ROLE_RESIDUAL &&
                          !parameter_is_adapter(v->name);
    return is_meant ? v : NULL;
}

/* Whether factor k of a node is rounded, as a weight or not. */
static bool is_rounded(const Node *n, int k, bool *is_weight)
{
    const char *text = n->dims->text;
    const Value *of = n->out[0]->grad_of;
    *is_weight = false;
    if (n->op != &op_contract) return false;
    if (!strcmp(text, "*n,*k->nk")) /* of the gradient of a weight, what the layer has read */
        return k == 1 && of && weight_of(of);
    *is_weight = k == 1;
    if (!weight_of(n->in[1])) return false;
    return n->phase == FORWARD ? !strcmp(text, "*k,nk->*n") : k == 1 && !strcmp(text, "*n,nk->*k");
}

static const OnGrid *find(const Rewrite *w, const Value *x, const Node *user, bool is_weight)
{
    for (const OnGrid *r = w->rounded[x->id]; r; r = r->next)
        if (!is_weight || !w->gathers ? r->phase <= user->phase
                                      : r->phase == user->phase && r->block == user->block)
            return r;
    return NULL;
}

/* The factor on its grid, made in front of the node where it is not there yet. */
static Value *rounded(Rewrite *w, Value *x, const Node *user, bool is_weight)
{
    Graph *g = w->g;
    CHECK(x->id < w->n_values);
    const OnGrid *before = find(w, x, user, is_weight);
    if (before) return before->value;
    const bool is_once = is_weight && !w->gathers;
    g->phase = is_once ? PREPARE : user->phase;
    g->block = is_once ? -1 : user->block;
    g->stage = user->stage;
    g->module = node_module(g->arena, user);
    const int64_t count = is_weight ? value_count(x) : 0;
    Value *size = grid_size(g, is_weight ? "nk->" : "*k->*", x, count);
    const OnGrid made = {
        .value = grid_round(g, is_weight ? "nk,->nk" : "*k,*->*k", x, size,
                            is_weight ? OF_WEIGHTS : OF_TOKENS),
        .phase = g->phase,
        .block = user->block,
        .next = w->rounded[x->id],
    };
    w->rounded[x->id] = arena_copy(g->arena, &made, sizeof made);
    return made.value;
}

static Error *check(const Model *m)
{
    if (m->qk_clip)
        return error_new("linear: ternary does not go with model.qk_clip: rows of a weight that "
                         "share a size cannot be scaled by themselves");
    for (int64_t i = 0; i < m->passes.n; i++)
        if (m->passes.use[i].pass == &pass_float8)
            return error_new("linear: ternary does not go with model.float8: factors of its "
                             "products are rounded already");
    return NULL;
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    const Model *m = settings;
    const DataParallel *d = m->data_parallel;
    Rewrite w = { .g = g,
                  .n_values = g->n_values,
                  .gathers = mesh && d && d->stage == ZERO_PARAMETERS && mesh_shard_axes(mesh) };
    TRY(check(m));
    w.rounded = NEW_N(g->arena, OnGrid *, g->n_values);
    const int64_t n = g->n_nodes;
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < old[i]->n_in; k++) {
            bool is_weight;
            if (!is_rounded(old[i], k, &is_weight)) continue;
            old[i]->in[k] = rounded(&w, old[i]->in[k], old[i], is_weight);
        }
        graph_keep(g, old[i]);
    }
    g->phase = FORWARD;
    g->block = -1;
    g->stage = 0;
    g->module = NULL;
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    *settings = p->model;
    return p->model->is_ternary;
}

const PassDef pass_ternary = {
    .name = "ternary",
    .doc = "factors of linear layers of blocks as ternary weights and tokens of eight bits",
    .run = run,
    .wanted = wanted,
};
