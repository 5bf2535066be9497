/* panels.c - linear layers read their weights from panels, which are made when parameters have
 * changed.
 *
 * For programs that multiply each weight with few rows, again and again. Panels in bf16 take the
 * place of the bf16 copies; those in f32 are copies that the memory must have room for. Weights
 * that ranks divide, or that are gathered when they are used, stay as they are. */
#include "passes/panels.h"
#include "ops/contract.h"
#include "ops/halves.h"
#include "ops/panels.h"
#include "passes/all_passes.h"
#include <string.h>

/* Fewer rows gain nothing. */
enum { LEAST_ROWS = PANEL_ROWS };

/* The parameter behind the weight of a linear layer that may lie in panels, or NULL. */
static Value *source_of(const Node *n, bool *pairs)
{
    if (n->op != &op_contract || n->phase != FORWARD || strcmp(n->dims->text, "*k,nk->*n") != 0)
        return NULL;
    Value *w = n->in[1];
    *pairs = w->dtype == BF16;
    if (w->from && w->from->op == &op_high_half && w->from->phase == PREPARE) w = w->from->in[0];
    const bool is_narrow = w->dtype == BF16 || w->dtype == F32;
    if (w->kind != VALUE_PARAM || !is_narrow || w->n_dims != 2 || w->dim[0].size < LEAST_ROWS)
        return NULL;
    for (int d = 0; d < 2; d++)
        if (w->dim[d].mesh[0]) return NULL;
    return *pairs && w->dim[1].size % 2 ? NULL : w;
}

/* Whether parameters, copies in f32, and as much again for all else have room. */
static bool has_room(const Graph *g, size_t free_bytes)
{
    size_t params = 0, copies = 0;
    bool *seen = NEW_N(g->arena, bool, g->n_values);
    for (int64_t i = 0; i < g->n_values; i++)
        if (g->value[i]->kind == VALUE_PARAM)
            params += (size_t)value_count(g->value[i]) * dtype_size(g->value[i]->dtype);
    for (int64_t i = 0; i < g->n_nodes; i++) {
        bool pairs;
        const Value *w = source_of(g->node[i], &pairs);
        if (!w || pairs || seen[w->id]) continue;
        seen[w->id] = true;
        copies += (size_t)value_count(w) * sizeof(float);
    }
    return !copies || free_bytes / 2 > params + copies;
}

static Value *in_panels(Graph *g, Value *weight, bool pairs, int stage)
{
    g->phase = PREPARE;
    g->stage = stage;
    Value *made = panels(g, weight, pairs);
    g->phase = FORWARD;
    g->stage = 0;
    return made;
}

/* What `n` gives, from the panels of its weight. */
static void multiply(Graph *g, const Node *n, Value *weight, bool pairs)
{
    Node *made = contract_panels(g, n->in[0], weight, pairs)->from;
    made->block = n->block;
    made->stage = n->stage;
    made->module = n->module;
    made->stream = n->stream;
    made->out[0] = n->out[0];
    made->out[0]->from = made;
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    PanelsChoice *choice = ((const Purpose *)settings)->panels;
    if (choice->decision == PANELS_UNDECIDED)
        choice->decision = has_room(g, choice->free_bytes) ? PANELS_YES : PANELS_NO;
    if (choice->decision == PANELS_NO) return NULL;
    const int64_t n_nodes = g->n_nodes;
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n_nodes);
    Value **made = NEW_N(g->arena, Value *, g->n_values);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n_nodes; i++) {
        bool pairs;
        Value *w = source_of(old[i], &pairs);
        if (!w) {
            graph_keep(g, old[i]);
            continue;
        }
        if (!made[w->id]) made[w->id] = in_panels(g, w, pairs, old[i]->stage);
        multiply(g, old[i], made[w->id], pairs);
    }
    graph_prune(g); /* copies that nothing reads any more */
    graph_forget_unused(g);
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    *settings = p;
    return p->panels != NULL;
}

const PassDef pass_panels = {
    .name = "panels",
    .doc = "weights of linear layers in panels, for programs with few rows",
    .run = run,
    .wanted = wanted,
};
