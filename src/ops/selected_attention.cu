/* selected_attention.cu - attention to the keys of a list, and its gradient, on a GPU without
 * atomics, so that every run gives the same bits.
 *
 * A warp has one row (a query, or in the gradient of keys and values a key), whose features lie
 * over its lanes, and takes those of the other side one after the other. Sums of do * o are those
 * of attention.cu. */
#include "ops/selected_rows_cuda.h"
extern "C" {
#include "ops/selected_attention.h"
}

constexpr int THREADS = 256;

/* One launch. Rows of q are numbered b s g r, those of k b t g. Input 2 is v, or, of shares, lse. */
struct Rows {
    const SelectedAttention *a;
    const CallTensor *q, *k, *v;
    const int32_t *list;
    int64_t n_query, n_key, n_group, n_repeat, d, n;
    float scale;
    uint64_t key;
    int64_t whole_keys, rows_before, rows_per_sample; /* for the numbers of probabilities */
};

__device__ static Rows rows_of(const Call &c)
{
    Rows w;
    w.a = &attrs_of<SelectedAttention>(c);
    w.q = &c.in[0], w.k = &c.in[1], w.v = &c.in[2];
    w.list = (const int32_t *)c.in[3].data;
    w.n_query = w.q->size[1], w.n_key = w.k->size[1];
    w.n_group = w.q->size[2], w.n_repeat = w.q->size[3], w.d = w.q->size[4];
    w.n = c.in[3].size[2];
    w.scale = w.a->scale != 0 ? (float)w.a->scale : 1 / sqrtf((float)w.d);
    w.key = w.a->dropout > 0 ? dropout_key_of(c.now, w.a->salt) : 0;
    int64_t n_rows = 1;
    for (int dim = 0; dim < 4; dim++) n_rows *= whole_size(c, *w.q, dim);
    w.rows_before = c.now->microbatch * n_rows;
    w.rows_per_sample = n_rows / whole_size(c, *w.q, 0);
    w.whole_keys = whole_size(c, *w.k, 1);
    return w;
}

/* What dropout multiplies the probability with; `row` is one of q. */
__device__ static float kept(const Call &c, const Rows &w, int64_t row, int64_t j)
{
    const double p = w.a->dropout;
    if (p <= 0) return 1;
    const int64_t mine = whole_element(c, *w.q, row * w.d) / w.d + w.rows_before;
    const int64_t whole_row = dropout_number_of(c.now, mine, w.rows_per_sample);
    const int64_t element = whole_row * w.whole_keys + whole_index(c, *w.k, 1, j);
    return dropout_keeps_it(w.key, element, p) ? (float)(1 / (1 - p)) : 0;
}

/* The list of a row of q, and where key j of it lies among the rows of k. */
__device__ static const int32_t *list_of(const Rows &w, int64_t row)
{
    return w.list + row / (w.n_repeat * w.n_group) * w.n;
}

__device__ static int64_t key_row(const Rows &w, int64_t row, int64_t j)
{
    const int64_t b = row / (w.n_repeat * w.n_group * w.n_query);
    return (b * w.n_key + j) * w.n_group + row / w.n_repeat % w.n_group;
}

/* in: q, k, v, lists; out: o, lse. */
KERNEL(selected_attention_kernel, THREADS)
{
    const Rows w = rows_of(c);
    const int64_t row = thread_number() / WARP, d = w.d;
    if (row >= c.out[1].count) return;
    const int32_t *list = list_of(w, row);
    float top = -INFINITY, all = 0;
    Row own, sum;
    load(*w.q, row, d, &own);
    clear_row(&sum);
    for (int64_t i = 0; i < w.n && list[i] >= 0; i++) {
        if (list[i] >= w.n_key) {
            fail(c, KERNEL_BAD_INDEX);
            return;
        }
        const int64_t at = key_row(w, row, list[i]);
        const float score = w.scale * dot(own, *w.k, at, d), larger = fmaxf(top, score);
        const float shrink = top == larger ? 1 : expf(top - larger), weight = expf(score - larger);
        all = all * shrink + weight;
        top = larger;
        add_row(&sum, shrink, weight * kept(c, w, row, list[i]), *w.v, at, d);
    }
#pragma unroll
    for (int e = 0; e < PER_LANE; e++) sum.x[e] = all == 0 ? 0 : sum.x[e] / all;
    put_row(c.out[0], row, d, sum);
    if (threadIdx.x % WARP == 0) put(c.out[1], row, all == 0 ? -INFINITY : top + logf(all));
}

