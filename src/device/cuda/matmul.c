/* matmul.c - descriptors of products, made once per shape.
 *
 * cuBLASLt counts by columns, so C row by row is its C^T: it is asked for B A^T with the operands
 * exchanged. Descriptors and the algorithm that its heuristic puts first are kept; with the same
 * shape, library and GPU the first one is always the same, and so are the bits. Where runs need not
 * have the same bits, the quickest of the first few is kept. */
#include "device/cuda/matmul.h"
#include "device/cuda/algorithm_cache.h"
#include "device/cuda/algorithm_record.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What tells products of different descriptors apart. */
typedef struct Shape {
    int64_t m, n, k, n_batches;
    int32_t a, b, c; /* dtypes */
    int32_t a_inner, b_inner;
    int32_t factors_beside, c_beside;   /* the first: 1 of A, 2 of B */
    uint32_t a_align, b_align, c_align; /* bytes that addresses are multiples of */
    int32_t a_scale, b_scale;           /* ScaleKind */
    int32_t fast, epilogue;             /* of the library */
    uint32_t bias_align, gelu_align;    /* no padding: shapes are compared byte by byte */
} Shape;

typedef enum ScaleKind { SCALE_NONE, SCALE_ONE, SCALE_ROWS } ScaleKind;

typedef struct Made {
    struct Made *next;
    Shape shape;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t first, second, result; /* B, A, C */
    cublasLtMatmulAlgo_t algorithm;
    cublasStatus_t status; /* the library knows no such product */
    bool is_chosen;        /* the algorithm is what it will be */
} Made;

enum { N_BUCKETS = 256 };

struct Matmuls {
    Cuda *cuda;
    cublasLtHandle_t handle;
    AlgorithmRecord *record; /* NULL: there is none */
    AlgorithmCache *cache;   /* likewise */
    Made *made[N_BUCKETS];
};

/* cuBLASLt's statuses lie after those of the runtime. */
enum { STATUS_OF_PRODUCTS = 100000 };

static int status_of(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? KERNEL_OK
                                           : KERNEL_OF_DEVICE + STATUS_OF_PRODUCTS + (int)status;
}

const char *matmul_describe(const CudaCalls *c, int status)
{
    const int own = status - KERNEL_OF_DEVICE - STATUS_OF_PRODUCTS;
    return own < 0 ? NULL : c->cublasLtGetStatusString((cublasStatus_t)own);
}

Error *matmuls_new(Cuda *d, Matmuls **out)
{
    Matmuls *m = calloc(1, sizeof *m);
    CHECK(m != NULL);
    m->cuda = d;
    const cublasStatus_t status = d->calls->cublasLtCreate(&m->handle);
    if (status) free(m);
    *out = status ? NULL : m;
    if (!status) return NULL;
    return error_new("starting cuBLASLt: %s", d->calls->cublasLtGetStatusString(status));
}

static void free_made(const CudaCalls *c, Made *x)
{
    if (x->product) c->cublasLtMatmulDescDestroy(x->product);
    if (x->first) c->cublasLtMatrixLayoutDestroy(x->first);
    if (x->second) c->cublasLtMatrixLayoutDestroy(x->second);
    if (x->result) c->cublasLtMatrixLayoutDestroy(x->result);
    free(x);
}

void matmuls_free(Matmuls *m)
{
    if (!m) return;
    for (int i = 0; i < N_BUCKETS; i++)
        while (m->made[i]) {
            Made *x = m->made[i];
            m->made[i] = x->next;
            free_made(m->cuda->calls, x);
        }
    m->cuda->calls->cublasLtDestroy(m->handle);
    algorithm_record_close(m->record);
    algorithm_cache_save(m->cache);
    free(m);
}

Error *matmuls_keep_record(Matmuls *m, const char *path)
{
    return algorithm_record_open(m->cuda->arena, path, &m->record);
}

void matmuls_use_cache(Matmuls *m, const char *path, void (*tell)(const char *text))
{
    m->cache = algorithm_cache_open(m->cuda->arena, path, tell);
}

