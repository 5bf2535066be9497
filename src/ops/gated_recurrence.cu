/* gated_recurrence.cu - the gated recurrence and its gradient, on a GPU. A block has some features
 * of a text, and loads stretches of tokens: all of its threads open gates, one warp walks over the
 * tokens. */
#include "device/cuda/kernel.h"
#include "ops/gated_recurrence_gates.h"

/* in[first] are features, followed by what their gates are made of, and speeds. */
struct Walk {
    const CallTensor &x, &in, &fade, &speed;
    const CallTensor *document;        /* NULL: one document */
    int64_t length, c, text, first; /* the block's text, and its first feature */
};

__device__ static Walk walk_of(const Call &call, int first, bool has_documents)
{
    const CallTensor *in = call.in + first;
    const int64_t c = in[0].size[2],
                  blocks = (c + RECURRENCE_FEATURES - 1) / RECURRENCE_FEATURES;
    return { in[0],
             in[1],
             in[2],
             in[3],
             has_documents ? &in[4] : nullptr,
             in[0].size[1],
             c,
             blockIdx.x / blocks,
             blockIdx.x % blocks * RECURRENCE_FEATURES };
}

/* Some tokens of a block's features; of one that begins a document or text `keep` is 0. */
struct Tile {
    float keep[RECURRENCE_TOKENS][RECURRENCE_FEATURES],
        number[RECURRENCE_TOKENS][RECURRENCE_FEATURES];
};

/* A token of a feature. */
struct Token {
    float x, in, fade, keep, share;
    bool is_first;
};

__device__ static float softplus_of(float x)
{
    return x > 30 ? x : log1pf(expf(x));
}

__device__ static float sigmoid_of(float x)
{
    return 1 / (1 + expf(-x));
}

/* Of a thread: the place of its feature, which may not be there. */
__device__ static int own_feature()
{
    return threadIdx.x % RECURRENCE_FEATURES;
}

__device__ static float rate_of(const Walk &w)
{
    const int64_t c = w.first + own_feature();
    return c < w.c ? -(float)RECURRENCE_SPEED * softplus_of(get(w.speed, c)) : 0;
}

/* Token t of the block's text. */
__device__ static Token token_of(const Walk &w, float rate, int64_t t, bool goes_on)
{
    const int64_t row = w.text * w.length + t, at = row * w.c + w.first + own_feature();
    Token k = { get(w.x, at), sigmoid_of(get(w.in, at)), sigmoid_of(get(w.fade, at)), 0, 1, false };
    k.is_first = t == 0 ? !goes_on
                        : w.document && get_int(*w.document, row) != get_int(*w.document, row - 1);
    if (k.is_first) return k;
    const float l = rate * k.fade;
    k.keep = expf(l);
    k.share = sqrtf(-expm1f(2 * l));
    return k;
}

__device__ static int64_t tokens_from(const Walk &w, int64_t from)
{
    const int64_t rest = w.length - from, most = RECURRENCE_TOKENS;
    return rest < most ? rest : most;
}

/* All tokens of the block's features; the number behind the last one, of the first warp's. */
__device__ static float run_tokens(const Walk &w, Tile &tile, float h, bool goes_on,
                                   const CallTensor &y)
{
    const int k = own_feature(), step = RECURRENCE_THREADS / RECURRENCE_FEATURES;
    const int64_t c = w.first + k;
    const float rate = rate_of(w);
    for (int64_t from = 0; from < w.length; from += RECURRENCE_TOKENS) {
        const int64_t count = tokens_from(w, from);
        for (int t = threadIdx.x / RECURRENCE_FEATURES; t < count && c < w.c; t += step) {
            const Token token = token_of(w, rate, from + t, goes_on);
            tile.keep[t][k] = token.keep;
            tile.number[t][k] = token.share * token.in * token.x;
        }
        __syncthreads();
        for (int t = 0; t < count && threadIdx.x < RECURRENCE_FEATURES; t++) {
            h = tile.keep[t][k] != 0 ? tile.keep[t][k] * h + tile.number[t][k] : tile.number[t][k];
            tile.number[t][k] = h;
        }
        __syncthreads();
        for (int t = threadIdx.x / RECURRENCE_FEATURES; t < count && c < w.c; t += step)
            put(y, (w.text * w.length + from + t) * w.c + c, tile.number[t][k]);
        __syncthreads(); /* the last use of the tile is over */
    }
    return h;
}

KERNEL(gated_recurrence_kernel, RECURRENCE_THREADS)
{
    __shared__ Tile tile;
    const Walk w = walk_of(c, 0, c.n_in > 4);
    run_tokens(w, tile, 0, false, c.out[0]);
}

/* The same from and to what is kept of a text. */
KERNEL(gated_recurrence_cached_kernel, RECURRENCE_THREADS)
{
    __shared__ Tile tile;
    const Walk w = walk_of(c, 1, false);
    const int64_t feature = w.first + own_feature(), at = w.text * w.c + feature;
    const bool keeps = threadIdx.x < RECURRENCE_FEATURES && feature < w.c;
    const float kept = keeps ? get(c.in[0], at) : 0;
    const float h = run_tokens(w, tile, kept, first_position(c, w.text) > 0, c.out[1]);
    if (keeps) put(c.out[0], at, text_waits(c, w.text) ? kept : h);
}

