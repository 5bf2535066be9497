/* cudnn_graph.c - descriptors of cuDNN's backend: created, filled, finalized, and kept. */
#include "device/cuda/cudnn_graph.h"
#include <string.h>

/* One thing, freed with the arena. */
typedef struct Kept {
    const CudaCalls *calls;
    CudnnThing it;
} Kept;

static void free_kept(void *arg)
{
    const Kept *k = arg;
    k->calls->cudnnBackendDestroyDescriptor(k->it);
}

CudnnGraph *cudnn_graph_new(const CudnnTarget *target, Arena *arena)
{
    CudnnGraph *g = NEW(arena, CudnnGraph);
    g->target = target;
    g->arena = arena;
    return g;
}

static CudnnThing make(CudnnGraph *g, cudnnBackendDescriptorType_t type)
{
    CudnnThing it = NULL;
    if (!g->status) g->status = g->target->calls->cudnnBackendCreateDescriptor(type, &it);
    if (g->status) return NULL;
    Kept *k = NEW(g->arena, Kept);
    *k = (Kept){ g->target->calls, it };
    arena_on_free(g->arena, free_kept, k);
    return it;
}

static void set(CudnnGraph *g, CudnnThing it, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *value)
{
    if (!g->status)
        g->status = g->target->calls->cudnnBackendSetAttribute(it, name, type, n, value);
}

