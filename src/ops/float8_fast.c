/* float8_fast.c - scales and rounding to eight bits, and products through the bf16 ones: every
 * number of eight bits is one of bf16, so that sums are what hardware for eight bits makes in F32.
 */
#include "ops/float8.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

enum { ALIGN = 64 };

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- scales ---- */

typedef struct Scales {
    const Launch *l;
    Float8Grid grid;
    int32_t *part; /* of one scale for all: the largest of each chunk */
} Scales;

INLINE int32_t bits_of(const Tensor *t, int64_t i)
{
    int32_t bits;
    if (t->dtype == BF16)
        bits = (int32_t)((uint32_t)((const bf16 *)t->data)[i] << 16);
    else
        memcpy(&bits, (const float *)t->data + i, sizeof bits);
    return bits & INT32_MAX;
}

/* The bits of the largest |x|. Without signs floats are ordered as integers are, NaN above all. */
INLINE int32_t largest_of(const Tensor *t, Dtype dtype, int64_t from, int64_t to, int64_t step)
{
    Tensor known = *t;
    int32_t most = 0;
    known.dtype = dtype;
    for (int64_t i = from; i < to; i += step) {
        const int32_t bits = bits_of(&known, i);
        most = bits > most ? bits : most;
    }
    return most;
}

static int32_t largest(const Tensor *t, int64_t from, int64_t to)
{
    return t->dtype == BF16 ? largest_of(t, BF16, from, to, 1) : largest_of(t, F32, from, to, 1);
}

static float scale_of_bits(const Launch *l, int32_t bits)
{
    float size;
    memcpy(&size, &bits, sizeof size);
    return float8_scale_for(size, l->attrs);
}

static void part_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Scales *s = arg;
    const Range r = chunk(tensor_count(&s->l->in[0]), CHUNK, i);
    s->part[i] = largest(&s->l->in[0], r.from, r.to);
}

static void rows_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Scales *s = arg;
    const int64_t width = s->grid.columns;
    const Range r = chunk(s->grid.rows, chunk_rows(width), i);
    for (int64_t row = r.from; row < r.to; row++)
        ((float *)s->l->out[0].data)[row] =
            scale_of_bits(s->l, largest(&s->l->in[0], row * width, (row + 1) * width));
}

enum { COLUMNS = 64 }; /* of a task */

static void columns_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Scales *s = arg;
    const Tensor *x = &s->l->in[0];
    const Range r = chunk(s->grid.columns, COLUMNS, i);
    int32_t most[COLUMNS] = { 0 };
    for (int64_t row = 0; row < s->grid.rows; row++)
        for (int64_t j = r.from; j < r.to; j++) {
            const int32_t bits = bits_of(x, row * s->grid.columns + j);
            if (bits > most[j - r.from]) most[j - r.from] = bits;
        }
    for (int64_t j = r.from; j < r.to; j++)
        ((float *)s->l->out[0].data)[j] = scale_of_bits(s->l, most[j - r.from]);
}

static int run_scale(const Launch *l)
{
    Scales s = { .l = l, .part = l->scratch };
    Pool *pool = l->stream->pool;
    const int64_t n_chunks = chunk_count(tensor_count(&l->in[0]), CHUNK);
    CHECK(float8_grid(&l->dims->in[0], &l->in[0], &l->dims->out[0], &s.grid));
    if (s.grid.row_step) {
        pool_run(pool, chunk_count(s.grid.rows, chunk_rows(s.grid.columns)), rows_task, &s);
    } else if (s.grid.column_step) {
        pool_run(pool, chunk_count(s.grid.columns, COLUMNS), columns_task, &s);
    } else {
        int32_t most = 0;
        pool_run(pool, n_chunks, part_task, &s);
        for (int64_t i = 0; i < n_chunks; i++) most = s.part[i] > most ? s.part[i] : most;
        *(float *)l->out[0].data = scale_of_bits(l, most);
    }
    return KERNEL_OK;
}

static size_t scale_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return aligned(sizeof(int32_t) * (size_t)chunk_count(tensor_count(&l->in[0]), CHUNK));
}

/* ---- rounding ---- */

