/* param_groups.c - numbers groups of parameters, and finds the one of a parameter. */
#include "optim/param_groups.h"
#include "models/parameter_pattern.h"
#include "optim/weight_decay.h"

int param_groups_count(const Optimizer *o)
{
    int n = 0;
    for (int i = 0; i < o->n_parts; i++) n += param_groups_count(o->part[i].optimizer);
    return o->n_parts ? n : weight_decay_count_groups(o);
}

static ParamGroup group_at(const Optimizer *o, int number)
{
    return (ParamGroup){ .optimizer = o,
                         .name = o->name,
                         .number = number,
                         .own_number = number,
                         .weight_decay = number == 0 ? o->weight_decay : 0 };
}

ParamGroup param_groups_at(const Optimizer *o, int number)
{
    int first = 0;
    for (int i = 0; i < o->n_parts; i++) {
        const int n = param_groups_count(o->part[i].optimizer);
        if (number < first + n) {
            ParamGroup group = param_groups_at(o->part[i].optimizer, number - first);
            group.name = o->part[i].name;
            group.number = number;
            return group;
        }
        first += n;
    }
    CHECK(!o->n_parts);
    return group_at(o, number);
}

/* The first part that takes a parameter; -1: none does. */
static int part_of(const Optimizer *o, const Value *param)
{
    for (int i = 0; i < o->n_parts; i++)
        if (parameter_matches(o->part[i].parameters, param)) return i;
    return -1;
}

ParamGroup param_group_of(const Optimizer *o, const Value *param)
{
    if (!o->n_parts) return group_at(o, weight_decay_own_group(o, param));
    int i = part_of(o, param), first = 0;
    if (i < 0) i = o->n_parts - 1;
    for (int k = 0; k < i; k++) first += param_groups_count(o->part[k].optimizer);
    const ParamGroup own = param_group_of(o->part[i].optimizer, param);
    return param_groups_at(o, first + own.number);
}

bool optimizer_has(const Optimizer *o, const Optimizer *part)
{
    bool has = o == part;
    for (int i = 0; i < o->n_parts; i++) has |= optimizer_has(o->part[i].optimizer, part);
    return has;
}

/* Trained ones of all ranks. */
static int64_t find_params(const Graph *g, const Value **param)
{
    int64_t n = 0;
    for (int64_t i = 0; i < g->n_values + g->n_elsewhere; i++) {
        const Value *v = i < g->n_values ? g->value[i] : g->elsewhere[i - g->n_values];
        const bool is_trained = v->grad || (i >= g->n_values && !v->is_frozen);
        if (v->kind == VALUE_PARAM && is_trained) param[n++] = v;
    }
    return n;
}

static Error *check_part(const Optimizer *o, int i, const Value *const *param, int64_t n, Arena *a)
{
    const OptimizerPart *part = &o->part[i];
    const Value **own = NEW_N(a, const Value *, n);
    int64_t n_own = 0;
    TRY(error_wrap(parameter_patterns_match(part->parameters, param, n), "parts.%d.parameters", i));
    for (int64_t k = 0; k < n; k++)
        if (part_of(o, param[k]) == i) own[n_own++] = param[k];
    if (!n_own)
        return error_new("parts.%d (%s): the parts before it take all of its parameters", i,
                         part->name);
    for (int64_t k = 0; part->optimizer->accepts && k < n_own; k++)
        TRY(error_wrap(part->optimizer->accepts(part->optimizer, own[k]), "parts.%d (%s)", i,
                       part->name));
    return error_wrap(weight_decay_check_params(part->optimizer, own, n_own), "parts.%d (%s)", i,
                      part->name);
}

static Error *check(const Optimizer *o, const Value *const *param, int64_t n, Arena *a)
{
    for (int i = 0; i < o->n_parts; i++) TRY(check_part(o, i, param, n, a));
    for (int64_t i = 0; o->n_parts && i < n; i++)
        if (part_of(o, param[i]) < 0)
            return error_new("no part of optimizer.%s takes the parameter %s; \"*\" in the last "
                             "part takes all that is left",
                             o->name, param[i]->name);
    for (int64_t i = 0; o->accepts && i < n; i++) TRY(o->accepts(o, param[i]));
    return o->n_parts ? NULL : weight_decay_check_params(o, param, n);
}

Error *param_groups_check(const Optimizer *o, const Graph *g)
{
    Arena *a = arena_new();
    const Value **param = NEW_N(a, const Value *, g->n_values + g->n_elsewhere);
    const int64_t n = find_params(g, param);
    Error *e = check(o, param, n, a);
    arena_free(a);
    return e;
}
