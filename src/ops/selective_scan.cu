/* selective_scan.cu - what is read of states by the selective scan, on a GPU. */
#include "ops/selective_scan_tiles_cuda.h"

/* Features of the tile at tokens [from, from + count), to `to` [b s c]. */
__device__ static void store_tile(const Scan &s, float (*tile)[SCAN_FEATURES], const CallTensor &to,
                                  int64_t from, int64_t count)
{
    const int64_t row = s.text * s.length + from;
    for (int64_t i = threadIdx.x; i < count * SCAN_FEATURES; i += blockDim.x) {
        const int64_t t = i / SCAN_FEATURES, c = s.first + i % SCAN_FEATURES;
        if (c < s.c) put(to, (row + t) * s.c + c, tile[t][i % SCAN_FEATURES]);
    }
}

/* All tokens of the block's features, from and to h. */
template <int COUNT>
__device__ static void run_tokens(const Scan &s, Tile &w, const Numbers<COUNT> &a,
                                  Numbers<COUNT> &h, bool goes_on, const CallTensor &y)
{
    const int64_t c = s.first + own_feature();
    const float skip = c < s.c ? get(s.skip, c) : 0;
    for (int64_t from = 0; from < s.length; from += SCAN_TOKENS) {
        const int64_t count = tokens_from(s, from);
        load_tile(s, w, nullptr, from, count);
        for (int t = 0; t < count; t++) {
            take_step(s, w, t, a, h, w.begins[t] && (from + t > 0 || !goes_on));
            float sum = 0;
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (has_number(s, i)) sum += w.out[t][own_lane() + SCAN_LANES * i] * h.of[i];
            sum = over_lanes(sum);
            if (own_lane() == 0)
                w.y[t][own_feature()] = sum + skip * w.x[t][own_feature()];
        }
        __syncthreads();
        store_tile(s, w.y, y, from, count);
    }
}

template <int COUNT> __device__ static void forward(const Call &c, const Scan &s, Tile &w)
{
    const Numbers<COUNT> a = load_speeds<COUNT>(s);
    Numbers<COUNT> h = {};
    run_tokens(s, w, a, h, false, c.out[0]);
}

KERNEL(selective_scan_kernel, SCAN_THREADS)
{
    __shared__ Tile w;
    const Scan s = scan_of(c, 0, c.n_in > 7);
    if (scan_count(s.n) == 1)
        forward<1>(c, s, w);
    else if (scan_count(s.n) == 4)
        forward<4>(c, s, w);
    else
        forward<8>(c, s, w);
}

/* The same from and to what is kept of a text. */
template <int COUNT> __device__ static void cached(const Call &c, const Scan &s, Tile &w)
{
    const Numbers<COUNT> a = load_speeds<COUNT>(s);
    Numbers<COUNT> h = {}, kept = {};
    const int64_t feature = s.first + own_feature(),
                  place = (s.text * s.c + feature) * s.n + own_lane();
    const bool is_there = feature < s.c, goes_on = first_position(c, s.text) > 0,
               waits = text_waits(c, s.text);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if (is_there && has_number(s, i)) kept.of[i] = get(c.in[0], place + SCAN_LANES * i);
    if (goes_on) h = kept;
    run_tokens(s, w, a, h, goes_on, c.out[1]);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        if (is_there && has_number(s, i))
            set(c.out[0], place + SCAN_LANES * i, waits ? kept.of[i] : h.of[i]);
}

KERNEL(selective_scan_cached_kernel, SCAN_THREADS)
{
    __shared__ Tile w;
    const Scan s = scan_of(c, 1, false);
    if (scan_count(s.n) == 1)
        cached<1>(c, s, w);
    else if (scan_count(s.n) == 4)
        cached<4>(c, s, w);
    else
        cached<8>(c, s, w);
}
