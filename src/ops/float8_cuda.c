/* float8_cuda.c - factors in eight bits on a GPU, and their products: through cuBLASLt where it
 * multiplies such factors, else from copies in bf16.
 *
 * GPUs multiply eight bits only where the sum runs along rows of both factors: what lies otherwise
 * is turned over first, byte by byte. */
#include "ops/float8.h"
#include "ops/kernels.h"
#include "ops/product_cuda.h"
#include <string.h>

enum { THREADS = 256, ALIGN = 256, UNIT = 16, MOST_PIECES = 64, ROWS_PER_PIECE = 64 };

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* With the format among the attributes. */
static Call call_of(const Launch *l)
{
    Call c = cuda_call(l);
    memcpy(c.attrs, l->attrs, sizeof(Float8Format));
    return c;
}

/* ---- scales ---- */

/* Told by sizes alone. */
static int64_t scale_pieces(const Launch *l, const Float8Grid *g)
{
    const int64_t n = g->column_step ? g->rows / ROWS_PER_PIECE
                                     : tensor_count(&l->in[0]) / (THREADS * ROWS_PER_PIECE);
    const int64_t most = g->column_step ? MOST_PIECES : MOST_PIECES * MOST_PIECES;
    return n < 1 ? 1 : n < most ? n : most;
}

/* Whole warps for n items of a block. */
static int threads_for(int64_t n)
{
    return n >= THREADS ? THREADS : n <= 32 ? 32 : (int)(n + 31) / 32 * 32;
}

static Float8Grid scale_grid(const Launch *l)
{
    Float8Grid g;
    CHECK(float8_grid(&l->dims->in[0], &l->in[0], &l->dims->out[0], &g));
    return g;
}

static int run_scale(const Launch *l)
{
    const Float8Grid g = scale_grid(l);
    Call c = call_of(l);
    c.number[0] = g.columns;
    c.number[1] = scale_pieces(l, &g);
    if (g.row_step)
        return cuda_start(l, "float8_rows_kernel", &c, g.rows, threads_for(g.columns / 8), 0);
    const int status =
        g.column_step ? cuda_start(l, "float8_columns_kernel", &c,
                                   cuda_blocks(l, g.columns * c.number[1], THREADS), THREADS, 0)
                      : cuda_start(l, "float8_largest_kernel", &c, c.number[1], THREADS, 0);
    return status ? status
                  : cuda_start(l, "float8_join_kernel", &c, tensor_count(&l->out[0]),
                               threads_for(c.number[1]), 0);
}

static size_t scale_scratch(const Launch *l, int n_threads)
{
    const Float8Grid g = scale_grid(l);
    const int64_t n = g.column_step ? g.columns : g.row_step ? 0 : 1;
    (void)n_threads;
    return sizeof(int32_t) * (size_t)(n * scale_pieces(l, &g));
}

/* ---- rounding ---- */

static int run_quantize(const Launch *l)
{
    Float8Grid g;
    Call c = call_of(l);
    CHECK(float8_grid(&l->dims->in[0], &l->in[0], &l->dims->in[1], &g));
    c.number[0] = g.columns;
    c.number[1] = g.row_step;
    c.number[2] = g.column_step;
    const int64_t n = (c.out[0].count + 7) / 8;
    return cuda_start(l, "float8_quantize_kernel", &c, cuda_blocks(l, n, THREADS), THREADS, 0);
}

/* ---- products ---- */

/* A product, and which of its result's rows and columns have scales of their own. `bytes`: of the
 * scratch that was taken. */
typedef struct Float8Product {
    Product product;
    Float8Grid a, b;
    char *scratch;
    size_t bytes;
} Float8Product;

static void *take(Float8Product *p, size_t bytes)
{
    void *at = p->scratch ? p->scratch + p->bytes : NULL;
    p->bytes += aligned(bytes);
    return at;
}

/* The first two operands as a product; false: the result lies the other way round. */
static bool float8_product_of(const Launch *l, Float8Product *out)
{
    DimSpec dims = *l->dims;
    Tensor in[2] = { l->in[0], l->in[1] };
    Launch inner = *l;
    *out = (Float8Product){ .scratch = l->scratch };
    dims.n_in = inner.n_in = 2;
    inner.dims = &dims;
    inner.in = in;
    if (!in[0].data) in[0].data = &in[0], in[1].data = &in[1]; /* while memory is planned */
    return product_of(&inner, &out->product) && out->product.a.data == in[0].data &&
           float8_grid(&l->dims->out[0], &l->out[0], &l->dims->in[2], &out->a) &&
           float8_grid(&l->dims->out[0], &l->out[0], &l->dims->in[3], &out->b);
}

/* The product as a GPU multiplies eight bits. Sums that lie along rows of both factors as they are
 * are those of the forward pass, which need fewer bits than gradients (as torchao has it). */
static Matmul native_of(const Launch *l, Float8Product *p)
{
    Matmul m = matmul_of(&p->product);
    m.fast = m.a.k_inner && m.b.k_inner;
    m.a.scale = l->in[2].data ? l->in[2].data : (const void *)p;
    m.b.scale = l->in[3].data ? l->in[3].data : (const void *)p;
    m.a.scale_rows = p->a.row_step;
    m.b.scale_rows = p->b.column_step;
    if (!m.a.k_inner) m.a.data = take(p, (size_t)(m.m * m.k));
    if (!m.b.k_inner) m.b.data = take(p, (size_t)(m.n * m.k));
    m.a.k_inner = m.b.k_inner = true;
    return m;
}

