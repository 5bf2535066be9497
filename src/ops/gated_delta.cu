/* gated_delta.cu - the gated delta rule token by token, on a GPU: exact, and far from what products
 * of chunks would do (gated_delta_fast.c). */
#include "device/cuda/kernel.h"
#include "ops/gated_delta_cuda.h"

/* in[first] are queries, followed by keys, values, decays, rates, perhaps documents. */
struct Delta {
    const CallTensor &q, &k, &v, &decay, &rate;
    const CallTensor *document; /* NULL: one document */
    int64_t length, n_repeat, n_heads, d, e;
    float scale, key_scale;
    bool adds, by_row; /* each row of S has decays of its own */
};

__device__ static Delta delta_of(const Call &c, int first, bool has_documents)
{
    const CallTensor *in = c.in + first;
    const GatedDelta &a = attrs_of<GatedDelta>(c);
    return { in[0],
             in[1],
             in[2],
             in[3],
             in[4],
             has_documents ? &in[5] : nullptr,
             in[2].size[1],
             in[2].size[3],
             in[2].size[2] * in[2].size[3],
             in[0].size[3],
             in[2].size[4],
             (float)a.scale,
             (float)a.key_scale,
             a.adds,
             in[3].n_dims == 5 };
}

__device__ static bool begins(const Delta &x, int64_t b, int64_t t)
{
    const int64_t at = b * x.length + t;
    return t == 0 || (x.document && get_int(*x.document, at) != get_int(*x.document, at - 1));
}

/* Of a token and head: its query and key, and what it leaves of each row of S; `forgets`: nothing. */
struct Keys {
    float *q, *k, *keep;
};

__device__ static void load_keys(const Delta &x, int64_t at, bool forgets, const Keys &to)
{
    for (int64_t i = threadIdx.x; i < x.d; i += blockDim.x) {
        to.q[i] = x.scale * get(x.q, at / x.n_repeat * x.d + i);
        to.k[i] = x.key_scale * get(x.k, at / x.n_repeat * x.d + i);
        to.keep[i] = forgets ? 0 : expf(get(x.decay, x.by_row ? at * x.d + i : at));
    }
}

/* 32 features of the values of one head: columns of S, of which warps have rows in turns. */
struct Columns {
    float (*state)[WARP];
    float (*part)[WARP];
    Keys keys;
};

/* The sum over the warps. */
__device__ static float over_rows(const Columns &w, float sum)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    __syncthreads(); /* the last use of `part` is over */
    w.part[warp][lane] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < GATED_DELTA_WARPS; i++) sum += w.part[i][lane];
    return sum;
}

__device__ static void run_columns(const Delta &x, const Columns &w, int64_t b, int64_t h,
                                   int64_t column, const CallTensor &o)
{
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const bool is_there = column + lane < x.e;
    for (int64_t t = 0; t < x.length; t++) {
        const int64_t at = (b * x.length + t) * x.n_heads + h, place = at * x.e + column + lane;
        const float rate = get(x.rate, at);
        float known = 0, sum = 0;
        __syncthreads();
        load_keys(x, at, t > 0 && begins(x, b, t), w.keys);
        __syncthreads();
        for (int64_t i = warp; i < x.d; i += GATED_DELTA_WARPS) {
            w.state[i][lane] *= w.keys.keep[i];
            known += w.keys.k[i] * w.state[i][lane];
        }
        known = x.adds ? 0 : over_rows(w, known);
        const float correction = rate * ((is_there ? get(x.v, place) : 0) - known);
        for (int64_t i = warp; i < x.d; i += GATED_DELTA_WARPS) {
            w.state[i][lane] += w.keys.k[i] * correction;
            sum += w.keys.q[i] * w.state[i][lane];
        }
        sum = over_rows(w, sum);
        if (warp == 0 && is_there) put(o, place, sum);
    }
}

/* A block for 32 features of the values of a head. */
KERNEL(gated_delta_kernel, GATED_DELTA_THREADS)
{
    __shared__ float state[GATED_DELTA_MOST][WARP], part[GATED_DELTA_WARPS][WARP],
        q[GATED_DELTA_MOST], k[GATED_DELTA_MOST], keep[GATED_DELTA_MOST];
    const Delta x = delta_of(c, 0, c.n_in == 6);
    const Columns w = { state, part, { q, k, keep } };
    const int64_t tiles = (x.e + WARP - 1) / WARP, h = blockIdx.x / tiles;
    for (int64_t i = threadIdx.x / WARP; i < x.d; i += GATED_DELTA_WARPS)
        state[i][threadIdx.x % WARP] = 0;
    run_columns(x, w, h / x.n_heads, h % x.n_heads, blockIdx.x % tiles * WARP, c.out[0]);
}

