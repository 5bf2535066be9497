/* moe.cu - mixtures of experts on a GPU: the choice of experts, rows sorted by expert and back,
 * products per expert, penalties. Nothing is added by atomics: every run gives the same bits. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/grouped_linear.h"
#include "ops/moe_mixer.h"
#include "ops/moe_route.h"
#include "ops/moe_rows.h"
}

constexpr int MOST_CHOICES = 64;

/* ---- the router: a thread per token ---- */

__device__ static double row_lse(const CallTensor &x, int64_t at, int64_t n)
{
    float top = -INFINITY;
    double sum = 0;
    for (int64_t j = 0; j < n; j++) top = Largest()(top, get(x, at + j));
    for (int64_t j = 0; j < n; j++) sum += expf(get(x, at + j) - top);
    return top + log(sum);
}

__device__ static float score(const MoeRoute &a, float x, double lse)
{
    if (a.sqrt_softplus) return sqrtf(fmaxf(x, 0) + log1pf(expf(-fabsf(x))));
    return a.sigmoid ? 1 / (1 + expf(-x)) : expf((float)((double)x - lse));
}

__device__ static bool of_single_logits(const MoeRoute &a)
{
    return a.sigmoid || a.sqrt_softplus;
}

/* Of the score of a single logit x. */
__device__ static float slope_of(const MoeRoute &a, float x, float score)
{
    if (a.sigmoid) return score * (1 - score);
    return score > 0 ? 1 / (1 + expf(-x)) / (2 * score) : 0;
}

/* What experts are chosen by: their score, or logit, and its bias, where there is one. */
__device__ static float rank_of(const Call &c, int64_t at, int64_t expert, double lse)
{
    const MoeRoute &a = attrs_of<MoeRoute>(c);
    const float x = get(c.in[0], at + expert);
    const bool by_logits = a.by_logits || (c.n_in == 1 && !a.n_groups);
    return (by_logits ? x : score(a, x, lse)) + (c.n_in > 1 ? get(c.in[1], expert) : 0);
}

/* How good a group of `size` experts is: as its best one, with scores of single logits as its best
 * two. */
__device__ static float group_rank(const Call &c, int64_t at, int64_t group, int64_t size,
                                   double lse)
{
    float first = -INFINITY, second = -INFINITY;
    for (int64_t m = group * size; m < (group + 1) * size; m++) {
        const float rank = rank_of(c, at, m, lse);
        second = rank > first ? first : rank > second ? rank : second;
        first = rank > first ? rank : first;
    }
    return of_single_logits(attrs_of<MoeRoute>(c)) ? first + second : first;
}

/* The groups that experts are chosen from, as bits; without groups it is one. */
__device__ static uint64_t best_groups(const Call &c, int64_t at, int64_t e, double lse)
{
    const MoeRoute &a = attrs_of<MoeRoute>(c);
    if (!a.n_groups) return 1;
    const int64_t size = e / a.n_groups;
    float rank[MOST_EXPERT_GROUPS];
    uint64_t best = 0;
    for (int64_t g = 0; g < a.n_groups; g++) rank[g] = group_rank(c, at, g, size, lse);
    for (int64_t j = 0; j < a.top_groups; j++) {
        int64_t next = -1;
        for (int64_t g = 0; g < a.n_groups; g++)
            if (!(best >> g & 1) && (next < 0 || rank[g] > rank[next])) next = g;
        best |= (uint64_t)1 << next;
    }
    return best;
}