bool matmul_fits(Dtype a, Dtype b, Dtype c)
{
    if (a != b) return false;
    return a == F32 ? c == F32 : (a == BF16 || a == F16) && (c == a || c == F32);
}

static cudaDataType_t type_of(Dtype t)
{
    static const cudaDataType_t all[] = { [F32] = CUDA_R_32F,
                                          [BF16] = CUDA_R_16BF,
                                          [F16] = CUDA_R_16F,
                                          [F8_E4M3] = CUDA_R_8F_E4M3,
                                          [F8_E5M2] = CUDA_R_8F_E5M2 };
    return all[t];
}

/* Column by column, a factor whose sum runs fastest has k rows. */
static cublasStatus_t make_layout(const CudaCalls *c, cublasLtMatrixLayout_t *out, int32_t t,
                                  int64_t rows, int64_t columns, int64_t n_batches, bool beside)
{
    const int32_t n = (int32_t)n_batches;
    const int64_t distance = beside ? rows : rows * columns;
    cublasStatus_t status =
        c->cublasLtMatrixLayoutCreate(out, type_of((Dtype)t), (uint64_t)rows, (uint64_t)columns,
                                      beside ? rows * n_batches : rows);
    if (!status && n > 1)
        status = c->cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n,
                                                     sizeof n);
    if (!status && n > 1)
        status = c->cublasLtMatrixLayoutSetAttribute(
            *out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &distance, sizeof distance);
    return status;
}

/* What differs from one product of a shape to the next. Operands are exchanged: the library's A is
 * B here. */
static cublasStatus_t set_places(const CudaCalls *c, const Made *x, const Matmul *p)
{
    const int32_t by_rows = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    const int8_t fast = (int8_t)x->shape.fast;
    const int32_t epilogue = x->shape.epilogue;
    const int64_t row = x->shape.n;
    const struct {
        cublasLtMatmulDescAttributes_t name;
        const void *value;
        size_t bytes;
        bool is_meant;
    } set[] = {
        { CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &p->b.scale, sizeof p->b.scale, p->b.scale },
        { CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &p->a.scale, sizeof p->a.scale, p->a.scale },
        { CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &by_rows, sizeof by_rows, p->b.scale_rows },
        { CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &by_rows, sizeof by_rows, p->a.scale_rows },
        { CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast, fast },
        { CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, p->end },
        { CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p->bias, sizeof p->bias, p->bias },
        { CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &p->gelu_of, sizeof p->gelu_of, p->gelu_of },
        { CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &row, sizeof row, p->gelu_of },
    };
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; !status && i < sizeof set / sizeof *set; i++)
        if (set[i].is_meant)
            status = c->cublasLtMatmulDescSetAttribute(x->product, set[i].name, set[i].value,
                                                       set[i].bytes);
    return status;
}

static cublasStatus_t make_product(const Matmuls *m, Made *x, const Matmul *p)
{
    const Shape *s = &x->shape;
    const bool rounds = m->cuda->tf32 && s->a == F32;
    const CudaCalls *c = m->cuda->calls;
    const cublasOperation_t first = s->b_inner ? CUBLAS_OP_T : CUBLAS_OP_N,
                            second = s->a_inner ? CUBLAS_OP_N : CUBLAS_OP_T;
    cublasStatus_t status = c->cublasLtMatmulDescCreate(
        &x->product, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (!status)
        status = c->cublasLtMatmulDescSetAttribute(x->product, CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                                   sizeof first);
    if (!status)
        status = c->cublasLtMatmulDescSetAttribute(x->product, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                                   sizeof second);
    if (!status)
        status = make_layout(c, &x->first, s->b, s->b_inner ? s->k : s->n, s->b_inner ? s->n : s->k,
                             s->n_batches, s->factors_beside & 2);
    if (!status)
        status = make_layout(c, &x->second, s->a, s->a_inner ? s->k : s->m,
                             s->a_inner ? s->m : s->k, s->n_batches, s->factors_beside & 1);
    if (!status) status = make_layout(c, &x->result, s->c, s->n, s->m, s->n_batches, s->c_beside);
    if (!status) status = set_places(c, x, p);
    return status;
}

static cublasStatus_t set_wishes(const CudaCalls *c, cublasLtMatmulPreference_t wish,
                                 const Shape *s)
{
    const size_t workspace = CUDA_WORKSPACE;
    const struct {
        cublasLtMatmulPreferenceAttributes_t name;
        const void *value;
        size_t bytes;
    } set[] = {
        { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &s->b_align, sizeof s->b_align },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &s->a_align, sizeof s->a_align },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &s->c_align, sizeof s->c_align },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &s->c_align, sizeof s->c_align },
    };
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; !status && i < sizeof set / sizeof *set; i++)
        status =
            c->cublasLtMatmulPreferenceSetAttribute(wish, set[i].name, set[i].value, set[i].bytes);
    return status;
}