/* in: q, k, v, lists, o, lse, do; out 0: dq; scratch: of each row of q the sum of do * o. */
KERNEL(selected_query_grad_kernel, THREADS)
{
    const Rows w = rows_of(c);
    const CallTensor &lse = c.in[5], &out_grad = c.in[6];
    const int64_t row = thread_number() / WARP, d = w.d;
    if (row >= lse.count) return;
    const int32_t *list = list_of(w, row);
    const float all = get(lse, row), flow = ((const float *)c.scratch)[row];
    Row own, slope, sum;
    load(*w.q, row, d, &own);
    load(out_grad, row, d, &slope);
    clear_row(&sum);
    for (int64_t i = 0; i < w.n && list[i] >= 0; i++) {
        if (list[i] >= w.n_key) {
            fail(c, KERNEL_BAD_INDEX);
            return;
        }
        const int64_t at = key_row(w, row, list[i]);
        const float share = expf(w.scale * dot(own, *w.k, at, d) - all),
                    product = dot(slope, *w.v, at, d) * kept(c, w, row, list[i]);
        add_row(&sum, 1, share * (product - flow) * w.scale, *w.k, at, d);
    }
    put_row(c.out[0], row, d, sum);
}

/* in: q, k, lse, lists; out: shares [b s n]. A warp per key of a query's list. */
KERNEL(selected_shares_kernel, THREADS)
{
    const Rows w = rows_of(c);
    const int64_t at = thread_number() / WARP, token = at / w.n, heads = w.n_group * w.n_repeat;
    if (at >= c.out[0].count) return;
    const int32_t j = w.list[at];
    float sum = 0;
    if (j >= w.n_key) {
        fail(c, KERNEL_BAD_INDEX);
        return;
    }
    for (int64_t row = token * heads; j >= 0 && row < (token + 1) * heads; row++) {
        Row own;
        load(*w.q, row, w.d, &own);
        sum += expf(w.scale * dot(own, *w.k, key_row(w, row, j), w.d) - get(c.in[2], row));
    }
    if (threadIdx.x % WARP == 0) put(c.out[0], at, sum);
}

/* in: as above; out 1 and 2: dk, dv. A warp per key, whose gradients come from the queries that
 * have it in their lists, of all heads that share it. */
KERNEL(selected_key_grad_kernel, THREADS)
{
    const Rows w = rows_of(c);
    const CallTensor &lse = c.in[5], &out_grad = c.in[6];
    const int64_t own = thread_number() / WARP, d = w.d, group = own % w.n_group,
                  j = own / w.n_group % w.n_key, b = own / w.n_group / w.n_key;
    if (b >= w.k->size[0]) return;
    const int lane = threadIdx.x % WARP;
    Row key, value, dkey, dvalue;
    load(*w.k, own, d, &key);
    load(*w.v, own, d, &value);
    clear_row(&dkey);
    clear_row(&dvalue);
    for (int64_t from = 0; from < w.n_query; from += WARP) {
        const int64_t mine = b * w.n_query + from + lane;
        const bool is_seen = from + lane < w.n_query && place_in_list(w.list + mine * w.n, w.n, j) >= 0;
        for (unsigned seen = __ballot_sync(WHOLE_WARP, is_seen); seen; seen &= seen - 1) {
            const int64_t i = b * w.n_query + from + __popc((seen & -seen) - 1);
            for (int64_t r = 0; r < w.n_repeat; r++) {
                const int64_t row = (i * w.n_group + group) * w.n_repeat + r;
                const float share = expf(w.scale * dot(key, *w.q, row, d) - get(lse, row)),
                            keep = kept(c, w, row, j),
                            product = dot(value, out_grad, row, d) * keep,
                            weight = share * (product - ((const float *)c.scratch)[row]) * w.scale;
                add_row(&dkey, 1, weight, *w.q, row, d);
                add_row(&dvalue, 1, share * keep, out_grad, row, d);
            }
        }
    }
    put_row(c.out[1], own, d, dkey);
    put_row(c.out[2], own, d, dvalue);
}
