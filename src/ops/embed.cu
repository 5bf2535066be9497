/* embed.cu - rows of a table by id, and their gradient, on a GPU.
 *
 * The gradient is the same in every run: no two threads add to one place. Tokens are sorted by
 * counting: how many tokens have an id, where its tokens begin in a list of tokens that rise, and
 * then a warp per row of the table adds up the rows of its tokens in that order. */
#include "device/cuda/kernel.h"

KERNEL(embed_kernel, 256)
{
    const CallTensor &ids = c.in[0], &table = c.in[1];
    const int64_t d = table.size[1], n = ids.count * d;
    for (int64_t i = thread_number(); i < n; i += all_threads()) {
        const int32_t id = get_int(ids, i / d);
        const bool is_id = id >= 0 && id < whole_size(c, table, 0);
        if (!is_id) fail(c, KERNEL_BAD_INDEX);
        const int64_t row = is_id ? own_index(c, table, 0, id) : -1;
        put(c.out[0], i, row < 0 ? 0 : get(table, row * d + i % d));
    }
}

/* Scratch: start [rows + 1], then the tokens by row. First: how many tokens a row has. Rows are
 * taken by blocks of threads, each of which looks at all ids: reading them is cheap beside the
 * gradient, and sums need no order. */
KERNEL(embed_count_kernel, 256)
{
    const CallTensor &ids = c.in[0], &table = c.out[0];
    int32_t *start = (int32_t *)c.scratch;
    for (int64_t i = thread_number(); i < ids.count; i += all_threads()) {
        const int64_t row = own_index(c, table, 0, get_int(ids, i));
        if (row >= 0) atomicAdd(&start[row + 1], 1);
    }
}

/* One block: start[r] becomes the number of tokens of rows below r. */
KERNEL(embed_start_kernel, 1024)
{
    __shared__ int32_t before;
    __shared__ int32_t part[WARP];
    const int64_t n = c.out[0].size[0] + 1;
    int32_t *start = (int32_t *)c.scratch;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (threadIdx.x == 0) before = 0;
    for (int64_t from = 0; from < n; from += blockDim.x) {
        const int64_t i = from + threadIdx.x;
        int32_t sum = i < n ? start[i] : 0;
        for (int step = 1; step < WARP; step *= 2) {
            const int32_t other = __shfl_sync(WHOLE_WARP, sum, lane - step);
            if (lane >= step) sum += other;
        }
        if (lane == WARP - 1) part[warp] = sum;
        __syncthreads();
        int32_t total = before;
        for (int w = 0; w < warp; w++) total += part[w];
        total += sum;
        __syncthreads();
        if (i < n) start[i] = total;
        if (threadIdx.x == blockDim.x - 1) before = total;
        __syncthreads();
    }
}

/* A warp per row with tokens: it goes through all ids, 32 at a time, and lists its own in rising
 * order. Costs reading the ids once per row that occurs, from the cache. */
KERNEL(embed_list_kernel, 256)
{
    const CallTensor &ids = c.in[0], &table = c.out[0];
    const int64_t n_rows = table.size[0];
    const int32_t *start = (const int32_t *)c.scratch;
    int32_t *list = (int32_t *)c.scratch + n_rows + 1;
    const int lane = threadIdx.x % WARP;
    for (int64_t row = thread_number() / WARP; row < n_rows; row += all_threads() / WARP) {
        int32_t at = start[row];
        const int32_t end = start[row + 1];
        for (int64_t from = 0; from < ids.count && at < end; from += WARP) {
            const int64_t i = from + lane;
            const bool is_mine = i < ids.count && own_index(c, table, 0, get_int(ids, i)) == row;
            const unsigned votes = __ballot_sync(WHOLE_WARP, is_mine);
            if (is_mine) list[at + __popc(votes & ((1u << lane) - 1))] = (int32_t)i;
            at += __popc(votes);
        }
    }
}

/* A warp per row of the table. */
KERNEL(embed_grad_kernel, 256)
{
    const CallTensor &dy = c.in[1], &table = c.out[0];
    const int64_t n_rows = table.size[0], d = table.size[1];
    const int32_t *start = (const int32_t *)c.scratch;
    const int32_t *list = start + n_rows + 1;
    for (int64_t row = thread_number() / WARP; row < n_rows; row += all_threads() / WARP) {
        const int32_t from = start[row], to = start[row + 1];
        if (from == to && table.add) continue;
        for (int64_t j = threadIdx.x % WARP; j < d; j += WARP) {
            float sum = 0;
            for (int32_t k = from; k < to; k++) sum += get(dy, list[k] * d + j);
            put(table, row * d + j, sum);
        }
    }
}
