/* selective_scan_grad.cu - gradients of the selective scan, on a GPU. A block walks twice: forwards it
 * keeps states in front of stretches of tokens, backwards it makes those within one again. */
#include "ops/selective_scan_tiles_cuda.h"

/* What the backward pass has beside it: slopes of dt, rows of results, and sums over the two features of a warp. */
struct BackTile {
    float slope[SCAN_TOKENS][SCAN_FEATURES];
    int64_t row[SCAN_TOKENS]; /* among the rank's own tokens; -1: it is not one of them */
    float sum[SCAN_THREADS / WARP][2][SCAN_MOST];
};

/* Memory of a block, and where sums over tokens go: of each text [c][n + 2]. */
struct Rooms {
    float *states, *within, *sums, *own;
};

__device__ static Rooms rooms_of(const Call &c, const Scan &s)
{
    const int64_t blocks = scan_blocks(s.c) * s.x.size[0];
    float *states = (float *)c.scratch, *sums = states + blocks * scan_states(s.length, s.n);
    float *mine = states + blockIdx.x * scan_states(s.length, s.n);
    return { mine,
             mine + scan_starts(s.length, s.n),
             sums + blockIdx.x * scan_sums(s.length, s.n),
             sums + blocks * scan_sums(s.length, s.n) + s.text * s.c * (s.n + 2) };
}

/* The place of a number of the thread's feature in front of stretch k. */
__device__ static int64_t start_at(const Scan &s, int64_t k, int i)
{
    return (k * SCAN_FEATURES + own_feature()) * s.n + own_lane() + SCAN_LANES * i;
}

template <int COUNT>
__device__ static void keep_starts(const Scan &s, Tile &w, const Numbers<COUNT> &a, float *states)
{
    Numbers<COUNT> h = {};
    for (int64_t from = 0; from < s.length; from += SCAN_TOKENS) {
        const int64_t count = tokens_from(s, from);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (has_number(s, i)) states[start_at(s, from / SCAN_TOKENS, i)] = h.of[i];
        if (from + count == s.length) return; /* nobody asks what is behind the last one */
        load_tile(s, w, nullptr, from, count);
        for (int t = 0; t < count; t++) take_step(s, w, t, a, h, w.begins[t]);
    }
}

/* What warps have added up of a token goes to row t of the block's sums. */
__device__ static void join_warps(const Scan &s, const BackTile &w, int64_t t, float *sums)
{
    __syncthreads();
    for (int64_t i = threadIdx.x; i < 2 * s.n; i += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < SCAN_THREADS / WARP; k++) sum += w.sum[k][i / s.n][i % s.n];
        sums[t * 2 * s.n + i] = sum;
    }
    __syncthreads();
}

/* Of a thread's feature, over the tokens: as each lane has it, and as all of them do. */
template <int COUNT> struct Sums {
    Numbers<COUNT> d, speed; /* d: of h in front of the last token */
    float bias, skip;
};

/* Token t of the tile, behind which h is `behind`. */
template <int COUNT>
__device__ static void token_back(const Scan &s, Tile &w, BackTile &b, int t, float skip,
                                  const Numbers<COUNT> &a, const Numbers<COUNT> &before,
                                  const Numbers<COUNT> &behind, Sums<COUNT> &to)
{
    const int k = own_feature(), warp = threadIdx.x / WARP;
    const float dt = w.dt[t][k], x = w.x[t][k], dy = w.y[t][k], counts = b.row[t] < 0 ? 0 : 1;
    float of_u = 0, of_dt = 0;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const int j = own_lane() + SCAN_LANES * i;
        const bool is_there = j < s.n;
        const float d = to.d.of[i] + (is_there ? dy * w.out[t][j] : 0),
                    keep = w.begins[t] ? 0 : expf(dt * a.of[i]), left = d * keep,
                    faded = w.begins[t] ? 0 : left * before.of[i] * a.of[i];
        float in = d * dt * x, out = dy * behind.of[i];
        in += __shfl_xor_sync(WHOLE_WARP, in, SCAN_LANES);
        out += __shfl_xor_sync(WHOLE_WARP, out, SCAN_LANES);
        if (is_there && threadIdx.x % WARP < SCAN_LANES) {
            b.sum[warp][0][j] = in;
            b.sum[warp][1][j] = out;
        }
        of_u += is_there ? d * w.in[t][j] : 0;
        of_dt += faded;
        to.speed.of[i] += counts * faded * dt;
        to.d.of[i] = left;
    }
    of_u = over_lanes(of_u);
    of_dt = over_lanes(of_dt);
    const float of_step = (of_dt + x * of_u) * b.slope[t][k];
    to.bias += counts * of_step;
    to.skip += counts * dy * x;
    __syncwarp(); /* all lanes have read */
    if (own_lane() > 0) return;
    w.y[t][k] = dt * of_u + skip * dy; /* the gradient of x, in the place of that of y */
    w.dt[t][k] = of_step;
}