static bool serves_native(const Launch *l)
{
    Float8Product p;
    if (!l->stream || !float8_product_of(l, &p) || p.product.n_batches != 1 || p.a.column_step ||
        p.b.row_step || p.a.row_step != p.b.column_step || p.product.m % UNIT ||
        p.product.n % UNIT || p.product.k % UNIT || !p.product.k)
        return false;
    Matmul m = native_of(l, &p);
    m.a.data = m.b.data = m.c = NULL; /* wherever they will lie */
    return matmul_is_possible(l->stream, &m);
}

/* Element (row, k) of a factor from k * rows + row to row * k + k. */
static int turn(const Launch *l, const Factor *from, const void *to, int64_t rows, int64_t k)
{
    if (from->k_inner) return KERNEL_OK;
    Call c = cuda_call(l);
    c.in[0].data = (void *)from->data;
    c.out[0].data = (void *)to;
    c.number[0] = k;
    c.number[1] = rows;
    return cuda_start(l, "float8_turn_kernel", &c, cuda_blocks(l, k * rows, 64 * 64), THREADS, 0);
}

static int run_native(const Launch *l)
{
    Float8Product p;
    CHECK(float8_product_of(l, &p));
    const Matmul m = native_of(l, &p);
    int status = turn(l, &p.product.a, m.a.data, m.m, m.k);
    if (!status) status = turn(l, &p.product.b, m.b.data, m.n, m.k);
    return status ? status : matmul_run(l, &m);
}

static size_t native_scratch(const Launch *l, int n_threads)
{
    Float8Product p;
    (void)n_threads;
    CHECK(float8_product_of(l, &p));
    native_of(l, &p);
    return p.bytes;
}

/* Factors in bf16, and the sums without scales; those come first in scratch. */
static Matmul widened_of(const Launch *l, Float8Product *p)
{
    Matmul m = matmul_of(&p->product);
    m.c = take(p, sizeof(float) * (size_t)tensor_count(&l->out[0]));
    m.c_dtype = F32;
    m.add = false;
    m.a.data = take(p, 2 * (size_t)tensor_count(&l->in[0]));
    m.b.data = take(p, 2 * (size_t)tensor_count(&l->in[1]));
    m.a.dtype = m.b.dtype = BF16;
    return m;
}

static bool serves_widened(const Launch *l)
{
    Float8Product p;
    return float8_product_of(l, &p) && p.product.k > 0;
}

static int widen(const Launch *l, int k, const void *to)
{
    Call c = cuda_call(l);
    c.in[0] = c.in[k];
    c.out[0].data = (void *)to;
    c.out[0].dtype = BF16;
    c.out[0].add = false;
    const int64_t n = (c.in[0].count + 7) / 8;
    return cuda_start(l, "float8_widen_kernel", &c, cuda_blocks(l, n, THREADS), THREADS, 0);
}

static int run_widened(const Launch *l)
{
    Float8Product p;
    CHECK(float8_product_of(l, &p));
    const Matmul m = widened_of(l, &p);
    int status = widen(l, 0, m.a.data);
    if (!status) status = widen(l, 1, m.b.data);
    if (!status) status = matmul_run(l, &m);
    if (status) return status;
    Call c = cuda_call(l);
    c.number[0] = p.a.columns;
    c.number[1] = p.a.row_step | p.a.column_step << 1 | p.b.row_step << 2 | p.b.column_step << 3;
    const int64_t n = (c.out[0].count + 7) / 8;
    return cuda_start(l, "float8_scale_sums_kernel", &c, cuda_blocks(l, n, THREADS), THREADS, 0);
}

static size_t widened_scratch(const Launch *l, int n_threads)
{
    Float8Product p;
    (void)n_threads;
    CHECK(float8_product_of(l, &p));
    widened_of(l, &p);
    return p.bytes;
}

/* clang-format off */
#define SCALE(from) { "float8_scale", "cuda", from ">f32", CPU_SCALAR, run_scale, scale_scratch, NULL }
#define QUANTIZE(from, to) { "float8_quantize", "cuda", from " f32>" to, CPU_SCALAR, run_quantize, NULL, NULL }
#define CONTRACT(a, to) \
    { "float8_contract", "cuda", a " f8_e4m3 f32 f32>" to, CPU_SCALAR, run_native, native_scratch, serves_native }, \
    { "float8_contract", "cuda", a " f8_e4m3 f32 f32>" to, CPU_SCALAR, run_widened, widened_scratch, serves_widened }
const KernelDef float8_cuda[] = {
    SCALE("f32"), SCALE("bf16"), SCALE("f16"),
    QUANTIZE("f32", "f8_e4m3"), QUANTIZE("bf16", "f8_e4m3"), QUANTIZE("f16", "f8_e4m3"),
    QUANTIZE("f32", "f8_e5m2"), QUANTIZE("bf16", "f8_e5m2"), QUANTIZE("f16", "f8_e5m2"),
    CONTRACT("f8_e4m3", "f32"), CONTRACT("f8_e4m3", "bf16"), CONTRACT("f8_e4m3", "f16"),
    CONTRACT("f8_e5m2", "f32"), CONTRACT("f8_e5m2", "bf16"), CONTRACT("f8_e5m2", "f16"),
    { 0 },
};
/* clang-format on */
