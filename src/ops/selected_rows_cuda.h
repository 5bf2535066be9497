/* selected_rows_cuda.h - what kernels of lists of keys share: rows that lie over the lanes of a
 * warp, places in lists, scores of indexers. For .cu files. */
#ifndef OPS_SELECTED_ROWS_CUDA_H
#define OPS_SELECTED_ROWS_CUDA_H
#include "device/cuda/kernel.h"

constexpr int WIDEST = 640, PER_LANE = WIDEST / WARP;

/* A row over the lanes of a warp; 0 beyond it. */
struct Row {
    float x[PER_LANE];
};

__device__ inline void clear_row(Row *to)
{
#pragma unroll
    for (int e = 0; e < PER_LANE; e++) to->x[e] = 0;
}

__device__ inline void load(const CallTensor &t, int64_t row, int64_t d, Row *to)
{
    const int64_t at = row * d + threadIdx.x % WARP;
#pragma unroll
    for (int e = 0; e < PER_LANE; e++)
        to->x[e] = threadIdx.x % WARP + e * WARP < d ? get(t, at + e * WARP) : 0;
}

__device__ inline void put_row(const CallTensor &t, int64_t row, int64_t d, const Row &from)
{
    const int64_t at = row * d + threadIdx.x % WARP;
#pragma unroll
    for (int e = 0; e < PER_LANE; e++)
        if (threadIdx.x % WARP + e * WARP < d) put(t, at + e * WARP, from.x[e]);
}

__device__ inline float dot(const Row &own, const CallTensor &t, int64_t row, int64_t d)
{
    const int64_t at = row * d + threadIdx.x % WARP;
    float sum = 0;
#pragma unroll
    for (int e = 0; e < PER_LANE; e++)
        if (threadIdx.x % WARP + e * WARP < d) sum += own.x[e] * get(t, at + e * WARP);
    return over_warp(sum, Sum());
}

/* to = factor to + weight row. */
__device__ inline void add_row(Row *to, float factor, float weight, const CallTensor &t,
                               int64_t row, int64_t d)
{
    const int64_t at = row * d + threadIdx.x % WARP;
#pragma unroll
    for (int e = 0; e < PER_LANE; e++)
        if (threadIdx.x % WARP + e * WARP < d)
            to->x[e] = to->x[e] * factor + weight * get(t, at + e * WARP);
}

/* Where an ascending list, with -1 behind its last key, has key j; -1: it has not. */
__device__ inline int64_t place_in_list(const int32_t *list, int64_t n, int64_t j)
{
    int64_t low = 0, high = n; /* it is not before low, nor at high or behind */
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (list[middle] == j) return middle;
        if (list[middle] >= 0 && list[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* By a warp: the score of query `row` and key `key`, both of all sequences together. in: queries,
 * keys and weights of an indexer. */
__device__ inline float index_score(const Call &c, int64_t row, int64_t key)
{
    const CallTensor &q = c.in[0], &k = c.in[1];
    const int64_t n_heads = q.size[2], d = q.size[3];
    float score = 0;
    for (int64_t h = 0; h < n_heads; h++) {
        float dot = 0;
        for (int64_t e = threadIdx.x % WARP; e < d; e += WARP)
            dot += get(q, (row * n_heads + h) * d + e) * get(k, key * d + e);
        dot = over_warp(dot, Sum());
        score += get(c.in[2], row * n_heads + h) * (dot > 0 ? dot : 0);
    }
    return score;
}
#endif
