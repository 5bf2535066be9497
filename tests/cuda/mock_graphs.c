/* mock_graphs.c - cuDNN's graphs of operations without a GPU: each operation is done by plain loops
 * in double, one after the other, so that graphs are checked by what they compute.
 *
 * Refused is what the library is known to refuse: a comparison of tensors in memory, numbers and
 * memory that are not bound, and things that are used before they are finalized. */
#include "mock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ATTRIBUTES = 16, WORKSPACE = 1000 };

typedef struct Attribute {
    cudnnBackendAttributeName_t name;
    int64_t n;
    void *value;
} Attribute;

typedef struct Thing {
    cudnnBackendDescriptorType_t type;
    bool is_final;
    int n;
    Attribute attribute[MOST_ATTRIBUTES];
} Thing;

static void *zeroed(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) abort();
    return p;
}

static const void *get(const Thing *t, cudnnBackendAttributeName_t name, int64_t *n)
{
    for (int i = 0; i < t->n; i++)
        if (t->attribute[i].name == name) {
            if (n) *n = t->attribute[i].n;
            return t->attribute[i].value;
        }
    return NULL;
}

static const Thing *thing(const Thing *t, cudnnBackendAttributeName_t name)
{
    Thing *const *found = get(t, name, NULL);
    return found ? *found : NULL;
}

static size_t size_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_CHAR:
    case CUDNN_TYPE_BOOLEAN:
        return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    default:
        return 4;
    }
}

size_t mock_cudnn_version(void)
{
    return 91900;
}

const char *mock_cudnn_text(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_NOT_SUPPORTED ? "not supported" : "an error of the mock";
}

void mock_cudnn_last(char *to, size_t size)
{
    if (size) *to = 0;
}

enum { OWN_BYTES = 9 << 20 };

