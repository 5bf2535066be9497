/* autodiff.c - walks the forward nodes in reverse and lets each op append its gradient nodes.
 *
 * Gradients of intermediate values meet in `add` nodes; those of parameters go to accumulators, one
 * `accumulate` per use, so that tied weights and microbatches need nothing more. Nodes that reach
 * only accumulators are marked BACKWARD_WEIGHT: a pipeline schedule may delay them. */
#include "ops/accumulate.h"
#include "ops/elementwise.h"
#include "ops/fill.h"
#include "passes/all_passes.h"

/* A value needs a gradient if a parameter is somewhere among what it was computed from. */
static bool *find_needed(const Graph *g)
{
    bool *needed = NEW_N(g->arena, bool, g->n_values);
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        needed[i] = v->kind == VALUE_PARAM && !v->is_frozen;
    }
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        bool any = false;
        for (int k = 0; k < n->n_in; k++) any |= needed[n->in[k]->id];
        if (!any || !n->op->grad || n->phase != FORWARD) continue;
        for (int k = 0; k < n->n_out; k++) needed[n->out[k]->id] = dtype_is_float(n->out[k]->dtype);
    }
    return needed;
}

static void contribute(Graph *g, Value **grad, Value *to, Value *more)
{
    if (to->kind == VALUE_PARAM) {
        if (!more->grad_of) more->grad_of = to;
        accumulate(g, more, graph_accumulator(g, to));
        return;
    }
    Value **slot = &grad[to->id];
    *slot = *slot ? add(g, *slot, more) : more;
    if (!(*slot)->grad_of) (*slot)->grad_of = to; /* a value may be the gradient of several */
}

static void differentiate(Graph *g, const Node *n, const bool *needed, Value **grad)
{
    Value **dout = NEW_N(g->arena, Value *, n->n_out), **din = NEW_N(g->arena, Value *, n->n_in);
    bool any = false, wanted = false;
    for (int k = 0; k < n->n_out; k++) any |= (dout[k] = grad[n->out[k]->id]) != NULL;
    for (int k = 0; k < n->n_in; k++) wanted |= needed[n->in[k]->id];
    if (!any || !wanted || !n->op->grad) return;
    g->block = n->block;
    g->stage = n->stage;
    g->module = n->module;
    n->op->grad(g, n, dout, din);
    for (int k = 0; k < n->n_in; k++)
        if (din[k] && needed[n->in[k]->id]) contribute(g, grad, n->in[k], din[k]);
}

/* Work towards the gradients of activations is BACKWARD_INPUT, what serves parameters alone is
 * BACKWARD_WEIGHT. */
static void mark_phases(Graph *g)
{
    bool *carries = NEW_N(g->arena, bool, g->n_values);
    for (int64_t i = g->n_nodes - 1; i >= 0 && g->node[i]->phase != FORWARD; i--) {
        Node *n = g->node[i];
        bool input_work = false;
        for (int k = 0; k < n->n_out; k++) {
            const Value *v = n->out[k];
            input_work |= carries[v->id] || (v->grad_of && v->grad_of->kind != VALUE_PARAM);
        }
        n->phase = input_work ? BACKWARD_INPUT : BACKWARD_WEIGHT;
        for (int k = 0; input_work && k < n->n_in; k++) carries[n->in[k]->id] = true;
    }
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh, (void)settings;
    Value *loss = graph_find_output(g, "loss");
    if (!loss) return error_new("the graph has no output \"loss\"");
    if (loss->n_dims != 0) return error_new("the loss is no scalar");
    int64_t n_forward = g->n_nodes;
    bool *needed = find_needed(g);
    if (!needed[loss->id]) return error_new("the loss does not depend on any parameter");
    Value **grad = NEW_N(g->arena, Value *, g->n_values);
    int block = g->block;
    g->phase = BACKWARD_INPUT;
    g->stage = loss->from->stage;
    grad[loss->id] = loss_seed(g, loss->dtype);
    /* Later stages of a pipeline go back first, whatever lies between them here: where gradients
     * meet, the last one is there on the stage that adds them. */
    for (int stage = graph_stages(g) - 1; stage >= 0; stage--)
        for (int64_t i = n_forward - 1; i >= 0; i--)
            if (g->node[i]->phase == FORWARD && g->node[i]->stage == stage)
                differentiate(g, g->node[i], needed, grad);
    g->phase = FORWARD;
    g->module = NULL;
    g->block = block;
    g->stage = 0;
    graph_prune(g);
    mark_phases(g);
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    (void)settings;
    return p->gradients;
}

const PassDef pass_autodiff = {
    .name = "autodiff",
    .doc = "appends the backward pass of the loss",
    .run = run,
    .wanted = wanted,
};