/* in: logits, biases; out: weights, experts. */
KERNEL(moe_route_kernel, 128)
{
    const MoeRoute &a = attrs_of<MoeRoute>(c);
    const CallTensor &x = c.in[0];
    const int64_t e = x.size[x.n_dims - 1], k = a.top_k, n = x.count / e,
                  of_group = a.n_groups ? e / a.n_groups : e;
    for (int64_t i = thread_number(); i < n; i += all_threads()) {
        const double lse = of_single_logits(a) ? 0 : row_lse(x, i * e, e);
        const uint64_t groups = best_groups(c, i * e, e, lse);
        int32_t chosen[MOST_CHOICES];
        float sum = (float)a.sum_eps;
        for (int64_t j = 0; j < k; j++) {
            int32_t best = -1;
            float most = 0;
            for (int32_t m = 0; m < e; m++) {
                const float rank = rank_of(c, i * e, m, lse);
                bool is_taken = !(groups >> m / of_group & 1);
                for (int64_t t = 0; t < j; t++) is_taken |= chosen[t] == m;
                if (is_taken || (best >= 0 && !(rank > most))) continue;
                best = m;
                most = rank;
            }
            chosen[j] = best;
            sum += score(a, get(x, i * e + best), lse);
        }
        for (int64_t j = 0; j < k; j++) {
            const float s = score(a, get(x, i * e + chosen[j]), lse);
            put(c.out[0], i * k + j, (float)a.factor * s / (a.normalize ? sum : 1));
            set(c.out[1], i * k + j, chosen[j]);
        }
    }
}

/* in: ids, table; attributes: the number of experts. */
KERNEL(moe_hash_kernel, 256)
{
    const int64_t k = c.in[1].size[1], n_experts = attrs_of<MoeHash>(c).n_experts;
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const int32_t id = get_int(c.in[0], i / k);
        const bool is_there = id >= 0 && id < c.in[1].size[0];
        const float expert = is_there ? get(c.in[1], id * k + i % k) : -1;
        const bool is_expert = expert >= 0 && expert < n_experts;
        if (!is_expert) fail(c, KERNEL_BAD_INDEX);
        set(c.out[0], i, is_expert ? (int32_t)expert : 0);
    }
}

/* in: logits, experts. */
KERNEL(moe_weigh_kernel, 128)
{
    const MoeRoute &a = attrs_of<MoeRoute>(c);
    const CallTensor &x = c.in[0];
    const int64_t e = x.size[x.n_dims - 1], k = c.in[1].size[c.in[1].n_dims - 1], n = x.count / e;
    for (int64_t i = thread_number(); i < n; i += all_threads()) {
        const double lse = of_single_logits(a) ? 0 : row_lse(x, i * e, e);
        float sum = (float)a.sum_eps;
        for (int64_t j = 0; j < k; j++)
            sum += score(a, get(x, i * e + get_int(c.in[1], i * k + j)), lse);
        for (int64_t j = 0; j < k; j++) {
            const float s = score(a, get(x, i * e + get_int(c.in[1], i * k + j)), lse);
            put(c.out[0], i * k + j, (float)a.factor * s / (a.normalize ? sum : 1));
        }
    }
}

/* in: logits, experts, gradient of the weights; as in moe_route.c. */
KERNEL(moe_route_grad_kernel, 128)
{
    const MoeRoute &a = attrs_of<MoeRoute>(c);
    const CallTensor &x = c.in[0];
    const int64_t e = x.size[x.n_dims - 1], k = c.in[1].size[c.in[1].n_dims - 1], n = x.count / e;
    for (int64_t i = thread_number(); i < n; i += all_threads()) {
        const double lse = of_single_logits(a) ? 0 : row_lse(x, i * e, e);
        float sum = (float)a.sum_eps, along = 0, flow = 0;
        for (int64_t j = 0; j < k; j++)
            sum += score(a, get(x, i * e + get_int(c.in[1], i * k + j)), lse);
        for (int64_t j = 0; j < k; j++)
            along += get(c.in[2], i * k + j) *
                     score(a, get(x, i * e + get_int(c.in[1], i * k + j)), lse) / sum;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t m = 0; m < e; m++) {
                const float logit = get(x, i * e + m), s = score(a, logit, lse);
                float slope = 0;
                for (int64_t j = 0; j < k; j++) {
                    if (get_int(c.in[1], i * k + j) != m) continue;
                    const float dw = get(c.in[2], i * k + j);
                    slope += (float)a.factor * (a.normalize ? (dw - along) / sum : dw);
                }
                if (pass == 0)
                    flow += s * slope;
                else
                    put(c.out[0], i * e + m,
                        of_single_logits(a) ? slope * slope_of(a, logit, s) : s * (slope - flow));
            }
    }
}

