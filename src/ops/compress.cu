/* compress.cu - rows of windows of tokens as one each, on a GPU: a thread per feature of a window. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/compress.h"
#include "ops/compress_windows.h"
}

/* Of a launch whose rows and logits are inputs `first` and `first` + 1, with tails in front where
 * that is 2; windows have d features, t of them a text. */
struct Windows {
    const Call &c;
    int first;
    int64_t t, d;
};

__device__ static int64_t tail_of(const Windows &v)
{
    return v.first ? v.c.in[0].size[2] : 0;
}

__device__ static Window window_at(const Windows &v, int64_t b, int64_t i)
{
    const Compress &a = attrs_of<Compress>(v.c);
    const int64_t p = v.first ? first_position(v.c, b) : 0, u = tail_of(v);
    return { a.rate, p > u ? p - u : 0, p + v.c.in[v.first].size[1], (p / a.rate + i) * a.rate,
             a.overlaps };
}

struct Row {
    int64_t at;
    float x, logit;
    bool kept;
};

__device__ static bool row_of(const Windows &v, const Window &w, int64_t b, int64_t i, int64_t e,
                              Row &r)
{
    int64_t token, place;
    bool before;
    if (!window_row(&w, i, &token, &place, &before)) return false;
    const CallTensor &x = v.c.in[v.first];
    const int64_t s = x.size[1], width = x.size[2], begin = w.to - s, u = tail_of(v),
                  column = w.overlaps && !before ? v.d + e : e;
    r.kept = token < begin;
    r.at = (r.kept ? b * u + token - begin + u : b * s + token - begin) * width + column;
    r.x = get(v.c.in[r.kept ? 0 : v.first], r.at);
    r.logit = get(v.c.in[r.kept ? 1 : v.first + 1], r.at) +
              get(v.c.in[v.first + 2], place * width + column);
    return true;
}

__device__ static float mean_of(const Windows &v, const Window &w, int64_t b, int64_t e, float &top,
                                float &sum)
{
    float mean = 0;
    Row r;
    top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < window_rows(&w); i++)
        if (row_of(v, w, b, i, e, r)) top = fmaxf(top, r.logit);
    for (int64_t i = 0; i < window_rows(&w); i++) {
        if (!row_of(v, w, b, i, e, r)) continue;
        const float p = expf(r.logit - top);
        sum += p;
        mean += p * r.x;
    }
    return sum > 0 ? mean / sum : 0;
}

__device__ static void put_means(const Windows &v, const CallTensor &y)
{
    float top, sum;
    for (int64_t i = thread_number(); i < y.count; i += all_threads()) {
        const int64_t b = i / (v.t * v.d);
        put(y, i, mean_of(v, window_at(v, b, i / v.d % v.t), b, i % v.d, top, sum));
    }
}

KERNEL(compress_kernel, 256)
{
    put_means({ c, 0, c.out[0].size[1], c.out[0].size[2] }, c.out[0]);
}

KERNEL(compress_cached_kernel, 256)
{
    put_means({ c, 2, c.out[2].size[1], c.out[2].size[2] }, c.out[2]);
}

/* Behind compress_cached_kernel: the last tokens of each text. A thread per feature of a tail, which
 * goes through its tokens in order. */
KERNEL(compress_tail_kernel, 256)
{
    const int64_t u = c.in[0].size[2], s = c.in[2].size[1], width = c.in[2].size[2],
                  n = c.in[0].size[0] * width;
    for (int64_t i = thread_number(); i < 2 * n; i += all_threads()) {
        const int k = i >= n;
        const int64_t b = i % n / width, e = i % n % width;
        const bool waits = text_waits(c, b);
        for (int64_t j = 0; j < u; j++) {
            const int64_t from = waits ? j : j + s;
            const float x = from < u ? get(c.in[k], (b * u + from) * width + e)
                                     : get(c.in[2 + k], (b * s + from - u) * width + e);
            set(c.out[k], (b * u + j) * width + e, x);
        }
    }
}

/* in: rows, logits, bias, gradient of the windows. */
KERNEL(compress_grad_kernel, 256)
{
    const CallTensor &dy = c.in[3];
    const Windows v = { c, 0, dy.size[1], dy.size[2] };
    const int64_t width = c.in[0].size[2], s = c.in[0].size[1];
    for (int64_t i = thread_number(); i < dy.count; i += all_threads()) {
        const int64_t b = i / (v.t * v.d), at = i / v.d % v.t, e = i % v.d;
        const Window w = window_at(v, b, at);
        float top, sum;
        Row r;
        const float mean = mean_of(v, w, b, e, top, sum), of = get(dy, i) / sum;
        for (int64_t j = 0; j < window_rows(&w); j++) {
            if (!row_of(v, w, b, j, e, r)) continue;
            const float flow = expf(r.logit - top) * of;
            put(c.out[0], r.at, flow);
            put(c.out[1], r.at, flow * (r.x - mean));
        }
        if (!w.overlaps || at != v.t - 1) continue;
        for (int64_t token = w.first; token < w.first + w.rate && token < s; token++)
            for (int k = 0; k < 2; k++) put(c.out[k], (b * s + token) * width + e, 0);
    }
}

/* Behind compress_grad_kernel: a thread per number of bias adds up gradients of logits. */
KERNEL(compress_bias_kernel, 256)
{
    const CallTensor &dgate = c.out[1], &dbias = c.out[2];
    const int64_t rate = dbias.size[0], width = dbias.size[1], s = dgate.size[1];
    for (int64_t i = thread_number(); i < dbias.count; i += all_threads()) {
        float sum = 0;
        for (int64_t b = 0; b < dgate.size[0]; b++)
            for (int64_t token = i / width; token < s; token += rate)
                sum += get(dgate, (b * s + token) * width + i % width);
        put(dbias, i, sum);
    }
}

KERNEL(ended_windows_kernel, 256)
{
    const int64_t rate = attrs_of<EndedWindows>(c).rate, t = c.out[0].size[2],
                  s = c.in[0].size[1];
    for (int64_t i = thread_number(); i < c.out[0].count; i += all_threads()) {
        const int64_t row = i / t,
                      position = whole_index(c, c.in[0], 1, row % s) + first_position(c, row / s);
        set(c.out[0], i, (i % t + 1) * rate <= position + 1 ? (double)(i % t) : -1);
    }
}
