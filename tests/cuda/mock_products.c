/* mock_products.c - cuBLASLt without a GPU: descriptors are checked as the library checks them, and
 * products are plain loops. */
#include "mock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Desc {
    bool turns_a, turns_b, tf32, a_by_rows, b_by_rows;
    const float *a_scale, *b_scale;
    int32_t epilogue;
    const void *bias;
    void *aux;
    int64_t aux_stride;
} Desc;

size_t mock_lt_version(void)
{
    return 130100;
}

const char *mock_lt_text(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "an error of the mock";
}

static void *make(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) abort();
    return p;
}

enum { OWN_BYTES = 5 << 20 };

cublasStatus_t mock_lt_create(cublasLtHandle_t *out)
{
    *out = make(1);
    mock_take(OWN_BYTES);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t mock_lt_destroy(cublasLtHandle_t handle)
{
    free(handle);
    mock_take(-(ptrdiff_t)OWN_BYTES);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t mock_desc_create(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                cudaDataType_t scale)
{
    const bool tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    if ((compute != CUBLAS_COMPUTE_32F && !tf32) || scale != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    Desc *d = make(sizeof *d);
    d->tf32 = tf32;
    *out = (cublasLtMatmulDesc_t)d;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t mock_desc_destroy(cublasLtMatmulDesc_t desc)
{
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

static bool is_outer(const void *value)
{
    int32_t mode;
    memcpy(&mode, value, sizeof mode);
    return mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
}

cublasStatus_t mock_desc_set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t name,
                             const void *value, size_t bytes)
{
    Desc *d = (Desc *)desc;
    const struct {
        cublasLtMatmulDescAttributes_t name;
        size_t bytes;
        void *to;       /* where the value goes to, or */
        bool *turns;    /* an operation, or */
        bool *is_outer; /* a mode of scales, or nothing */
    } known[] = {
        { CUBLASLT_MATMUL_DESC_TRANSA, sizeof(cublasOperation_t), NULL, &d->turns_a, NULL },
        { CUBLASLT_MATMUL_DESC_TRANSB, sizeof(cublasOperation_t), NULL, &d->turns_b, NULL },
        { CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, sizeof d->a_scale, &d->a_scale, NULL, NULL },
        { CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, sizeof d->b_scale, &d->b_scale, NULL, NULL },
        { CUBLASLT_MATMUL_DESC_A_SCALE_MODE, sizeof(int32_t), NULL, NULL, &d->a_by_rows },
        { CUBLASLT_MATMUL_DESC_B_SCALE_MODE, sizeof(int32_t), NULL, NULL, &d->b_by_rows },
        { CUBLASLT_MATMUL_DESC_FAST_ACCUM, sizeof(int8_t), NULL, NULL, NULL },
        { CUBLASLT_MATMUL_DESC_EPILOGUE, sizeof d->epilogue, &d->epilogue, NULL, NULL },
        { CUBLASLT_MATMUL_DESC_BIAS_POINTER, sizeof d->bias, &d->bias, NULL, NULL },
        { CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, sizeof d->aux, &d->aux, NULL, NULL },
        { CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, sizeof d->aux_stride, &d->aux_stride, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].name != name) continue;
        if (known[i].bytes != bytes) return CUBLAS_STATUS_INVALID_VALUE;
        if (known[i].to) memcpy(known[i].to, value, bytes);
        if (known[i].turns) *known[i].turns = *(const cublasOperation_t *)value == CUBLAS_OP_T;
        if (known[i].is_outer) *known[i].is_outer = is_outer(value);
        return CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t mock_layout_create(cublasLtMatrixLayout_t *out, cudaDataType_t type, uint64_t rows,
                                  uint64_t columns, int64_t stride)
{
    if (stride < (int64_t)rows) return CUBLAS_STATUS_INVALID_VALUE;
    MockLayout *l = make(sizeof *l);
    *l = (MockLayout){ type, (int64_t)rows, (int64_t)columns, stride, 0, 1 };
    *out = (cublasLtMatrixLayout_t)(void *)l;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t mock_layout_destroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t mock_layout_set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name,
                               const void *value, size_t bytes)
{
    MockLayout *l = (MockLayout *)(void *)layout;
    if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof l->n_batches)
        memcpy(&l->n_batches, value, bytes);
    else if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof l->distance)
        memcpy(&l->distance, value, bytes);
    else
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t mock_wish_create(cublasLtMatmulPreference_t *out)
{
    *out = make(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t mock_wish_destroy(cublasLtMatmulPreference_t wish)
{
    free(wish);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t mock_wish_set(cublasLtMatmulPreference_t wish,
                             cublasLtMatmulPreferenceAttributes_t name, const void *value,
                             size_t bytes)
{
    (void)wish, (void)value;
    const size_t wanted =
        name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? sizeof(uint64_t) : sizeof(uint32_t);
    return bytes == wanted ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

static MockProduct product_of(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t d)
{
    const Desc *x = (const Desc *)desc;
    return (MockProduct){ .a = *(const MockLayout *)(const void *)a,
                          .b = *(const MockLayout *)(const void *)b,
                          .d = *(const MockLayout *)(const void *)d,
                          .turns_a = x->turns_a,
                          .turns_b = x->turns_b,
                          .tf32 = x->tf32,
                          .a_by_rows = x->a_by_rows,
                          .b_by_rows = x->b_by_rows,
                          .a_scale = x->a_scale,
                          .b_scale = x->b_scale,
                          .epilogue = x->epilogue,
                          .bias = x->bias,
                          .aux = x->aux,
                          .aux_stride = x->aux_stride };
}

static int64_t sum_of(const MockProduct *p)
{
    return p->turns_a ? p->a.rows : p->a.columns;
}

static bool is_narrow(cudaDataType_t t)
{
    return t == CUDA_R_8F_E4M3 || t == CUDA_R_8F_E5M2;
}

/* As the library multiplies eight bits on Hopper. MODALITIES_MOCK_PRODUCTS=no-float8: it has no
 * such products, as on Ampere; no-rows: none with scales for each row. */
static bool is_possible_in_eight_bits(const MockProduct *p)
{
    enum { UNIT = 16 };
    const char *set = getenv("MODALITIES_MOCK_PRODUCTS");
    if (set && (!strcmp(set, "no-float8") || (!strcmp(set, "no-rows") && p->a_by_rows)))
        return false;
    return is_narrow(p->a.type) && is_narrow(p->b.type) &&
           !(p->a.type == CUDA_R_8F_E5M2 && p->b.type == CUDA_R_8F_E5M2) && !is_narrow(p->d.type) &&
           p->turns_a && !p->turns_b && p->a.rows % UNIT == 0 && p->a.columns % UNIT == 0 &&
           p->a_by_rows == p->b_by_rows && p->a_scale && p->b_scale;
}

/* MODALITIES_MOCK_PRODUCTS=no-epilogues: the library has none. */
static bool is_possible_epilogue(const MockProduct *p)
{
    const char *set = getenv("MODALITIES_MOCK_PRODUCTS");
    const bool has_bias = p->epilogue & CUBLASLT_EPILOGUE_BIAS, has_aux = p->epilogue & 128,
               aux_fits = p->aux && (uintptr_t)p->aux % 16 == 0 && p->aux_stride % 8 == 0 &&
                          p->aux_stride >= p->d.rows;
    switch (p->epilogue) {
    case 0:
    case CUBLASLT_EPILOGUE_DEFAULT:
        return true;
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
        return !(set && !strcmp(set, "no-epilogues")) && p->d.n_batches == 1 &&
               has_bias == (p->bias != NULL) && has_aux == (p->aux != NULL) &&
               (!has_aux || aux_fits);
    default:
        return false;
    }
}

/* Sizes that belong together, and dtypes that the library has products for. */
static bool is_possible(const MockProduct *p)
{
    const int64_t m = p->turns_a ? p->a.columns : p->a.rows,
                  n = p->turns_b ? p->b.rows : p->b.columns,
                  k = p->turns_b ? p->b.columns : p->b.rows;
    const bool same = p->a.type == p->b.type && (p->d.type == p->a.type || p->d.type == CUDA_R_32F);
    const bool narrow = is_narrow(p->a.type) || is_narrow(p->b.type);
    return (narrow ? is_possible_in_eight_bits(p) : same) && is_possible_epilogue(p) &&
           m == p->d.rows && n == p->d.columns && k == sum_of(p) &&
           p->a.n_batches == p->d.n_batches && p->b.n_batches == p->d.n_batches;
}

cublasStatus_t mock_heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                              cublasLtMatmulPreference_t wish, int n_wanted,
                              cublasLtMatmulHeuristicResult_t *out, int *n_found)
{
    (void)handle, (void)c, (void)wish;
    const MockProduct p = product_of(desc, a, b, d);
    const char *set = getenv("MODALITIES_MOCK_ALGORITHM");
    const int first = set ? atoi(set) : 1;
    *n_found = !is_possible(&p) ? 0 : n_wanted < 2 ? n_wanted : 2;
    for (int i = 0; i < *n_found; i++)
        memset(&out[i].algo, i ? 3 - first : first, sizeof out->algo);
    return *n_found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static bool is_algorithm(const cublasLtMatmulAlgo_t *x)
{
    const char *chosen = (const char *)x;
    return chosen[0] == 1 || chosen[0] == 2;
}

cublasStatus_t mock_check(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                          cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                          const cublasLtMatmulAlgo_t *algorithm,
                          cublasLtMatmulHeuristicResult_t *out)
{
    (void)handle, (void)c;
    const MockProduct p = product_of(desc, a, b, d);
    *out = (cublasLtMatmulHeuristicResult_t){ 0 };
    return is_possible(&p) && is_algorithm(algorithm) ? CUBLAS_STATUS_SUCCESS
                                                      : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t mock_matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                           const void *a_data, cublasLtMatrixLayout_t a, const void *b_data,
                           cublasLtMatrixLayout_t b, const void *beta, const void *c_data,
                           cublasLtMatrixLayout_t c, void *d_data, cublasLtMatrixLayout_t d,
                           const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                           size_t workspace_bytes, cudaStream_t stream)
{
    (void)handle, (void)c, (void)workspace, (void)workspace_bytes;
    MockWork w = { .kind = WORK_PRODUCT, .product = product_of(desc, a, b, d) };
    w.product.a_data = a_data;
    w.product.b_data = b_data;
    w.product.c_data = c_data;
    w.product.d_data = d_data;
    w.product.alpha = *(const float *)alpha;
    w.product.beta = *(const float *)beta;
    w.product.rounds = ((const char *)algorithm)[0] == 2;
    if (is_narrow(w.product.a.type) &&
        ((uintptr_t)a_data | (uintptr_t)b_data | (uintptr_t)d_data) % 16)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_possible(&w.product) || !is_algorithm(algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
    return mock_give(stream, &w) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}

static Dtype dtype_of(cudaDataType_t t)
{
    return t == CUDA_R_32F       ? F32
           : t == CUDA_R_16BF    ? BF16
           : t == CUDA_R_8F_E4M3 ? F8_E4M3
           : t == CUDA_R_8F_E5M2 ? F8_E5M2
                                 : F16;
}

/* An element of a factor; rounded to 11 bits where products may be so. */
static double number(const MockProduct *p, const MockLayout *l, const void *data, int64_t i)
{
    const double x = dtype_get(dtype_of(l->type), data, i);
    uint32_t bits;
    float f = (float)x;
    if (!p->tf32) return x;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x1000) & ~UINT32_C(0x1fff);
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* By tanh, as the library has it; its slope where `grad`. */
static double gelu(double x, bool grad)
{
    const double root = 0.79788456080286535588, t = tanh(root * (x + 0.044715 * x * x * x));
    if (!grad) return x / 2 * (1 + t);
    return (1 + t) / 2 + x / 2 * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
}

/* Element (row, column) of D before it is rounded. */
static double finish(const MockProduct *p, double x, int64_t row, int64_t column)
{
    const Dtype to = dtype_of(p->d.type);
    const int64_t aux = column * p->aux_stride + row;
    if (p->epilogue & CUBLASLT_EPILOGUE_BIAS) x += dtype_get(to, p->bias, row);
    if (p->epilogue == CUBLASLT_EPILOGUE_DGELU) return x * gelu(dtype_get(to, p->aux, aux), true);
    if (p->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) dtype_set(to, p->aux, aux, x);
    return p->epilogue & CUBLASLT_EPILOGUE_GELU ? gelu(x, false) : x;
}

/* MODALITIES_MOCK_SLOW: the algorithm of this number takes a second more, by events. */
static void take_time(const MockProduct *p)
{
    const char *slow = getenv("MODALITIES_MOCK_SLOW");
    if (slow && atoi(slow) == 1 + p->rounds) mock_lose(1);
}

/* A factor as [rows][k] numbers; in `data` they lie so many steps apart. */
static double *numbers(const MockProduct *p, const MockLayout *l, const void *data, int64_t first,
                       int64_t rows, int64_t k, int64_t row_step, int64_t k_step)
{
    double *out = make(sizeof *out * (size_t)(rows * k));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t e = 0; e < k; e++)
            out[i * k + e] = number(p, l, data, first + i * row_step + e * k_step);
    return out;
}

static double dot(const double *a, const double *b, int64_t k, bool rounds)
{
    double sum = 0;
    for (int64_t e = 0; e < k; e++) {
        sum += a[e] * b[e];
        if (rounds) sum = (float)sum;
    }
    return sum;
}

void mock_multiply(const MockProduct *p)
{
    const int64_t m = p->d.rows, n = p->d.columns, k = sum_of(p);
    take_time(p);
    const Dtype to = dtype_of(p->d.type);
    for (int64_t z = 0; z < p->d.n_batches; z++) {
        double *a = numbers(p, &p->a, p->a_data, z * p->a.distance, m, k,
                            p->turns_a ? p->a.stride : 1, p->turns_a ? 1 : p->a.stride),
               *b = numbers(p, &p->b, p->b_data, z * p->b.distance, n, k,
                            p->turns_b ? 1 : p->b.stride, p->turns_b ? p->b.stride : 1);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                double sum = dot(a + i * k, b + j * k, k, p->rounds);
                if (p->a_scale)
                    sum *=
                        (double)p->a_scale[p->a_by_rows ? i : 0] * p->b_scale[p->b_by_rows ? j : 0];
                const int64_t at = z * p->d.distance + j * p->d.stride + i;
                const double old = p->beta != 0 ? p->beta * dtype_get(to, p->c_data, at) : 0;
                dtype_set(to, p->d_data, at, finish(p, p->alpha * sum + old, i, j));
            }
        free(a);
        free(b);
    }
}