/* The sum over the logits that count beside the largest one that is left, as choice number j. */
__device__ static float mixer_sum(const Call &c, const CallTensor &expert, int64_t i, int64_t j,
                                  float top)
{
    const MoeMixer &a = attrs_of<MoeMixer>(c);
    const int64_t e = c.in[0].size[c.in[0].n_dims - 1];
    float sum = 0;
    for (int64_t m = 0; m < e; m++) {
        bool counts = mixer_counts(top, get(c.in[0], i * e + m), a.near);
        for (int64_t t = 0; t < j; t++) counts &= get_int(expert, i * a.top_k + t) != m;
        if (counts) sum += expf(get(c.in[0], i * e + m) - top);
    }
    return sum;
}

/* in: logits; out: weights, experts. */
KERNEL(moe_mixer_kernel, 128)
{
    const int64_t k = attrs_of<MoeMixer>(c).top_k, e = c.in[0].size[c.in[0].n_dims - 1],
                  n = c.in[0].count / e;
    for (int64_t i = thread_number(); i < n; i += all_threads())
        for (int64_t j = 0; j < k; j++) {
            int32_t best = -1;
            float top = 0;
            for (int32_t m = 0; m < e; m++) {
                const float x = get(c.in[0], i * e + m);
                bool is_taken = false;
                for (int64_t t = 0; t < j; t++) is_taken |= get_int(c.out[1], i * k + t) == m;
                if (is_taken || (best >= 0 && !(x > top))) continue;
                best = m;
                top = x;
            }
            set(c.out[1], i * k + j, best);
            put(c.out[0], i * k + j, 1 / mixer_sum(c, c.out[1], i, j, top));
        }
}

/* in: logits, experts, gradient of the weights. */
KERNEL(moe_mixer_grad_kernel, 128)
{
    const MoeMixer &a = attrs_of<MoeMixer>(c);
    const int64_t k = a.top_k, e = c.in[0].size[c.in[0].n_dims - 1], n = c.in[0].count / e;
    for (int64_t i = thread_number(); i < n; i += all_threads()) {
        for (int64_t m = 0; m < e; m++) put(c.out[0], i * e + m, 0);
        for (int64_t j = 0; j < k; j++) {
            const int32_t own = get_int(c.in[1], i * k + j);
            const float top = get(c.in[0], i * e + own), sum = mixer_sum(c, c.in[1], i, j, top),
                        flow = get(c.in[2], i * k + j) / sum;
            for (int64_t m = 0; m < e; m++) {
                const float x = get(c.in[0], i * e + m);
                bool counts = mixer_counts(top, x, a.near);
                for (int64_t t = 0; t < j; t++) counts &= get_int(c.in[1], i * k + t) != m;
                const float p = counts ? expf(x - top) / sum : 0;
                put(c.out[0], i * e + m, get(c.out[0], i * e + m) + flow * ((m == own) - p));
            }
        }
    }
}

__device__ static double all_rows(const Call &c, const CallTensor &t)
{
    double n = 1;
    for (int d = 0; d + 1 < t.n_dims; d++) n *= (double)whole_size(c, t, d);
    return n;
}

/* A block per expert. in: logits, experts; out: share, probability. */
KERNEL(moe_share_kernel, 256)
{
    const CallTensor &x = c.in[0], &expert = c.in[1];
    const int64_t e = x.size[x.n_dims - 1], n = x.count / e, own = blockIdx.x;
    const double each = 1 / all_rows(c, x);
    double count = 0, sum = 0;
    for (int64_t i = threadIdx.x; i < expert.count; i += blockDim.x)
        count += get_int(expert, i) == own;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        sum += expf((float)((double)get(x, i * e + own) - row_lse(x, i * e, e)));
    count = over_block(count, Sum(), 0.0);
    sum = over_block(sum, Sum(), 0.0);
    if (threadIdx.x != 0) return;
    put_double(c.out[0], own, each * count);
    put_double(c.out[1], own, each * sum);
}