/* What an algorithm is kept under: another library or GPU may not have it. */
static void put_key(const Matmuls *m, const Shape *s, char *to)
{
    snprintf(to, ALGORITHM_KEY,
             "cuBLASLt %zu, %s: %lld x %lld x %lld, %lld times, dtypes %d %d %d, inner %d %d, "
             "beside %d %d, "
             "aligned %u %u %u, scales %d %d, fast %d, tf32 %d, end %d aligned %u %u",
             m->cuda->calls->cublasLtGetVersion(), m->cuda->facts.name, (long long)s->m,
             (long long)s->n, (long long)s->k, (long long)s->n_batches, s->a, s->b, s->c,
             s->a_inner, s->b_inner, s->factors_beside, s->c_beside, s->a_align, s->b_align,
             s->c_align, s->a_scale, s->b_scale, s->fast, m->cuda->tf32, s->epilogue, s->bias_align,
             s->gelu_align);
}

/* One that was kept must still be possible. */
static bool is_possible(const Matmuls *m, const Made *x)
{
    cublasLtMatmulHeuristicResult_t checked;
    return !m->cuda->calls->cublasLtMatmulAlgoCheck(m->handle, x->product, x->first, x->second,
                                                    x->result, x->result, &x->algorithm,
                                                    &checked) &&
           checked.workspaceSize <= CUDA_WORKSPACE;
}

/* The algorithms that it puts first, *n at most. */
static cublasStatus_t ask_heuristic(const Matmuls *m, const Made *x,
                                    cublasLtMatmulHeuristicResult_t *found, int *n)
{
    const CudaCalls *c = m->cuda->calls;
    const int most = *n;
    cublasLtMatmulPreference_t wish;
    cublasStatus_t status = c->cublasLtMatmulPreferenceCreate(&wish);
    if (status) return status;
    *n = 0;
    status = set_wishes(c, wish, &x->shape);
    if (!status)
        status = c->cublasLtMatmulAlgoGetHeuristic(m->handle, x->product, x->first, x->second,
                                                   x->result, x->result, wish, most, found, n);
    c->cublasLtMatmulPreferenceDestroy(wish);
    return !status && !*n ? CUBLAS_STATUS_NOT_SUPPORTED : status;
}

/* In the run's record, and for later runs. */
static void keep_algorithm(const Matmuls *m, Made *x, AlgorithmOrigin o)
{
    char key[ALGORITHM_KEY];
    x->is_chosen = true;
    put_key(m, &x->shape, key);
    if (m->record) algorithm_record_add(m->record, key, &x->algorithm, sizeof x->algorithm);
    if (m->cache) algorithm_cache_add(m->cache, o, key, &x->algorithm, sizeof x->algorithm);
}

/* Whether a run may choose by the time that algorithms take: other runs choose others then. Ranks
 * do not, since one that frees memory waits for what others have not begun. */
static bool may_try(const Matmuls *m)
{
    return m->cuda->any_order && !m->cuda->groups;
}

