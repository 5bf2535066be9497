/* op_run.c - a minimal interpreter of graphs, and the chain rule. */
#include "op_run.h"
#include "base/rng.h"
#include "base/thread.h"
#include "ops/elementwise.h"
#include "ops/reference.h"
#include "tensor/target.h"
#include <string.h>

Tensor op_tensor(Arena *a, Dtype t, int n_dims, const int64_t *size)
{
    Tensor made = { .dtype = t, .n_dims = n_dims };
    for (int d = 0; d < n_dims; d++) made.size[d] = size[d];
    made.data = arena_alloc(a, tensor_bytes(&made));
    return made;
}

Tensor op_tensor_as(Arena *a, Dtype t, const Tensor *from)
{
    Tensor made = op_tensor(a, t, from->n_dims, from->size);
    memcpy(made.part, from->part, sizeof made.part);
    dtype_convert(t, made.data, from->dtype, from->data, tensor_count(from));
    return made;
}

Value *op_input(Graph *g, const char *name, Dtype t, const int64_t *size)
{
    Dim dims[MAX_DIMS] = { 0 };
    int n_dims = 0;
    for (; size[n_dims]; n_dims++) dims[n_dims].size = size[n_dims];
    return graph_input(g, name, t, n_dims, dims);
}

double op_get(const Tensor *t, int64_t i)
{
    return dtype_get(t->dtype, t->data, i);
}

static uint64_t key_of(const char *name)
{
    uint64_t key = 1469598103934665603u;
    for (; *name; name++) key = (key ^ (uint8_t)*name) * 1099511628211u;
    return key;
}

static double content(const Value *v, uint64_t key, int64_t i)
{
    if (!strcmp(v->name, "targets") && i % 3 == 1) return IGNORED_TARGET;
    if (!strcmp(v->name, "documents")) return (double)(i % v->dim[1].size / 3);
    double low = v->init.low, high = v->init.high, u = rng_uniform(key, (uint64_t)i);
    if (!dtype_is_float(v->dtype)) return floor(low + (high - low) * u);
    return v->init.kind == INIT_UNIFORM ? low + (high - low) * u : rng_normal(key, (uint64_t)i);
}

OpRun *op_run_new(Arena *a, Graph *g, int64_t position)
{
    OpRun *r = NEW(a, OpRun);
    *r = (OpRun){ .arena = a, .graph = g, .tensor = NEW_N(a, Tensor, g->n_values) };
    r->now = (RunTime){ .step = 3,
                        .updates = 5,
                        .microbatch = 1,
                        .position = position,
                        .rate = { { .lr = 0.01 } },
                        .loss_scale = 0.25,
                        .gradient_scale = 8,
                        .seed = 7 };
    for (int64_t k = 0; k < g->n_values; k++) {
        const Value *v = g->value[k];
        Shape s = value_shape(v);
        Tensor *t = &r->tensor[k];
        *t = op_tensor(a, v->dtype, s.n_dims, s.size);
        if (v->kind == VALUE_RESULT) continue;
        uint64_t key = key_of(v->name);
        for (int64_t i = 0; i < tensor_count(t); i++)
            dtype_set(t->dtype, t->data, i, content(v, key, i));
    }
    return r;
}

Launch op_launch(const Node *n, const Tensor *in, Tensor *out, const RunTime *now)
{
    return (Launch){ .attrs = n->attrs,
                     .dims = n->dims,
                     .in = in,
                     .out = out,
                     .n_in = n->n_in,
                     .n_out = n->n_out,
                     .now = now };
}

bool op_row_types(const char *types, const Node *n, unsigned narrow, Dtype *out)
{
    const bool is_any = !strcmp(types, "*"); /* operands as they are */
    for (int k = 0; is_any && k < n->n_in + n->n_out; k++)
        out[k] = k < n->n_in ? n->in[k]->dtype : n->out[k - n->n_in]->dtype;
    if (is_any) return true;
    for (int k = 0; k < n->n_in + n->n_out; k++) {
        if (k == n->n_in && *types++ != '>') return false;
        if (*types == ' ') types++;
        char word[16] = { 0 };
        size_t len = strcspn(types, " >");
        if (len == 0 || len >= sizeof word) return false;
        memcpy(word, types, len);
        types += len;
        Dtype own = k < n->n_in ? n->in[k]->dtype : n->out[k - n->n_in]->dtype;
        if (!strcmp(word, "any"))
            out[k] = !dtype_is_float(own) ? own : narrow >> k & 1 ? BF16 : F32;
        else
            CHECK(dtype_of_name(word, &out[k]));
        if (dtype_is_float(out[k]) != dtype_is_float(own)) return false;
    }
    return *types == 0;
}