/* Of tokens [from, from + count). */
__device__ static void find_rows(const Call &c, BackTile &b, int64_t length, int64_t from,
                                int64_t count)
{
    const CallTensor &own = c.in[c.n_in - 2];
    const bool has_all = own.size[1] == length;
    for (int64_t t = threadIdx.x; t < count; t += blockDim.x) b.row[t] = has_all ? from + t : -1;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < own.size[1] && !has_all; i += blockDim.x) {
        const int64_t t = whole_index(c, own, 1, i) - from;
        if (t >= 0 && t < count) b.row[t] = i;
    }
}

/* Features of the tile's own tokens. */
__device__ static void store_rows(const Scan &s, const BackTile &b, float (*tile)[SCAN_FEATURES],
                                  const CallTensor &to, int64_t count)
{
    for (int64_t i = threadIdx.x; i < count * SCAN_FEATURES; i += blockDim.x) {
        const int64_t t = i / SCAN_FEATURES, k = i % SCAN_FEATURES, c = s.first + k;
        if (c < s.c && b.row[t] >= 0)
            put(to, (s.text * to.size[1] + b.row[t]) * s.c + c, tile[t][k]);
    }
}

/* Rows of the block's features that are padding. */
__device__ static void clear_padding(const Call &c, const Scan &s)
{
    const CallTensor &own = c.in[c.n_in - 2];
    const int64_t k = s.first + threadIdx.x;
    if (own.size[1] == s.length || threadIdx.x >= SCAN_FEATURES || k >= s.c) return;
    for (int64_t i = 0; i < own.size[1]; i++) {
        if (whole_index(c, own, 1, i) < s.length) continue;
        put(c.out[0], (s.text * own.size[1] + i) * s.c + k, 0);
        put(c.out[1], (s.text * own.size[1] + i) * s.c + k, 0);
    }
}

/* States in front of the tokens of a stretch, and behind the last. */
template <int COUNT> struct Stretch {
    float *memory;
    __device__ void put(int t, const Numbers<COUNT> &h)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            memory[(t * COUNT + i) * SCAN_THREADS + threadIdx.x] = h.of[i];
    }
    __device__ Numbers<COUNT> get(int t) const
    {
        Numbers<COUNT> h;
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            h.of[i] = memory[(t * COUNT + i) * SCAN_THREADS + threadIdx.x];
        return h;
    }
};

template <> struct Stretch<1> {
    float *memory;
    Numbers<1> of[SCAN_TOKENS + 1];
    __device__ void put(int t, const Numbers<1> &h) { of[t] = h; }
    __device__ Numbers<1> get(int t) const { return of[t]; }
};

