/* halves.c - which parameters are kept in two halves, and the nodes that read and write these. */
#include "passes/halves.h"
#include "ops/halves.h"
#include "optim/param_groups.h"
#include "passes/all_passes.h"
#include "passes/optimize.h"
#include "passes/precision.h"

typedef struct Work {
    Graph *g;
    const Optimizer *optimizer; /* NULL: nothing is updated */
    Map *decided;
    int64_t n_values;
    int64_t *n_copies, *n_updates, *n_others; /* by id of a parameter: who reads or writes it */
    Value **instead;                          /* by id of a value: what is read in its place */
} Work;

static bool is_copy(const Node *n)
{
    return n->op == &op_high_half && n->in[0]->kind == VALUE_PARAM;
}

static bool is_update(const Node *n)
{
    return n->phase == UPDATE && n->op->halves && n->in[0] == n->out[0];
}

static void count_uses(const Work *w)
{
    for (int64_t i = 0; i < w->g->n_nodes; i++) {
        const Node *n = w->g->node[i];
        for (int k = 0; k < n->n_in; k++) {
            const int id = n->in[k]->id;
            if (k == 0 && is_copy(n))
                w->n_copies[id]++;
            else if (k == 0 && is_update(n))
                w->n_updates[id]++;
            else
                w->n_others[id]++;
        }
        for (int k = 0; k < n->n_out; k++)
            if (k > 0 || !is_update(n)) w->n_others[n->out[k]->id]++;
    }
    for (int64_t i = 0; i < w->g->n_outputs; i++) w->n_others[w->g->output[i].value->id]++;
}

static bool is_wanted(const Work *w, const Value *v)
{
    return w->optimizer && !param_group_of(w->optimizer, v).optimizer->keeps_whole &&
           w->n_updates[v->id] == 1 && w->n_copies[v->id] > 0 && w->n_others[v->id] == 0;
}

static bool decide(const Work *w, const Value *v)
{
    const HalvesChoice *before = map_get(w->decided, str_of(v->name));
    if (before) return before->in_halves;
    Arena *a = w->decided->arena;
    HalvesChoice *choice = NEW(a, HalvesChoice);
    choice->in_halves = is_wanted(w, v);
    map_set(w->decided, str_of(arena_string(a, v->name)), choice);
    return choice->in_halves;
}

static void divide(const Work *w, Value *v)
{
    const char *name = arena_printf(w->g->arena, "low.%s", v->name);
    v->dtype = BF16;
    v->low = graph_state(w->g, name, I16, v->n_dims, v->dim);
    v->low->is_low = true;
}

/* The update, of both halves. */
static void update_halves(Graph *g, const Node *n)
{
    Value **in = NEW_N(g->arena, Value *, n->n_in + 1),
          **out = NEW_N(g->arena, Value *, n->n_out + 1);
    for (int k = 0; k < n->n_in; k++) in[k] = n->in[k];
    for (int k = 0; k < n->n_out; k++) out[k] = n->out[k];
    in[n->n_in] = out[n->n_out] = n->in[0]->low;
    g->phase = n->phase;
    graph_add_into(g, n->op, n->op->halves, NULL, n->attrs, n->n_in + 1, in, n->n_out + 1, out);
    Node *made = g->node[g->n_nodes - 1];
    made->block = n->block;
    made->stage = n->stage;
    made->module = n->module;
}

/* The whole number, for who needs it. */
static Value *whole(const Work *w, Value *v)
{
    if (w->instead[v->id]) return w->instead[v->id];
    w->g->phase = PREPARE;
    return w->instead[v->id] = join_halves(w->g, v, v->low);
}

static void rewrite(const Work *w, Node *n)
{
    for (int k = 0; k < n->n_in; k++) {
        Value *v = n->in[k];
        if (v->id >= w->n_values) continue;
        if (v->kind == VALUE_PARAM && v->low)
            n->in[k] = whole(w, v);
        else if (v->kind == VALUE_RESULT && w->instead[v->id])
            n->in[k] = w->instead[v->id];
    }
    graph_keep(w->g, n);
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    const Purpose *p = settings;
    const int64_t n_values = g->n_values, n_nodes = g->n_nodes;
    Work w = { .g = g,
               .optimizer = p->optimize ? p->optimize->optimizer : NULL,
               .decided = p->halves->decided,
               .n_values = n_values,
               .n_copies = NEW_N(g->arena, int64_t, n_values),
               .n_updates = NEW_N(g->arena, int64_t, n_values),
               .n_others = NEW_N(g->arena, int64_t, n_values),
               .instead = NEW_N(g->arena, Value *, n_values) };
    Node **old = arena_copy(g->arena, g->node, sizeof *g->node * (size_t)n_nodes);
    count_uses(&w);
    for (int64_t i = 0; i < n_values; i++)
        if (g->value[i]->kind == VALUE_PARAM && decide(&w, g->value[i])) divide(&w, g->value[i]);
    g->n_nodes = 0;
    for (int64_t i = 0; i < n_nodes; i++) {
        Node *n = old[i];
        if (is_copy(n) && n->in[0]->low)
            w.instead[n->out[0]->id] = n->in[0];
        else if (is_update(n) && n->in[0]->low)
            update_halves(g, n);
        else
            rewrite(&w, n);
    }
    g->phase = FORWARD;
    graph_forget_unused(g);
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    *settings = p;
    return p->halves && p->precision->compute == BF16;
}

const PassDef pass_halves = {
    .name = "halves",
    .doc = "parameters that products alone read, as bf16 and what it lacks of f32",
    .run = run,
    .wanted = wanted,
};