int op_reference(Arena *a, const OpDef *op, Launch l)
{
    if (op->flags & OP_VIEW) {
        CHECK(tensor_count(&l.out[0]) == tensor_count(&l.in[0]));
        dtype_convert(l.out[0].dtype, l.out[0].data, l.in[0].dtype, l.in[0].data,
                      tensor_count(&l.in[0]));
        return KERNEL_OK;
    }
    l.scratch = arena_alloc(a, reference_scratch(op, &l));
    return reference_run(op, &l);
}

CpuLevel op_product_level(CpuLevel level, bool has_tiles)
{
    if (level == CPU_AMX && has_tiles) return level;
    return level == CPU_AVX512_BF16 || level == CPU_AMX ? CPU_AVX512 : level;
}

void op_kernel_run(const KernelDef *k, Launch l, int n_threads)
{
    Arena *a = arena_new();
    Stream stream = { .pool = pool_new(n_threads), .now = l.now };
    l.stream = &stream;
    if (k->scratch) l.scratch = arena_alloc(a, k->scratch(&l, n_threads));
    CHECK(k->run(&l) == KERNEL_OK);
    pool_free(stream.pool);
    arena_free(a);
}

NodeRun op_run_node(OpRun *r, Arena *a, int64_t i)
{
    const Node *n = r->graph->node[i];
    NodeRun made = { .run = r, .node = n };
    made.in = NEW_N(a, Tensor, n->n_in);
    made.out = NEW_N(a, Tensor, n->n_out);
    for (int k = 0; k < n->n_in; k++)
        made.in[k] = op_tensor_as(a, n->in[k]->dtype, &r->tensor[n->in[k]->id]);
    for (int k = 0; k < n->n_out; k++)
        made.out[k] = op_tensor_as(a, n->out[k]->dtype, &r->tensor[n->out[k]->id]);
    CHECK(op_reference(a, n->op, op_launch(n, made.in, made.out, &r->now)) == KERNEL_OK);
    for (int k = 0; k < n->n_out; k++) {
        Tensor *to = &r->tensor[n->out[k]->id];
        bool adds = n->out[k]->kind == VALUE_ACCUMULATOR && n->phase != UPDATE;
        for (int64_t e = 0; e < tensor_count(to); e++)
            dtype_set(to->dtype, to->data, e, op_get(&made.out[k], e) + (adds ? op_get(to, e) : 0));
    }
    return made;
}

void op_run_nodes(OpRun *r, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        Arena *local = arena_new();
        op_run_node(r, local, i);
        arena_free(local);
    }
}

/* Adds a gradient to what has arrived for a value already. */
static void arrive(Graph *g, Value **grad, Value *to, Value *more)
{
    if (!more) return;
    grad[to->id] = grad[to->id] ? add(g, grad[to->id], more) : more;
}

Value **op_differentiate(Graph *g, Value *y, Value *dy)
{
    Value **grad = NEW_N(g->arena, Value *, g->n_values);
    grad[y->id] = dy;
    for (int64_t i = g->n_nodes - 1; i >= 0; i--) {
        const Node *n = g->node[i];
        Value **din = NEW_N(g->arena, Value *, n->n_in);
        Value **dout = NEW_N(g->arena, Value *, n->n_out);
        bool flows = false;
        for (int k = 0; k < n->n_out; k++) {
            dout[k] = n->out[k]->kind == VALUE_RESULT ? grad[n->out[k]->id] : NULL;
            flows |= dout[k] != NULL;
        }
        if (!flows || !n->op->grad) continue;
        n->op->grad(g, n, dout, din);
        for (int k = 0; k < n->n_in; k++) arrive(g, grad, n->in[k], din[k]);
    }
    return grad;
}