KERNEL(moe_share_grad_kernel, 128)
{
    const CallTensor &x = c.in[0], &slope = c.in[1];
    const int64_t e = x.size[x.n_dims - 1], n = x.count / e;
    const float each = (float)(1 / all_rows(c, x));
    for (int64_t i = thread_number(); i < n; i += all_threads()) {
        const double lse = row_lse(x, i * e, e);
        float flow = 0;
        for (int64_t j = 0; j < e; j++)
            flow += expf((float)((double)get(x, i * e + j) - lse)) * get(slope, j);
        for (int64_t j = 0; j < e; j++)
            put(c.out[0], i * e + j,
                each * expf((float)((double)get(x, i * e + j) - lse)) * (get(slope, j) - flow));
    }
}

/* The attribute of moe_balance is a number of layers. */
__device__ static double balance_factor(const Call &c)
{
    const double n = (double)attrs_of<int64_t>(c);
    return (double)c.in[0].size[0] / (n * n);
}

KERNEL(moe_balance_kernel, 32)
{
    double sum = 0;
    for (int64_t j = threadIdx.x; j < c.in[0].count; j += WARP)
        sum += get_double(c.in[0], j) * get_double(c.in[1], j);
    sum = over_warp(sum, Sum());
    if (threadIdx.x == 0) put_double(c.out[0], 0, balance_factor(c) * sum);
}

KERNEL(moe_balance_grad_kernel, 32)
{
    for (int64_t j = threadIdx.x; j < c.in[0].count; j += WARP)
        put_double(c.out[0], j,
                   balance_factor(c) * get_double(c.in[0], j) * get_double(c.in[1], 0));
}

KERNEL(moe_element_kernel, 32)
{
    if (threadIdx.x == 0) put_double(c.out[0], 0, get_double(c.in[0], attrs_of<int64_t>(c)));
}

KERNEL(mean_square_lse_kernel, 256)
{
    const CallTensor &x = c.in[0];
    const int64_t e = x.size[x.n_dims - 1], n = x.count / e;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        const double lse = row_lse(x, i * e, e);
        sum += lse * lse;
    }
    sum = over_block(sum, Sum(), 0.0);
    if (threadIdx.x == 0) put_double(c.out[0], 0, sum / all_rows(c, x));
}

KERNEL(mean_square_lse_grad_kernel, 128)
{
    const CallTensor &x = c.in[0];
    const int64_t e = x.size[x.n_dims - 1], n = x.count / e;
    const double slope = get_double(c.in[1], 0) / all_rows(c, x);
    for (int64_t i = thread_number(); i < n; i += all_threads()) {
        const double lse = row_lse(x, i * e, e);
        for (int64_t j = 0; j < e; j++)
            put(c.out[0], i * e + j,
                (float)(2 * lse * slope) * expf((float)((double)get(x, i * e + j) - lse)));
    }
}

/* ---- rows: integers are few beside the rows themselves ---- */

/* A thread per pair counts those of its expert in front of it. in: experts of all, of this rank;
 * out: experts with -1 for those dropped, and how many (one block, number[0] is the room). */
KERNEL(moe_limit_kernel, 1024)
{
    const MoeLimit &a = attrs_of<MoeLimit>(c);
    const CallTensor &all = c.in[0], &mine = c.in[1];
    const int64_t k = all.size[2], length = mine.size[1];
    double n_dropped = 0;
    for (int64_t i = threadIdx.x; i < mine.count; i += blockDim.x) {
        const int64_t s = whole_index(c, mine, 1, i / k % length), b = i / k / length;
        const int64_t at = (b * all.size[1] + s) * k + i % k;
        const int32_t own = get_int(all, at);
        int64_t before = 0;
        if (own < 0 || own >= a.n_experts + a.n_zero) fail(c, KERNEL_BAD_INDEX);
        for (int64_t j = 0; j < at; j++) before += get_int(all, j) == own;
        const bool is_kept = own >= a.n_experts || before < c.number[0];
        set(c.out[0], i, is_kept ? own : -1);
        n_dropped += !is_kept;
    }
    n_dropped = over_block(n_dropped, Sum(), 0.0);
    if (threadIdx.x != 0) return;
    put_double(c.out[1], 0, n_dropped);
    if (a.stops && n_dropped > 0) fail(c, KERNEL_OVERFLOW);
}

