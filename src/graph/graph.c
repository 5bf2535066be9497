/* graph.c - building: leaves, nodes, scopes, outputs. */
#include "graph/graph.h"
#include "base/map.h"
#include "graph/op.h"
#include "graph/split.h"
#include <string.h>

typedef struct Scope {
    const char *prefix; /* "transformer.h.0." */
    int block;          /* to go back to */
    struct Scope *outer;
} Scope;

Graph *graph_new(Arena *a)
{
    Graph *g = NEW(a, Graph);
    g->arena = a;
    g->leaf = map_new(a);
    g->block = -1;
    g->phase = FORWARD;
    return g;
}

Error *graph_finish(Graph *g)
{
    Error *e = g->error;
    g->error = NULL;
    return e;
}

void graph_fail(Graph *g, Error *e)
{
    if (!e) return;
    if (g->error)
        error_free(e);
    else
        g->error = e;
}

static const char *prefix(const Graph *g)
{
    return g->scope ? g->scope->prefix : "";
}

/* The same place again is the same block. */
static int block_at(Graph *g, const char *stack, int index)
{
    for (int b = 0; b < g->n_blocks; b++)
        if (g->place[b].index == index && !strcmp(g->place[b].stack, stack)) return b;
    g->place = arena_grow(g->arena, g->place, g->n_blocks, &g->cap_blocks, sizeof *g->place);
    g->place[g->n_blocks] = (BlockPlace){ stack, index };
    return (int)g->n_blocks++;
}

void graph_enter(Graph *g, const char *name, int index)
{
    Scope *s = NEW(g->arena, Scope);
    *s = (Scope){ .block = g->block, .outer = g->scope };
    if (index >= 0)
        s->prefix = arena_printf(g->arena, "%s%s.%d.", prefix(g), name, index);
    else
        s->prefix = arena_printf(g->arena, "%s%s.", prefix(g), name);
    if (index >= 0) g->block = block_at(g, graph_name(g, name), index);
    g->scope = s;
}

void graph_leave(Graph *g)
{
    CHECK(g->scope != NULL);
    g->block = g->scope->block;
    g->scope = g->scope->outer;
}

const char *graph_name(Graph *g, const char *name)
{
    return arena_printf(g->arena, "%s%s", prefix(g), name);
}

static Value *value_new(Graph *g, ValueKind kind, const char *name, Dtype t)
{
    Value *v = NEW(g->arena, Value);
    *v = (Value){ .kind = kind, .id = (int)g->n_values, .dtype = t };
    v->name = name ? name : arena_printf(g->arena, "v%d", v->id);
    g->value = arena_grow(g->arena, g->value, g->n_values, &g->cap_values, sizeof *g->value);
    return g->value[g->n_values++] = v;
}

Value *graph_find(const Graph *g, const char *name)
{
    return map_get(g->leaf, str_of(name));
}

/* So that no sum of bytes overflows; what is larger becomes a scalar, and building fails. */
static void bound_size(Graph *g, Value *v)
{
    static const double MOST = (double)(INT64_C(1) << 44);
    double n = 1;
    Text sizes = { 0 };
    for (int d = 0; d < v->n_dims; d++) {
        n *= (double)v->dim[d].size;
        text_printf(&sizes, d ? " x %lld" : "%lld", (long long)v->dim[d].size);
    }
    if (n > MOST) {
        graph_fail(g, error_usage("%s would have %s elements; allowed are at most 2^44", v->name,
                                  sizes.ptr));
        v->n_dims = 0;
    }
    text_free(&sizes);
}

static Value *leaf(Graph *g, ValueKind kind, const char *name, Dtype t, int n_dims, const Dim *dims)
{
    CHECK(n_dims <= MAX_DIMS);
    Value *v = graph_find(g, name);
    if (v) {
        bool same = v->kind == kind && v->n_dims == n_dims && v->dtype == t;
        for (int d = 0; same && d < n_dims; d++) same = v->dim[d].size == dims[d].size;
        if (!same) graph_fail(g, error_new("%s is defined twice with different shapes", name));
        return v;
    }
    v = value_new(g, kind, name, t);
    map_set(g->leaf, str_of(name), v);
    v->n_dims = n_dims;
    if (n_dims) memcpy(v->dim, dims, sizeof *dims * (size_t)n_dims);
    bound_size(g, v);
    return v;
}

Value *graph_input(Graph *g, const char *name, Dtype t, int n_dims, const Dim *dims)
{
    return leaf(g, VALUE_INPUT, name, t, n_dims, dims);
}

