/* hyper.cu - hyper-connections on a GPU: weights of tokens, streams that are read and written by
 * them. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/hyper_sinkhorn.h"
}

/* The weights of a token are in the memory of a block, and its divisors in scratch: a thread per
 * token, of which a block has few. */
constexpr int TOKENS = 32;

__device__ static void load_logits(const Call &c, int64_t row, double *y)
{
    const HyperWeights &a = attrs_of<HyperWeights>(c);
    const int64_t m = c.in[1].size[0];
    for (int64_t i = 0; i < m; i++)
        y[i] = (double)get(c.in[2], hyper_part(&a, i)) * get(c.in[0], row * m + i) +
               get(c.in[1], i);
}

/* in: what weights come from, base, scale. number[0]: numbers of scratch of a thread. */
KERNEL(hyper_weights_kernel, TOKENS)
{
    const HyperWeights &a = attrs_of<HyperWeights>(c);
    const int64_t m = c.in[1].size[0], n = c.in[0].count / m;
    double *y = (double *)c.scratch + thread_number() * c.number[0];
    for (int64_t row = thread_number(); row < n; row += all_threads()) {
        load_logits(c, row, y);
        hyper_forward(&a, y, y + 2 * m);
        for (int64_t i = 0; i < m; i++) put(c.out[0], row * m + i, (float)y[i]);
    }
}

/* The gradient of the logits of all tokens goes to the part of scratch behind number[1] numbers. */
KERNEL(hyper_weights_grad_kernel, TOKENS)
{
    const HyperWeights &a = attrs_of<HyperWeights>(c);
    const int64_t m = c.in[1].size[0], n = c.in[0].count / m;
    double *y = (double *)c.scratch + thread_number() * c.number[0], *dy = y + m;
    float *all = (float *)((double *)c.scratch + c.number[1]);
    for (int64_t row = thread_number(); row < n; row += all_threads()) {
        load_logits(c, row, y);
        hyper_forward(&a, y, y + 2 * m);
        for (int64_t i = 0; i < m; i++) dy[i] = get(c.in[3], row * m + i);
        hyper_backward(&a, y, dy, y + 2 * m);
        for (int64_t i = 0; i < m; i++) {
            all[row * m + i] = (float)dy[i];
            put(c.out[0], row * m + i, (float)dy[i] * get(c.in[2], hyper_part(&a, i)));
        }
    }
}

/* A block per number of base, then one per scale: sums over all tokens. */
KERNEL(hyper_sums_kernel, 256)
{
    const HyperWeights &a = attrs_of<HyperWeights>(c);
    const int64_t m = c.in[1].size[0], count = c.in[0].count, at = blockIdx.x;
    const float *all = (const float *)((const double *)c.scratch + c.number[1]);
    float sum = 0;
    if (at < m)
        for (int64_t i = at + threadIdx.x * m; i < count; i += blockDim.x * m) sum += all[i];
    else
        for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
            if (hyper_part(&a, i % m) == at - m) sum += all[i] * get(c.in[0], i);
    sum = over_block(sum, Sum(), 0.0f);
    if (threadIdx.x == 0) put(c.out[at < m ? 1 : 2], at < m ? at : at - m, sum);
}

/* ---- streams: a block per token ---- */

struct Streams {
    int64_t n, k, d, m; /* tokens, streams, their width, weights of a token */
};

__device__ static Streams streams_of(const CallTensor &x, const CallTensor &w)
{
    const int64_t k = x.size[x.n_dims - 2], d = x.size[x.n_dims - 1];
    return { x.count / (k * d), k, d, w.size[w.n_dims - 1] };
}

/* Whether the weights mix streams. */
__device__ static bool mixes(const Streams &s)
{
    return s.m > 2 * s.k;
}

KERNEL(hyper_read_kernel, 256)
{
    const Streams s = streams_of(c.in[0], c.in[1]);
    for (int64_t row = blockIdx.x; row < s.n; row += gridDim.x)
        for (int64_t e = threadIdx.x; e < s.d; e += blockDim.x) {
            float sum = 0;
            for (int64_t j = 0; j < s.k; j++)
                sum += get(c.in[1], row * s.m + j) * get(c.in[0], (row * s.k + j) * s.d + e);
            put(c.out[0], row * s.d + e, sum);
        }
}

