/* attention.cu - attention and its gradient on a GPU, without the matrix of scores and without
 * atomics, so that every run gives the same bits.
 *
 * A warp has one row (a query, or in the gradient of keys and values a key) and meets those of the
 * other side 32 at a time, one per lane; the warps of a block share these through shared memory.
 * The forward pass keeps the largest score and the sum of exponentials so far and rescales what it
 * has added up when a larger one comes (Milakov and Gimelshein 2018; Dao et al. 2022). */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/attention.h"
}

constexpr int MOST_WIDTH = 256, STRIDE = MOST_WIDTH + 1, QUERY_WARPS = 8, KEY_WARPS = 4;
constexpr int PER_LANE = MOST_WIDTH / WARP;

/* One launch. Rows of q are numbered b s g r, those of k b t g. */
struct Rows {
    const Attention *a;
    const CallTensor *q, *k, *v;
    const int32_t *query_document, *key_document;
    int64_t n_query, n_key, n_group, n_repeat, d, position;
    float scale;
    uint64_t key;
    int64_t whole_keys, rows_before, rows_per_sample; /* for the numbers of probabilities */
};

__device__ static Rows rows_of(const Call &c)
{
    Rows w;
    w.a = &attrs_of<Attention>(c);
    w.q = &c.in[0], w.k = &c.in[1], w.v = &c.in[2];
    const bool documents = c.n_in == 5 || c.n_in == 8;
    w.query_document = documents ? (const int32_t *)c.in[3].data : NULL;
    w.key_document = documents ? (const int32_t *)c.in[4].data : NULL;
    w.n_query = w.q->size[1], w.n_key = w.k->size[1];
    w.n_group = w.q->size[2], w.n_repeat = w.q->size[3], w.d = w.q->size[4];
    w.position = c.now->position;
    w.scale = w.a->scale != 0 ? (float)w.a->scale : 1 / sqrtf((float)w.d);
    w.key = w.a->dropout > 0 ? dropout_key_of(c.now, w.a->salt) : 0;
    int64_t n_rows = 1;
    for (int dim = 0; dim < 4; dim++) n_rows *= whole_size(c, *w.q, dim);
    w.rows_before = c.now->microbatch * n_rows;
    w.rows_per_sample = n_rows / whole_size(c, *w.q, 0);
    w.whole_keys = whole_size(c, *w.k, 1);
    return w;
}

__device__ static int64_t query_row(const Rows &w, int64_t b, int64_t i, int64_t head)
{
    return (b * w.n_query + i) * w.n_group * w.n_repeat + head;
}

__device__ static int64_t key_row(const Rows &w, int64_t b, int64_t j, int64_t group)
{
    return (b * w.n_key + j) * w.n_group + group;
}

/* Whether query i sees key j of sequence b. */
__device__ static bool sees(const Call &c, const Rows &w, int64_t b, int64_t i, int64_t j)
{
    if (w.query_document && w.query_document[b * w.n_query + i] != w.key_document[b * w.n_key + j])
        return false;
    if (!w.a->causal) return true;
    const int64_t query = whole_index(c, *w.q, 1, i) + first_position(c, b),
                  key = whole_index(c, *w.k, 1, j);
    return key <= query && key >= attention_oldest(w.a, query);
}

/* A score under the cap, and its slope. */
__device__ static float capped(const Rows &w, float dot, float *slope)
{
    const float cap = (float)w.a->soft_cap, s = w.scale * dot;
    *slope = w.scale;
    if (cap <= 0) return s;
    const float t = tanhf(s / cap);
    *slope = w.scale * (1 - t * t);
    return cap * t;
}

/* What a token of distance takes off the scores of a head of this rank. */
__device__ static float fall_of(const Call &c, const Rows &w, int64_t head)
{
    if (w.a->alibi <= 0) return 0;
    const int64_t n_repeat = whole_size(c, *w.q, 3), g = whole_index(c, *w.q, 2, head / w.n_repeat),
                  r = whole_index(c, *w.q, 3, head % w.n_repeat);
    return (float)alibi_slope(w.a, g * n_repeat + r, whole_size(c, *w.q, 2) * n_repeat);
}

