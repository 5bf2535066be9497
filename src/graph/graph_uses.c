/* graph_uses.c - which nodes read and write the same storage, and what nobody uses. */
#include "base/map.h"
#include "graph/graph.h"
#include "graph/op.h"
#include <string.h>

const Value *value_storage(const Value *v, int64_t *offset)
{
    *offset = 0;
    for (; v->from && v->from->op->flags & OP_VIEW; v = v->from->in[0])
        if (v->from->op->offset) *offset += v->from->op->offset(v->from);
    return v;
}

const Value *node_parameter(const Node *n)
{
    int64_t at;
    for (int k = 0; k < n->n_in; k++) {
        const Value *v = value_storage(n->in[k], &at);
        while (v->from && v->from->phase == PREPARE && v->from->n_in)
            v = value_storage(v->from->in[0], &at);
        if (v->kind == VALUE_PARAM) return v;
    }
    return NULL;
}

const char *node_module(Arena *a, const Node *n)
{
    const Value *p = node_parameter(n);
    const char *dot = p ? strrchr(p->name, '.') : NULL;
    bool is_own = dot && !strncmp(p->name, n->module, strlen(n->module));
    return is_own ? arena_string_n(a, p->name, (size_t)(dot - p->name)) : n->module;
}

static bool touches(Value *const *list, int n, const Value *storage)
{
    int64_t at;
    for (int k = 0; k < n; k++)
        if (value_storage(list[k], &at) == storage) return true;
    return false;
}

bool nodes_conflict(const Node *a, const Node *b)
{
    int64_t at;
    if ((a->op->flags | b->op->flags) & OP_VIEW) return false;
    if (a->after == b || b->after == a) return true;
    for (int k = 0; k < a->n_out; k++) {
        const Value *v = value_storage(a->out[k], &at);
        if (touches(b->in, b->n_in, v) || touches(b->out, b->n_out, v)) return true;
    }
    for (int k = 0; k < b->n_out; k++)
        if (touches(a->in, a->n_in, value_storage(b->out[k], &at))) return true;
    return false;
}

int graph_stages(const Graph *g)
{
    int n = 1;
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (g->node[i]->stage >= n) n = g->node[i]->stage + 1;
    return n;
}

/* Walks backward: a node stays when a later node, an output or a write in place needs it. */
void graph_prune(Graph *g)
{
    bool *needed = NEW_N(g->arena, bool, g->n_values);
    for (int64_t i = 0; i < g->n_outputs; i++) needed[g->output[i].value->id] = true;
    int64_t kept = g->n_nodes;
    for (int64_t i = g->n_nodes - 1; i >= 0; i--) {
        Node *n = g->node[i];
        bool use = n->n_out == 0;
        for (int k = 0; k < n->n_out; k++)
            use |= n->out[k]->kind != VALUE_RESULT || needed[n->out[k]->id];
        for (int k = 0; use && k < n->n_in; k++) needed[n->in[k]->id] = true;
        if (use) g->node[--kept] = n;
    }
    g->n_nodes -= kept;
    if (g->n_nodes) memmove(g->node, g->node + kept, sizeof *g->node * (size_t)g->n_nodes);
}

void graph_forget_unused(Graph *g)
{
    bool *used = NEW_N(g->arena, bool, g->n_values);
    for (int64_t i = 0; i < g->n_outputs; i++) used[g->output[i].value->id] = true;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        for (int k = 0; k < g->node[i]->n_in; k++) used[g->node[i]->in[k]->id] = true;
        for (int k = 0; k < g->node[i]->n_out; k++) used[g->node[i]->out[k]->id] = true;
    }
    int64_t kept = 0;
    g->leaf = map_new(g->arena);
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (!used[i] && v->kind != VALUE_INPUT) continue;
        v->id = (int)kept;
        g->value[kept++] = v;
        if (v->kind != VALUE_RESULT) map_set(g->leaf, str_of(v->name), v);
    }
    g->n_values = kept;
}
