/* graph_calls.c - what a plugin's model may call to build its forward pass. */
#include "config/field_read.h"
#include "models/layers.h"
#include "ops/attention.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/norm.h"
#include "ops/positions.h"
#include "ops/reshape.h"
#include "plugin/parts.h"
#include <string.h>

ModalitiesGraph plugin_graph(Graph *g, const PluginOps *ops)
{
    return (ModalitiesGraph){ .graph = g, .ops = ops };
}

static ModalitiesValue *out(Value *v)
{
    return (ModalitiesValue *)v;
}

static Value *in(ModalitiesValue *v)
{
    return (Value *)v;
}

void modalities_enter(ModalitiesGraph *g, const char *name, int index)
{
    graph_enter(g->graph, arena_string(g->graph->arena, name), index);
}

void modalities_leave(ModalitiesGraph *g)
{
    graph_leave(g->graph);
}

void modalities_fail(ModalitiesGraph *g, const char *message)
{
    graph_fail(g->graph, error_new("%s", message));
}

/* The words of "vocab embed", each for one dimension. */
static void name_dims(Graph *g, const char *name, const char *axes, int n, Dim *dim)
{
    int k = 0;
    for (const char *p = axes ? axes : ""; *p; k++) {
        size_t length = strcspn(p, " ");
        if (k < n) dim[k].axis = arena_string_n(g->arena, p, length);
        p += length + (p[length] == ' ');
    }
    if (k && k != n)
        graph_fail(g, error_new("parameter %s has %d dimensions, but axes \"%s\" names %d", name, n,
                                axes, k));
}

static Init init_of(ModalitiesInit i)
{
    if (i.std > 0) return (Init){ .kind = INIT_NORMAL, .mean = i.mean, .std = i.std };
    if (i.mean == 0) return (Init){ .kind = INIT_ZEROS };
    if (i.mean == 1) return (Init){ .kind = INIT_ONES };
    return (Init){ .kind = INIT_UNIFORM, .low = i.mean, .high = i.mean };
}

ModalitiesValue *modalities_parameter(ModalitiesGraph *g, const char *name, int n_dims,
                                      const int64_t *size, const char *axes, ModalitiesRole role,
                                      ModalitiesInit init)
{
    static const Role roles[] = {
        [MODALITIES_LINEAR] = ROLE_LINEAR,       [MODALITIES_RESIDUAL] = ROLE_RESIDUAL,
        [MODALITIES_EMBEDDING] = ROLE_EMBEDDING, [MODALITIES_POSITION] = ROLE_POSITION,
        [MODALITIES_HEAD] = ROLE_HEAD,           [MODALITIES_NORM] = ROLE_NORM
    };
    Dim dim[MAX_DIMS] = { 0 };
    const bool is_role = (int)role >= 0 && role <= MODALITIES_NORM,
               has_dims = n_dims >= 0 && n_dims <= MAX_DIMS;
    if (!is_role || !has_dims)
        graph_fail(g->graph, error_new("parameter %s has %d dimensions and role %d; allowed: 0 to "
                                       "%d dimensions, roles 0 to %d",
                                       name, n_dims, (int)role, MAX_DIMS, MODALITIES_NORM));
    const int n = has_dims ? n_dims : 0;
    for (int k = 0; k < n; k++) dim[k].size = size[k];
    name_dims(g->graph, name, axes, n, dim);
    Value *v = graph_param(g->graph, arena_string(g->graph->arena, name), n, dim);
    v->role = is_role ? roles[role] : ROLE_LINEAR;
    v->init = init_of(init);
    return out(v);
}

static Error *read_attributes(Graph *g, const OpDef *op, const char *text, void *to)
{
    Yaml *y = NULL;
    if (!op->attrs) return text ? error_new("op %s has no attributes", op->name) : NULL;
    if (text) TRY(yaml_parse(g->arena, str_of(text), op->name, &y));
    return fields_read(op->attrs, y, g->arena, to);
}

ModalitiesValue *modalities_apply(ModalitiesGraph *g, const char *op, const char *attributes,
                                  int n_in, ModalitiesValue *const *values)
{
    const OpDef *def = plugin_op_find(g->ops, op);
    Value *args[MAX_OPERANDS] = { NULL };
    Error *e = NULL;
    if (!def)
        e = error_new("there is no op \"%s\"", op);
    else if (!def->dims)
        e = error_new("op %s takes its dims from who uses it; a call of its own is needed", op);
    else if (n_in < 1 || n_in > MAX_OPERANDS)
        e = error_new("op %s gets %d operands; allowed: 1 to %d", op, n_in, MAX_OPERANDS);
    void *attrs = def ? arena_alloc(g->graph->arena, def->attrs_size + 1) : NULL;
    if (!e) e = error_wrap(read_attributes(g->graph, def, attributes, attrs), "op %s", op);
    if (e) {
        graph_fail(g->graph, e);
        return n_in > 0 ? values[0] : NULL;
    }
    for (int k = 0; k < n_in; k++) args[k] = in(values[k]);
    return out(graph_add(g->graph, def, attrs, n_in, args)->out[0]);
}

ModalitiesValue *modalities_einsum(ModalitiesGraph *g, const char *dims, ModalitiesValue *a,
                                   ModalitiesValue *b)
{
    const char *kept = arena_string(g->graph->arena, dims), *comma = strchr(dims, ',');
    if (!comma || !strstr(comma, "->")) {
        graph_fail(g->graph, error_new("einsum \"%s\"; allowed: two operands and a result, as in "
                                       "\"btd,df->btf\"",
                                       dims));
        return a;
    }
    return out(contract(g->graph, kept, in(a), in(b)));
}

ModalitiesValue *modalities_reshape(ModalitiesGraph *g, const char *dims, const char *sizes,
                                    ModalitiesValue *x)
{
    Arena *a = g->graph->arena;
    return out(
        reshape(g->graph, arena_string(a, dims), sizes ? arena_string(a, sizes) : NULL, in(x)));
}

ModalitiesValue *modalities_embed(ModalitiesGraph *g, ModalitiesValue *ids, ModalitiesValue *table)
{
    return out(embed(g->graph, in(ids), in(table)));
}

ModalitiesValue *modalities_add_positions(ModalitiesGraph *g, ModalitiesValue *x,
                                          ModalitiesValue *table)
{
    return out(add_positions(g->graph, in(x), in(table), 0));
}

ModalitiesValue *modalities_add(ModalitiesGraph *g, ModalitiesValue *a, ModalitiesValue *b)
{
    return out(add(g->graph, in(a), in(b)));
}

ModalitiesValue *modalities_mul(ModalitiesGraph *g, ModalitiesValue *a, ModalitiesValue *b)
{
    return out(mul(g->graph, in(a), in(b)));
}

ModalitiesValue *modalities_scale(ModalitiesGraph *g, ModalitiesValue *x, double factor)
{
    return out(scale(g->graph, in(x), factor));
}

ModalitiesValue *modalities_rms_norm(ModalitiesGraph *g, ModalitiesValue *x,
                                     ModalitiesValue *weight, double eps)
{
    return out(rms_norm(g->graph, in(x), in(weight), NULL, eps));
}

ModalitiesValue *modalities_attention(ModalitiesGraph *g, ModalitiesValue *q, ModalitiesValue *k,
                                      ModalitiesValue *v)
{
    return out(attention(g->graph, in(q), in(k), in(v), NULL, &(Attention){ .causal = true }));
}

int64_t modalities_size(const ModalitiesValue *v, int dim)
{
    const Value *value = (const Value *)v;
    return dim >= 0 && dim < value->n_dims ? value->dim[dim].size : 1;
}
