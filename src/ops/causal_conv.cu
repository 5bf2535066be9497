/* causal_conv.cu - each feature as a weighted sum of its own last few numbers, on a GPU. */
#include "device/cuda/kernel.h"

/* How many tokens in front of t, up to `most`, are of its document; NULL: all of the sequence. */
__device__ static int64_t n_before(const CallTensor *document, int64_t t, int64_t length,
                                   int64_t most)
{
    int64_t n = 0;
    while (n < most && (t - n) % length > 0 &&
           (!document || get_int(*document, t - n - 1) == get_int(*document, t)))
        n++;
    return n;
}

/* The number over all sequences of row i of a rank's own tokens; -1: it is padding. */
__device__ static int64_t token_of(const Call &c, const CallTensor &own, int64_t i, int64_t length)
{
    const int64_t t = whole_index(c, own, 1, i % own.size[1]);
    return t < length ? i / own.size[1] * length + t : -1;
}

/* in: own tokens, whole sequences, weights, perhaps documents. */
KERNEL(causal_conv_kernel, 256)
{
    const CallTensor &own = c.in[0], &x = c.in[1], &w = c.in[2], &y = c.out[0];
    const CallTensor *document = c.n_in == 4 ? &c.in[3] : nullptr;
    const int64_t length = x.size[1], n = x.size[2], width = w.size[1];
    for (int64_t i = thread_number(); i < y.count; i += all_threads()) {
        const int64_t t = token_of(c, own, i / n, length), k = i % n,
                      before = t < 0 ? -1 : n_before(document, t, length, width - 1);
        float sum = 0;
        for (int64_t j = 0; j <= before; j++)
            sum += get(w, k * width + width - 1 - j) * get(x, (t - j) * n + k);
        put(y, i, sum);
    }
}

/* in: weights, perhaps documents, gradient of the result. A token gets from those behind it that
 * have it in front of them. */
KERNEL(causal_conv_x_grad_kernel, 256)
{
    const CallTensor &w = c.in[0], &dy = c.in[c.n_in - 1], &dx = c.out[0];
    const CallTensor *document = c.n_in == 3 ? &c.in[1] : nullptr;
    const int64_t length = dx.size[1], n = dx.size[2], width = w.size[1];
    for (int64_t i = thread_number(); i < dx.count; i += all_threads()) {
        const int64_t t = i / n, k = i % n;
        float sum = 0;
        for (int64_t j = 0; j < width && t % length + j < length; j++) {
            if (n_before(document, t + j, length, j) < j) break;
            sum += get(w, k * width + width - 1 - j) * get(dy, i + j * n);
        }
        put(dx, i, sum);
    }
}

/* A block for 32 features and one weight of each; warps take tokens in turns. in: whole sequences,
 * perhaps documents, gradient of the own tokens. */
KERNEL(causal_conv_weight_grad_kernel, 256)
{
    enum { WARPS = 8 };
    __shared__ float part[WARPS][WARP];
    const CallTensor &x = c.in[0], &dy = c.in[c.n_in - 1], &dw = c.out[0];
    const CallTensor *document = c.n_in == 3 ? &c.in[1] : nullptr;
    const int64_t length = x.size[1], n = x.size[2], width = dw.size[1];
    const int64_t j = blockIdx.x % width, k = blockIdx.x / width * WARP + threadIdx.x % WARP;
    const int warp = threadIdx.x / WARP;
    float sum = 0;
    for (int64_t i = warp; i < dy.size[0] * dy.size[1]; i += WARPS) {
        const int64_t t = token_of(c, dy, i, length);
        if (t < 0 || k >= n || n_before(document, t, length, j) < j) continue;
        sum += get(dy, i * n + k) * get(x, (t - j) * n + k);
    }
    part[warp][threadIdx.x % WARP] = sum;
    __syncthreads();
    if (warp > 0 || k >= n) return;
    for (int i = 1; i < WARPS; i++) sum += part[i][threadIdx.x];
    put(dw, k * width + width - 1 - j, sum);
}

/* Token t of row b of the batch, or in front of 0 what is kept of its text. */
__device__ static float joined(const Call &c, int64_t b, int64_t t, int64_t k)
{
    const CallTensor &tail = c.in[0], &x = c.in[1];
    const int64_t n = x.size[2], kept = tail.size[2];
    if (t >= 0) return get(x, (b * x.size[1] + t) * n + k);
    return first_position(c, b) == 0 ? 0 : get(tail, ((b + 1) * kept + t) * n + k);
}

/* A thread for each feature of a text: it has read all before it writes what is kept. in: what is
 * kept, x, weights. */
KERNEL(causal_conv_cached_kernel, 256)
{
    const CallTensor &x = c.in[1], &w = c.in[2], &tail = c.out[0], &y = c.out[1];
    const int64_t length = x.size[1], n = x.size[2], width = w.size[1];
    for (int64_t i = thread_number(); i < x.size[0] * n; i += all_threads()) {
        const int64_t b = i / n, k = i % n;
        for (int64_t t = 0; t < length; t++) {
            float sum = 0;
            for (int64_t j = 0; j < width; j++)
                sum += get(w, k * width + width - 1 - j) * joined(c, b, t - j, k);
            put(y, (b * length + t) * n + k, sum);
        }
        const bool waits = text_waits(c, b);
        /* from the first on: what is read lies behind what was written */
        for (int64_t j = 0; j < width - 1; j++) {
            const int64_t to = (b * (width - 1) + j) * n + k;
            set(tail, to, waits ? get(c.in[0], to) : joined(c, b, length - (width - 1) + j, k));
        }
    }
}
