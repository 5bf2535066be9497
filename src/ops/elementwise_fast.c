/* elementwise_fast.c - maps over elements: sums, products, activations, casts; sums of columns.
 *
 * A map is one function on vectors; the loops around it are shared. Inputs and results may be F32
 * or BF16 in any mix, computed in f32. */
#include "ops/clamped_swiglu.h"
#include "ops/clip.h"
#include "ops/elementwise.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"

/* From vectors of the inputs to vectors of the results; `c` is a constant of the op. */
typedef void MapStep(const Vec *x, Vec *y, float c);

typedef struct Map {
    const Launch *l;
    int64_t n, chunk; /* elements: of all tasks, of one */
    float c;
} Map;

/* Elements [i, i + n), n <= LANES. `f32`: all operands are, and nothing is added to. */
INLINE void map_vector(const Map *m, int64_t i, int64_t n, MapStep *step, bool f32)
{
    const Launch *l = m->l;
    Vec x[3] = { { 0 } }, y[2] = { { 0 } };
    for (int k = 0; k < l->n_in; k++)
        x[k] = vec_get(f32 ? F32 : l->in[k].dtype, l->in[k].data, i, n);
    step(x, y, m->c);
    for (int k = 0; k < l->n_out; k++) {
        if (!f32) y[k] += vec_before(l, k, i, n);
        vec_put(f32 ? F32 : l->out[k].dtype, l->out[k].data, i, n, y[k]);
    }
}

INLINE bool all_f32(const Launch *l)
{
    bool same = true;
    for (int k = 0; k < l->n_in; k++) same &= l->in[k].dtype == F32;
    for (int k = 0; k < l->n_out; k++) same &= l->out[k].dtype == F32 && !launch_adds(l, k);
    return same;
}

/* One task. The numbers of inputs and results are constants here, so that the loops over them
 * disappear. */
INLINE void map_chunk(void *arg, int64_t i, int n_in, int n_out, MapStep *step)
{
    Map m = *(const Map *)arg;
    Launch l = *m.l;
    l.n_in = n_in;
    l.n_out = n_out;
    m.l = &l;
    Range r = chunk(m.n, m.chunk, i);
    int64_t at = r.from;
    if (all_f32(&l)) {
        for (; at + LANES <= r.to; at += LANES) map_vector(&m, at, LANES, step, true);
        if (at < r.to) map_vector(&m, at, r.to - at, step, true);
    } else {
        for (; at + LANES <= r.to; at += LANES) map_vector(&m, at, LANES, step, false);
        if (at < r.to) map_vector(&m, at, r.to - at, step, false);
    }
}

/* Of few elements, as texts that are continued have, every thread gets some: nothing is summed
 * here, so tasks may differ with the number of threads. */
static int64_t elements_per_task(int64_t n, int n_threads)
{
    enum { LEAST = CHUNK / 8, PER_THREAD = 4 };
    const int64_t each = n / (PER_THREAD * n_threads) / LANES * LANES;
    return each < LEAST ? LEAST : each > CHUNK ? CHUNK : each;
}

static int map(const Launch *l, void (*task)(void *arg, int64_t i, int thread), float c)
{
    const int64_t n = tensor_count(&l->out[0]);
    const Map m = { l, n, elements_per_task(n, pool_size(l->stream->pool)), c };
    pool_run(l->stream->pool, chunk_count(m.n, m.chunk), task, (void *)&m);
    return KERNEL_OK;
}

INLINE void copy_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    y[0] = x[0];
}

INLINE void add_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    y[0] = x[0] + x[1];
}

INLINE void mul_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    y[0] = x[0] * x[1];
}

INLINE void scale_step(const Vec *x, Vec *y, float c)
{
    y[0] = x[0] * vec_set(c);
}

INLINE void silu_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    y[0] = x[0] * vec_sigmoid(x[0]);
}

/* silu and its slope, s (1 + x (1 - s)) with s = sigmoid(x); 1 - s = e^-x s keeps its digits. */
INLINE Vec silu_slope(Vec x, Vec *silu)
{
    Vec e = vec_exp(vec_min(vec_set(80), -x));
    Vec s = vec_set(1) / (vec_set(1) + e);
    *silu = x * s;
    return vec_fma(*silu, e * s, s);
}

INLINE void silu_grad_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    Vec value;
    y[0] = silu_slope(x[0], &value) * x[1];
}