cudnnStatus_t mock_cudnn_create(cudnnHandle_t *out)
{
    *out = zeroed(sizeof(cudaStream_t));
    mock_take(OWN_BYTES);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t mock_cudnn_destroy(cudnnHandle_t handle)
{
    free(handle);
    mock_take(-(ptrdiff_t)OWN_BYTES);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t mock_cudnn_set_stream(cudnnHandle_t handle, cudaStream_t stream)
{
    *(cudaStream_t *)(void *)handle = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t mock_thing_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    Thing *t = zeroed(sizeof *t);
    t->type = type;
    *out = t;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t mock_thing_destroy(cudnnBackendDescriptor_t it)
{
    Thing *t = it;
    for (int i = 0; i < t->n; i++) free(t->attribute[i].value);
    free(t);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t mock_thing_set(cudnnBackendDescriptor_t it, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t n, const void *value)
{
    Thing *t = it;
    const size_t bytes = size_of(type) * (size_t)n;
    if (t->is_final || t->n == MOST_ATTRIBUTES || !value) return CUDNN_STATUS_BAD_PARAM;
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < n; i++)
        if (!((Thing *const *)value)[i]->is_final) return CUDNN_STATUS_BAD_PARAM;
    Attribute *a = &t->attribute[t->n++];
    *a = (Attribute){ name, n, zeroed(bytes) };
    memcpy(a->value, value, bytes);
    return CUDNN_STATUS_SUCCESS;
}

static bool is_true(const Thing *t, cudnnBackendAttributeName_t name)
{
    const bool *found = get(t, name, NULL);
    return found && *found;
}

static cudnnPointwiseMode_t mode_of(const Thing *op)
{
    return *(const cudnnPointwiseMode_t *)get(
        thing(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR), CUDNN_ATTR_POINTWISE_MODE, NULL);
}

cudnnStatus_t mock_thing_finalize(cudnnBackendDescriptor_t it)
{
    Thing *t = it;
    t->is_final = true;
    if (t->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) return CUDNN_STATUS_SUCCESS;
    const cudnnPointwiseMode_t mode = mode_of(t);
    const bool compares = mode >= CUDNN_POINTWISE_CMP_EQ && mode <= CUDNN_POINTWISE_CMP_LE;
    const Thing *x = thing(t, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    return compares && !is_true(x, CUDNN_ATTR_TENSOR_IS_VIRTUAL) ? CUDNN_STATUS_NOT_SUPPORTED
                                                                 : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t mock_thing_get(const cudnnBackendDescriptor_t it, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t n_wanted, int64_t *n,
                             void *out)
{
    const int64_t workspace = WORKSPACE;
    *n = 1;
    if (n_wanted < 1) return CUDNN_STATUS_BAD_PARAM;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
        memcpy(out, &workspace, sizeof workspace);
        return CUDNN_STATUS_SUCCESS;
    }
    if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS || type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return CUDNN_STATUS_NOT_SUPPORTED;
    const Thing *graph = thing(it, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    Thing *config = *(Thing **)out;
    const cudnnStatus_t status = mock_thing_set(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    config->is_final = true;
    return status;
}

/* ---- running ---- */

/* One tensor while a graph runs. Inner ones have numbers of their own, at offsets by stride. */
typedef struct Held {
    int64_t id;
    cudnnDataType_t type;
    const int64_t *size, *stride;
    void *data;    /* in memory */
    double *inner; /* or NULL */
} Held;

/* A run that was asked for. */
typedef struct Asked {
    const Thing *graph;
    int64_t n;
    int64_t *id;
    void **data;
    void *workspace;
    double *number; /* of those that are by value */
    Held *held;
    int n_held;
} Asked;

static Dtype dtype_of(cudnnDataType_t t)
{
    return t == CUDNN_DATA_FLOAT      ? F32
           : t == CUDNN_DATA_BFLOAT16 ? BF16
           : t == CUDNN_DATA_HALF     ? F16
                                      : I32;
}

static int64_t offset_of(const Held *h, const int64_t at[4])
{
    int64_t offset = 0;
    for (int i = 0; i < 4; i++) offset += at[i] * h->stride[i];
    return offset;
}

static double number_at(const Held *h, int64_t offset)
{
    return h->inner ? h->inner[offset] : dtype_get(dtype_of(h->type), h->data, offset);
}

static void put_at(const Held *h, int64_t offset, double x)
{
    char rounded[8];
    if (!h->inner) {
        dtype_set(dtype_of(h->type), h->data, offset, x);
        return;
    }
    if (h->type != CUDNN_DATA_BOOLEAN) {
        dtype_set(dtype_of(h->type), rounded, 0, x);
        x = dtype_get(dtype_of(h->type), rounded, 0);
    }
    h->inner[offset] = x;
}

/* Sizes that are smaller than those of the whole are shared: by all, or by equal parts. */
static double read_shared(const Held *h, const int64_t at[4], const int64_t whole[4])
{
    int64_t own[4];
    for (int i = 0; i < 4; i++) own[i] = at[i] * h->size[i] / whole[i];
    return number_at(h, offset_of(h, own));
}

static int64_t *bound_to(const Asked *a, int64_t id)
{
    for (int64_t i = 0; i < a->n; i++)
        if (a->id[i] == id) return &a->id[i];
    return NULL;
}

static const Held *hold(Asked *a, const Thing *t)
{
    const int64_t id = *(const int64_t *)get(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, NULL);
    for (int i = 0; i < a->n_held; i++)
        if (a->held[i].id == id) return &a->held[i];
    Held *h = &a->held[a->n_held++];
    *h = (Held){ .id = id,
                 .type = *(const cudnnDataType_t *)get(t, CUDNN_ATTR_TENSOR_DATA_TYPE, NULL),
                 .size = get(t, CUDNN_ATTR_TENSOR_DIMENSIONS, NULL),
                 .stride = get(t, CUDNN_ATTR_TENSOR_STRIDES, NULL) };
    const int64_t *bound = bound_to(a, id);
    int64_t last = 0;
    for (int i = 0; i < 4; i++) last += (h->size[i] - 1) * h->stride[i];
    if (is_true(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL))
        h->inner = zeroed(sizeof(double) * (size_t)(last + 1));
    else if (is_true(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
        h->inner = zeroed(sizeof(double));
        h->inner[0] = a->number[bound - a->id];
    } else
        h->data = a->data[bound - a->id];
    return h;
}

static double of_two(cudnnPointwiseMode_t mode, double x, double y)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
        return x + y;
    case CUDNN_POINTWISE_SUB:
        return x - y;
    case CUDNN_POINTWISE_MUL:
        return x * y;
    case CUDNN_POINTWISE_DIV:
        return x / y;
    case CUDNN_POINTWISE_EXP:
        return exp(x);
    case CUDNN_POINTWISE_LOG:
        return log(x);
    case CUDNN_POINTWISE_IDENTITY:
        return x;
    case CUDNN_POINTWISE_CMP_EQ:
        return x == y;
    case CUDNN_POINTWISE_CMP_GT:
        return x > y;
    case CUDNN_POINTWISE_CMP_GE:
        return x >= y;
    default:
        abort();
    }
}

/* at++ below `size`; false after the last one. */
static bool step(int64_t at[4], const int64_t size[4])
{
    for (int i = 3; i >= 0; i--) {
        if (++at[i] < size[i]) return true;
        at[i] = 0;
    }
    return false;
}

static const Held *operand(Asked *a, const Thing *op, cudnnBackendAttributeName_t name)
{
    const Thing *t = thing(op, name);
    return t ? hold(a, t) : NULL;
}

static void run_pointwise(Asked *a, const Thing *op)
{
    const Held *x = operand(a, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
               *b = operand(a, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
               *t = operand(a, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC),
               *y = operand(a, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    const cudnnPointwiseMode_t mode = mode_of(op);
    const int64_t *axis = get(thing(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
                              CUDNN_ATTR_POINTWISE_AXIS, NULL);
    int64_t at[4] = { 0 };
    do {
        double value;
        const double left = read_shared(x, at, y->size),
                     right = b ? read_shared(b, at, y->size) : 0;
        if (mode == CUDNN_POINTWISE_GEN_INDEX)
            value = (double)at[*axis];
        else if (mode == CUDNN_POINTWISE_BINARY_SELECT)
            value = read_shared(t, at, y->size) != 0 ? left : right;
        else
            value = of_two(mode, left, right);
        put_at(y, offset_of(y, at), value);
    } while (step(at, y->size));
}

static void run_matmul(Asked *a, const Thing *op)
{
    const Held *left = operand(a, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
               *right = operand(a, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC),
               *y = operand(a, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    int64_t at[4] = { 0 };
    do {
        double sum = 0;
        for (int64_t k = 0; k < left->size[3]; k++) {
            const int64_t row[] = { at[0], at[1] * left->size[1] / y->size[1], at[2], k },
                          column[] = { at[0], at[1] * right->size[1] / y->size[1], k, at[3] };
            sum +=
                number_at(left, offset_of(left, row)) * number_at(right, offset_of(right, column));
        }
        put_at(y, offset_of(y, at), sum);
    } while (step(at, y->size));
}

static void run_reduction(Asked *a, const Thing *op)
{
    const Held *x = operand(a, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC),
               *y = operand(a, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    const bool is_max = *(const cudnnReduceTensorOp_t *)get(
                            thing(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC),
                            CUDNN_ATTR_REDUCTION_OPERATOR, NULL) == CUDNN_REDUCE_TENSOR_MAX;
    int64_t at[4] = { 0 }, part[4], from[4];
    for (int i = 0; i < 4; i++) part[i] = x->size[i] / y->size[i];
    do {
        double all = is_max ? -INFINITY : 0;
        int64_t inner[4] = { 0 };
        do {
            for (int i = 0; i < 4; i++) from[i] = at[i] * part[i] + inner[i];
            const double each = number_at(x, offset_of(x, from));
            all = is_max ? fmax(all, each) : all + each;
        } while (step(inner, part));
        put_at(y, offset_of(y, at), all);
    } while (step(at, y->size));
}

/* The same memory, seen by other strides. */
static void run_reshape(Asked *a, const Thing *op)
{
    const Held *x = operand(a, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC),
               *y = operand(a, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    int64_t at[4] = { 0 };
    do {
        const int64_t offset = offset_of(y, at);
        put_at(y, offset, number_at(x, offset));
    } while (step(at, y->size));
}

static void run_graph(void *kept)
{
    Asked *a = kept;
    int64_t n = 0;
    Thing *const *op = get(a->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, &n);
    memset(a->workspace, 0x7f, WORKSPACE);
    for (int64_t i = 0; i < n; i++) switch (op[i]->type) {
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
            run_pointwise(a, op[i]);
            break;
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
            run_matmul(a, op[i]);
            break;
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
            run_reduction(a, op[i]);
            break;
        case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
            run_reshape(a, op[i]);
            break;
        default:
            abort();
        }
}

static void free_asked(void *kept)
{
    Asked *a = kept;
    for (int i = 0; i < a->n_held; i++) free(a->held[i].inner);
    free(a->held), free(a->id), free(a->data), free(a->number);
    free(a);
}

static bool is_tensor_of(cudnnBackendAttributeName_t name)
{
    return name == CUDNN_ATTR_OPERATION_POINTWISE_XDESC ||
           name == CUDNN_ATTR_OPERATION_POINTWISE_BDESC ||
           name == CUDNN_ATTR_OPERATION_POINTWISE_TDESC ||
           name == CUDNN_ATTR_OPERATION_POINTWISE_YDESC ||
           name == CUDNN_ATTR_OPERATION_MATMUL_ADESC || name == CUDNN_ATTR_OPERATION_MATMUL_BDESC ||
           name == CUDNN_ATTR_OPERATION_MATMUL_CDESC ||
           name == CUDNN_ATTR_OPERATION_REDUCTION_XDESC ||
           name == CUDNN_ATTR_OPERATION_REDUCTION_YDESC ||
           name == CUDNN_ATTR_OPERATION_RESHAPE_XDESC || name == CUDNN_ATTR_OPERATION_RESHAPE_YDESC;
}

/* Numbers of the host are read now, and everything in memory must be there, as aligned as it was
 * said to be. */
static cudnnStatus_t take_bound(Asked *a, const Thing *t)
{
    const int64_t id = *(const int64_t *)get(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, NULL),
                  align = *(const int64_t *)get(t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, NULL);
    const cudnnDataType_t type =
        *(const cudnnDataType_t *)get(t, CUDNN_ATTR_TENSOR_DATA_TYPE, NULL);
    if (is_true(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) return CUDNN_STATUS_SUCCESS;
    const int64_t *bound = bound_to(a, id);
    if (!bound || !a->data[bound - a->id]) return CUDNN_STATUS_BAD_PARAM;
    const void *data = a->data[bound - a->id];
    if (is_true(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE))
        a->number[bound - a->id] = dtype_get(dtype_of(type), data, 0);
    else if ((uintptr_t)data % (uintptr_t)align)
        return CUDNN_STATUS_BAD_PARAM;
    return CUDNN_STATUS_SUCCESS;
}

static void *copied(const void *from, size_t bytes)
{
    return memcpy(zeroed(bytes), from, bytes);
}

cudnnStatus_t mock_cudnn_execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                 cudnnBackendDescriptor_t pack)
{
    Asked *a = zeroed(sizeof *a);
    int64_t n = 0, n_tensors = 0;
    a->graph =
        thing(thing(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG), CUDNN_ATTR_ENGINECFG_ENGINE);
    const void *id = get(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &a->n),
               *data = get(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, NULL);
    a->id = copied(id, sizeof *a->id * (size_t)a->n);
    a->data = copied(data, sizeof *a->data * (size_t)a->n);
    a->number = zeroed(sizeof *a->number * (size_t)a->n);
    a->workspace = *(void *const *)get(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, NULL);
    cudnnStatus_t status = a->workspace ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
    Thing *const *op = get(a->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, &n);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < op[i]->n && !status; k++)
            if (is_tensor_of(op[i]->attribute[k].name)) {
                status = take_bound(a, *(Thing *const *)op[i]->attribute[k].value);
                n_tensors++;
            }
    a->held = zeroed(sizeof *a->held * (size_t)n_tensors);
    if (!status)
        return mock_give(*(cudaStream_t *)(void *)handle, &(MockWork){ .kind = WORK_CALL,
                                                                       .call_host = run_graph,
                                                                       .free_kept = free_asked,
                                                                       .kept = a })
                   ? CUDNN_STATUS_EXECUTION_FAILED
                   : CUDNN_STATUS_SUCCESS;
    free(a->held), free(a->id), free(a->data), free(a->number), free(a);
    return status;
}
