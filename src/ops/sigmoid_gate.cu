/* sigmoid_gate.cu - rows times the sigmoids of their gates, on a GPU. */
#include "device/cuda/kernel.h"

__device__ static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* Number[0]: width of a row. Eight elements of a row have one gate; eight rows of one element have
 * eight. */
KERNEL(sigmoid_gate_kernel, 256)
{
    const CallTensor &x = c.in[0], &gate = c.in[1], &y = c.out[0];
    const int64_t d = c.number[0], n = y.count;
    const bool in_eights =
        has_eights(x) && has_eights(y) && (d == 1 ? has_eights(gate) : d % EIGHT == 0);
    const int64_t whole = in_eights ? n / EIGHT * EIGHT : 0;
#pragma unroll 1
    for (int64_t i = EIGHT * thread_number(); i < whole; i += EIGHT * all_threads()) {
        Eight v = widen_eight(x.dtype, load_eight(x, i)), s;
        if (d == 1) {
            s = widen_eight(gate.dtype, load_eight(gate, i));
#pragma unroll
            for (int k = 0; k < EIGHT; k++) v.x[k] *= sigmoid(s.x[k]);
        } else {
            const float of_row = sigmoid(get(gate, i / d));
#pragma unroll
            for (int k = 0; k < EIGHT; k++) v.x[k] *= of_row;
        }
        store_eight(y, i, v);
    }
#pragma unroll 1
    for (int64_t i = whole + thread_number(); i < n; i += all_threads())
        put(y, i, get(x, i) * sigmoid(get(gate, i / d)));
}

/* A warp per row, or a thread where rows are single elements. in: rows, gates, gradient of the
 * result. */
KERNEL(sigmoid_gate_grad_kernel, 256)
{
    const CallTensor &x = c.in[0], &gate = c.in[1], &dy = c.in[2], &dx = c.out[0],
                     &dgate = c.out[1];
    const int64_t d = c.number[0], lanes = d == 1 ? 1 : WARP, lane = threadIdx.x % lanes;
    for (int64_t row = thread_number() / lanes; row < gate.count; row += all_threads() / lanes) {
        const float s = sigmoid(get(gate, row));
        float sum = 0;
        for (int64_t i = row * d + lane; i < (row + 1) * d; i += lanes) {
            const float g = get(dy, i);
            sum += g * get(x, i);
            put(dx, i, g * s);
        }
        if (lanes > 1) sum = over_warp(sum, Sum());
        if (lane == 0) put(dgate, row, sum * s * (1 - s));
    }
}