/* A warp per pair: its row is the number of pairs of lower experts, and of its own in front of it.
 * in: experts; out: pair of a row, row of a pair, expert of a row (both cleared to -1 before). */
KERNEL(moe_rows_kernel, 256)
{
    const CallTensor &expert = c.in[0];
    const MoeSorting &a = attrs_of<MoeSorting>(c);
    const int64_t n = expert.count, n_experts = a.n_experts;
    for (int64_t i = thread_number() / WARP; i < n; i += all_threads() / WARP) {
        const int32_t own = get_int(expert, i);
        int32_t before = 0;
        for (int64_t j = threadIdx.x % WARP; j < n; j += WARP) {
            const int32_t other = get_int(expert, j);
            before += other >= 0 && (other < own || (other == own && j < i));
        }
        before = over_warp(before, Sum());
        if (threadIdx.x % WARP != 0) continue;
        if (own < -1 || own >= n_experts + a.n_zero) fail(c, KERNEL_BAD_INDEX);
        const bool has_row = own >= 0 && own < n_experts;
        set(c.out[1], i, has_row ? before : -1);
        if (!has_row) continue;
        set(c.out[0], before, (double)i);
        set(c.out[2], before, own);
    }
}

/* in: x, pair of a row, row of a pair. */
KERNEL(moe_gather_kernel, 256)
{
    const int64_t d = c.out[0].size[1], k = c.in[2].size[2];
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const int32_t pair = get_int(c.in[1], i / d);
        put(c.out[0], i, pair < 0 ? 0 : get(c.in[0], pair / k * d + i % d));
    }
}

/* Sums of a token's rows; with `weighted` by in[1]. The rows are in the last input. */
__device__ static void add_up(const Call &c, bool weighted)
{
    const CallTensor &x = c.in[0], &row = c.in[c.n_in - 1];
    const int64_t d = x.size[1], k = row.size[2];
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        float sum = 0;
        for (int64_t j = i / d * k; j < (i / d + 1) * k; j++) {
            const int32_t r = get_int(row, j);
            if (r >= 0) sum += (weighted ? get(c.in[1], j) : 1) * get(x, r * d + i % d);
        }
        put(c.out[0], i, sum);
    }
}

KERNEL(moe_scatter_kernel, 256)
{
    add_up(c, false);
}

KERNEL(moe_combine_kernel, 256)
{
    add_up(c, true);
}

/* in: gradient of the sums, weights, rows; the result was cleared. */
KERNEL(moe_gather_weighted_kernel, 256)
{
    const CallTensor &dy = c.in[0], &row = c.in[2];
    const int64_t d = dy.size[2], k = row.size[2];
    for (int64_t i = thread_number(); i < row.count * d; i += all_threads()) {
        const int64_t pair = i / d;
        const int32_t r = get_int(row, pair);
        if (r >= 0)
            put(c.out[0], r * d + i % d, get(c.in[1], pair) * get(dy, pair / k * d + i % d));
    }
}

/* A warp per pair. in: rows, gradient of the sums, rows of pairs. */
KERNEL(moe_combine_grad_weight_kernel, 256)
{
    const CallTensor &x = c.in[0], &dy = c.in[1], &row = c.in[2];
    const int64_t d = x.size[1], k = row.size[2];
    for (int64_t i = thread_number() / WARP; i < row.count; i += all_threads() / WARP) {
        const int32_t r = get_int(row, i);
        float sum = 0;
        for (int64_t j = threadIdx.x % WARP; r >= 0 && j < d; j += WARP)
            sum += get(dy, i / k * d + j) * get(x, r * d + j);
        sum = over_warp(sum, Sum());
        if (threadIdx.x % WARP == 0) put(c.out[0], i, sum);
    }
}