static void set_thing(CudnnGraph *g, CudnnThing it, cudnnBackendAttributeName_t name,
                      CudnnThing value)
{
    set(g, it, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void finish(CudnnGraph *g, CudnnThing it)
{
    if (!g->status) g->status = g->target->calls->cudnnBackendFinalize(it);
}

static void finish_op(CudnnGraph *g, CudnnThing op)
{
    finish(g, op);
    if (!g->status && g->n_ops == CUDNN_MOST_OPS) g->status = CUDNN_STATUS_NOT_SUPPORTED;
    if (!g->status) g->op[g->n_ops++] = op;
}

typedef enum Place { IN_MEMORY, INNER, NUMBER } Place;

static CudnnTensor *make_tensor(CudnnGraph *g, const CudnnTensor *like, Place place, int64_t align)
{
    static const bool yes = true;
    CudnnTensor *t = arena_copy(g->arena, like, sizeof *like);
    t->id = ++g->n_tensors;
    t->it = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(g, t->it, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &t->type);
    set(g, t->it, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, t->size);
    set(g, t->it, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, t->stride);
    set(g, t->it, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &t->id);
    set(g, t->it, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
    if (place == INNER) set(g, t->it, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
    if (place == NUMBER) set(g, t->it, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
    finish(g, t->it);
    return t;
}

CudnnTensor *cudnn_tensor(CudnnGraph *g, cudnnDataType_t t, const int64_t size[4],
                          const int64_t stride[4], int64_t align)
{
    CudnnTensor like = { .type = t };
    memcpy(like.size, size, sizeof like.size);
    memcpy(like.stride, stride, sizeof like.stride);
    return make_tensor(g, &like, IN_MEMORY, align);
}

CudnnTensor *cudnn_inner(CudnnGraph *g, cudnnDataType_t t, const int64_t size[4],
                         const int64_t *stride)
{
    CudnnTensor like = { .type = t };
    int64_t n = 1;
    memcpy(like.size, size, sizeof like.size);
    for (int i = 3; i >= 0; n *= size[i--]) like.stride[i] = stride ? stride[i] : n;
    return make_tensor(g, &like, INNER, 16);
}

CudnnTensor *cudnn_number(CudnnGraph *g, cudnnDataType_t t)
{
    const CudnnTensor like = { .type = t, .size = { 1, 1, 1, 1 }, .stride = { 1, 1, 1, 1 } };
    return make_tensor(g, &like, NUMBER, 16);
}

static void pointwise(CudnnGraph *g, cudnnPointwiseMode_t mode, int64_t dim, const CudnnTensor *x,
                      const CudnnTensor *b, const CudnnTensor *t, const CudnnTensor *y)
{
    const cudnnDataType_t f32 = CUDNN_DATA_FLOAT;
    const float one = 1;
    CudnnThing how = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &f32);
    if (mode == CUDNN_POINTWISE_GEN_INDEX)
        set(g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &dim);
    finish(g, how);
    CudnnThing op = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_thing(g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_thing(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x->it);
    set_thing(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y->it);
    if (b) set_thing(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->it);
    if (t) set_thing(g, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t->it);
    set(g, op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1, &one);
    set(g, op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, &one);
    finish_op(g, op);
}

CudnnTensor *cudnn_pointwise(CudnnGraph *g, cudnnPointwiseMode_t mode, const CudnnTensor *x,
                             const CudnnTensor *b, const CudnnTensor *t, CudnnTensor *y)
{
    pointwise(g, mode, 0, x, b, t, y);
    return y;
}

CudnnTensor *cudnn_index(CudnnGraph *g, const CudnnTensor *x, int64_t dim)
{
    CudnnTensor *y = cudnn_inner(g, CUDNN_DATA_INT32, x->size, x->stride);
    pointwise(g, CUDNN_POINTWISE_GEN_INDEX, dim, x, NULL, NULL, y);
    return y;
}

CudnnTensor *cudnn_matmul(CudnnGraph *g, const CudnnTensor *a, const CudnnTensor *b, CudnnTensor *y)
{
    const cudnnDataType_t f32 = CUDNN_DATA_FLOAT;
    CudnnThing how = make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &f32);
    finish(g, how);
    CudnnThing op = make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_thing(g, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a->it);
    set_thing(g, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b->it);
    set_thing(g, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, y->it);
    set_thing(g, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    finish_op(g, op);
    return y;
}

CudnnTensor *cudnn_reduce(CudnnGraph *g, cudnnReduceTensorOp_t mode, const CudnnTensor *x,
                          CudnnTensor *y)
{
    const cudnnDataType_t f32 = CUDNN_DATA_FLOAT;
    CudnnThing how = make(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &f32);
    set(g, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    finish(g, how);
    CudnnThing op = make(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set_thing(g, op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    set_thing(g, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x->it);
    set_thing(g, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y->it);
    finish_op(g, op);
    return y;
}

CudnnTensor *cudnn_reshape(CudnnGraph *g, const CudnnTensor *x, CudnnTensor *y)
{
    CudnnThing op = make(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    set_thing(g, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x->it);
    set_thing(g, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y->it);
    finish_op(g, op);
    return y;
}

static CudnnThing heuristic_of(CudnnGraph *g, CudnnThing graph)
{
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    CudnnThing it = make(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set_thing(g, it, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    set(g, it, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (g->target->described)
        set_thing(g, it, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, g->target->described);
    finish(g, it);
    return it;
}

static CudnnThing graph_of(CudnnGraph *g)
{
    CudnnThing it = make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (!g->target->described)
        set(g, it, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->target->handle);
    set(g, it, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->n_ops, g->op);
    finish(g, it);
    return it;
}

static CudnnThing plan_of(CudnnGraph *g, CudnnThing config)
{
    CudnnThing it = make(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (g->target->described)
        set_thing(g, it, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, g->target->described);
    else
        set(g, it, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->target->handle);
    set_thing(g, it, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    finish(g, it);
    return it;
}

cudnnStatus_t cudnn_plan(CudnnGraph *g, CudnnPlan *out)
{
    enum { MOST = 8 };
    const CudaCalls *c = g->target->calls;
    CudnnThing config[MOST], heuristic = heuristic_of(g, graph_of(g));
    int64_t n = 0, bytes = 0, n_bytes;
    for (int i = 0; i < MOST; i++) config[i] = make(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!g->status)
        g->status = c->cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST, &n, config);
    if (g->status) return g->status;
    cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
    for (int64_t i = 0; i < n && i < MOST && status; i++) {
        out->it = plan_of(g, config[i]);
        status = g->status;
        g->status = CUDNN_STATUS_SUCCESS;
    }
    if (!status)
        status = c->cudnnBackendGetAttribute(out->it, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                             CUDNN_TYPE_INT64, 1, &n_bytes, &bytes);
    out->workspace_bytes = (size_t)bytes;
    return status;
}

void cudnn_bind(CudnnBound *b, const CudnnTensor *t, const void *data)
{
    b->id[b->n] = t->id;
    b->data[b->n++] = (void *)data;
}

static cudnnStatus_t fill_pack(const CudaCalls *c, CudnnThing pack, const CudnnBound *b,
                               void *workspace)
{
    cudnnStatus_t status = c->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                                       CUDNN_TYPE_INT64, b->n, b->id);
    if (!status)
        status = c->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                             CUDNN_TYPE_VOID_PTR, b->n, b->data);
    if (!status)
        status = c->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                             CUDNN_TYPE_VOID_PTR, 1, &workspace);
    return status ? status : c->cudnnBackendFinalize(pack);
}

cudnnStatus_t cudnn_run(const CudnnTarget *target, const CudnnPlan *plan, const CudnnBound *bound,
                        void *workspace)
{
    const CudaCalls *c = target->calls;
    CudnnThing pack;
    cudnnStatus_t status =
        c->cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (status) return status;
    status = fill_pack(c, pack, bound, workspace);
    if (!status) status = c->cudnnBackendExecute(target->handle, plan->it, pack);
    c->cudnnBackendDestroyDescriptor(pack);
    return status;
}

cudnnStatus_t cudnn_describe(const CudaCalls *calls, const char *json, CudnnThing *out)
{
    cudnnStatus_t status =
        calls->cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, out);
    if (!status)
        status = calls->cudnnBackendSetAttribute(*out, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                                 CUDNN_TYPE_CHAR, (int64_t)strlen(json), json);
    return status ? status : calls->cudnnBackendFinalize(*out);
}