template <int COUNT>
__device__ static void stretch_back(const Call &c, const Scan &s, Tile &w, BackTile &b,
                                    int64_t from, float skip, const Numbers<COUNT> &a,
                                    const Rooms &r, Sums<COUNT> &to)
{
    const CallTensor &dy = c.in[c.n_in - 1];
    const int64_t count = tokens_from(s, from),
                  row = s.text * s.length + from;
    [[maybe_unused]] constexpr int UNROLL = COUNT == 1 ? SCAN_TOKENS : 1;
    Numbers<COUNT> h = {};
    Stretch<COUNT> kept;
    kept.memory = r.within;
    load_tile(s, w, b.slope, from, count);
    find_rows(c, b, s.length, from, count);
    for (int64_t i = threadIdx.x; i < count * SCAN_FEATURES; i += blockDim.x) {
        const int64_t t = i / SCAN_FEATURES, feature = s.first + i % SCAN_FEATURES;
        w.y[t][i % SCAN_FEATURES] = feature < s.c ? get(dy, (row + t) * s.c + feature) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if (has_number(s, i)) h.of[i] = r.states[start_at(s, from / SCAN_TOKENS, i)];
    kept.put(0, h);
#pragma unroll UNROLL
    for (int t = 0; t < SCAN_TOKENS; t++) {
        if (t >= count) continue;
        take_step(s, w, t, a, h, w.begins[t]);
        kept.put(t + 1, h);
    }
#pragma unroll UNROLL
    for (int t = SCAN_TOKENS - 1; t >= 0; t--) {
        if (t >= count) continue;
        token_back(s, w, b, t, skip, a, kept.get(t), kept.get(t + 1), to);
        join_warps(s, b, from + t, r.sums);
    }
    store_rows(s, b, w.dt, c.out[0], count);
    store_rows(s, b, w.y, c.out[1], count);
}

template <int COUNT>
__device__ static void backward(const Call &c, const Scan &s, Tile &w, BackTile &b)
{
    const Numbers<COUNT> a = load_speeds<COUNT>(s);
    const Rooms r = rooms_of(c, s);
    const int64_t feature = s.first + own_feature();
    const float skip = feature < s.c ? get(s.skip, feature) : 0;
    Sums<COUNT> to = {};
    clear_padding(c, s);
    keep_starts(s, w, a, r.states);
    for (int64_t from = (s.length - 1) / SCAN_TOKENS * SCAN_TOKENS; from >= 0; from -= SCAN_TOKENS)
        stretch_back(c, s, w, b, from, skip, a, r, to);
    if (feature >= s.c) return;
    float *own = r.own + feature * (s.n + 2);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if (has_number(s, i)) own[own_lane() + SCAN_LANES * i] = to.speed.of[i];
    if (own_lane() > 0) return;
    own[s.n] = to.bias;
    own[s.n + 1] = to.skip;
}

/* in: the operands, perhaps documents, gradient of the result for the own tokens and for all. */
KERNEL(selective_scan_grad_kernel, SCAN_THREADS)
{
    __shared__ Tile w;
    __shared__ BackTile b;
    const Scan s = scan_of(c, 0, c.n_in > 9);
    if (scan_count(s.n) == 1)
        backward<1>(c, s, w, b);
    else if (scan_count(s.n) == 4)
        backward<4>(c, s, w, b);
    else
        backward<8>(c, s, w, b);
}

/* Adds up what the blocks have of tokens, and the texts of features. */
KERNEL(selective_scan_sums_kernel, 256)
{
    const CallTensor &x = c.in[1], &speed = c.in[4];
    const int64_t n = speed.size[1], blocks = scan_blocks(x.size[2]), texts = x.size[0],
                  length = x.size[1], of_text = length * 2 * n, of_features = x.size[2] * (n + 2);
    const float *sums = (const float *)c.scratch + texts * blocks * scan_states(length, n),
                *own = sums + texts * blocks * of_text;
    const CallTensor &tokens = c.in[c.n_in - 2]; /* the own ones; others are padding */
    for (int64_t i = thread_number(); i < 2 * c.out[2].count; i += all_threads()) {
        const int64_t at = i / 2 / n, text = at / tokens.size[1],
                      t = whole_index(c, tokens, 1, at % tokens.size[1]);
        const float *from = sums + text * blocks * of_text + (2 * t + i % 2) * n + i / 2 % n;
        float sum = 0;
        for (int64_t k = 0; k < blocks && t < length; k++) sum += from[k * of_text];
        put(c.out[2 + i % 2], i / 2, sum);
    }
    for (int64_t i = thread_number(); i < of_features; i += all_threads()) {
        const int64_t feature = i / (n + 2), j = i % (n + 2);
        float sum = 0;
        for (int64_t k = 0; k < texts; k++) sum += own[k * of_features + i];
        put(c.out[j < n ? 4 : j == n ? 5 : 6], j < n ? feature * n + j : feature, sum);
    }
}
