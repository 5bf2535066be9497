/* optimize.c - the end of a step: one norm over all gradients, the clipping factor, the updates.
 *
 * Every parameter gives one partial norm in a fixed order, so that the norm does not depend on how
 * parameters are spread. REDUCE ends with the norm; the driver looks at it before it runs UPDATE.
 */
#include "passes/optimize.h"
#include "ops/collective.h"
#include "ops/fill.h"
#include "ops/gradient_norm.h"
#include "optim/param_groups.h"
#include "passes/all_passes.h"

static int64_t find_params(const Graph *g, Value **param)
{
    int64_t n = 0;
    for (int64_t i = 0; i < g->n_values; i++)
        if (g->value[i]->kind == VALUE_PARAM && g->value[i]->grad) param[n++] = g->value[i];
    return n;
}

/* Where ranks have parts of a gradient, its norm is a sum over them: one node for all that are
 * spread over the same ranks. */
static void settle(Graph *g, int64_t n, Value **partial)
{
    Value **spread = NEW_N(g->arena, Value *, n), **whole = NEW_N(g->arena, Value *, n);
    for (unsigned axes = 1; axes < 1u << MESH_N_AXES; axes++) {
        int k = 0;
        for (int64_t i = 0; i < n; i++)
            if (partial[i]->partial == axes) spread[k++] = partial[i];
        if (!k) continue;
        reduce_list(graph_from(g, HERE), k, spread, axes, whole);
        k = 0;
        for (int64_t i = 0; i < n; i++)
            if (partial[i]->partial == axes) partial[i] = whole[k++];
    }
}

/* On a rank of a pipeline: the partials of all ranks, in the order of the whole model. */
static int64_t join_ranks(Graph *g, Value *const *param, int64_t n, int64_t norm_type,
                          Value ***partial)
{
    if (!g->n_places) return n;
    Value **all = NEW_N(g->arena, Value *, g->n_places);
    for (int64_t i = 0; i < n; i++)
        if (!param[i]->is_copy) all[param[i]->place] = (*partial)[i];
    for (int64_t i = 0; i < g->n_places; i++)
        if (!all[i]) all[i] = fill(g, &(Value){ .dtype = F64 }, 0);
    all[0]->reduce = norm_type ? REDUCE_SUM : REDUCE_MAX;
    *partial = NEW_N(g->arena, Value *, g->n_places);
    reduce_list(graph_from(g, HERE), (int)g->n_places, all, 1u << MESH_PP, *partial);
    return g->n_places;
}

static void update_together(Graph *g, const Optimizer *all, const Optimizer *by, int64_t n,
                            Value *const *param, Value *factor)
{
    Value **own = NEW_N(g->arena, Value *, n);
    ParamGroup *group = NEW_N(g->arena, ParamGroup, n);
    int64_t n_own = 0;
    for (int64_t i = 0; i < n; i++) {
        group[n_own] = param_group_of(all, param[i]);
        if (group[n_own].optimizer == by) own[n_own++] = param[i];
    }
    by->update_all(by, g, n_own, own, factor, group);
}

static void update(Graph *g, const Optimizer *o, int64_t n, Value *const *param, Value *factor)
{
    const Optimizer **done = NEW_N(g->arena, const Optimizer *, n);
    int64_t n_done = 0;
    for (int64_t i = 0; i < n; i++) {
        const ParamGroup group = param_group_of(o, param[i]);
        const Optimizer *by = group.optimizer;
        int64_t k = 0;
        while (k < n_done && done[k] != by) k++;
        if (!by->update_all) {
            by->update(by, g, param[i], param[i]->grad, factor, &group);
        } else if (k == n_done) {
            done[n_done++] = by;
            update_together(g, o, by, n, param, factor);
        }
    }
}

static Error *run(Graph *g, const struct Mesh *mesh, const void *settings)
{
    (void)mesh;
    const Optimize *o = settings;
    Value **param = NEW_N(g->arena, Value *, g->n_values),
          **partial = NEW_N(g->arena, Value *, g->n_values);
    int64_t n = find_params(g, param);
    if (n == 0 && !g->n_places) return error_new("there is no parameter to update");
    TRY(param_groups_check(o->optimizer, g));
    g->phase = REDUCE;
    for (int64_t i = 0; i < n; i++) partial[i] = norm_partial(g, param[i]->grad, o->norm_type);
    settle(g, n, partial);
    int64_t n_partials = join_ranks(g, param, n, o->norm_type, &partial);
    Value *norm = norm_total(g, n_partials, partial, o->norm_type);
    if (o->is_scaled) norm = unscale(g, norm);
    graph_output(g, "grad_norm", norm);
    g->phase = UPDATE;
    Value *factor = clip_factor(g, norm, o->max_norm);
    if (o->is_scaled) factor = unscale(g, factor);
    update(g, o->optimizer, n, param, factor);
    g->phase = FORWARD;
    return NULL;
}

static bool wanted(const Purpose *p, const void **settings)
{
    *settings = p->optimize;
    return p->optimize != NULL;
}

const PassDef pass_optimize = {
    .name = "optimize",
    .doc = "gradient norm, clipping and the optimizer's updates",
    .run = run,
    .wanted = wanted,
};