Value *graph_param(Graph *g, const char *name, int n_dims, const Dim *dims)
{
    int64_t n = g->n_values;
    Value *v = leaf(g, VALUE_PARAM, graph_name(g, name), F32, n_dims, dims);
    if (g->n_values > n) v->block = g->block;
    return v;
}

Value *graph_state(Graph *g, const char *name, Dtype t, int n_dims, const Dim *dims)
{
    return leaf(g, VALUE_STATE, name, t, n_dims, dims);
}

Value *graph_cache(Graph *g, const char *name, Dtype t, int n_dims, const Dim *dims)
{
    Value *v = graph_state(g, name, t, n_dims, dims);
    v->is_cache = true;
    return v;
}

static Value *accumulator(Graph *g, const char *name, const Value *param)
{
    return leaf(g, VALUE_ACCUMULATOR, name, param->dtype == F64 ? F64 : F32, param->n_dims,
                param->dim);
}

void graph_leave_out(Graph *g, const char *name, int index)
{
    const char *below = arena_printf(g->arena, "%s.%d.", graph_name(g, name), index);
    g->left_out =
        arena_grow(g->arena, g->left_out, g->n_left_out, &g->cap_left_out, sizeof *g->left_out);
    g->left_out[g->n_left_out++] = below;
}

Value *graph_accumulator(Graph *g, Value *param)
{
    if (!param->grad)
        param->grad = accumulator(g, arena_printf(g->arena, "grad.%s", param->name), param);
    return param->grad;
}

Value *graph_accumulator_named(Graph *g, const char *name, Value *param)
{
    return accumulator(g, arena_printf(g->arena, "%s.grad.%s", name, param->name), param);
}

void graph_output(Graph *g, const char *name, Value *v)
{
    g->output = arena_grow(g->arena, g->output, g->n_outputs, &g->cap_outputs, sizeof *g->output);
    g->output[g->n_outputs++] = (Output){ arena_string(g->arena, name), v };
}

Value *graph_find_output(const Graph *g, const char *name)
{
    for (int64_t i = 0; i < g->n_outputs; i++)
        if (!strcmp(g->output[i].name, name)) return g->output[i].value;
    return NULL;
}

Shape value_shape(const Value *v)
{
    Shape s = { .n_dims = v->n_dims };
    for (int d = 0; d < v->n_dims; d++) s.size[d] = v->dim[d].size;
    return s;
}

int64_t value_width(const Value *v)
{
    return v->n_dims ? v->dim[v->n_dims - 1].size : 1;
}

int64_t value_count(const Value *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->n_dims; d++) n *= v->dim[d].size;
    return n;
}

int64_t value_bytes(const Value *v)
{
    return value_count(v) * (int64_t)dtype_size(v->dtype);
}

Value *graph_value_like(Graph *g, const Value *like, Dtype t)
{
    Value *v = value_new(g, VALUE_RESULT, NULL, t);
    v->n_dims = like->n_dims;
    memcpy(v->dim, like->dim, sizeof v->dim);
    return v;
}

/* The logical name of a slot: that of the first input dimension which it leads. */
static const char *slot_axis(const DimSpec *spec, Value *const *in, int slot)
{
    for (int k = 0; k < spec->n_in; k++)
        for (int d = 0; d < spec->in[k].n_dims; d++)
            if (spec->in[k].dim[d].n && spec->in[k].dim[d].slot[0] == slot && in[k]->dim[d].axis)
                return in[k]->dim[d].axis;
    return NULL;
}

static Value *result_new(Graph *g, Node *n, int k)
{
    Value *v = value_new(g, VALUE_RESULT, NULL, F32);
    v->from = n;
    const Operand *o = &n->dims->out[k];
    Shape s = dims_shape(o, n->slot_size);
    v->n_dims = s.n_dims;
    for (int d = 0; d < s.n_dims; d++)
        v->dim[d] = (Dim){ .size = s.size[d],
                           .axis = o->dim[d].n ? slot_axis(n->dims, n->in, o->dim[d].slot[0])
                                               : n->in[k]->dim[d].axis };
    bound_size(g, v);
    return v;
}

static void append(Graph *g, Node *n)
{
    g->node = arena_grow(g->arena, g->node, g->n_nodes, &g->cap_nodes, sizeof *g->node);
    g->node[g->n_nodes++] = n;
}

