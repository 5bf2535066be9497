/* mock.h - what the parts of the mock of CUDA share. */
#ifndef TESTS_CUDA_MOCK_H
#define TESTS_CUDA_MOCK_H
#include "device/cuda/call.h"
#include "device/cuda/cuda_calls.h"

/* A matrix as cuBLASLt is told of it: column by column. */
typedef struct MockLayout {
    cudaDataType_t type;
    int64_t rows, columns, stride, distance;
    int32_t n_batches;
} MockLayout;

/* D = alpha op(A) op(B) + beta C. */
typedef struct MockProduct {
    MockLayout a, b, d;
    bool turns_a, turns_b, tf32, a_by_rows, b_by_rows;
    bool rounds;                    /* each partial sum to f32: another algorithm */
    const float *a_scale, *b_scale; /* in memory of the device; NULL: 1 */
    int32_t epilogue;               /* of cublasLtEpilogue_t; 0: none */
    const void *bias;
    void *aux; /* what gelu is given, as D lies but for the stride */
    int64_t aux_stride;
    const void *a_data, *b_data;
    const void *c_data;
    void *d_data;
    float alpha, beta;
} MockProduct;

typedef enum MockKind {
    WORK_COPY,
    WORK_CLEAR,
    WORK_KERNEL,
    WORK_PRODUCT,
    WORK_WAIT,
    WORK_CALL,
    WORK_NCCL
} MockKind;

typedef struct MockWork {
    struct MockWork *next;
    MockKind kind;
    void *to;
    const void *from;
    bool is_recorded; /* a graph has `kept` and `parts` */
    void *kept;       /* a copy of what was to be copied; freed with the work */
    size_t bytes, to_step, from_step;
    int64_t n_rows; /* COPY: of so many bytes each; 0: one */
    int value;
    void (*kernel)(Call);
    Call call;
    int64_t blocks;
    int threads;
    MockProduct product;
    void (*call_host)(void *kept); /* CALL: is given `kept` */
    void (*free_kept)(void *kept); /* NULL: free */
    struct MockStream *other;      /* WAIT: until so much of its work is done */
    int64_t number;
    struct MockPart **parts; /* NCCL: calls that were begun together; freed with the work */
    int n_parts;
} MockWork;

typedef struct MockStream {
    struct MockStream *other;
    MockWork *first, *last;
    int64_t n_given, n_done;
    int64_t most; /* where is_hung: it is never done with more */
    bool is_hung;
    struct MockGraph *recorded; /* what it is given goes there; NULL: it is not recorded */
    bool is_forked;  /* was recorded with another stream, which has not waited for it since */
    bool is_running; /* further up among the calls that wait for each other */
} MockStream;

/* Queues a copy of the work. */
cudaError_t mock_give(cudaStream_t stream, const MockWork *w);
MockStream *mock_stream(cudaStream_t stream);
/* Does a stream's work until so much of it is done; false: that has to wait for another rank. */
bool mock_run_until(MockStream *s, int64_t number);
/* The lock of everything. */
void mock_lock(void);
void mock_unlock(void);
/* Seconds that work takes by the clock of events, beside those that it really does. */
void mock_lose(double seconds);
/* Memory of the GPU that CUDA and its libraries take for themselves, or give back. */
void mock_take(ptrdiff_t bytes);
/* The GPU that the calling thread has chosen. */
int mock_gpu(void);
/* mock_nccl.c: does calls of NCCL as far as their other members have come; false: not all of them.
 */
bool mock_nccl_ready(const MockWork *w);
void mock_nccl_fill(CudaCalls *c);
void mock_multiply(const MockProduct *p);

/* emulator.cpp */
void emulator_run(void (*kernel)(Call), const Call *call, int64_t blocks, int threads);

size_t mock_lt_version(void);
const char *mock_lt_text(cublasStatus_t status);
cublasStatus_t mock_lt_create(cublasLtHandle_t *out);
cublasStatus_t mock_lt_destroy(cublasLtHandle_t handle);
cublasStatus_t mock_desc_create(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                cudaDataType_t scale);
cublasStatus_t mock_desc_destroy(cublasLtMatmulDesc_t desc);
cublasStatus_t mock_desc_set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t name,
                             const void *value, size_t bytes);
cublasStatus_t mock_layout_create(cublasLtMatrixLayout_t *out, cudaDataType_t type, uint64_t rows,
                                  uint64_t columns, int64_t stride);
