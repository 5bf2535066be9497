/* selective_scan_tiles_cuda.h - the selective scan on a GPU, as its two passes share it. Half a
 * warp has a feature: a lane keeps every sixteenth number of its state in registers, and walks over
 * the tokens. A block loads some tokens of its features at once. */
#ifndef OPS_SELECTIVE_SCAN_TILES_CUDA_H
#define OPS_SELECTIVE_SCAN_TILES_CUDA_H
#include "device/cuda/kernel.h"
#include "ops/selective_scan_cuda.h"

/* in[first] are steps, followed by inputs, what goes in and out of states, speeds, biases and
 * skips. */
struct Scan {
    const CallTensor &step, &x, &in, &out, &speed, &bias, &skip;
    const CallTensor *document;        /* NULL: one document */
    int64_t length, c, n, text, first; /* the block's text, and its first feature */
};

__device__ inline Scan scan_of(const Call &call, int first, bool has_documents)
{
    const CallTensor *in = call.in + first;
    const int64_t c = in[1].size[2], blocks = scan_blocks(c);
    return { in[0],
             in[1],
             in[2],
             in[3],
             in[4],
             in[5],
             in[6],
             has_documents ? &in[7] : nullptr,
             in[1].size[1],
             c,
             in[4].size[1],
             blockIdx.x / blocks,
             blockIdx.x % blocks * SCAN_FEATURES };
}

/* Tokens of the stretch that begins there. */
__device__ inline int64_t tokens_from(const Scan &s, int64_t from)
{
    const int64_t rest = s.length - from, most = SCAN_TOKENS;
    return rest < most ? rest : most;
}

/* Some tokens of a block's features. */
struct Tile {
    float dt[SCAN_TOKENS][SCAN_FEATURES], x[SCAN_TOKENS][SCAN_FEATURES],
        y[SCAN_TOKENS][SCAN_FEATURES];
    float in[SCAN_TOKENS][SCAN_MOST], out[SCAN_TOKENS][SCAN_MOST];
    bool begins[SCAN_TOKENS];
};

__device__ inline float softplus_of(float x)
{
    return x > 30 ? x : log1pf(expf(x));
}

/* Of a thread: its place among the features, and among the lanes of one. */
__device__ inline int own_feature()
{
    return threadIdx.x / SCAN_LANES;
}

__device__ inline int own_lane()
{
    return threadIdx.x % SCAN_LANES;
}

/* Tokens [from, from + count) of the text. Features that are not there have x = 0. */
__device__ inline void load_tile(const Scan &s, Tile &w, float (*slope)[SCAN_FEATURES],
                                 int64_t from, int64_t count)
{
    const int64_t row = s.text * s.length + from;
    __syncthreads(); /* the last use of the tile is over */
    for (int64_t i = threadIdx.x; i < count * SCAN_FEATURES; i += blockDim.x) {
        const int64_t t = i / SCAN_FEATURES, k = i % SCAN_FEATURES, c = s.first + k,
                      at = (row + t) * s.c + c;
        const bool is_there = c < s.c;
        const float raw = is_there ? get(s.step, at) + get(s.bias, c) : 0;
        w.dt[t][k] = softplus_of(raw);
        w.x[t][k] = is_there ? get(s.x, at) : 0;
        if (slope) slope[t][k] = 1 / (1 + expf(-raw));
    }
    for (int64_t i = threadIdx.x; i < count * s.n; i += blockDim.x) {
        w.in[i / s.n][i % s.n] = get(s.in, row * s.n + i);
        w.out[i / s.n][i % s.n] = get(s.out, row * s.n + i);
    }
    for (int64_t t = threadIdx.x; t < count; t += blockDim.x)
        w.begins[t] = from + t == 0 || (s.document && get_int(*s.document, row + t) !=
                                                          get_int(*s.document, row + t - 1));
    __syncthreads();
}

/* The sum over the lanes of a feature. */
__device__ inline float over_lanes(float x)
{
#pragma unroll
    for (int step = SCAN_LANES / 2; step; step /= 2) x += __shfl_xor_sync(WHOLE_WARP, x, step);
    return x;
}

/* Numbers of a lane: the i-th is lane + 16 i of the feature's; those from s.n on stay 0. */
template <int COUNT> struct Numbers {
    float of[COUNT];
};

__device__ inline bool has_number(const Scan &s, int i)
{
    return own_lane() + SCAN_LANES * i < s.n;
}

template <int COUNT> __device__ inline Numbers<COUNT> load_speeds(const Scan &s)
{
    Numbers<COUNT> a;
    const int64_t c = s.first + own_feature();
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const bool is_there = c < s.c && has_number(s, i);
        a.of[i] = is_there ? -expf(get(s.speed, c * s.n + own_lane() + SCAN_LANES * i)) : 0;
    }
    return a;
}

/* From h in front of token t of the tile to h behind it. */
template <int COUNT>
__device__ inline void take_step(const Scan &s, const Tile &w, int t, const Numbers<COUNT> &a,
                                 Numbers<COUNT> &h, bool begins)
{
    const float dt = w.dt[t][own_feature()], u = dt * w.x[t][own_feature()];
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const float left = begins ? 0 : expf(dt * a.of[i]) * h.of[i];
        h.of[i] = left + (has_number(s, i) ? u * w.in[t][own_lane() + SCAN_LANES * i] : 0);
    }
}
#endif
