/* weight_decay.c - groups by parts of parameter names. */
#include "optim/weight_decay.h"
#include "base/log.h"
#include "models/adapter_names.h"
#include "models/model.h"
#include <string.h>

static bool belongs(const DecayGroup *group, const char *param)
{
    for (int i = 0; group->parts[i]; i++) {
        const char *part = group->parts[i];
        bool begins = *part == '^' && !strncmp(param, part + 1, strlen(part + 1));
        if (begins || (param[0] && strstr(param + 1, part))) return true;
    }
    return false;
}

/* The first of the groups that a parameter belongs to, and how many there are; an adapter belongs
 * where its weight does. */
static const char *find_group(const Model *model, const char *param, int *n_groups)
{
    Arena *a = arena_new();
    const char *found = NULL, *name = adapted_weight(a, param);
    *n_groups = 0;
    for (const DecayGroup *group = model->groups; group && group->name; group++) {
        if (!belongs(group, name)) continue;
        if (!found) found = group->name;
        (*n_groups)++;
    }
    arena_free(a);
    return found;
}

const char *weight_decay_group(const Model *model, const char *param)
{
    int n_groups;
    return find_group(model, param, &n_groups);
}

static bool is_excluded(const Optimizer *o, const char *group)
{
    for (int i = 0; group && o->excluded[i]; i++)
        if (!strcmp(o->excluded[i], group)) return true;
    return false;
}

int weight_decay_count_groups(const Optimizer *o)
{
    return o->weight_decay == 0 || !o->excluded[0] ? 1 : 2;
}

int weight_decay_own_group(const Optimizer *o, const Value *param)
{
    if (weight_decay_count_groups(o) == 1) return 0;
    return is_excluded(o, weight_decay_group(o->model, param->name));
}

const char *const *excluded_groups(Arena *a, const StringList *names)
{
    const char **list = NEW_N(a, const char *, names->n + 1);
    for (int64_t i = 0; i < names->n; i++) list[i] = names->item[i];
    return list;
}

Error *weight_decay_check(const Optimizer *o)
{
    if (o->weight_decay == 0 || !o->excluded[0]) return NULL;
    if (!o->model->groups)
        return error_new("weight_decay_groups_excluded: model.%s has no weight decay groups; use "
                         "[] or weight_decay 0",
                         o->model->name);
    for (int i = 0; o->excluded[i]; i++) {
        bool known = false;
        for (const DecayGroup *group = o->model->groups; group->name; group++)
            known |= !strcmp(group->name, o->excluded[i]);
        if (!known)
            log_warning("weight_decay_groups_excluded: model.%s has no group %s", o->model->name,
                        o->excluded[i]);
    }
    return NULL;
}

Error *weight_decay_check_params(const Optimizer *o, const Value *const *param, int64_t n)
{
    if (o->weight_decay == 0 || !o->excluded[0]) return NULL;
    int64_t n_decayed = 0, n_excluded = 0;
    for (int64_t i = 0; i < n; i++) {
        const Value *v = param[i];
        int n_groups;
        const char *group = find_group(o->model, v->name, &n_groups);
        if (n_groups != 1)
            return error_new("parameter %s belongs to %d weight decay groups instead of one",
                             v->name, n_groups);
        if (is_excluded(o, group))
            n_excluded++;
        else
            n_decayed++;
    }
    if (!n_decayed || !n_excluded)
        return error_new("weight_decay_groups_excluded leaves %s parameters with decay",
                         n_decayed ? "all" : "no");
    return NULL;
}