/* Of rows of two tensors; for all threads of the block. */
__device__ static float dot(const CallTensor &x, int64_t at, const CallTensor &y, int64_t from,
                            int64_t d)
{
    float sum = 0;
    for (int64_t e = threadIdx.x; e < d; e += blockDim.x)
        sum += get(x, at * d + e) * get(y, from * d + e);
    return over_block(sum, Sum(), 0.0f);
}

__device__ static void put_once(const CallTensor &to, int64_t i, float x)
{
    if (threadIdx.x == 0) put(to, i, x);
}

/* in: streams, weights, gradient of the result. */
KERNEL(hyper_read_grad_kernel, 256)
{
    const CallTensor &x = c.in[0], &w = c.in[1], &dy = c.in[2];
    const Streams s = streams_of(x, w);
    for (int64_t row = blockIdx.x; row < s.n; row += gridDim.x) {
        for (int64_t j = 0; j < s.k; j++) {
            const float weight = get(w, row * s.m + j);
            for (int64_t e = threadIdx.x; e < s.d; e += blockDim.x)
                put(c.out[0], (row * s.k + j) * s.d + e, weight * get(dy, row * s.d + e));
            put_once(c.out[1], row * s.m + j, dot(x, row * s.k + j, dy, row, s.d));
        }
        for (int64_t j = s.k; j < s.m; j++) put_once(c.out[1], row * s.m + j, 0);
    }
}

/* in: streams, what a layer gave, weights. */
KERNEL(hyper_write_kernel, 256)
{
    const CallTensor &x = c.in[0], &y = c.in[1], &w = c.in[2];
    const Streams s = streams_of(x, w);
    for (int64_t row = blockIdx.x; row < s.n; row += gridDim.x) {
        const int64_t own = row * s.m + s.k, mix = own + s.k;
        for (int64_t i = threadIdx.x; i < s.k * s.d; i += blockDim.x) {
            const int64_t j = i / s.d, e = i % s.d;
            float sum = get(w, own + j) * get(y, row * s.d + e);
            if (!mixes(s)) sum += get(x, row * s.k * s.d + i);
            for (int64_t t = 0; t < s.k && mixes(s); t++)
                sum += get(w, mix + t * s.k + j) * get(x, (row * s.k + t) * s.d + e);
            put(c.out[0], row * s.k * s.d + i, sum);
        }
    }
}

/* in: streams, what a layer gave, weights, gradient of the result. */
KERNEL(hyper_write_grad_kernel, 256)
{
    const CallTensor &x = c.in[0], &y = c.in[1], &w = c.in[2], &dto = c.in[3];
    const Streams s = streams_of(x, w);
    for (int64_t row = blockIdx.x; row < s.n; row += gridDim.x) {
        const int64_t own = row * s.m + s.k, mix = own + s.k, first = row * s.k;
        for (int64_t i = threadIdx.x; i < s.k * s.d; i += blockDim.x) {
            const int64_t t = i / s.d, e = i % s.d;
            float sum = mixes(s) ? 0 : get(dto, first * s.d + i);
            for (int64_t j = 0; j < s.k && mixes(s); j++)
                sum += get(w, mix + t * s.k + j) * get(dto, (first + j) * s.d + e);
            put(c.out[0], first * s.d + i, sum);
        }
        for (int64_t e = threadIdx.x; e < s.d; e += blockDim.x) {
            float sum = 0;
            for (int64_t j = 0; j < s.k; j++) sum += get(w, own + j) * get(dto, (first + j) * s.d + e);
            put(c.out[1], row * s.d + e, sum);
        }
        for (int64_t i = 0; i < s.k; i++) {
            put_once(c.out[2], row * s.m + i, 0);
            put_once(c.out[2], own + i, dot(y, row, dto, first + i, s.d));
            for (int64_t j = 0; j < s.k && mixes(s); j++)
                put_once(c.out[2], mix + i * s.k + j, dot(x, first + i, dto, first + j, s.d));
        }
    }
}