/* Numbers below the smallest normal one are rounded by adding one whose last bit is theirs. */
INLINE uint8_t rounded(float x, int n_mantissa, int bias, uint8_t not_a_number)
{
    const int shift = 23 - n_mantissa;
    const uint32_t normal = (uint32_t)(127 + 1 - bias) << 23,
                   unit = (uint32_t)(127 + 1 - bias + shift) << 23;
    uint32_t bits, small;
    float lifted, lift;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 24 & 0x80;
    bits &= INT32_MAX;
    memcpy(&lift, &unit, sizeof lift);
    memcpy(&lifted, &bits, sizeof lifted);
    lifted += lift;
    memcpy(&small, &lifted, sizeof small);
    small -= unit;
    const uint32_t even = bits >> shift & 1;
    const uint32_t large =
        (bits + (((uint32_t)1 << (shift - 1)) - 1) + even - ((uint32_t)(127 - bias) << 23)) >>
        shift;
    const uint32_t finite = bits < normal ? small : large;
    return (uint8_t)(sign | (bits > 0x7f800000 ? not_a_number : finite));
}

INLINE float number_at(Dtype t, const void *data, int64_t i)
{
    return t == BF16 ? bf16_to_float(((const bf16 *)data)[i]) : ((const float *)data)[i];
}

/* One row from element `from` on, `column_step` as in the grid; the dtypes are known. */
INLINE void quantize_row(const Launch *l, Dtype t, Dtype format, const Float8Grid *g, int64_t row,
                         Range columns)
{
    const float most = float8_most((Dtype)((const Float8Format *)l->attrs)->dtype);
    const float *scale = (const float *)l->in[1].data + row * g->row_step;
    const float inverse = 1 / scale[0];
    const int64_t at = row * g->columns;
    uint8_t *q = l->out[0].data;
    for (int64_t j = columns.from; j < columns.to; j++) {
        const float by = g->column_step ? 1 / scale[j] : inverse;
        const float x = float8_within(number_at(t, l->in[0].data, at + j), by, most);
        q[at + j] = format == F8_E4M3 ? rounded(x, 3, 7, 0x7f) : rounded(x, 2, 15, 0x7e);
    }
}

typedef struct Rounding {
    const Launch *l;
    Float8Grid grid;
} Rounding;

static void quantize_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rounding *w = arg;
    const Dtype t = w->l->in[0].dtype, format = w->l->out[0].dtype;
    const Range all = { 0, w->grid.columns };
    const Range r = chunk(w->grid.rows, chunk_rows(w->grid.columns), i);
    for (int64_t row = r.from; row < r.to; row++)
        if (t == BF16 && format == F8_E4M3)
            quantize_row(w->l, BF16, F8_E4M3, &w->grid, row, all);
        else if (t == BF16)
            quantize_row(w->l, BF16, F8_E5M2, &w->grid, row, all);
        else if (format == F8_E4M3)
            quantize_row(w->l, F32, F8_E4M3, &w->grid, row, all);
        else
            quantize_row(w->l, F32, F8_E5M2, &w->grid, row, all);
}

static int run_quantize(const Launch *l)
{
    Rounding w = { .l = l };
    CHECK(float8_grid(&l->dims->in[0], &l->in[0], &l->dims->in[1], &w.grid));
    pool_run(l->stream->pool, chunk_count(w.grid.rows, chunk_rows(w.grid.columns)), quantize_task,
             &w);
    return KERNEL_OK;
}

/* ---- products ---- */

/* The product in bf16 that a launch becomes: its parts lie in scratch memory, one after another. */
typedef struct Inner {
    Launch launch;
    DimSpec dims;
    Tensor in[2], out;
    const KernelDef *kernel; /* NULL: there is none */
} Inner;

static void *take(char **scratch, size_t bytes)
{
    void *p = *scratch;
    if (p) *scratch += aligned(bytes);
    return p;
}

static void inner_of(const Launch *l, char *scratch, Inner *i)
{
    *i = (Inner){ .launch = *l, .dims = *l->dims, .out = l->out[0] };
    i->dims.n_in = i->launch.n_in = 2;
    i->launch.dims = &i->dims;
    i->launch.in = i->in;
    i->launch.out = &i->out;
    i->launch.add = NULL;
    for (int k = 0; k < 2; k++) {
        i->in[k] = l->in[k];
        i->in[k].dtype = BF16;
        i->in[k].data = take(&scratch, tensor_bytes(&i->in[k]));
    }
    i->out.dtype = F32;
    i->out.data = take(&scratch, tensor_bytes(&i->out));
    i->launch.scratch = scratch;
    i->kernel = kernel_find("contract", "cpu", PRODUCT_LEVEL, &i->launch);
}

static bool contract_serves(const Launch *l)
{
    Inner i;
    inner_of(l, NULL, &i);
    return i.kernel != NULL;
}

