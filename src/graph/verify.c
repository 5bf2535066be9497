/* verify.c - the invariants that every pass must keep; run after each of them. */
#include "graph/graph.h"
#include "graph/op.h"
#include "graph/split.h"

/* A composite dimension may be split by its leading letter only, so other sizes must still agree.
 */
static Error *verify_shapes(const Graph *g, const Node *n)
{
    Shape *shape = NEW_N(g->arena, Shape, n->n_in);
    int64_t *slot_size = NEW_N(g->arena, int64_t, N_SLOTS);
    for (int k = 0; k < n->n_in; k++) shape[k] = value_shape(n->in[k]);
    Text hints = { 0 };
    for (int s = 0; s < N_LETTERS; s++)
        if (n->slot_size[s]) text_printf(&hints, "%c=%lld ", 'a' + s, (long long)n->slot_size[s]);
    Error *e = dims_bind(n->dims, shape, hints.ptr, slot_size);
    text_free(&hints);
    TRY(e);
    for (int k = 0; k < n->n_out; k++) {
        Shape want = dims_shape(&n->dims->out[k], slot_size);
        bool same = want.n_dims == n->out[k]->n_dims;
        for (int d = 0; same && d < want.n_dims; d++) same = want.size[d] == n->out[k]->dim[d].size;
        if (!same)
            return error_new("result %d has another shape than \"%s\" says", k, n->dims->text);
    }
    return NULL;
}

static Error *verify_node(const Graph *g, const Node *n, bool *defined)
{
    if (n->dims->n_in != n->n_in || n->dims->n_out != n->n_out)
        return error_new("%d inputs and %d results do not fit \"%s\"", n->n_in, n->n_out,
                         n->dims->text);
    for (int k = 0; k < n->n_in; k++) {
        const Value *v = n->in[k];
        if (v->id >= g->n_values || g->value[v->id] != v)
            return error_new("input %d is not a value of this graph", k);
        if (v->kind == VALUE_RESULT && !defined[v->id])
            return error_new("input %d (%s) is used before it is computed", k, v->name);
    }
    for (int k = 0; k < n->n_out; k++) {
        Value *v = n->out[k];
        if (v->kind == VALUE_INPUT) return error_new("result %d writes the input %s", k, v->name);
        if (v->kind == VALUE_ACCUMULATOR && n->phase != UPDATE && !(n->op->flags & OP_ADDS))
            return error_new("result %d adds to %s, but %s cannot add", k, v->name, n->op->name);
        if (v->kind != VALUE_RESULT) continue;
        if (v->from != n)
            return error_new("result %d (%s) says that another node made it", k, v->name);
        if (defined[v->id]) return error_new("result %d (%s) is computed twice", k, v->name);
        defined[v->id] = true;
    }
    TRY(verify_shapes(g, n));
    return g->mesh ? split_verify(g->arena, n, g->mesh) : NULL;
}

Error *graph_verify(const Graph *g)
{
    bool *defined = NEW_N(g->arena, bool, g->n_values + 1);
    for (int64_t i = 0; i < g->n_values; i++)
        if (g->value[i]->id != i)
            return error_new("value %s has the wrong number", g->value[i]->name);
    for (int64_t i = 0; i < g->n_nodes; i++)
        TRY(error_wrap(verify_node(g, g->node[i], defined), "node %lld (%s, block %d, %s)",
                       (long long)i, g->node[i]->op->name, g->node[i]->block,
                       phase_name(g->node[i]->phase)));
    for (int64_t i = 0; i < g->n_outputs; i++) {
        const Value *v = g->output[i].value;
        if (v->kind == VALUE_RESULT && !defined[v->id])
            return error_new("output %s is never computed", g->output[i].name);
    }
    return NULL;
}
