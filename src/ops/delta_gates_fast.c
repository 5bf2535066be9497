/* delta_gates_fast.c - decays and rates of linear attention. */
#include "ops/delta_gates.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"
#include "ops/vector/vector_math.h"

/* Rows of a task; parts of the rows, whose sums are added in order. */
enum { TOKENS = 64, PARTS = 64 };

typedef struct Gates {
    const Launch *l;
    int64_t n, columns, heads; /* tokens; decays of each, and heads */
    Vec least, most;           /* bounds of steps */
    double most_rate, bound;
    float *fast, *bias; /* scratch: [columns], what steps are multiplied by, and biases */
    float *part;        /* likewise: [PARTS][2][columns], of speeds and of biases */
} Gates;

static void prepare_task(void *arg, int64_t head, int thread)
{
    (void)thread;
    const Gates *w = arg;
    const int64_t n = w->columns / w->heads;
    const float fast = vec_exp(vec_get(w->l->in[1].dtype, w->l->in[1].data, head, 1))[0];
    for (int64_t i = head * n; i < (head + 1) * n; i++) {
        w->fast[i] = fast;
        w->bias[i] = vec_get(w->l->in[2].dtype, w->l->in[2].data, i, 1)[0];
    }
}

static Gates gates_of(const Launch *l)
{
    const DeltaGatesAttrs *a = l->attrs;
    const int64_t columns = tensor_count(&l->in[2]);
    float *scratch = l->scratch;
    Gates w = { .l = l,
                .n = tensor_count(&l->in[0]) / columns,
                .columns = columns,
                .heads = tensor_count(&l->in[1]),
                .least = vec_set((float)a->least_step),
                .most = vec_set(a->most_step > 0 ? (float)a->most_step : INFINITY),
                .most_rate = a->most,
                .bound = a->bound,
                .fast = scratch,
                .bias = scratch + columns,
                .part = scratch + 2 * columns };
    pool_run(l->stream->pool, w.heads, prepare_task, &w);
    return w;
}

/* Of the columns from c on, at most a vector; as DeltaDecay. */
typedef struct Steps {
    Vec step, slope, fast, by_speed;
    int64_t at, n;
} Steps;

/* With the bound of decays. */
INLINE Steps bounded_steps(const Gates *w, Vec sum, Vec fast, int64_t at, int64_t n)
{
    const Vec bound = vec_set((float)w->bound), s = vec_sigmoid(fast * sum),
              slope = bound * s * (vec_set(1) - s) * fast;
    return (Steps){ .step = bound * s,
                    .slope = slope,
                    .fast = vec_set(1),
                    .by_speed = slope * sum,
                    .at = at,
                    .n = n };
}

INLINE Steps steps_at(const Gates *w, int64_t t, int64_t c)
{
    const Tensor *x = &w->l->in[0];
    const int64_t n = w->columns - c < LANES ? w->columns - c : LANES, at = t * w->columns + c;
    const Vec sum = vec_get(x->dtype, x->data, at, n) + vec_get(F32, w->bias, c, n),
              fast = vec_get(F32, w->fast, c, n);
    if (w->bound > 0) return bounded_steps(w, sum, fast, at, n);
    const Vec free = vec_softplus(sum), step = vec_min(w->most, vec_max(w->least, free));
    const VecInt is_bound = (free < w->least) | (free > w->most);
    return (Steps){ .step = step,
                    .slope = vec_keep(~is_bound, vec_sigmoid(sum)),
                    .fast = fast,
                    .by_speed = step,
                    .at = at,
                    .n = n };
}

/* Rates of a range of tokens, which have products of their own. */
static void rates_of(const Gates *w, Range r)
{
    const Tensor *y = &w->l->in[3], *rate = &w->l->out[1];
    for (int64_t i = r.from * w->heads; i < r.to * w->heads; i += LANES) {
        const int64_t left = r.to * w->heads - i, n = left < LANES ? left : LANES;
        vec_put(rate->dtype, rate->data, i, n,
                vec_set((float)w->most_rate) * vec_sigmoid(vec_get(y->dtype, y->data, i, n)));
    }
}

static void gates_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Gates *w = arg;
    const Tensor *decay = &w->l->out[0], *rate = &w->l->out[1];
    const Range r = chunk(w->n, TOKENS, task);
    const bool has_rates = w->l->n_in == 4;
    for (int64_t t = r.from; t < r.to; t++)
        for (int64_t c = 0; c < w->columns; c += LANES) {
            const Steps s = steps_at(w, t, c);
            vec_put(decay->dtype, decay->data, s.at, s.n, -s.fast * s.step);
            if (!has_rates) vec_put(rate->dtype, rate->data, s.at, s.n, s.step);
        }
    if (has_rates) rates_of(w, r);
}

