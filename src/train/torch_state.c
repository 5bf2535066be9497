/* torch_state.c - what torch keeps of a training besides parameters and moments.
 *
 * Nothing here needs it: rates follow from the configuration and the step. It is written so that
 * the original goes on from a checkpoint as from its own. */
#include "train/torch_state.h"
#include "base/json.h"
#include "base/map.h"
#include "optim/param_groups.h"
#include <math.h>
#include <string.h>

static const char MODEL[] = "app.model.";

static Pickle *path_of(Arena *a, const char *second, const char *third)
{
    Pickle *path = pickle_of_kind(a, PICKLE_TUPLE);
    pickle_append(a, path, pickle_of_text(a, "app"));
    pickle_append(a, path, pickle_of_text(a, second));
    if (third) pickle_append(a, path, pickle_of_text(a, third));
    return path;
}

/* The settings of one parameter, each under its own name. */
static Error *add_settings(Arena *a, const char *param, const char *json, ObjectList *to)
{
    const Pickle *all;
    TRY(object_value_read(a, json, &all));
    for (int64_t i = 0; i < all->n; i += 2) {
        const Str key = all->item[i]->text;
        const char *name = arena_printf(a, "param_groups.%s.%.*s", param, (int)key.len, key.ptr);
        const Pickle *path = path_of(a, "optimizer", name);
        to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
        to->item[to->n++] = (CheckpointObject){ .name = object_name(a, path),
                                                .path = path,
                                                .value = all->item[i + 1] };
    }
    return NULL;
}

static Error *add_param(Arena *a, const AppState *s, int64_t step, const Value *param,
                        const ParamGroup group, ObjectList *to)
{
    const Optimizer *o = group.optimizer;
    int own;
    const Scheduler *c = scheduler_of_group(s->scheduler, s->optimizer, group.number, &own);
    if (!o->torch_group) return NULL;
    double lr = c ? c->rate(c, own, step) : o->lr,
           beta1 = c && c->beta1 ? c->beta1(c, own, step) : NAN;
    Text json = { 0 };
    text_putc(&json, '{');
    o->torch_group(o, lr, beta1, group.weight_decay, &json);
    if (c) text_puts(&json, ", ");
    if (c && c->torch_group)
        c->torch_group(c, own, &json);
    else if (c) {
        text_puts(&json, "\"initial_lr\": ");
        text_json_double(&json, c->base_lr[own]);
    }
    text_putc(&json, '}');
    Error *e = add_settings(a, param->name, json.ptr, to);
    text_free(&json);
    return e;
}

static Error *add_scheduler(Arena *a, const AppState *s, int64_t step, ObjectList *to)
{
    const Scheduler *c = s->scheduler;
    const Pickle *state;
    if (!c || !c->torch_state) return NULL;
    Text json = { 0 };
    c->torch_state(c, step, &json);
    Error *e = object_value_read(a, json.ptr, &state);
    text_free(&json);
    if (!e) objects_flatten(a, path_of(a, "lr_scheduler", NULL), state, to);
    return e;
}

void torch_buffers(Arena *a, const Model *m, StateTensor **state, int64_t *n)
{
    if (!m->n_buffers) return;
    StateTensor *all = NEW_N(a, StateTensor, *n + m->n_buffers);
    if (*n) memcpy(all, *state, sizeof *all * (size_t)*n);
    for (int64_t i = 0; i < m->n_buffers; i++) {
        StateTensor *t = &all[(*n)++];
        *t = (StateTensor){ .name = arena_printf(a, "%s%s", MODEL, m->buffers[i].name),
                            .part = m->buffers[i].tensor };
        memcpy(t->whole, t->part.size, sizeof t->whole);
    }
    *state = all;
}

/* Parameters of the graph and of other ranks' by name. */
static Map *params_of(Arena *a, const Graph *g)
{
    Map *by_name = map_new(a);
    for (int64_t i = 0; i < g->n_values + g->n_elsewhere; i++) {
        Value *v = i < g->n_values ? g->value[i] : g->elsewhere[i - g->n_values];
        if (v->kind == VALUE_PARAM && !v->is_frozen) map_set(by_name, str_of(v->name), v);
    }
    return by_name;
}

/* Torch goes by the order of the groups, which is that of their settings here. */
static Error *add_group(Arena *a, const AppState *s, const Graph *g, int64_t step,
                        const StateTensor *state, int64_t n, int number, ObjectList *to)
{
    Map *params = params_of(a, g);
    for (int64_t i = 0; i < n; i++) {
        const char *name = state[i].name;
        if (!str_starts(str_of(name), MODEL)) continue;
        const Value *param = map_get(params, str_of(name + strlen(MODEL)));
        if (!param) continue;
        const ParamGroup group = param_group_of(s->optimizer, param);
        if (group.number == number) TRY(add_param(a, s, step, param, group, to));
    }
    return NULL;
}

Error *torch_objects(Arena *a, const AppState *s, const Graph *g, int64_t step,
                     const StateTensor *state, int64_t n, CheckpointContent *content)
{
    ObjectList list = { 0 };
    for (int i = 0; i < param_groups_count(s->optimizer); i++)
        TRY(add_group(a, s, g, step, state, n, i, &list));
    TRY(add_scheduler(a, s, step, &list));
    content->object = list.item;
    content->n_objects = list.n;
    return NULL;
}