static size_t contract_scratch(const Launch *l, int n_threads)
{
    Inner i;
    inner_of(l, NULL, &i);
    const size_t own = aligned(tensor_bytes(&i.in[0])) + aligned(tensor_bytes(&i.in[1])) +
                       aligned(tensor_bytes(&i.out));
    return own + (i.kernel && i.kernel->scratch ? i.kernel->scratch(&i.launch, n_threads) : 0);
}

typedef struct Widening {
    const Tensor *from, *to;
    bf16 number[256]; /* by bits */
} Widening;

static void widen_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Widening *w = arg;
    const uint8_t *in = w->from->data;
    bf16 *out = w->to->data;
    const Range r = chunk(tensor_count(w->from), CHUNK, i);
    for (int64_t k = r.from; k < r.to; k++) out[k] = w->number[in[k]];
}

static void widen(const Launch *l, const Tensor *from, const Tensor *to)
{
    Widening w = { .from = from, .to = to };
    for (int b = 0; b < 256; b++) {
        const uint8_t bits = (uint8_t)b;
        w.number[b] = bf16_of_float((float)dtype_get(from->dtype, &bits, 0));
    }
    pool_run(l->stream->pool, chunk_count(tensor_count(from), CHUNK), widen_task, &w);
}

typedef struct Scaling {
    const Launch *l;
    const float *sum;
    Float8Grid a, b;
} Scaling;

static void scale_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Scaling *s = arg;
    const Launch *l = s->l;
    const int64_t width = s->a.columns;
    const Range r = chunk(s->a.rows, chunk_rows(width), i);
    const float *a = l->in[2].data, *b = l->in[3].data;
    for (int64_t row = r.from; row < r.to; row++)
        for (int64_t j = 0; j < width; j++) {
            const int64_t at = row * width + j;
            const float by = a[row * s->a.row_step + j * s->a.column_step] *
                             b[row * s->b.row_step + j * s->b.column_step];
            const float y = s->sum[at] * by;
            if (l->out[0].dtype == F32)
                ((float *)l->out[0].data)[at] =
                    launch_adds(l, 0) ? ((float *)l->out[0].data)[at] + y : y;
            else
                ((bf16 *)l->out[0].data)[at] = bf16_of_float(
                    launch_adds(l, 0) ? bf16_to_float(((bf16 *)l->out[0].data)[at]) + y : y);
        }
}

static int run_contract(const Launch *l)
{
    Inner i;
    Scaling s = { .l = l };
    inner_of(l, l->scratch, &i);
    for (int k = 0; k < 2; k++) widen(l, &l->in[k], &i.in[k]);
    CHECK(i.kernel != NULL);
    const int status = i.kernel->run(&i.launch);
    if (status != KERNEL_OK) return status;
    s.sum = i.out.data;
    CHECK(float8_grid(&l->dims->out[0], &l->out[0], &l->dims->in[2], &s.a));
    CHECK(float8_grid(&l->dims->out[0], &l->out[0], &l->dims->in[3], &s.b));
    pool_run(l->stream->pool, chunk_count(s.a.rows, chunk_rows(s.a.columns)), scale_task, &s);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "float8_scale", "cpu", "f32>f32", LEVEL, run_scale, scale_scratch, NULL },
    { "float8_scale", "cpu", "bf16>f32", LEVEL, run_scale, scale_scratch, NULL },
    { "float8_quantize", "cpu", "f32 f32>f8_e4m3", LEVEL, run_quantize, NULL, NULL },
    { "float8_quantize", "cpu", "bf16 f32>f8_e4m3", LEVEL, run_quantize, NULL, NULL },
    { "float8_quantize", "cpu", "f32 f32>f8_e5m2", LEVEL, run_quantize, NULL, NULL },
    { "float8_quantize", "cpu", "bf16 f32>f8_e5m2", LEVEL, run_quantize, NULL, NULL },
    { "float8_contract", "cpu", "f8_e4m3 f8_e4m3 f32 f32>f32", PRODUCT_LEVEL, run_contract,
      contract_scratch, contract_serves },
    { "float8_contract", "cpu", "f8_e4m3 f8_e4m3 f32 f32>bf16", PRODUCT_LEVEL, run_contract,
      contract_scratch, contract_serves },
    { "float8_contract", "cpu", "f8_e5m2 f8_e4m3 f32 f32>f32", PRODUCT_LEVEL, run_contract,
      contract_scratch, contract_serves },
    { "float8_contract", "cpu", "f8_e5m2 f8_e4m3 f32 f32>bf16", PRODUCT_LEVEL, run_contract,
      contract_scratch, contract_serves },
    { 0 },
};
