/* update_run.c - a graph of parameters, gradients and what pass_optimize makes of them. */
#include "golden/update_run.h"
#include "exec/schedule.h"
#include "test.h"
#include <string.h>

static void add_params(Graph *g, const Safetensors *f, const char *prefix)
{
    size_t n = strlen(prefix);
    for (int64_t i = 0; i < f->n; i++) {
        const NamedTensor *t = &f->tensor[i];
        if (strncmp(t->name, prefix, n) != 0) continue;
        Dim dim[MAX_DIMS] = { 0 };
        for (int d = 0; d < t->tensor.n_dims; d++) dim[d].size = t->tensor.size[d];
        graph_accumulator(g, graph_param(g, t->name + n, t->tensor.n_dims, dim));
    }
}

UpdateRun *update_run_new(Arena *a, const Safetensors *f, const char *prefix, const Optimize *o,
                          bool reference_only)
{
    UpdateRun *u = NEW(a, UpdateRun);
    *u = (UpdateRun){ .arena = a, .device = cpu_device_new(2), .graph = graph_new(a) };
    u->store = store_new(u->device);
    add_params(u->graph, f, prefix);
    PassList passes = { .arena = a };
    passes_add(&passes, &pass_optimize, o);
    assert_no_error(passes_run(u->graph, NULL, &passes, NULL));
    ProgramSettings settings = { .device = u->device,
                                 .store = u->store,
                                 .level = cpu_level_available(),
                                 .reference_only = reference_only,
                                 .name = "update" };
    assert_no_error(program_new(u->graph, &settings, &u->program));
    return u;
}

void update_run_free(UpdateRun *u)
{
    program_free(u->program);
    store_free(u->store);
    u->device->free(u->device);
}

int64_t update_run_count(const UpdateRun *u)
{
    int64_t n = 0;
    for (int64_t i = 0; i < u->graph->n_values; i++) n += u->graph->value[i]->kind == VALUE_PARAM;
    return n;
}

const Value *update_run_param(const UpdateRun *u, int64_t i)
{
    for (int64_t k = 0; k < u->graph->n_values; k++) {
        const Value *v = u->graph->value[k];
        if (v->kind == VALUE_PARAM && i-- == 0) return v;
    }
    return NULL;
}

const Tensor *update_run_tensor(const UpdateRun *u, const char *prefix, const char *param)
{
    const Stored *s = store_find(u->store, arena_printf(u->arena, "%s%s", prefix, param));
    return s ? &s->tensor : NULL;
}

void update_run_set(UpdateRun *u, const char *to, const Safetensors *f, const char *from)
{
    for (int64_t i = 0; i < update_run_count(u); i++) {
        const char *name = update_run_param(u, i)->name;
        const Tensor *t = update_run_tensor(u, to, name);
        const Tensor *given = safetensors_find(f, arena_printf(u->arena, "%s%s", from, name));
        assert_true(t && given && tensor_count(t) == tensor_count(given));
        dtype_convert(t->dtype, t->data, given->dtype, given->data, tensor_count(t));
    }
    store_changed(u->store);
}

double update_run_step(UpdateRun *u, int64_t step, double lr)
{
    RunTime now = { .step = step, .updates = step, .loss_scale = 1 };
    for (int i = 0; i < MAX_RATES; i++) now.rate[i].lr = lr;
    assert_no_error(program_run_phases(u->program, RUN_REDUCE | RUN_UPDATE, &now));
    return program_scalar(u->program, "grad_norm", 0);
}