static int gates(const Launch *l)
{
    Gates w = gates_of(l);
    pool_run(l->stream->pool, chunk_count(w.n, TOKENS), gates_task, &w);
    return KERNEL_OK;
}

static size_t gates_scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return sizeof(float) * 2 * (size_t)tensor_count(&l->in[2]);
}

static int64_t rows_of_part(const Gates *w)
{
    return w->n > PARTS ? (w->n + PARTS - 1) / PARTS : 1;
}

static void rates_back(const Gates *w, Range r)
{
    const Tensor *drate = &w->l->in[4], *y = &w->l->in[5], *dy = &w->l->out[3];
    for (int64_t i = r.from * w->heads; i < r.to * w->heads; i += LANES) {
        const int64_t left = r.to * w->heads - i, n = left < LANES ? left : LANES;
        const Vec s = vec_sigmoid(vec_get(y->dtype, y->data, i, n)),
                  d = vec_get(drate->dtype, drate->data, i, n);
        vec_put(dy->dtype, dy->data, i, n, d * vec_set((float)w->most_rate) * s * (vec_set(1) - s));
    }
}

static void grad_task(void *arg, int64_t task, int thread)
{
    (void)thread;
    const Gates *w = arg;
    const Tensor *ddecay = &w->l->in[3], *drate = &w->l->in[4], *dx = &w->l->out[0];
    const Range r = chunk(w->n, rows_of_part(w), task);
    const bool has_rates = w->l->n_in == 6;
    float *of_speed = w->part + task * 2 * w->columns, *of_bias = of_speed + w->columns;
    for (int64_t c = 0; c < w->columns; c += LANES) {
        Vec speed = vec_set(0), bias = vec_set(0);
        int64_t n = 0;
        for (int64_t t = r.from; t < r.to; t++) {
            const Steps s = steps_at(w, t, c);
            const Vec d = s.fast * vec_get(ddecay->dtype, ddecay->data, s.at, s.n);
            Vec of_step = -d;
            if (!has_rates) of_step += vec_get(drate->dtype, drate->data, s.at, s.n);
            of_step *= s.slope;
            vec_put(dx->dtype, dx->data, s.at, s.n, of_step);
            speed -= d * s.by_speed;
            bias += of_step;
            n = s.n;
        }
        vec_put(F32, of_speed, c, n, speed);
        vec_put(F32, of_bias, c, n, bias);
    }
    if (has_rates) rates_back(w, r);
}

static int grad(const Launch *l)
{
    Gates w = gates_of(l);
    const int64_t n_parts = chunk_count(w.n, rows_of_part(&w)), of_head = w.columns / w.heads;
    const Tensor *dspeed = &l->out[1], *dbias = &l->out[2];
    pool_run(l->stream->pool, n_parts, grad_task, &w);
    for (int64_t h = 0; h < w.heads; h++) {
        double of_speed = 0;
        for (int64_t c = h * of_head; c < (h + 1) * of_head; c++) {
            double of_bias = 0;
            for (int64_t p = 0; p < n_parts; p++) {
                of_speed += w.part[2 * p * w.columns + c];
                of_bias += w.part[(2 * p + 1) * w.columns + c];
            }
            vec_put(dbias->dtype, dbias->data, c, 1, vec_set((float)of_bias));
        }
        vec_put(dspeed->dtype, dspeed->data, h, 1, vec_set((float)of_speed));
    }
    return KERNEL_OK;
}

static size_t grad_scratch(const Launch *l, int n_threads)
{
    return (1 + PARTS) * gates_scratch(l, n_threads);
}

/* clang-format off */
const KernelDef TABLE[] = {
    { "delta_gates", "cpu", "any any any any>any any", LEVEL, gates, gates_scratch, floats_fit },
    { "delta_gates", "cpu", "any any any>any any", LEVEL, gates, gates_scratch, floats_fit },
    { "delta_gates_grad", "cpu", "any any any any any any>any any any any", LEVEL, grad, grad_scratch, floats_fit },
    { "delta_gates_grad", "cpu", "any any any any any>any any any", LEVEL, grad, grad_scratch, floats_fit },
    { 0 },
};
/* clang-format on */
