/* all_passes.c - the list of passes, and running them with the graph verified after each. */
#include "passes/all_passes.h"
#include "models/model.h"
#include <string.h>

/* In the order in which they run, whatever the order in the YAML: a pass may count on what those
 * before it guarantee. */
/* clang-format off */
#define LIST(PASS) \
    PASS(initialize) \
    PASS(adapters) \
    PASS(freeze) \
    PASS(read_averages) \
    PASS(watch_logits) \
    PASS(stages) \
    PASS(autodiff) \
    PASS(precision) \
    PASS(ternary) \
    PASS(float8) \
    PASS(recompute) \
    PASS(shard) \
    PASS(pipeline) \
    PASS(data_parallel) \
    PASS(fuse) \
    PASS(async_tensor) \
    PASS(epilogues) \
    PASS(optimize) \
    PASS(balance) \
    PASS(qk_clip) \
    PASS(average) \
    PASS(halves) \
    PASS(panels) \
    PASS(offload) \
    PASS(overlap)
/* clang-format on */

#define DECLARE(name) extern const PassDef pass_##name;
#define POINTER(name) &pass_##name,
LIST(DECLARE)
static const PassDef *const passes[] = { LIST(POINTER) NULL };

const PassDef *pass_at(int i)
{
    return passes[i];
}

const PassDef *pass_find(const char *name)
{
    for (int i = 0; passes[i]; i++)
        if (!strcmp(passes[i]->name, name)) return passes[i];
    return NULL;
}

PassList passes_for(Arena *a, const Purpose *p)
{
    PassList list = { .arena = a };
    for (int i = 0; passes[i]; i++) {
        const void *settings = NULL;
        if (passes[i]->wanted && passes[i]->wanted(p, &settings))
            passes_add(&list, passes[i], settings);
    }
    for (int64_t i = 0; i < p->model->passes.n; i++) {
        const PassUse *u = &p->model->passes.use[i];
        if (p->gradients || !u->pass->backward) passes_add(&list, u->pass, u->settings);
    }
    return list;
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
    for (int64_t i = 0; i < list->n; i++)
        CHECK(pass_find(list->use[i].pass->name) == list->use[i].pass);
    for (int place = 0; passes[place]; place++)
        for (int64_t i = 0; i < list->n; i++) {
            const PassUse *u = &list->use[i];
            if (u->pass != passes[place]) continue;
            trace_pass(g, trace, "before", u->pass->name);
            TRY(error_wrap(u->pass->run(g, mesh, u->settings), "pass %s", u->pass->name));
            TRY(error_wrap(graph_finish(g), "pass %s", u->pass->name));
            TRY(error_wrap(graph_verify(g), "graph after pass %s", u->pass->name));
            trace_pass(g, trace, "after", u->pass->name);
        }
    return NULL;
}