/* ---- backwards ---- */

/* What the rank has of the tokens of a stretch: its places among the own ones; -1: none. */
__device__ static void find_rows(const Call &c, int64_t *row, int64_t length, int64_t from,
                                 int64_t count)
{
    const CallTensor &own = c.in[c.n_in - 2];
    const bool has_all = own.size[1] == length;
    for (int64_t t = threadIdx.x; t < count; t += blockDim.x) row[t] = has_all ? from + t : -1;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < own.size[1] && !has_all; i += blockDim.x) {
        const int64_t t = whole_index(c, own, 1, i) - from;
        if (t >= 0 && t < count) row[t] = i;
    }
}

/* Rows of the block's features that are padding. */
__device__ static void clear_padding(const Call &c, const Walk &w)
{
    const CallTensor &own = c.in[c.n_in - 2];
    const int64_t k = w.first + threadIdx.x;
    if (own.size[1] == w.length || threadIdx.x >= RECURRENCE_FEATURES || k >= w.c) return;
    for (int64_t i = 0; i < own.size[1]; i++)
        for (int o = 0; o < 3 && whole_index(c, own, 1, i) >= w.length; o++)
            put(c.out[o], (w.text * own.size[1] + i) * w.c + k, 0);
}

/* What token t gets of d, the gradient of the number behind it; gives that of the feature's speed,
 * divided by its slope. */
__device__ static float token_grad(const Call &c, const Walk &w, float rate, int64_t t, int64_t row,
                                   float d)
{
    const int64_t feature = w.first + own_feature(),
                  own = (w.text * c.out[0].size[1] + row) * w.c + feature;
    const Token k = token_of(w, rate, t, false);
    float of_l = 0;
    if (!k.is_first) {
        const float least = 0.5f / RECURRENCE_SLOPE, m = k.share > least ? k.share : least,
                    before = get(c.in[c.n_in - 3], (w.text * w.length + t - 1) * w.c + feature);
        of_l = d * k.keep * (before - k.in * k.x * k.keep / m);
    }
    put(c.out[0], own, d * k.share * k.in);
    put(c.out[1], own, d * k.share * k.x * k.in * (1 - k.in));
    put(c.out[2], own, of_l * rate * k.fade * (1 - k.fade));
    return -(float)RECURRENCE_SPEED * of_l * k.fade;
}

/* in: the operands, perhaps documents, the result, its gradient for the own tokens and for all. */
KERNEL(gated_recurrence_grad_kernel, RECURRENCE_THREADS)
{
    __shared__ Tile tile;
    __shared__ int64_t row[RECURRENCE_TOKENS];
    const Walk w = walk_of(c, 0, c.n_in > 7);
    const CallTensor &dy = c.in[c.n_in - 1];
    const int k = own_feature(), step = RECURRENCE_THREADS / RECURRENCE_FEATURES,
              own_token = threadIdx.x / RECURRENCE_FEATURES;
    const int64_t feature = w.first + k;
    const bool is_there = feature < w.c;
    const float rate = rate_of(w);
    float d = 0, of_speed = 0;
    clear_padding(c, w);
    for (int64_t from = (w.length - 1) / RECURRENCE_TOKENS * RECURRENCE_TOKENS; from >= 0;
         from -= RECURRENCE_TOKENS) {
        const int64_t count = tokens_from(w, from);
        for (int t = own_token; t < count && is_there; t += step) {
            tile.keep[t][k] = token_of(w, rate, from + t, false).keep;
            tile.number[t][k] = get(dy, (w.text * w.length + from + t) * w.c + feature);
        }
        find_rows(c, row, w.length, from, count);
        __syncthreads();
        for (int t = (int)count - 1; t >= 0 && threadIdx.x < RECURRENCE_FEATURES; t--) {
            tile.number[t][k] = d += tile.number[t][k];
            d *= tile.keep[t][k];
        }
        __syncthreads();
        for (int t = own_token; t < count && is_there; t += step)
            if (row[t] >= 0)
                of_speed += token_grad(c, w, rate, from + t, row[t], tile.number[t][k]);
        __syncthreads(); /* the last use of the tile is over */
    }
    tile.number[own_token][k] = of_speed;
    __syncthreads();
    if (threadIdx.x >= RECURRENCE_FEATURES || !is_there) return;
    float sum = 0;
    for (int i = 0; i < step; i++) sum += tile.number[i][k];
    ((float *)c.scratch)[w.text * w.c + feature] = sum * sigmoid_of(get(w.speed, feature));
}

/* Adds up the texts' gradients of speeds. */
KERNEL(gated_recurrence_sums_kernel, 256)
{
    const CallTensor &to = c.out[3];
    for (int64_t i = thread_number(); i < to.count; i += all_threads()) {
        float sum = 0;
        for (int64_t b = 0; b < c.in[0].size[0]; b++)
            sum += ((const float *)c.scratch)[b * to.count + i];
        put(to, i, sum);
    }
}
