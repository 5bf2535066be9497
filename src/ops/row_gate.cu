/* row_gate.cu - rows times the sigmoids of their gates, or times softplus of them, on a GPU. */
#include "device/cuda/kernel.h"

__device__ static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* What a gate multiplies by. */
__device__ static float factor_of(float gate, bool softplus)
{
    if (!softplus) return sigmoid(gate);
    return gate > 30 ? gate : log1pf(expf(gate));
}

/* Numbers: width of a row, whether by softplus. Eight elements of a row have one gate; eight rows of one element have
 * eight. */
KERNEL(row_gate_kernel, 256)
{
    const CallTensor &x = c.in[0], &gate = c.in[1], &y = c.out[0];
    const int64_t d = c.number[0], n = y.count;
    const bool softplus = c.number[1];
    const bool in_eights =
        has_eights(x) && has_eights(y) && (d == 1 ? has_eights(gate) : d % EIGHT == 0);
    const int64_t whole = in_eights ? n / EIGHT * EIGHT : 0;
#pragma unroll 1
    for (int64_t i = EIGHT * thread_number(); i < whole; i += EIGHT * all_threads()) {
        Eight v = widen_eight(x.dtype, load_eight(x, i)), s;
        if (d == 1) {
            s = widen_eight(gate.dtype, load_eight(gate, i));
#pragma unroll
            for (int k = 0; k < EIGHT; k++) v.x[k] *= factor_of(s.x[k], softplus);
        } else {
            const float of_row = factor_of(get(gate, i / d), softplus);
#pragma unroll
            for (int k = 0; k < EIGHT; k++) v.x[k] *= of_row;
        }
        store_eight(y, i, v);
    }
#pragma unroll 1
    for (int64_t i = whole + thread_number(); i < n; i += all_threads())
        put(y, i, get(x, i) * factor_of(get(gate, i / d), softplus));
}

/* A warp per row, or a thread where rows are single elements. Numbers as above. in: rows, gates, gradient of the
 * result. */
KERNEL(row_gate_grad_kernel, 256)
{
    const CallTensor &x = c.in[0], &gate = c.in[1], &dy = c.in[2], &dx = c.out[0],
                     &dgate = c.out[1];
    const bool softplus = c.number[1];
    const int64_t d = c.number[0], lanes = d == 1 ? 1 : WARP, lane = threadIdx.x % lanes;
    for (int64_t row = thread_number() / lanes; row < gate.count; row += all_threads() / lanes) {
        const float raw = get(gate, row), s = sigmoid(raw), factor = factor_of(raw, softplus);
        float sum = 0;
        for (int64_t i = row * d + lane; i < (row + 1) * d; i += lanes) {
            const float g = get(dy, i);
            sum += g * get(x, i);
            put(dx, i, g * factor);
        }
        if (lanes > 1) sum = over_warp(sum, Sum());
        if (lane == 0) put(dgate, row, sum * (softplus ? s : s * (1 - s)));
    }
}