/* So that building can go on after an error: every result is a scalar. */
static void make_harmless(Graph *g, Node *n, const char *dims)
{
    DimSpec *spec = NEW(g->arena, DimSpec);
    spec->text = dims;
    const char *arrow = strstr(dims, "->");
    spec->n_out = arrow != NULL;
    for (const char *p = arrow; p && *p; p++) spec->n_out += *p == ',';
    spec->n_in = n->n_in;
    spec->in = NEW_N(g->arena, Operand, n->n_in);
    spec->out = NEW_N(g->arena, Operand, spec->n_out);
    n->dims = spec;
}

static void set_dtypes(Arena *a, Node *n)
{
    Dtype *t = NEW_N(a, Dtype, n->n_out), first = F32;
    for (int k = n->n_in - 1; k >= 0; k--)
        if (dtype_is_float(n->in[k]->dtype)) first = n->in[k]->dtype;
    for (int k = 0; k < n->n_out; k++) t[k] = first;
    if (n->op->dtypes) n->op->dtypes(n, t);
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k]->kind == VALUE_RESULT) n->out[k]->dtype = t[k];
}

/* The open scopes' name, without the dot at its end. */
static const char *module(const Graph *g)
{
    const char *name = prefix(g);
    size_t len = strlen(name);
    return arena_string_n(g->arena, name, len ? len - 1 : 0);
}

Graph *graph_from(Graph *g, Source s)
{
    g->source = s;
    return g;
}

Node *graph_add_into(Graph *g, const OpDef *op, const char *dims, const char *sizes,
                     const void *attrs, int n_in, Value *const *in, int n_into, Value *const *into)
{
    Node *n = NEW(g->arena, Node);
    int64_t *slot_size = NEW_N(g->arena, int64_t, N_SLOTS);
    *n = (Node){ .op = op,
                 .n_in = n_in,
                 .block = g->block,
                 .stage = g->stage,
                 .phase = g->phase,
                 .slot_size = slot_size,
                 .module = g->module ? g->module : module(g),
                 .source = g->source };
    g->source = (Source){ 0 };
    n->in = arena_copy(g->arena, in, sizeof *in * (size_t)n_in);
    n->attrs = op->attrs_size ? arena_copy(g->arena, attrs, op->attrs_size) : NULL;
    Shape *shape = NEW_N(g->arena, Shape, n_in);
    for (int k = 0; k < n_in; k++) shape[k] = value_shape(in[k]);
    Error *e = dims_parse(g->arena, dims, n_in, shape, &n->dims);
    if (!e) e = dims_bind(n->dims, shape, sizes, slot_size);
    if (e) {
        graph_fail(g, error_wrap(e, "%s%s", prefix(g), op->name));
        make_harmless(g, n, dims);
    }
    n->n_out = n->dims->n_out;
    n->out = NEW_N(g->arena, Value *, n->n_out);
    for (int k = 0; k < n->n_out; k++)
        n->out[k] = k < n_into && into[k] ? into[k] : result_new(g, n, k);
    set_dtypes(g->arena, n);
    if (g->mesh && !e)
        graph_fail(g, error_wrap(split_infer(g->arena, n, g->mesh), "%s%s", prefix(g), op->name));
    append(g, n);
    return n;
}

Node *graph_add_dims(Graph *g, const OpDef *op, const char *dims, const char *sizes,
                     const void *attrs, int n_in, Value *const *in)
{
    return graph_add_into(g, op, dims, sizes, attrs, n_in, in, 0, NULL);
}

Node *graph_add(Graph *g, const OpDef *op, const void *attrs, int n_in, Value *const *in)
{
    CHECK(op->dims != NULL);
    return graph_add_dims(g, op, op->dims, NULL, attrs, n_in, in);
}

void graph_keep(Graph *g, Node *n)
{
    g->node = arena_grow(g->arena, g->node, g->n_nodes, &g->cap_nodes, sizeof *g->node);
    g->node[g->n_nodes++] = n;
}

Node *graph_copy_node(Graph *g, const Node *from)
{
    Node *n = arena_copy(g->arena, from, sizeof *from);
    n->in = arena_copy(g->arena, from->in, sizeof *from->in * (size_t)from->n_in);
    n->out = arena_copy(g->arena, from->out, sizeof *from->out * (size_t)from->n_out);
    for (int k = 0; k < n->n_out; k++) {
        if (n->out[k]->kind != VALUE_RESULT) continue;
        Value *v = graph_value_like(g, from->out[k], from->out[k]->dtype);
        v->partial = from->out[k]->partial;
        v->reduce = from->out[k]->reduce;
        v->from = n;
        n->out[k] = v;
    }
    append(g, n);
    return n;
}
