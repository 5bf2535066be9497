/* module_map.c - finds what enters and leaves modules.
 *
 * A node belongs to its module and to all around it: "transformer.h.0.attn" lies in
 * "transformer.h.0" and in "transformer". Views count as the node whose memory they show. */
#include "watch/module_map.h"
#include "base/map.h"
#include "graph/op.h"
#include <stdlib.h>
#include <string.h>

typedef struct Module {
    const char *name;
    int64_t first; /* node */
} Module;

typedef struct Search {
    Arena *arena;
    const Graph *graph;
    ModuleMap *map;
    const char **module; /* by node: the innermost */
    Module *all;
    int64_t n, cap;
    Map *known;
} Search;

const char *module_event_name(ModuleEvent e)
{
    static const char *const names[] = { "forward_input", "forward_weights", "forward_output",
                                         "backward_output" };
    return names[e];
}

static bool is_within(const char *module, const char *outer)
{
    size_t n = strlen(outer);
    return !strncmp(module, outer, n) && (module[n] == 0 || module[n] == '.');
}

/* "transformer.h" is a list and no module of its own. */
static bool is_stack(const Graph *g, const char *name)
{
    for (int64_t i = 0; i < g->n_blocks; i++)
        if (!strcmp(g->place[i].stack, name)) return true;
    return false;
}

static void know(Search *s, const char *name, int64_t node)
{
    Str key = str_of(name);
    if (!*name || map_has(s->known, key) || is_stack(s->graph, name)) return;
    map_set(s->known, key, (void *)name);
    s->all = arena_grow(s->arena, s->all, s->n, &s->cap, sizeof *s->all);
    s->all[s->n++] = (Module){ name, node };
}

static void find_modules(Search *s)
{
    for (int64_t i = 0; i < s->graph->n_nodes; i++) {
        const Node *n = s->graph->node[i];
        s->module[i] = node_module(s->arena, n);
        if (n->phase != FORWARD) continue;
        if (!s->map->first && !(n->op->flags & OP_VIEW)) s->map->first = n;
        for (const char *at = s->module[i]; at;) {
            const char *dot = strrchr(at, '.');
            know(s, at, i);
            at = dot ? arena_string_n(s->arena, at, (size_t)(dot - at)) : NULL;
        }
    }
}

static void add(Search *s, ModuleSight sight)
{
    ModuleMap *m = s->map;
    m->sight = arena_grow(s->arena, m->sight, m->n, &m->cap, sizeof *m->sight);
    m->sight[m->n++] = sight;
}

static bool reads(const Node *n, const Value *v)
{
    int64_t at;
    for (int k = 0; k < n->n_in; k++)
        if (value_storage(n->in[k], &at) == v) return true;
    return false;
}

/* Whether a forward node outside of the module, or the graph's user, wants the value. */
static bool leaves(const Search *s, const Value *v, const char *module)
{
    int64_t at;
    for (int64_t i = 0; i < s->graph->n_nodes; i++) {
        const Node *n = s->graph->node[i];
        if (n->phase == FORWARD && !(n->op->flags & OP_VIEW) && !is_within(s->module[i], module) &&
            reads(n, v))
            return true;
    }
    for (int64_t i = 0; i < s->graph->n_outputs; i++)
        if (value_storage(s->graph->output[i].value, &at) == v) return true;
    return false;
}

static bool is_made_within(const Search *s, const Value *v, const char *module)
{
    return v->from && v->from->phase == FORWARD &&
           is_within(node_module(s->arena, v->from), module);
}

static void look_at_inputs(Search *s, const Module *m, int64_t i, Map *seen)
{
    const Node *n = s->graph->node[i];
    int64_t at;
    for (int k = 0; k < n->n_in; k++) {
        const Value *v = value_storage(n->in[k], &at), *p = v;
        while (p->from && p->from->phase == PREPARE && p->from->n_in)
            p = value_storage(p->from->in[0], &at);
        Str key = str_of(p->name);
        if (map_has(seen, key)) continue;
        if (p->kind == VALUE_PARAM) {
            const char *dot = strrchr(p->name, '.');
            bool is_own = dot && strlen(m->name) == (size_t)(dot - p->name) &&
                          !strncmp(p->name, m->name, strlen(m->name));
            if (!is_own) continue;
            map_set(seen, key, (void *)p);
            add(s, (ModuleSight){ i, FORWARD_WEIGHTS, p->name, true, k });
        } else if ((v->kind == VALUE_INPUT || (v->from && v->from->phase == FORWARD)) &&
                   !is_made_within(s, v, m->name)) {
            map_set(seen, key, (void *)p);
            add(s, (ModuleSight){ i, FORWARD_INPUT, m->name, true, k });
        }
    }
}

/* The node that makes the whole gradient of a value comes last among those that add to it. */
static void find_gradient(Search *s, const Value *v, const char *module)
{
    for (int64_t i = s->graph->n_nodes - 1; i >= 0; i--) {
        const Node *n = s->graph->node[i];
        if (n->op->flags & OP_VIEW || n->phase == FORWARD) continue;
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k]->grad_of == v) {
                add(s, (ModuleSight){ i, BACKWARD_OUTPUT, module, false, k });
                return;
            }
    }
}

static void look_at(Search *s, const Module *m)
{
    Map *seen = map_new(s->arena);
    for (int64_t i = m->first; i < s->graph->n_nodes; i++) {
        const Node *n = s->graph->node[i];
        if (n->phase != FORWARD || n->op->flags & OP_VIEW || !is_within(s->module[i], m->name))
            continue;
        look_at_inputs(s, m, i, seen);
        for (int k = 0; k < n->n_out; k++) {
            const Value *v = n->out[k];
            if (v->kind != VALUE_RESULT || !leaves(s, v, m->name)) continue;
            add(s, (ModuleSight){ i, FORWARD_OUTPUT, m->name, false, k });
            find_gradient(s, v, m->name);
        }
    }
}

static int by_node(const void *x, const void *y)
{
    const ModuleSight *a = x, *b = y;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    return (int)a->event - (int)b->event;
}

ModuleMap *module_map_new(Arena *a, const Graph *g)
{
    Search s = { .arena = a,
                 .graph = g,
                 .map = NEW(a, ModuleMap),
                 .module = NEW_N(a, const char *, g->n_nodes),
                 .known = map_new(a) };
    find_modules(&s);
    for (int64_t i = 0; i < s.n; i++) look_at(&s, &s.all[i]);
    if (s.map->n) qsort(s.map->sight, (size_t)s.map->n, sizeof *s.map->sight, by_node);
    return s.map;
}