INLINE void gelu_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    y[0] = x[0] * vec_normal(x[0]).below;
}

INLINE void gelu_grad_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    Normal p = vec_normal(x[0]);
    y[0] = vec_fma(x[0], p.density, p.below) * x[1];
}

/* The factor of x, (1 + tanh u) / 2 = sigmoid(2 u), with u = sqrt(2/pi) (x + 0.044715 x^3). */
INLINE Vec tanh_gate(Vec x)
{
    Vec cubic = vec_fma(x * x, vec_set(0.044715f), vec_set(1));
    return vec_sigmoid(x * cubic * vec_set(1.59576912f));
}

INLINE void gelu_tanh_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    y[0] = x[0] * tanh_gate(x[0]);
}

INLINE void gelu_tanh_grad_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    Vec s = tanh_gate(x[0]), slope = vec_fma(x[0] * x[0], vec_set(0.134145f), vec_set(1));
    Vec more = x[0] * s * (vec_set(1) - s) * slope * vec_set(1.59576912f);
    y[0] = (s + more) * x[1];
}

INLINE void relu_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    y[0] = vec_max(vec_set(0), x[0]); /* in this order NaN stays */
}

INLINE void relu_grad_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    y[0] = vec_keep(x[0] > vec_set(0), x[1]);
}

INLINE void relu_squared_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    Vec above = vec_max(vec_set(0), x[0]);
    y[0] = above * above;
}

INLINE void relu_squared_grad_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    Vec above = vec_max(vec_set(0), x[0]);
    y[0] = (above + above) * x[1];
}

INLINE void swiglu_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    y[0] = x[0] * vec_sigmoid(x[0]) * x[1];
}

INLINE void swiglu_grad_step(const Vec *x, Vec *y, float c)
{
    (void)c;
    Vec value, slope = silu_slope(x[0], &value);
    y[0] = slope * (x[1] * x[2]);
    y[1] = value * x[2];
}

INLINE void clamped(const Vec *x, Vec *y, float limit, float alpha, float more)
{
    const Vec most = vec_set(limit), gate = vec_min(most, x[0]),
              up = vec_max(-most, vec_min(most, x[1]));
    y[0] = gate * vec_sigmoid(gate * vec_set(alpha)) * (up + vec_set(more));
}

INLINE void clamped_grad(const Vec *x, Vec *y, float limit, float slope_at, float more)
{
    const Vec most = vec_set(limit), alpha = vec_set(slope_at);
    const Vec gate = vec_min(most, x[0]), up = vec_max(-most, vec_min(most, x[1]));
    const Vec s = vec_sigmoid(gate * alpha), slope = vec_fma(gate * alpha, s * (vec_set(1) - s), s);
    y[0] = vec_keep(x[0] <= most, x[2] * (up + vec_set(more)) * slope);
    y[1] = vec_keep((x[1] <= most) & (x[1] >= -most), x[2] * gate * s);
}

INLINE void clamped_swiglu_step(const Vec *x, Vec *y, float limit)
{
    clamped(x, y, limit, (float)CLAMPED_SWIGLU_ALPHA, 1);
}

INLINE void clamped_swiglu_grad_step(const Vec *x, Vec *y, float limit)
{
    clamped_grad(x, y, limit, (float)CLAMPED_SWIGLU_ALPHA, 1);
}

INLINE void bounded_swiglu_step(const Vec *x, Vec *y, float limit)
{
    clamped(x, y, limit, 1, 0);
}

INLINE void bounded_swiglu_grad_step(const Vec *x, Vec *y, float limit)
{
    clamped_grad(x, y, limit, 1, 0);
}

INLINE void clip_step(const Vec *x, Vec *y, float bound)
{
    const Vec most = vec_set(bound);
    y[0] = vec_max(-most, vec_min(most, x[0]));
}

INLINE void clip_grad_step(const Vec *x, Vec *y, float bound)
{
    const Vec most = vec_set(bound);
    y[0] = vec_keep((x[1] <= most) & (x[1] >= -most), x[0]);
}