/* What the run has chosen before, or else an earlier one: where two runs must have the same bits,
 * only what the heuristic would say. */
static bool is_known(const Matmuls *m, Made *x, const char *key)
{
    const AlgorithmOrigin o = may_try(m) ? ALGORITHM_TRIED : ALGORITHM_FIRST;
    const size_t bytes = sizeof x->algorithm;
    if (m->record && algorithm_record_find(m->record, key, &x->algorithm, bytes) &&
        is_possible(m, x))
        return true;
    if (!m->cache || !algorithm_cache_find(m->cache, o, key, &x->algorithm, bytes) ||
        !is_possible(m, x))
        return false;
    if (m->record) algorithm_record_add(m->record, key, &x->algorithm, bytes);
    return true;
}

static cublasStatus_t choose_algorithm(const Matmuls *m, Made *x)
{
    char key[ALGORITHM_KEY];
    cublasLtMatmulHeuristicResult_t found = { 0 };
    int n = 1;
    put_key(m, &x->shape, key);
    if (is_known(m, x, key)) {
        x->is_chosen = true;
        return CUBLAS_STATUS_SUCCESS;
    }
    const cublasStatus_t status = ask_heuristic(m, x, &found, &n);
    x->algorithm = found.algo;
    if (!status && !may_try(m)) keep_algorithm(m, x, ALGORITHM_FIRST);
    return status;
}

static uint32_t align_of(const void *p)
{
    uint32_t n = 256;
    while ((uintptr_t)p % n) n /= 2;
    return n;
}

static uint64_t bucket_of(const Shape *s)
{
    return hash_bytes(s, sizeof *s) % N_BUCKETS;
}

static ScaleKind scale_kind(const MatmulFactor *f)
{
    return f->scale_rows ? SCALE_ROWS : f->scale ? SCALE_ONE : SCALE_NONE;
}

/* Its gelu is gelu_tanh. */
static int32_t epilogue_of(const Matmul *p)
{
    switch (p->end) {
    case END_BIAS:
        return CUBLASLT_EPILOGUE_BIAS;
    case END_GELU:
        return p->gelu_of ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_BIAS;
    case END_GELU_GRAD:
        return CUBLASLT_EPILOGUE_DGELU;
    default:
        return CUBLASLT_EPILOGUE_DEFAULT;
    }
}

static void shape_of(const Matmul *p, Shape *s)
{
    *s = (Shape){ 0 };
    s->m = p->m;
    s->n = p->n;
    s->k = p->k;
    s->n_batches = p->n_batches;
    s->a = p->a.dtype;
    s->b = p->b.dtype;
    s->c = p->c_dtype;
    s->a_inner = p->a.k_inner;
    s->b_inner = p->b.k_inner;
    s->factors_beside = p->a.beside | p->b.beside << 1;
    s->c_beside = p->c_beside;
    s->a_align = align_of(p->a.data);
    s->b_align = align_of(p->b.data);
    s->c_align = align_of(p->c);
    if (p->plus && align_of(p->plus) < s->c_align) s->c_align = align_of(p->plus);
    s->a_scale = (int32_t)scale_kind(&p->a);
    s->b_scale = (int32_t)scale_kind(&p->b);
    s->fast = p->fast;
    s->epilogue = epilogue_of(p);
    s->bias_align = align_of(p->bias);
    s->gelu_align = align_of(p->gelu_of);
}

/* What belongs to the product's shape. One that is not known is asked for once. */
static cublasStatus_t get(Matmuls *m, const Matmul *p, Made **out)
{
    Shape shape;
    const Shape *s = &shape;
    shape_of(p, &shape);
    Made **bucket = &m->made[bucket_of(s)];
    for (Made *x = *bucket; x; x = x->next)
        if (!memcmp(&x->shape, s, sizeof *s)) {
            *out = x;
            return x->status ? x->status : set_places(m->cuda->calls, x, p);
        }
    Made *x = calloc(1, sizeof *x);
    CHECK(x != NULL);
    x->shape = *s;
    x->status = make_product(m, x, p);
    if (!x->status) x->status = choose_algorithm(m, x);
    x->next = *bucket;
    *out = *bucket = x;
    return x->status;
}

