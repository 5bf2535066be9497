/* grid_fast.c - numbers rounded to a few steps on each side of 0, and what they are measured by. */
#include "ops/grid.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

/* Rows that have a size each: one, if all have the same. */
typedef struct Rows {
    const Launch *l;
    int64_t n, width;
} Rows;

static Rows rows_of(const Launch *l, const Tensor *size)
{
    const int64_t n = tensor_count(size);
    return (Rows){ .l = l, .n = n, .width = n ? tensor_count(&l->in[0]) / n : 0 };
}

INLINE Vec absolute(const Tensor *x, int64_t i, int64_t n)
{
    return vec_of_bits(vec_bits(vec_get(x->dtype, x->data, i, n)) & INT32_MAX);
}

/* ---- sizes ---- */

/* Without signs floats are ordered as integers are, NaN above all. */
INLINE float largest(const Tensor *x, int64_t from, int64_t to)
{
    VecInt most = vec_int_set(0);
    int32_t lane[LANES], bits = 0;
    float size;
    for (int64_t i = from; i < to; i += LANES) {
        const VecInt v = vec_bits(absolute(x, i, to - i < LANES ? to - i : LANES)),
                     is_more = v > most;
        most = (v & is_more) | (most & ~is_more);
    }
    memcpy(lane, &most, sizeof lane);
    for (int i = 0; i < LANES; i++) bits = lane[i] > bits ? lane[i] : bits;
    memcpy(&size, &bits, sizeof size);
    return size;
}

static void largest_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t row = r.from; row < r.to; row++)
        ((float *)w->l->out[0].data)[row] =
            largest(&w->l->in[0], row * w->width, (row + 1) * w->width);
}

static void sum_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Range r = chunk(tensor_count(&l->in[0]), CHUNK, i);
    Vec sum = vec_set(0);
    for (int64_t k = r.from; k < r.to; k += LANES)
        sum += absolute(&l->in[0], k, r.to - k < LANES ? r.to - k : LANES);
    ((double *)l->scratch)[i] = (double)vec_sum(sum);
}

static int run_mean(const Launch *l, int64_t count)
{
    const int64_t n = chunk_count(tensor_count(&l->in[0]), CHUNK);
    double sum = 0;
    pool_run(l->stream->pool, n, sum_task, (void *)l);
    for (int64_t i = 0; i < n; i++) sum += ((const double *)l->scratch)[i];
    *(double *)l->out[0].data = sum / (double)count;
    return KERNEL_OK;
}

static int run_size(const Launch *l)
{
    const int64_t count = ((const GridSize *)l->attrs)->count;
    if (count) return run_mean(l, count);
    Rows w = rows_of(l, &l->out[0]);
    pool_run(l->stream->pool, chunk_count(w.n, chunk_rows(w.width)), largest_task, &w);
    return KERNEL_OK;
}

static bool serves_size(const Launch *l)
{
    const bool is_mean = ((const GridSize *)l->attrs)->count > 0;
    return is_mean == (l->out[0].dtype == F64) && (!is_mean || tensor_count(&l->out[0]) == 1);
}

static size_t size_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(double) * (size_t)chunk_count(tensor_count(&l->in[0]), CHUNK);
}

/* ---- rounding ---- */

/* Within the bounds first, so that adding 1.5 * 2^23 leaves the whole part, rounded to even. */
INLINE void round_range(const Launch *l, float size, int64_t from, int64_t to)
{
    const int64_t steps = ((const GridRound *)l->attrs)->steps;
    const float by = grid_scale(size, steps);
    const Vec scale = vec_set(by), most = vec_set((float)steps), least = vec_set(-(float)steps),
              whole = vec_set(0x1.8p23F);
    const Tensor *x = &l->in[0], *y = &l->out[0];
    for (int64_t i = from; i < to; i += LANES) {
        const int64_t n = to - i < LANES ? to - i : LANES;
        Vec v = vec_get(x->dtype, x->data, i, n) * scale;
        v = vec_select(v > most, most, vec_select(v < least, least, v));
        vec_put(y->dtype, y->data, i, n, ((v + whole) - whole) / scale);
    }
}

INLINE float size_at(const Launch *l, int64_t row)
{
    return (float)dtype_get(l->in[1].dtype, l->in[1].data, row);
}

static void rows_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Range r = chunk(w->n, chunk_rows(w->width), i);
    for (int64_t row = r.from; row < r.to; row++)
        round_range(w->l, size_at(w->l, row), row * w->width, (row + 1) * w->width);
}

static void all_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Rows *w = arg;
    const Range r = chunk(w->width, CHUNK, i);
    round_range(w->l, size_at(w->l, 0), r.from, r.to);
}

static int run_round(const Launch *l)
{
    Rows w = rows_of(l, &l->in[1]);
    Pool *pool = l->stream->pool;
    if (w.n == 1)
        pool_run(pool, chunk_count(w.width, CHUNK), all_task, &w);
    else
        pool_run(pool, chunk_count(w.n, chunk_rows(w.width)), rows_task, &w);
    return KERNEL_OK;
}

/* clang-format off */
#define ROWS(x, size) \
    { "grid_size", "cpu", x ">" size, LEVEL, run_size, size_scratch, serves_size }, \
    { "grid_round", "cpu", x " " size ">" x, LEVEL, run_round, NULL, NULL }
const KernelDef TABLE[] = {
    ROWS("f32", "f32"), ROWS("f32", "f64"), ROWS("bf16", "f32"), ROWS("bf16", "f64"),
    { 0 },
};
/* clang-format on */