cublasStatus_t mock_layout_destroy(cublasLtMatrixLayout_t layout);
cublasStatus_t mock_layout_set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name,
                               const void *value, size_t bytes);
cublasStatus_t mock_wish_create(cublasLtMatmulPreference_t *out);
cublasStatus_t mock_wish_destroy(cublasLtMatmulPreference_t wish);
cublasStatus_t mock_wish_set(cublasLtMatmulPreference_t wish,
                             cublasLtMatmulPreferenceAttributes_t name, const void *value,
                             size_t bytes);
cublasStatus_t mock_heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                              cublasLtMatmulPreference_t wish, int n_wanted,
                              cublasLtMatmulHeuristicResult_t *out, int *n_found);
cublasStatus_t mock_check(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                          cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                          const cublasLtMatmulAlgo_t *algorithm,
                          cublasLtMatmulHeuristicResult_t *out);
cublasStatus_t mock_matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                           const void *a_data, cublasLtMatrixLayout_t a, const void *b_data,
                           cublasLtMatrixLayout_t b, const void *beta, const void *c_data,
                           cublasLtMatrixLayout_t c, void *d_data, cublasLtMatrixLayout_t d,
                           const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                           size_t workspace_bytes, cudaStream_t stream);

/* mock_graphs.c */
size_t mock_cudnn_version(void);
const char *mock_cudnn_text(cudnnStatus_t status);
void mock_cudnn_last(char *to, size_t size);
cudnnStatus_t mock_cudnn_create(cudnnHandle_t *out);
cudnnStatus_t mock_cudnn_destroy(cudnnHandle_t handle);
cudnnStatus_t mock_cudnn_set_stream(cudnnHandle_t handle, cudaStream_t stream);
cudnnStatus_t mock_thing_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out);
cudnnStatus_t mock_thing_destroy(cudnnBackendDescriptor_t it);
cudnnStatus_t mock_thing_set(cudnnBackendDescriptor_t it, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t n, const void *value);
cudnnStatus_t mock_thing_get(cudnnBackendDescriptor_t it, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t n_wanted, int64_t *n,
                             void *out);
cudnnStatus_t mock_thing_finalize(cudnnBackendDescriptor_t it);
cudnnStatus_t mock_cudnn_execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                 cudnnBackendDescriptor_t pack);

/* clang-format off */
#define MOCK_GRAPHS \
    .cudnnGetVersion = mock_cudnn_version, .cudnnGetErrorString = mock_cudnn_text, \
    .cudnnGetLastErrorString = mock_cudnn_last, .cudnnCreate = mock_cudnn_create, \
    .cudnnDestroy = mock_cudnn_destroy, .cudnnSetStream = mock_cudnn_set_stream, \
    .cudnnBackendCreateDescriptor = mock_thing_create, .cudnnBackendDestroyDescriptor = mock_thing_destroy, \
    .cudnnBackendSetAttribute = mock_thing_set, .cudnnBackendGetAttribute = mock_thing_get, \
    .cudnnBackendFinalize = mock_thing_finalize, .cudnnBackendExecute = mock_cudnn_execute
#define MOCK_PRODUCTS \
    .cublasLtGetVersion = mock_lt_version, .cublasLtGetStatusString = mock_lt_text, \
    .cublasLtCreate = mock_lt_create, .cublasLtDestroy = mock_lt_destroy, \
    .cublasLtMatmulDescCreate = mock_desc_create, .cublasLtMatmulDescDestroy = mock_desc_destroy, \
    .cublasLtMatmulDescSetAttribute = mock_desc_set, \
    .cublasLtMatrixLayoutCreate = mock_layout_create, .cublasLtMatrixLayoutDestroy = mock_layout_destroy, \
    .cublasLtMatrixLayoutSetAttribute = mock_layout_set, \
    .cublasLtMatmulPreferenceCreate = mock_wish_create, .cublasLtMatmulPreferenceDestroy = mock_wish_destroy, \
    .cublasLtMatmulPreferenceSetAttribute = mock_wish_set, \
    .cublasLtMatmulAlgoGetHeuristic = mock_heuristic, .cublasLtMatmulAlgoCheck = mock_check, \
    .cublasLtMatmul = mock_matmul
/* clang-format on */
#endif