bool matmul_is_possible(const Stream *s, const Matmul *p)
{
    Made *x;
    return get(cuda_stream_of(s)->cuda->matmuls, p, &x) == CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t multiply(CudaStream *s, const Made *x, const Matmul *p,
                               const cublasLtMatmulAlgo_t *algorithm, void *to)
{
    const Matmuls *m = s->cuda->matmuls;
    const float one = 1, keep = p->add || p->plus ? 1 : 0;
    const void *plus = p->plus ? p->plus : to;
    return s->cuda->calls->cublasLtMatmul(
        m->handle, x->product, &one, p->b.data, x->first, p->a.data, x->second, &keep, plus,
        x->result, to, x->result, algorithm, s->workspace, CUDA_WORKSPACE, s->queue);
}

/* Seconds of a product that another one has been made before, as often as is timed; NAN: none. */
static double time_of(CudaStream *s, const Made *x, const Matmul *p,
                      const cublasLtMatmulAlgo_t *algorithm, void *to, StreamMark *mark)
{
    enum { TIMES = 4 };
    Device *d = &s->cuda->device;
    double seconds = NAN;
    cublasStatus_t status = multiply(s, x, p, algorithm, to);
    Error *e = cuda_stamp(d, &s->stream, &mark[0]);
    for (int i = 0; i < TIMES && !status; i++) status = multiply(s, x, p, algorithm, to);
    if (!e) e = cuda_stamp(d, &s->stream, &mark[1]);
    if (!e) e = cuda_wait_for(s);
    if (!e) e = cuda_elapsed(d, &mark[0], &mark[1], &seconds);
    const bool is_known = !e && !status;
    error_free(e);
    return is_known ? seconds : NAN;
}

/* Those that the heuristic puts first are tried, with the product's own factors and a result that
 * nobody reads; where there is no memory for that, the very first is taken. */
static void try_algorithms(CudaStream *s, Made *x, const Matmul *p)
{
    enum { MOST = 16 };
    const CudaCalls *c = s->cuda->calls;
    const Matmuls *m = s->cuda->matmuls;
    const size_t bytes = (size_t)(p->n_batches * p->m * p->n) * dtype_size(p->c_dtype);
    cublasLtMatmulHeuristicResult_t found[MOST];
    StreamMark mark[2] = { { 0 } };
    void *to;
    double least = INFINITY;
    int n = MOST;
    if (ask_heuristic(m, x, found, &n) || n < 2 || c->cudaMalloc(&to, bytes)) return;
    for (int i = 0; i < n; i++) {
        const double seconds = time_of(s, x, p, &found[i].algo, to, mark);
        if (!(seconds < least)) continue;
        least = seconds;
        x->algorithm = found[i].algo;
    }
    c->cudaFree(to);
    for (int i = 0; i < 2; i++) s->cuda->device.mark_free(&s->cuda->device, &mark[i]);
}

int matmul_run(const Launch *l, const Matmul *p)
{
    CudaStream *s = cuda_stream_of(l->stream);
    Matmuls *m = s->cuda->matmuls;
    void *workspace;
    Made *x;
    if (p->m == 0 || p->n == 0 || p->n_batches == 0) return KERNEL_OK;
    const cublasStatus_t status = get(m, p, &x);
    if (status) return status_of(status);
    Error *e = cuda_workspace(s, &workspace);
    if (e) {
        error_free(e);
        return cuda_status(cudaErrorMemoryAllocation);
    }
    if (!x->is_chosen && !s->is_recorded) {
        try_algorithms(s, x, p);
        keep_algorithm(m, x, ALGORITHM_TRIED);
    }
    return status_of(multiply(s, x, p, &x->algorithm, p->c));
}