/* The same from and to what is kept of a text. */
KERNEL(gated_delta_cached_kernel, GATED_DELTA_THREADS)
{
    __shared__ float state[GATED_DELTA_MOST][WARP], part[GATED_DELTA_WARPS][WARP],
        q[GATED_DELTA_MOST], k[GATED_DELTA_MOST], keep[GATED_DELTA_MOST];
    const Delta x = delta_of(c, 1, false);
    const Columns w = { state, part, { q, k, keep } };
    const int lane = threadIdx.x % WARP;
    const int64_t tiles = (x.e + WARP - 1) / WARP, h = blockIdx.x / tiles, b = h / x.n_heads,
                  column = blockIdx.x % tiles * WARP + lane;
    const bool is_there = column < x.e, goes_on = first_position(c, b) > 0,
               waits = text_waits(c, b);
    for (int64_t i = threadIdx.x / WARP; i < x.d; i += GATED_DELTA_WARPS) {
        const float kept = is_there ? get(c.in[0], (h * x.d + i) * x.e + column) : 0;
        state[i][lane] = goes_on ? kept : 0;
        if (waits && is_there) set(c.out[0], (h * x.d + i) * x.e + column, kept);
    }
    run_columns(x, w, b, h % x.n_heads, column - lane, c.out[1]);
    if (waits || !is_there) return;
    for (int64_t i = threadIdx.x / WARP; i < x.d; i += GATED_DELTA_WARPS)
        set(c.out[0], (h * x.d + i) * x.e + column, state[i][lane]);
}

/* ---- backwards ---- */

/* Of a block: rows of one token, and its memory (gated_delta_cuda.h). */
struct Back {
    Keys keys;
    float *u, *dout; /* shared, as the keys; u becomes the gradient of itself */
    float *starts, *states, *corrections, *dstate, *all_dq, *all_dk;
};

/* S behind a token, and u; threads have columns. */
__device__ static void step(const Delta &x, const Back &w, int64_t b, int64_t h, int64_t t,
                            const float *before, float *behind, float *u)
{
    const int64_t at = (b * x.length + t) * x.n_heads + h;
    const bool forgets = begins(x, b, t); /* `before` may be no memory then */
    const float rate = get(x.rate, at);
    const float *keep = w.keys.keep, *k = w.keys.k;
    __syncthreads();
    load_keys(x, at, forgets, w.keys);
    __syncthreads();
    for (int64_t j = threadIdx.x; j < x.e; j += blockDim.x) {
        float rest = get(x.v, at * x.e + j);
        for (int64_t i = 0; i < x.d && !forgets && !x.adds; i++)
            rest -= k[i] * keep[i] * before[i * x.e + j];
        for (int64_t i = 0; i < x.d; i++)
            behind[i * x.e + j] =
                (forgets ? 0 : keep[i] * before[i * x.e + j]) + k[i] * rate * rest;
        if (u) u[j] = rest;
    }
}

/* Columns of the gradient of S get what the token reads; gradients of its values and rate. */
__device__ static void columns_back(const Call &c, const Delta &x, const Back &w, int64_t at,
                                    bool forgets, const float *corrections)
{
    const CallTensor &dout = c.in[c.n_in - 1];
    const float rate = get(x.rate, at);
    float of_rate = 0;
    __syncthreads();
    load_keys(x, at, forgets, w.keys);
    __syncthreads();
    for (int64_t j = threadIdx.x; j < x.e; j += blockDim.x) {
        const float o = get(dout, at * x.e + j);
        float sum = 0;
        for (int64_t i = 0; i < x.d; i++) {
            const float d = w.dstate[i * x.e + j] + w.keys.q[i] * o;
            w.dstate[i * x.e + j] = d;
            sum += w.keys.k[i] * d;
        }
        of_rate += sum * corrections[j];
        w.dout[j] = o;
        w.u[j] = rate * sum;
        put(c.out[2], at * x.e + j, rate * sum);
    }
    of_rate = over_block(of_rate, Sum(), 0.0f);
    if (threadIdx.x == 0) put(c.out[4], at, of_rate);
    __syncthreads();
}