/* in: tokens, weights, experts; those from the attribute on give tokens back. */
KERNEL(moe_identity_kernel, 256)
{
    const int64_t first = attrs_of<int64_t>(c), d = c.out[0].size[2], k = c.in[2].size[2];
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        float sum = 0;
        for (int64_t j = i / d * k; j < (i / d + 1) * k; j++)
            if (get_int(c.in[2], j) >= first) sum += get(c.in[1], j);
        put(c.out[0], i, sum * get(c.in[0], i));
    }
}

/* A warp per pair. in: tokens, gradient of what they give, experts. */
KERNEL(moe_identity_grad_weight_kernel, 256)
{
    const CallTensor &x = c.in[0], &dy = c.in[1], &expert = c.in[2];
    const int64_t first = attrs_of<int64_t>(c), d = x.size[2], k = expert.size[2];
    for (int64_t i = thread_number() / WARP; i < expert.count; i += all_threads() / WARP) {
        const bool counts = get_int(expert, i) >= first;
        float sum = 0;
        for (int64_t j = threadIdx.x % WARP; counts && j < d; j += WARP)
            sum += get(dy, i / k * d + j) * get(x, i / k * d + j);
        sum = over_warp(sum, Sum());
        if (threadIdx.x % WARP == 0) put(c.out[0], i, sum);
    }
}

/* ---- products per expert, an element of the result per thread ---- */

/* in: rows, weights, expert of a row. */
KERNEL(grouped_linear_kernel, 256)
{
    const bool transposed = attrs_of<GroupedLinear>(c).transposed;
    const int64_t k = c.in[0].size[2], n = c.out[0].size[2];
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const int64_t row = i / n, j = i % n;
        const int32_t e = get_int(c.in[2], row);
        const bool is_there = e >= 0 && e < c.in[1].size[0];
        if (e >= c.in[1].size[0]) fail(c, KERNEL_BAD_INDEX);
        float sum = 0;
        for (int64_t m = 0; is_there && m < k; m++)
            sum += get(c.in[0], row * k + m) *
                   get(c.in[1], e * n * k + (transposed ? m * n + j : j * k + m));
        put(c.out[0], i, sum);
    }
}

/* in: gradient of the rows, rows, expert of a row; out: gradient of the weights. */
KERNEL(grouped_outer_kernel, 256)
{
    const CallTensor &of = c.in[2];
    const int64_t n = c.in[0].size[2], k = c.in[1].size[2];
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const int64_t e = i / (n * k), j = i / k % n, m = i % k;
        float sum = 0;
        for (int64_t row = 0; row < of.count && get_int(of, row) <= e; row++) {
            const int32_t own = get_int(of, row);
            if (own < 0) break;
            if (own == e) sum += get(c.in[0], row * n + j) * get(c.in[1], row * k + m);
        }
        put(c.out[0], i, sum);
    }
}

/* in: rows, biases, experts of rows. */
KERNEL(grouped_bias_kernel, 256)
{
    const int64_t d = c.out[0].size[2];
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const int32_t expert = get_int(c.in[2], i / d);
        if (expert >= c.in[1].size[0]) fail(c, KERNEL_BAD_INDEX);
        const bool has = expert >= 0 && expert < c.in[1].size[0];
        put(c.out[0], i, get(c.in[0], i) + (has ? get(c.in[1], expert * d + i % d) : 0));
    }
}

/* The first row of an expert or of a later one; those after the last row have none (-1). */
__device__ static int64_t row_of_expert(const CallTensor &of, uint32_t expert)
{
    int64_t from = 0, to = of.count;
    while (from < to) {
        const int64_t middle = (from + to) / 2;
        if ((uint32_t)get_int(of, middle) < expert)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* A thread per element. in: gradient of the rows, experts of rows. */
KERNEL(grouped_bias_grad_kernel, 256)
{
    const int64_t d = c.out[0].size[1];
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const uint32_t expert = (uint32_t)(i / d);
        const int64_t end = row_of_expert(c.in[1], expert + 1);
        float sum = 0;
        for (int64_t row = row_of_expert(c.in[1], expert); row < end; row++)
            sum += get(c.in[0], row * d + i % d);
        put(c.out[0], i, sum);
    }
}