/* run_NAME, which maps the function NAME_step over all elements. */
#define RUN(name, n_in, n_out, constant)                                                           \
    static void name##_task(void *arg, int64_t i, int thread)                                      \
    {                                                                                              \
        (void)thread;                                                                              \
        map_chunk(arg, i, n_in, n_out, name##_step);                                               \
    }                                                                                              \
    static int run_##name(const Launch *l)                                                         \
    {                                                                                              \
        return map(l, name##_task, constant);                                                      \
    }
RUN(copy, 1, 1, 0)
RUN(add, 2, 1, 0)
RUN(mul, 2, 1, 0)
RUN(scale, 1, 1, (float)((const Scale *)l->attrs)->factor)
RUN(silu, 1, 1, 0)
RUN(silu_grad, 2, 1, 0)
RUN(gelu, 1, 1, 0)
RUN(gelu_grad, 2, 1, 0)
RUN(gelu_tanh, 1, 1, 0)
RUN(gelu_tanh_grad, 2, 1, 0)
RUN(relu, 1, 1, 0)
RUN(relu_grad, 2, 1, 0)
RUN(relu_squared, 1, 1, 0)
RUN(relu_squared_grad, 2, 1, 0)
RUN(clip, 1, 1, (float)((const Clip *)l->attrs)->bound)
RUN(clip_grad, 2, 1, (float)((const Clip *)l->attrs)->bound)
RUN(swiglu, 2, 1, 0)
RUN(swiglu_grad, 3, 2, 0)
RUN(clamped_swiglu, 2, 1, (float)((const ClampedSwiglu *)l->attrs)->limit)
RUN(clamped_swiglu_grad, 3, 2, (float)((const ClampedSwiglu *)l->attrs)->limit)
RUN(bounded_swiglu, 2, 1, (float)((const ClampedSwiglu *)l->attrs)->limit)
RUN(bounded_swiglu_grad, 3, 2, (float)((const ClampedSwiglu *)l->attrs)->limit)
#undef RUN

static int run_either_swiglu(const Launch *l)
{
    const ClampedSwiglu *a = l->attrs;
    return a->plain ? run_bounded_swiglu(l) : run_clamped_swiglu(l);
}

static int run_either_swiglu_grad(const Launch *l)
{
    const ClampedSwiglu *a = l->attrs;
    return a->plain ? run_bounded_swiglu_grad(l) : run_clamped_swiglu_grad(l);
}

const KernelDef TABLE[] = {
    { "cast", "cpu", "any>any", LEVEL, run_copy, NULL, floats_fit },
    { "accumulate", "cpu", "any>any", LEVEL, run_copy, NULL, floats_fit },
    { "add", "cpu", "any any>any", LEVEL, run_add, NULL, floats_fit },
    { "mul", "cpu", "any any>any", LEVEL, run_mul, NULL, floats_fit },
    { "scale", "cpu", "any>any", LEVEL, run_scale, NULL, floats_fit },
    { "silu", "cpu", "any>any", LEVEL, run_silu, NULL, floats_fit },
    { "silu_grad", "cpu", "any any>any", LEVEL, run_silu_grad, NULL, floats_fit },
    { "gelu", "cpu", "any>any", LEVEL, run_gelu, NULL, floats_fit },
    { "gelu_grad", "cpu", "any any>any", LEVEL, run_gelu_grad, NULL, floats_fit },
    { "gelu_tanh", "cpu", "any>any", LEVEL, run_gelu_tanh, NULL, floats_fit },
    { "gelu_tanh_grad", "cpu", "any any>any", LEVEL, run_gelu_tanh_grad, NULL, floats_fit },
    { "relu", "cpu", "any>any", LEVEL, run_relu, NULL, floats_fit },
    { "relu_grad", "cpu", "any any>any", LEVEL, run_relu_grad, NULL, floats_fit },
    { "relu_squared", "cpu", "any>any", LEVEL, run_relu_squared, NULL, floats_fit },
    { "relu_squared_grad", "cpu", "any any>any", LEVEL, run_relu_squared_grad, NULL, floats_fit },
    { "clip", "cpu", "any>any", LEVEL, run_clip, NULL, floats_fit },
    { "clip_grad", "cpu", "any any>any", LEVEL, run_clip_grad, NULL, floats_fit },
    { "swiglu", "cpu", "any any>any", LEVEL, run_swiglu, NULL, floats_fit },
    { "swiglu_grad", "cpu", "any any any>any any", LEVEL, run_swiglu_grad, NULL, floats_fit },
    { "clamped_swiglu", "cpu", "any any>any", LEVEL, run_either_swiglu, NULL, floats_fit },
    { "clamped_swiglu_grad", "cpu", "any any any>any any", LEVEL, run_either_swiglu_grad, NULL,
      floats_fit },
    { 0 },
};