/* The score of query i and key j, whose product is `dot`, and its slope. */
__device__ static float score_of(const Call &c, const Rows &w, int64_t b, int64_t i, int64_t j,
                                 float fall, float dot, float *slope)
{
    const float score = capped(w, dot, slope);
    if (fall == 0) return score;
    const int64_t query = whole_index(c, *w.q, 1, i) + first_position(c, b);
    return score - fall * (float)(query - whole_index(c, *w.k, 1, j));
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

/* Rows [first, first + 32) of a tensor, `distance` rows apart, below `end`; 0 after it. */
__device__ static void load_tile(float *tile, const CallTensor &t, int64_t row, int64_t distance,
                                 int64_t n, int64_t d)
{
    __syncthreads();
    for (unsigned i = threadIdx.x; i < WARP * (unsigned)d; i += blockDim.x) {
        const unsigned k = i / (unsigned)d, e = i % (unsigned)d;
        tile[k * STRIDE + e] = k < n ? get(t, (row + k * distance) * d + e) : 0;
    }
    __syncthreads();
}

__device__ static float dot(const float *row, const float *own, int64_t d)
{
    float sum = 0;
    for (int64_t e = 0; e < d; e++) sum += row[e] * own[e];
    return sum;
}

/* Adds the tile's rows by each lane's weight to the row that the warp's lanes have together. */
__device__ static void add_rows(float *sum, float weight, const float *tile, int64_t d)
{
    const int lane = threadIdx.x % WARP;
    for (int k = 0; k < WARP; k++) {
        const float each = __shfl_sync(WHOLE_WARP, weight, k);
#pragma unroll
        for (int e = 0; e < PER_LANE; e++)
            if (lane + e * WARP < d) sum[e] += each * tile[k * STRIDE + lane + e * WARP];
    }
}

__device__ static void put_row(const CallTensor &t, int64_t row, const float *sum, float factor,
                               int64_t d)
{
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int e = 0; e < PER_LANE; e++)
        if (lane + e * WARP < d) put(t, row * d + lane + e * WARP, factor * sum[e]);
}

/* The keys that the queries [i, end) can see at all, if the first one of all is at `position`. */
struct Range {
    int64_t from, to;
};

__device__ static Range key_range(const Rows &w, int64_t position, int64_t i, int64_t end)
{
    const bool in_order = w.q->part[1] < 0 && w.k->part[1] < 0;
    Range r = { 0, w.n_key };
    if (!w.a->causal || !in_order) return r;
    if (position + end < r.to) r.to = position + end;
    const int64_t oldest = attention_oldest(w.a, position + i);
    if (oldest > 0) r.from = oldest / WARP * WARP;
    return r;
}

/* What a block works on: sequence b, a head, and its first row. */
struct Place {
    int64_t b, head, first;
};

__device__ static Place place_of(int64_t n_heads, int64_t n_rows, int warps)
{
    const unsigned n_tiles = ((unsigned)n_rows + warps - 1) / warps, heads = (unsigned)n_heads;
    Place p;
    p.first = (int64_t)(blockIdx.x % n_tiles) * warps;
    p.head = blockIdx.x / n_tiles % heads;
    p.b = blockIdx.x / n_tiles / heads;
    return p;
}

/* in: q, k, v, documents; out: o, lse. */
KERNEL(attention_kernel, QUERY_WARPS *WARP)
{
    __shared__ float tile[WARP * STRIDE], query[QUERY_WARPS * MOST_WIDTH];
    const Rows w = rows_of(c);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const Place p = place_of(w.n_group * w.n_repeat, w.n_query, QUERY_WARPS);
    const int64_t i = p.first + warp, group = (unsigned)p.head / (unsigned)w.n_repeat, d = w.d;
    const bool is_row = i < w.n_query;
    const int64_t row = query_row(w, p.b, is_row ? i : w.n_query - 1, p.head);
    float *own = query + warp * MOST_WIDTH, sum[PER_LANE] = { 0 }, top = -INFINITY, all = 0;
    const float fall = fall_of(c, w, p.head);
    for (int64_t e = lane; e < d; e += WARP) own[e] = get(*w.q, row * d + e);
    const int64_t last = p.first + QUERY_WARPS < w.n_query ? p.first + QUERY_WARPS : w.n_query;
    const Range keys = key_range(w, first_position(c, p.b), p.first, last);
    for (int64_t from = keys.from; from < keys.to; from += WARP) {
        const int64_t n = w.n_key - from < WARP ? w.n_key - from : WARP, j = from + lane;
        float slope, score = -INFINITY, weight = 0;
        load_tile(tile, *w.k, key_row(w, p.b, from, group), w.n_group, n, d);
        if (is_row && lane < n && sees(c, w, p.b, i, j))
            score = score_of(c, w, p.b, i, j, fall, dot(tile + lane * STRIDE, own, d), &slope);
        const float larger = fmaxf(top, over_warp(score, Largest()));
        const float shrink = top == larger ? 1 : expf(top - larger);
        if (score != -INFINITY) weight = expf(score - larger);
        all = all * shrink + over_warp(weight, Sum());
        top = larger;
        if (weight != 0) weight *= kept(c, w, row, j);
#pragma unroll
        for (int e = 0; e < PER_LANE; e++) sum[e] *= shrink;
        load_tile(tile, *w.v, key_row(w, p.b, from, group), w.n_group, n, d);
        add_rows(sum, weight, tile, d);
    }
    if (!is_row) return;
    put_row(c.out[0], row, sum, all == 0 ? 0 : 1 / all, d);
    if (lane == 0) put(c.out[1], row, all == 0 ? -INFINITY : top + logf(all));
}