/* Rows of it, by warps: gradients of the token's query, key and decay, and of S in front. */
__device__ static void rows_back(const Call &c, const Delta &x, const Back &w, int64_t at,
                                 int64_t row, bool forgets, const float *before,
                                 const float *behind, const float *corrections)
{
    const int lane = threadIdx.x % WARP;
    const float rate = get(x.rate, at);
    float of_decay = 0;
    for (int64_t i = threadIdx.x / WARP; i < x.d; i += GATED_DELTA_WARPS) {
        const float keep = w.keys.keep[i];
        float of_q = 0, of_k = 0, sum = 0;
        for (int64_t j = lane; j < x.e; j += WARP) {
            const int64_t place = i * x.e + j;
            const float faded = forgets ? 0 : keep * before[place], d = w.dstate[place],
                        corrected = x.adds ? 0 : w.u[j], rest = d - w.keys.k[i] * corrected;
            of_q += behind[place] * w.dout[j];
            of_k += d * rate * corrections[j] - faded * corrected;
            sum += rest * faded;
            w.dstate[place] = rest * keep;
        }
        of_q = over_warp(of_q, Sum());
        of_k = over_warp(of_k, Sum());
        of_decay += sum;
        if (x.by_row) sum = over_warp(sum, Sum());
        if (lane > 0) continue;
        if (x.by_row) put(c.out[3], at * x.d + i, sum);
        w.all_dq[row + i] += x.scale * of_q;
        w.all_dk[row + i] += x.key_scale * of_k;
    }
    of_decay = over_block(of_decay, Sum(), 0.0f);
    if (threadIdx.x == 0 && !x.by_row) put(c.out[3], at, of_decay);
}

__device__ static void head_back(const Call &c, const Delta &x, const Back &w, int64_t b, int64_t h)
{
    const int64_t size = x.d * x.e;
    for (int64_t i = threadIdx.x; i < size; i += blockDim.x) w.dstate[i] = 0;
    const float *before = nullptr;
    for (int64_t t = 0; t < x.length; t++) {
        const int64_t next = (t + 1) % GATED_DELTA_TOKENS;
        float *behind = next ? w.states + next * size
                             : w.starts + (t + 1) / GATED_DELTA_TOKENS * size;
        step(x, w, b, h, t, before, behind, nullptr);
        before = behind;
    }
    for (int64_t from = (x.length - 1) / GATED_DELTA_TOKENS * GATED_DELTA_TOKENS; from >= 0;
         from -= GATED_DELTA_TOKENS) {
        const int64_t rest = x.length - from, most = GATED_DELTA_TOKENS, n = rest < most ? rest : most;
        const float *start = w.starts + from / GATED_DELTA_TOKENS * size;
        for (int64_t i = 0; i < n; i++)
            step(x, w, b, h, from + i, i ? w.states + i * size : start, w.states + (i + 1) * size,
                 w.corrections + i * x.e);
        for (int64_t i = n - 1; i >= 0; i--) {
            const int64_t t = from + i, at = (b * x.length + t) * x.n_heads + h;
            const bool forgets = begins(x, b, t);
            columns_back(c, x, w, at, forgets, w.corrections + i * x.e);
            rows_back(c, x, w, at, t * x.d, forgets, i ? w.states + i * size : start,
                      w.states + (i + 1) * size, w.corrections + i * x.e);
        }
    }
    __syncthreads();
}

/* A block per head of keys, with its memory. in: the operands, gradient of what was read. */
KERNEL(gated_delta_grad_kernel, GATED_DELTA_THREADS)
{
    __shared__ float q[GATED_DELTA_MOST], k[GATED_DELTA_MOST], keep[GATED_DELTA_MOST],
        u[GATED_DELTA_MOST], dout[GATED_DELTA_MOST];
    const Delta x = delta_of(c, 0, c.n_in == 7);
    const int64_t size = x.d * x.e, n_groups = x.n_heads / x.n_repeat, b = blockIdx.x / n_groups,
                  group = blockIdx.x % n_groups, keys = x.length * x.d;
    float *memory = (float *)c.scratch + blockIdx.x * gated_delta_floats(x.length, x.d, x.e);
    Back w;
    w.keys = { q, k, keep }, w.u = u, w.dout = dout;
    w.starts = memory;
    w.states = w.starts + (x.length / GATED_DELTA_TOKENS + 1) * size;
    w.corrections = w.states + (GATED_DELTA_TOKENS + 1) * size;
    w.dstate = w.corrections + GATED_DELTA_TOKENS * x.e;
    w.all_dq = w.dstate + size;
    w.all_dk = w.all_dq + keys;
    for (int64_t i = threadIdx.x; i < 2 * keys; i += blockDim.x) w.all_dq[i] = 0;
    for (int64_t r = 0; r < x.n_repeat; r++) head_back(c, x, w, b, group * x.n_repeat + r);
    for (int64_t i = threadIdx.x; i < keys; i += blockDim.x) {
        const int64_t to = ((b * x.length + i / x.d) * n_groups + group) * x.d + i % x.d;
        put(c.out[0], to, w.all_dq[i]);
        put(c.out[1], to, w.all_dk[i]);
    }
}
