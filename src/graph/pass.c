/* pass.c - runs a list of passes in the fixed order, with the graph verified after each. */
#include "graph/pass.h"
#include <stdlib.h>
#include <string.h>

void passes_add(PassList *list, const PassDef *pass, const void *settings)
{
    list->use = arena_grow(list->arena, list->use, list->n, &list->cap, sizeof *list->use);
    list->use[list->n++] = (PassUse){ pass, settings };
}

static void trace_pass(const Graph *g, const PassTrace *trace, const char *when, const char *name)
{
    if (!trace || !trace->print) return;
    const char *colon = strchr(trace->print, ':');
    if (!colon || strlen(when) != (size_t)(colon - trace->print) ||
        strncmp(when, trace->print, strlen(when)))
        return;
    if (strcmp(colon + 1, name) && strcmp(colon + 1, "all")) return;
    fprintf(trace->to, "# %s %s\n", when, name);
    graph_print(g, trace->to);
}

Error *passes_run(Graph *g, const struct Mesh *mesh, const PassList *list, const PassTrace *trace)
{
    TRY(graph_finish(g));
    TRY(error_wrap(graph_verify(g), "graph before all passes"));
    for (int order = 0; order <= ORDER_OVERLAP; order++)
        for (int64_t i = 0; i < list->n; i++) {
            const PassUse *u = &list->use[i];
            if ((int)u->pass->order != order) continue;
            trace_pass(g, trace, "before", u->pass->name);
            TRY(error_wrap(u->pass->run(g, mesh, u->settings), "pass %s", u->pass->name));
            TRY(error_wrap(graph_finish(g), "pass %s", u->pass->name));
            TRY(error_wrap(graph_verify(g), "graph after pass %s", u->pass->name));
            trace_pass(g, trace, "after", u->pass->name);
        }
    return NULL;
}
