/* muon.cu - the steps of Muon around its products, and moving averages of parameters, on a GPU. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/average.h"
#include "ops/muon.h"
}

/* in: gradient, momentum, factor; out: momentum, gradient, direction. */
KERNEL(muon_momentum_kernel, 256)
{
    const MuonMomentum &a = attrs_of<MuonMomentum>(c);
    const float keep = (float)a.momentum, rest = (float)(1 - a.momentum),
                factor = (float)get_double(c.in[2], 0);
    const bool is_out = is_left_out(c);
    const int64_t n = c.in[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        Eight grad = get_eight(c.in[0], i, n - i), m = get_eight(c.in[1], i, n - i), direction;
#pragma unroll
        for (int k = 0; k < EIGHT; k++) {
            const float g = is_out ? 0 : grad.x[k] * factor;
            m.x[k] = is_out ? m.x[k] : keep * m.x[k] + rest * g;
            direction.x[k] = a.nesterov ? keep * m.x[k] + rest * g : m.x[k];
            grad.x[k] = 0;
        }
        put_eight(c.out[0], i, n - i, m);
        put_eight(c.out[1], i, n - i, grad);
        put_eight(c.out[2], i, n - i, direction);
    }
}

/* A block per matrix: sums of squares in double, in a fixed order. */
KERNEL(unit_matrix_kernel, 1024)
{
    const CallTensor &x = c.in[0];
    const int64_t size = x.size[x.n_dims - 2] * x.size[x.n_dims - 1], n = x.count / size;
    const double eps = attrs_of<UnitMatrix>(c).eps;
    for (int64_t m = blockIdx.x; m < n; m += gridDim.x) {
        double sum = 0;
        for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
            const double each = get(x, m * size + i);
            sum += each * each;
        }
        const double norm = sqrt(over_block(sum, Sum(), 0.0));
        const float factor = (float)(1 / (norm > eps ? norm : eps));
        for (int64_t i = threadIdx.x; i < size; i += blockDim.x)
            put(c.out[0], m * size + i, get(x, m * size + i) * factor);
    }
}

KERNEL(blend_kernel, 256)
{
    const float a = (float)attrs_of<Blend>(c).a, b = (float)attrs_of<Blend>(c).b;
    const int64_t n = c.out[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        Eight x = get_eight(c.in[0], i, n - i);
        const Eight y = get_eight(c.in[1], i, n - i);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) x.x[k] = a * x.x[k] + b * y.x[k];
        put_eight(c.out[0], i, n - i, x);
    }
}

KERNEL(muon_update_kernel, 256)
{
    if (is_left_out(c)) return;
    const MuonUpdate &a = attrs_of<MuonUpdate>(c);
    const double lr = c.now->rate[a.group].lr;
    const float keep = (float)(1 - lr * a.weight_decay), along = (float)(lr * a.scale);
    const int64_t n = c.out[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        Eight x = get_eight(c.in[0], i, n - i);
        const Eight direction = get_eight(c.in[1], i, n - i);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) x.x[k] = x.x[k] * keep - along * direction.x[k];
        put_eight(c.out[0], i, n - i, x);
    }
}

KERNEL(average_kernel, 256)
{
    if (is_left_out(c)) return;
    const double decay = c.now->updates ? attrs_of<AverageDecay>(c).decay : 0;
    const float keep = (float)decay, rest = (float)(1 - decay);
    const int64_t n = c.out[0].count;
    for (int64_t i = EIGHT * thread_number(); i < n; i += EIGHT * all_threads()) {
        Eight old = get_eight(c.in[1], i, n - i);
        const Eight x = get_eight(c.in[0], i, n - i);
#pragma unroll
        for (int k = 0; k < EIGHT; k++) old.x[k] = keep * old.x[k] + rest * x.x[k];
        put_eight(c.out[0], i, n - i, old);
    }
}
