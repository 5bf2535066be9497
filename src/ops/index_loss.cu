/* index_loss.cu - the divergence of an indexer's scores from shares of attention, on a GPU without
 * atomics.
 *
 * A block has a query, whose warps take keys of its list, or, for gradients, heads; for the
 * gradients of keys a warp has one and looks for the queries that list it. */
#include "ops/selected_rows_cuda.h"
extern "C" {
#include "ops/index_loss.h"
}

constexpr int THREADS = 256;

/* What a query's list comes to: the log-sum-exp of its scores, the sum of its shares, and that of
 * each share times its logarithm less the score. */
struct Summary {
    float all;
    double shares, along;
};

__device__ static double all_rows(const Call &c)
{
    return (double)whole_size(c, c.in[0], 0) * (double)whole_size(c, c.in[0], 1);
}

__device__ static const int32_t *list_of(const Call &c, int64_t row)
{
    return (const int32_t *)c.in[3].data + row * c.in[3].size[2];
}

/* Counts a number of each warp once. */
__device__ static double over_warps(double x)
{
    return over_block(threadIdx.x % WARP == 0 ? x : 0.0, Sum(), 0.0);
}

/* By a block; `score` receives the scores, or is NULL. */
__device__ static Summary summary_of(const Call &c, int64_t row, float *score)
{
    const int64_t n = c.in[3].size[2], n_keys = c.in[1].size[1],
                  first = row / c.in[0].size[1] * n_keys;
    const int32_t *list = list_of(c, row);
    const float scale = (float)attrs_of<IndexLoss>(c).scale;
    float top = -INFINITY, all = 0;
    Summary s = { 0, 0, 0 };
    for (int64_t i = threadIdx.x / WARP; i < n && list[i] >= 0; i += THREADS / WARP) {
        if (list[i] >= n_keys) {
            fail(c, KERNEL_BAD_INDEX);
            break;
        }
        const float x = scale * index_score(c, row, first + list[i]), larger = fmaxf(top, x);
        const double share = (double)get(c.in[4], row * n + i);
        all = all * (top == larger ? 1 : expf(top - larger)) + expf(x - larger);
        top = larger;
        s.shares += share;
        if (share > 0) s.along += share * (log(share) - (double)x);
        if (score && threadIdx.x % WARP == 0) score[i] = x;
    }
    const float most = over_block(top, Largest(), -INFINITY);
    const double sum = over_warps(all == 0 ? 0.0 : (double)(all * expf(top - most)));
    s.all = most + (float)log(sum);
    s.shares = over_warps(s.shares);
    s.along = over_warps(s.along);
    return s;
}

/* scratch: the loss of each query. */
KERNEL(index_loss_kernel, THREADS)
{
    const int64_t row = blockIdx.x;
    const Summary s = summary_of(c, row, NULL);
    if (threadIdx.x == 0)
        ((double *)c.scratch)[row] =
            s.shares > 0 ? s.along / s.shares - log(s.shares) + (double)s.all : 0.0;
}

/* One block. */
KERNEL(index_loss_sum_kernel, THREADS)
{
    const int64_t n = c.in[0].size[0] * c.in[0].size[1];
    double sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) sum += ((const double *)c.scratch)[i];
    sum = over_block(sum, Sum(), 0.0);
    if (threadIdx.x == 0) put_double(c.out[0], 0, sum / all_rows(c));
}

/* Gradients of the scores of a list in their place, all 0 where there is no target. */
__device__ static void take_slopes(const Call &c, int64_t row, float *score)
{
    const int64_t n = c.in[3].size[2];
    const int32_t *list = list_of(c, row);
    const Summary s = summary_of(c, row, score);
    const float slope =
        (float)(get_double(c.in[5], 0) / all_rows(c) * attrs_of<IndexLoss>(c).scale);
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n; i += THREADS)
        score[i] = s.shares > 0 && list[i] >= 0
                       ? slope * (expf(score[i] - s.all) -
                                  (float)((double)get(c.in[4], row * n + i) / s.shares))
                       : 0;
    __syncthreads();
}

/* in: queries, keys, weights, lists, shares, slope of the loss; out 0 and 2: those of queries and
 * weights; scratch: gradients of the scores [b s n]. */
KERNEL(index_query_grad_kernel, THREADS)
{
    const int64_t n = c.in[3].size[2], n_heads = c.in[0].size[2], d = c.in[0].size[3],
                  n_keys = c.in[1].size[1], row = blockIdx.x,
                  first = row / c.in[0].size[1] * n_keys;
    const int32_t *list = list_of(c, row);
    float *slope = (float *)c.scratch + row * n;
    take_slopes(c, row, slope);
    for (int64_t h = threadIdx.x / WARP; h < n_heads; h += THREADS / WARP) {
        const int64_t head = row * n_heads + h;
        const float weight = get(c.in[2], head);
        float of_weight = 0;
        Row own, sum;
        load(c.in[0], head, d, &own);
        clear_row(&sum);
        for (int64_t i = 0; i < n && list[i] >= 0 && list[i] < n_keys; i++) {
            const float x = dot(own, c.in[1], first + list[i], d);
            if (!(x > 0)) continue;
            of_weight += slope[i] * x;
            add_row(&sum, 1, slope[i] * weight, c.in[1], first + list[i], d);
        }
        put_row(c.out[0], head, d, sum);
        if (threadIdx.x % WARP == 0) put(c.out[2], head, of_weight);
    }
}

/* in and scratch: as above; out 1: those of keys. */
KERNEL(index_key_grad_kernel, THREADS)
{
    const int64_t n = c.in[3].size[2], n_query = c.in[0].size[1], n_heads = c.in[0].size[2],
                  d = c.in[0].size[3], own = thread_number() / WARP, n_keys = c.in[1].size[1],
                  b = own / n_keys;
    if (b >= c.in[1].size[0]) return;
    const int lane = threadIdx.x % WARP;
    Row key, sum;
    load(c.in[1], own, d, &key);
    clear_row(&sum);
    for (int64_t from = 0; from < n_query; from += WARP) {
        const int64_t mine = b * n_query + from + lane;
        const int place =
            from + lane < n_query ? (int)place_in_list(list_of(c, mine), n, own % n_keys) : -1;
        for (unsigned seen = __ballot_sync(WHOLE_WARP, place >= 0); seen; seen &= seen - 1) {
            const int lister = __popc((seen & -seen) - 1);
            const int64_t row = b * n_query + from + lister;
            const float slope = ((const float *)
                                     c.scratch)[row * n + __shfl_sync(WHOLE_WARP, place, lister)];
            for (int64_t h = row * n_heads; h < (row + 1) * n_heads; h++)
                if (dot(key, c.in[0], h, d) > 0)
                    add_row(&sum, 1, slope * get(c.in[2], h), c.in[0], h, d);
        }
    }
    put_row(c.out[1], own, d, sum);
}
