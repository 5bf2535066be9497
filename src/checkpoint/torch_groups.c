/* torch_groups.c - the pickles of FSDP1's two files. */
#include "checkpoint/torch_groups.h"
#include "base/map.h"
#include "checkpoint/part_plan.h"
#include <stdlib.h>
#include <string.h>

static const char STATE[] = "app.optimizer.state.", GROUPS[] = "app.optimizer.param_groups.",
                  MODEL[] = "app.model.";

/* A parameter of the optimizer: its tensors, and the settings that hold for it. */
typedef struct Param {
    Str name;
    int64_t *piece, n, cap;
    const CheckpointObject **setting;
    int64_t n_settings, setting_cap;
    int64_t setting_at; /* place of the first one among all; without any: of the parameter */
} Param;

struct TorchGroups {
    Arena *arena;
    const NamedTensor *piece;
    int64_t n;
    Param *param;
    int64_t n_params, param_cap;
    Map *by_name;
};

/* "{parameter}.{leaf}" after a prefix. */
static Str param_of(const char *name, const char *prefix)
{
    const char *from = name + strlen(prefix), *dot = strrchr(from, '.');
    return (Str){ from, dot ? (size_t)(dot - from) : 0 };
}

static Param *find_param(TorchGroups *g, Str name)
{
    int64_t at = (intptr_t)map_get(g->by_name, name) - 1;
    if (at >= 0) return &g->param[at];
    g->param = arena_grow(g->arena, g->param, g->n_params, &g->param_cap, sizeof *g->param);
    Param *p = &g->param[g->n_params++];
    *p = (Param){ .name = name, .setting_at = g->n_params };
    map_set(g->by_name, name, (void *)(intptr_t)g->n_params);
    return p;
}

TorchGroups *torch_groups(Arena *a, const NamedTensor *piece, int64_t n,
                          const CheckpointObject *object, int64_t n_objects)
{
    TorchGroups *g = NEW(a, TorchGroups);
    *g = (TorchGroups){ .arena = a, .piece = piece, .n = n, .by_name = map_new(a) };
    for (int64_t i = 0; i < n; i++) {
        if (!str_starts(str_of(piece[i].name), STATE)) continue;
        Param *p = find_param(g, param_of(piece[i].name, STATE));
        p->piece = arena_grow(a, p->piece, p->n, &p->cap, sizeof *p->piece);
        p->piece[p->n++] = i;
    }
    for (int64_t i = 0; i < n_objects; i++) {
        if (!str_starts(str_of(object[i].name), GROUPS)) continue;
        Param *p = find_param(g, param_of(object[i].name, GROUPS));
        if (!p->n_settings) p->setting_at = i;
        p->setting = arena_grow(a, p->setting, p->n_settings, &p->setting_cap, sizeof *p->setting);
        p->setting[p->n_settings++] = &object[i];
    }
    return g;
}

static const char *leaf_of(const char *name)
{
    return strrchr(name, '.') + 1;
}

/* The dict is made as torch makes its own: an OrderedDict. */
void torch_groups_put_model(void *context, PickleWriter *w)
{
    const TorchGroups *g = context;
    pickle_put_global(w, "collections OrderedDict");
    pickle_begin(w, PICKLE_TUPLE);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_call(w);
    pickle_mark(w);
    for (int64_t i = 0; i < g->n; i++) {
        const char *name = g->piece[i].name;
        if (str_starts(str_of(name), MODEL)) name += strlen(MODEL);
        pickle_put_text(w, str_of(name));
        torch_put_tensor(w, &g->piece[i].tensor, i);
    }
    pickle_finish(w, PICKLE_DICT);
}

static void put_state(const TorchGroups *g, PickleWriter *w)
{
    pickle_begin(w, PICKLE_DICT);
    for (int64_t i = 0; i < g->n_params; i++) {
        const Param *p = &g->param[i];
        if (!p->n) continue;
        pickle_put_text(w, p->name);
        pickle_begin(w, PICKLE_DICT);
        for (int64_t k = 0; k < p->n; k++) {
            const NamedTensor *t = &g->piece[p->piece[k]];
            pickle_put_text(w, str_of(leaf_of(t->name)));
            torch_put_tensor(w, &t->tensor, p->piece[k]);
        }
        pickle_finish(w, PICKLE_DICT);
    }
    pickle_finish(w, PICKLE_DICT);
}

/* The settings of a parameter as text, equal for those of one group. */
static const char *settings_text(Arena *a, const Param *p)
{
    Text t = { 0 };
    for (int64_t i = 0; i < p->n_settings; i++) {
        text_printf(&t, "%s=", leaf_of(p->setting[i]->name));
        CHECK(pickle_json(p->setting[i]->value, &t) == NULL);
        text_putc(&t, '\n');
    }
    char *kept = arena_string(a, t.ptr ? t.ptr : "");
    text_free(&t);
    return kept;
}

typedef struct Group {
    const Param **param;
    int64_t n, cap;
} Group;

static void put_group(const Group *group, PickleWriter *w)
{
    const Param *first = group->param[0];
    pickle_begin(w, PICKLE_DICT);
    for (int64_t i = 0; i < first->n_settings; i++) {
        pickle_put_text(w, str_of(leaf_of(first->setting[i]->name)));
        pickle_put(w, first->setting[i]->value);
    }
    pickle_put_text(w, str_of("params"));
    pickle_begin(w, PICKLE_LIST);
    for (int64_t i = 0; i < group->n; i++) pickle_put_text(w, group->param[i]->name);
    pickle_finish(w, PICKLE_LIST);
    pickle_finish(w, PICKLE_DICT);
}

static int by_settings(const void *x, const void *y)
{
    const Param *p = *(const Param *const *)x, *q = *(const Param *const *)y;
    return (p->setting_at > q->setting_at) - (p->setting_at < q->setting_at);
}

/* Parameters with the same settings are one group; groups, which torch tells by their order, are in
 * that of the settings. */
static void put_groups(const TorchGroups *g, PickleWriter *w)
{
    Map *groups = map_new(g->arena);
    const Param **by = NEW_N(g->arena, const Param *, g->n_params);
    for (int64_t i = 0; i < g->n_params; i++) by[i] = &g->param[i];
    if (g->n_params) qsort(by, (size_t)g->n_params, sizeof *by, by_settings);
    for (int64_t i = 0; i < g->n_params; i++) {
        const Param *p = by[i];
        Str key = str_of(settings_text(g->arena, p));
        Group *group = map_get(groups, key);
        if (!group) map_set(groups, key, group = NEW(g->arena, Group));
        group->param =
            arena_grow(g->arena, group->param, group->n, &group->cap, sizeof *group->param);
        group->param[group->n++] = p;
    }
    pickle_begin(w, PICKLE_LIST);
    for (int64_t i = 0; i < groups->n; i++) put_group(groups->entry[i].value, w);
    pickle_finish(w, PICKLE_LIST);
}

void torch_groups_put_optimizer(void *context, PickleWriter *w)
{
    const TorchGroups *g = context;
    pickle_begin(w, PICKLE_DICT);
    pickle_put_text(w, str_of("state"));
    put_state(g, w);
    pickle_put_text(w, str_of("param_groups"));
    put_groups(g, w);
    pickle_finish(w, PICKLE_DICT);
}