constexpr int WIDEST = 640, WIDE_PER_LANE = WIDEST / WARP;

/* The same for rows up to WIDEST, which lie over the lanes of a warp: it takes key after key. */
KERNEL(attention_wide_kernel, QUERY_WARPS *WARP)
{
    const Rows w = rows_of(c);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const Place p = place_of(w.n_group * w.n_repeat, w.n_query, QUERY_WARPS);
    const int64_t i = p.first + warp, group = (unsigned)p.head / (unsigned)w.n_repeat, d = w.d;
    if (i >= w.n_query) return;
    const int64_t row = query_row(w, p.b, i, p.head);
    float own[WIDE_PER_LANE], sum[WIDE_PER_LANE], top = -INFINITY, all = 0;
#pragma unroll
    for (int e = 0; e < WIDE_PER_LANE; e++) {
        own[e] = lane + e * WARP < d ? get(*w.q, row * d + lane + e * WARP) : 0;
        sum[e] = 0;
    }
    const Range keys = key_range(w, first_position(c, p.b), i, i + 1);
    const float fall = fall_of(c, w, p.head);
    for (int64_t j = keys.from; j < keys.to; j++) {
        const int64_t at = key_row(w, p.b, j, group) * d + lane;
        float slope, part = 0;
        if (!sees(c, w, p.b, i, j)) continue;
#pragma unroll
        for (int e = 0; e < WIDE_PER_LANE; e++)
            if (lane + e * WARP < d) part += own[e] * get(*w.k, at + e * WARP);
        const float score = score_of(c, w, p.b, i, j, fall, over_warp(part, Sum()), &slope),
                    larger = fmaxf(top, score);
        const float shrink = top == larger ? 1 : expf(top - larger), weight = expf(score - larger);
        const float counts = weight * kept(c, w, row, j);
        all = all * shrink + weight;
        top = larger;
#pragma unroll
        for (int e = 0; e < WIDE_PER_LANE; e++)
            if (lane + e * WARP < d)
                sum[e] = sum[e] * shrink + counts * get(*w.v, at + e * WARP);
    }
#pragma unroll
    for (int e = 0; e < WIDE_PER_LANE; e++)
        if (lane + e * WARP < d)
            put(c.out[0], row * d + lane + e * WARP, all == 0 ? 0 : sum[e] / all);
    if (lane == 0) put(c.out[1], row, all == 0 ? -INFINITY : top + logf(all));
}

