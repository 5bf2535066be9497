/* initializer.c - the content that construction gives. */
#include "models/initializer.h"
#include <math.h>
#include <string.h>

bool name_ends(const char *name, const char *tail)
{
    size_t n = strlen(name), m = strlen(tail);
    if (n < m || strcmp(name + n - m, tail)) return false;
    return n == m || name[n - m - 1] == '.';
}

static bool is_norm(const char *name)
{
    return strstr(name, "norm.") != NULL;
}
static bool is_embedding(const char *name)
{
    return name_ends(name, "wte.weight") || name_ends(name, "wpe.weight");
}

/* The inputs of a linear layer: the second dimension of its weight, also for its bias. */
static double n_inputs(const Graph *g, const Value *v)
{
    if (v->n_dims >= 2) return (double)v->dim[1].size;
    size_t stem = strlen(v->name) - strlen("bias");
    char weight[512];
    snprintf(weight, sizeof weight, "%.*sweight", (int)stem, v->name);
    const Value *w = graph_find(g, weight);
    return w && w->n_dims >= 2 ? (double)w->dim[1].size : 1;
}

void initialize_by_construction(Graph *g)
{
    for (int64_t i = 0; i < g->n_values; i++) {
        Value *v = g->value[i];
        if (v->kind != VALUE_PARAM) continue;
        if (is_norm(v->name)) {
            v->init.kind = name_ends(v->name, "bias") ? INIT_ZEROS : INIT_ONES;
        } else if (is_embedding(v->name)) {
            v->init = (Init){ .kind = INIT_NORMAL, .std = 1 };
        } else {
            double bound = 1 / sqrt(n_inputs(g, v));
            v->init = (Init){ .kind = INIT_UNIFORM, .low = -bound, .high = bound };
        }
    }
}
