/* select_keys.cu - the keys that a lightning indexer scores highest, on a GPU.
 *
 * A block has a query. Its warps write down what the order of the scores is, of keys that the query
 * does not see 0, and a key counts if that is above the n-th highest, which is found by its four
 * bytes from the first to the last. */
#include "ops/selected_rows_cuda.h"
extern "C" {
#include "ops/select_keys.h"
}

constexpr int THREADS = 256, BYTES = 256;

__device__ static bool sees(const Call &c, int64_t row, int64_t b, int64_t j)
{
    const int64_t n_query = c.in[0].size[1];
    if ((whole_index(c, c.in[1], 1, j) + 1) * attrs_of<SelectKeys>(c).rate >
        whole_index(c, c.in[0], 1, row % n_query) + first_position(c, b) + 1)
        return false;
    if (c.n_in < 5) return true;
    const int32_t *query = (const int32_t *)c.in[3].data, *key = (const int32_t *)c.in[4].data;
    return query[row] == key[b * c.in[1].size[1] + j];
}

/* Where counts from the last byte on first reach `wanted`; that becomes what is left of it. */
__device__ static int byte_of(const int32_t *count, int32_t *wanted)
{
    int byte = BYTES - 1;
    for (; byte > 0 && count[byte] < *wanted; byte--) *wanted -= count[byte];
    return byte;
}

/* The n-th highest of all; of those that are equal to it, *wanted are among the n. */
__device__ static uint32_t threshold_of(const uint32_t *order, int64_t n_keys, int32_t n,
                                        int32_t *wanted)
{
    __shared__ int32_t count[BYTES];
    uint32_t prefix = 0, mask = 0;
    *wanted = n;
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int i = threadIdx.x; i < BYTES; i += THREADS) count[i] = 0;
        __syncthreads();
        for (int64_t j = threadIdx.x; j < n_keys; j += THREADS)
            if ((order[j] & mask) == prefix) atomicAdd(&count[order[j] >> shift & (BYTES - 1)], 1);
        __syncthreads();
        prefix |= (uint32_t)byte_of(count, wanted) << shift;
        mask |= (uint32_t)(BYTES - 1) << shift;
        __syncthreads();
    }
    return prefix;
}

/* By a warp: the keys above the threshold, and the first `wanted` of those at it, in order. */
__device__ static void put_keys(const uint32_t *order, int64_t n_keys, uint32_t threshold,
                                int64_t wanted, int32_t *to, int64_t n)
{
    const int lane = threadIdx.x % WARP;
    const unsigned before = (1u << lane) - 1;
    int64_t kept = 0;
    for (int64_t from = 0; from < n_keys; from += WARP) {
        const uint32_t mine = from + lane < n_keys ? order[from + lane] : 0;
        const bool is_equal = mine != 0 && mine == threshold;
        const unsigned equals = __ballot_sync(WHOLE_WARP, is_equal);
        const bool is_kept = mine > threshold || (is_equal && __popc(equals & before) < wanted);
        const unsigned all = __ballot_sync(WHOLE_WARP, is_kept);
        if (is_kept) to[kept + __popc(all & before)] = (int32_t)(from + lane);
        kept += __popc(all);
        wanted -= __popc(equals);
    }
    for (int64_t i = kept + lane; i < n; i += WARP) to[i] = -1;
}

/* Queries from number[0] on. in: queries, keys, weights, documents; out: indices; scratch: a number
 * for each key of each of these queries. */
KERNEL(select_keys_kernel, THREADS)
{
    const int64_t n_keys = c.in[1].size[1], row = c.number[0] + blockIdx.x,
                  b = row / c.in[0].size[1];
    uint32_t *order = (uint32_t *)c.scratch + blockIdx.x * n_keys;
    for (int64_t j = threadIdx.x / WARP; j < n_keys; j += THREADS / WARP) {
        const uint32_t mine = sees(c, row, b, j) ? score_order(index_score(c, row, b * n_keys + j)) : 0;
        if (threadIdx.x % WARP == 0) order[j] = mine;
    }
    __syncthreads();
    int32_t wanted;
    const int64_t n = c.out[0].size[2];
    const uint32_t threshold = threshold_of(order, n_keys, (int32_t)n, &wanted);
    if (threadIdx.x < WARP)
        put_keys(order, n_keys, threshold, wanted, (int32_t *)c.out[0].data + row * n, n);
}