/* A NaN gives way. */
struct LargestNumber {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/* in: q, k, k, documents; scratch: the largest logit of every row of q. */
KERNEL(attention_max_kernel, QUERY_WARPS *WARP)
{
    __shared__ float tile[WARP * STRIDE], query[QUERY_WARPS * MOST_WIDTH];
    const Rows w = rows_of(c);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const Place p = place_of(w.n_group * w.n_repeat, w.n_query, QUERY_WARPS);
    const int64_t i = p.first + warp, group = (unsigned)p.head / (unsigned)w.n_repeat, d = w.d;
    const bool is_row = i < w.n_query;
    const int64_t row = query_row(w, p.b, is_row ? i : w.n_query - 1, p.head);
    float *own = query + warp * MOST_WIDTH, top = -INFINITY;
    for (int64_t e = lane; e < d; e += WARP) own[e] = get(*w.q, row * d + e);
    const int64_t last = p.first + QUERY_WARPS < w.n_query ? p.first + QUERY_WARPS : w.n_query;
    const Range keys = key_range(w, first_position(c, p.b), p.first, last);
    for (int64_t from = keys.from; from < keys.to; from += WARP) {
        const int64_t n = w.n_key - from < WARP ? w.n_key - from : WARP;
        load_tile(tile, *w.k, key_row(w, p.b, from, group), w.n_group, n, d);
        if (is_row && lane < n && sees(c, w, p.b, i, from + lane))
            top = fmaxf(top, w.scale * dot(tile + lane * STRIDE, own, d));
    }
    top = over_warp(top, LargestNumber());
    if (is_row && lane == 0) ((float *)c.scratch)[row] = top;
}

/* A block per head, over its rows in scratch. */
KERNEL(attention_max_join_kernel, 256)
{
    const int64_t n_heads = c.out[0].count, n = c.in[0].count / c.in[0].size[4];
    float top = -INFINITY;
    for (int64_t row = blockIdx.x + n_heads * threadIdx.x; row < n; row += n_heads * blockDim.x)
        top = fmaxf(top, ((const float *)c.scratch)[row]);
    top = over_block(top, LargestNumber(), -INFINITY);
    if (threadIdx.x == 0) put(c.out[0], blockIdx.x, top);
}

/* Scratch: for every row of q the sum of do * o. A warp per row. */
KERNEL(attention_sums_kernel, 256)
{
    const CallTensor &o = c.in[c.n_in - 3], &slope = c.in[c.n_in - 1];
    const int64_t d = o.size[4], n = o.count / d;
    for (int64_t row = thread_number() / WARP; row < n; row += all_threads() / WARP) {
        float sum = 0;
        for (int64_t e = threadIdx.x % WARP; e < d; e += WARP)
            sum += get(o, row * d + e) * get(slope, row * d + e);
        sum = over_warp(sum, Sum());
        if (threadIdx.x % WARP == 0) ((float *)c.scratch)[row] = sum;
    }
}

/* exp(score - lse); 0 for a query without any key. */
__device__ static float probability(float score, float lse)
{
    return lse == -INFINITY ? 0 : expf(score - lse);
}

/* in: q, k, v, documents, o, lse, do; out 0: dq. */
KERNEL(attention_query_grad_kernel, QUERY_WARPS *WARP)
{
    __shared__ float tile[WARP * STRIDE], query[QUERY_WARPS * MOST_WIDTH];
    const Rows w = rows_of(c);
    const CallTensor &lse = c.in[c.n_in - 2], &out_grad = c.in[c.n_in - 1];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const Place p = place_of(w.n_group * w.n_repeat, w.n_query, QUERY_WARPS);
    const int64_t i = p.first + warp, group = (unsigned)p.head / (unsigned)w.n_repeat, d = w.d;
    const bool is_row = i < w.n_query;
    const int64_t row = query_row(w, p.b, is_row ? i : w.n_query - 1, p.head);
    float *own = query + warp * MOST_WIDTH, sum[PER_LANE] = { 0 };
    const float all = get(lse, row), flow = ((const float *)c.scratch)[row],
                fall = fall_of(c, w, p.head);
    const int64_t last = p.first + QUERY_WARPS < w.n_query ? p.first + QUERY_WARPS : w.n_query;
    const Range keys = key_range(w, first_position(c, p.b), p.first, last);
    for (int64_t from = keys.from; from < keys.to; from += WARP) {
        const int64_t n = w.n_key - from < WARP ? w.n_key - from : WARP, j = from + lane;
        const int64_t first = key_row(w, p.b, from, group);
        const bool is_seen = is_row && lane < n && sees(c, w, p.b, i, j);
        float slope = 0, share = 0, weight = 0;
        __syncwarp();
        for (int64_t e = lane; e < d; e += WARP) own[e] = get(*w.q, row * d + e);
        load_tile(tile, *w.k, first, w.n_group, n, d);
        if (is_seen) {
            const float product = dot(tile + lane * STRIDE, own, d);
            share = probability(score_of(c, w, p.b, i, j, fall, product, &slope), all);
        }
        __syncwarp();
        for (int64_t e = lane; e < d; e += WARP) own[e] = get(out_grad, row * d + e);
        load_tile(tile, *w.v, first, w.n_group, n, d);
        if (is_seen)
            weight =
                share * slope * (dot(tile + lane * STRIDE, own, d) * kept(c, w, row, j) - flow);
        load_tile(tile, *w.k, first, w.n_group, n, d);
        add_rows(sum, weight, tile, d);
    }
    if (is_row) put_row(c.out[0], row, sum, 1, d);
}

/* The queries that can see the keys [j, end) at all. */
__device__ static Range query_range(const Rows &w, int64_t j, int64_t end)
{
    const bool in_order = w.q->part[1] < 0 && w.k->part[1] < 0;
    Range r = { 0, w.n_query };
    if (!w.a->causal || !in_order) return r;
    if (j > w.position) r.from = (j - w.position) / WARP * WARP;
    if (w.a->window && end - 1 + w.a->window - w.position < r.to)
        r.to = end - 1 + w.a->window - w.position;
    return r;
}

/* in: as above; out 1 and 2: dk, dv. A warp per key, whose gradients come from all queries of all
 * heads that share it. */
KERNEL(attention_key_grad_kernel, KEY_WARPS *WARP)
{
    __shared__ float tile[WARP * STRIDE], keys[KEY_WARPS * MOST_WIDTH],
        values[KEY_WARPS * MOST_WIDTH];
    const Rows w = rows_of(c);
    const CallTensor &lse = c.in[c.n_in - 2], &out_grad = c.in[c.n_in - 1];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const Place p = place_of(w.n_group, w.n_key, KEY_WARPS);
    const int64_t j = p.first + warp, d = w.d;
    const bool is_row = j < w.n_key;
    const int64_t own = key_row(w, p.b, is_row ? j : w.n_key - 1, p.head);
    float *key = keys + warp * MOST_WIDTH, *value = values + warp * MOST_WIDTH;
    float dkey[PER_LANE] = { 0 }, dvalue[PER_LANE] = { 0 };
    for (int64_t e = lane; e < d; e += WARP) {
        key[e] = get(*w.k, own * d + e);
        value[e] = get(*w.v, own * d + e);
    }
    const int64_t last = p.first + KEY_WARPS < w.n_key ? p.first + KEY_WARPS : w.n_key;
    const Range queries = query_range(w, p.first, last);
    const int64_t n_heads = w.n_group * w.n_repeat;
    for (int64_t repeat = 0; repeat < w.n_repeat; repeat++) {
        const float fall = fall_of(c, w, p.head * w.n_repeat + repeat);
        for (int64_t from = queries.from; from < queries.to; from += WARP) {
            const int64_t n = w.n_query - from < WARP ? w.n_query - from : WARP, i = from + lane;
            const int64_t first = query_row(w, p.b, from, p.head * w.n_repeat + repeat);
            const int64_t row = first + lane * n_heads;
            const bool is_seen = is_row && lane < n && sees(c, w, p.b, i, j);
            float slope = 0, share = 0, keep = 0, weight = 0;
            load_tile(tile, *w.q, first, n_heads, n, d);
            if (is_seen) {
                const float score = score_of(c, w, p.b, i, j, fall,
                                             dot(tile + lane * STRIDE, key, d), &slope);
                share = probability(score, get(lse, row));
                keep = kept(c, w, row, j);
            }
            load_tile(tile, out_grad, first, n_heads, n, d);
            add_rows(dvalue, share * keep, tile, d);
            if (is_seen)
                weight =
                    share * slope *
                    (dot(tile + lane * STRIDE, value, d) * keep - ((const float *)c.scratch)[row]);
            load_tile(tile, *w.q, first, n_heads, n, d);
            add_rows(dkey, weight, tile, d);
        }
    }
    if (!is_row) return;
    put_row(c.out[1], own, dkey, 1, d);
    put_row(c.out[2], own, dvalue, 1, d);
}

/* What is added to the scores of a query, so that it sees the keys of its document alone: 0, or the
 * 16 bits number[3]. in[3], in[4]: documents of queries and keys, from element number[0] on, of
 * number[1] sequences of number[2] tokens; scratch: [sequence][query][key]. */
KERNEL(hidden_keys_kernel, 256)
{
    const int64_t first = c.number[0], all = c.number[1] * c.number[2] * c.number[2];
    const unsigned n = (unsigned)c.number[2];
    const int32_t *query = (const int32_t *)c.in[3].data + first,
                  *key = (const int32_t *)c.in[4].data + first;
    for (int64_t i = thread_number(); i < all; i += all_threads()) {
        const unsigned row = (unsigned)(i / n), column = (unsigned)(i % n);
        const bool is_seen = query[row] == key[row / n * n + column];
        ((uint16_t *)c.scratch)[i] = is_seen ? 0 : (uint16_t)c.number[3];
    }
}
