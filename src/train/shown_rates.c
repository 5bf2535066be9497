/* shown_rates.c - which groups of parameters have a rate of their own. */
#include "train/shown_rates.h"
#include "optim/param_groups.h"

void shown_rates_find(Arena *a, const AppState *s, ShownRates *out)
{
    const Optimizer *o = s->optimizer;
    int n = 0;
    *out = (ShownRates){ 0 };
    for (int i = 0; i < param_groups_count(o); i++) {
        int own;
        const ParamGroup g = param_groups_at(o, i);
        const Scheduler *c = scheduler_of_group(s->scheduler, o, i, &own);
        const bool differ = c && c->rates_differ;
        if (!differ && (!o->n_parts || g.own_number)) continue;
        out->group[n] = i;
        out->name[n++] = differ ? arena_printf(a, "lr/%s/%d", g.name, g.own_number)
                                : arena_printf(a, "lr/%s", g.name);
    }
}

const double *shown_rates_take(ShownRates *s, const Rate *all)
{
    for (int i = 0; s->name[i]; i++) s->rate[i] = all[s->group[i]].lr;
    return s->rate;
}
