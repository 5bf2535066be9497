/* program_nonfinite.c - runs an action node by node and looks at every result. */
#include "exec/program_parts.h"
#include <math.h>

static Error *is_finite(Program *p, const Tensor *t, bool *out)
{
    *out = true;
    if (!dtype_is_float(t->dtype)) return NULL;
    Device *d = p->settings.device;
    Arena *a = arena_new();
    const void *data = t->data;
    Error *e = NULL;
    if (!d->is_host) {
        void *copy = arena_alloc(a, tensor_bytes(t));
        e = device_copy_now(d, copy, t->data, tensor_bytes(t), p->stream[0]);
        data = copy;
    }
    int64_t n = tensor_count(t);
    for (int64_t i = 0; !e && *out && i < n; i++) *out = isfinite(dtype_get(t->dtype, data, i));
    arena_free(a);
    return e;
}

static Error *find_in_leaves(Program *p, int slot, Arena *a, const char **found)
{
    for (int64_t i = 0; i < p->graph->n_values && !*found; i++) {
        const Value *v = p->graph->value[i];
        bool finite;
        if (v->kind != VALUE_PARAM && v->kind != VALUE_INPUT) continue;
        TRY(is_finite(p, &p->tensor[slot * p->graph->n_values + i], &finite));
        if (!finite)
            *found = arena_printf(a, "%s %s",
                                  v->kind == VALUE_PARAM ? "the parameter" : "the input", v->name);
    }
    return NULL;
}

static Error *find_in_results(Program *p, const Step *s, int slot, Arena *a, const char **found)
{
    const Launch *l = step_launch(s, slot);
    for (int k = 0; k < l->n_out; k++) {
        bool finite;
        TRY(is_finite(p, &l->out[k], &finite));
        if (finite) continue;
        const Value *v = s->node->out[k];
        const char *place = step_place(a, s);
        const Value *param = node_parameter(s->node);
        *found = v->kind == VALUE_ACCUMULATOR ? arena_printf(a, "%s, writing %s", place, v->name)
                 : param                      ? arena_printf(a, "%s with %s", place, param->name)
                                              : place;
        return NULL;
    }
    return NULL;
}

Error *program_find_nonfinite(Program *p, const Action *x, const RunTime *now, NonfinitePlace *out,
                              Arena *a)
{
    *out = (NonfinitePlace){ 0 };
    const char **found = &out->text;
    TRY(store_settle(p->settings.store, NULL));
    program_settle(p);
    int slot = program_slot(p, x);
    TRY(program_set_now(p, x, now));
    TRY(program_prepare(p));
    TRY(program_wait(p));
    TRY(find_in_leaves(p, slot, a, found));
    for (int64_t i = 0; i < p->n_steps && !*found; i++)
        if (p->step[i].node->phase == PREPARE) TRY(find_in_results(p, &p->step[i], slot, a, found));
    for (int64_t i = 0; i < p->n_steps; i++) {
        if (!program_is_due(&p->step[i], x)) continue;
        TRY(program_run_step(p, &p->step[i], slot));
        TRY(program_wait(p));
        if (*found) continue;
        TRY(find_in_results(p, &p->step[i], slot, a, found));
        out->node = i + 1;
    }
    return NULL;
}
