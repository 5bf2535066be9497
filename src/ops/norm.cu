/* norm.cu - RMS and layer normalisation on a GPU: a block per row.
 *
 * The gradient of weight and bias: each block takes rows in turns and keeps sums of columns in
 * scratch [block][weight, bias][column]; join_sums_kernel (bias.cu) adds the blocks up. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/norm.h"
}

struct Moments {
    float mean, factor;
};

__device__ static Moments moments_of(const CallTensor &x, int64_t at, int64_t d, bool centered,
                                     float eps)
{
    float sum = 0, square = 0;
    if (centered)
        for (int64_t j = threadIdx.x; j < d; j += blockDim.x) sum += get(x, at + j);
    const float mean = centered ? over_block(sum, Sum(), 0.0f) / (float)d : 0;
    for (int64_t j = threadIdx.x; j < d; j += blockDim.x) {
        const float h = get(x, at + j) - mean;
        square += h * h;
    }
    return { mean, 1 / sqrtf(over_block(square, Sum(), 0.0f) / (float)d + eps) };
}

__device__ static void normalize(const Call &c, bool centered)
{
    const NormAttrs &a = attrs_of<NormAttrs>(c);
    const CallTensor &x = c.in[0];
    const int64_t d = x.size[x.n_dims - 1];
    for (int64_t at = blockIdx.x * d; at < x.count; at += gridDim.x * d) {
        const Moments m = moments_of(x, at, d, centered, (float)a.eps);
        for (int64_t j = threadIdx.x; j < d; j += blockDim.x) {
            float y = (get(x, at + j) - m.mean) * m.factor;
            if (a.weight) y *= get(c.in[1], j);
            if (a.bias) y += get(c.in[1 + a.weight], j);
            put(c.out[0], at + j, y);
        }
    }
}

/* As in norm.c. */
__device__ static void differentiate(const Call &c, bool centered)
{
    const NormAttrs &a = attrs_of<NormAttrs>(c);
    const CallTensor &x = c.in[0], &dy = c.in[1 + a.weight];
    const int64_t d = x.size[x.n_dims - 1];
    float *dweight = (float *)c.scratch + blockIdx.x * (a.weight + a.bias) * d,
          *dbias = dweight + a.weight * d;
    for (int64_t j = threadIdx.x; j < d; j += blockDim.x) {
        if (a.weight) dweight[j] = 0;
        if (a.bias) dbias[j] = 0;
    }
    for (int64_t at = blockIdx.x * d; at < x.count; at += gridDim.x * d) {
        const Moments m = moments_of(x, at, d, centered, (float)a.eps);
        float sum_e = 0, sum_eh = 0;
        for (int64_t j = threadIdx.x; j < d; j += blockDim.x) {
            const float h = (get(x, at + j) - m.mean) * m.factor, slope = get(dy, at + j);
            const float e = a.weight ? slope * get(c.in[1], j) : slope;
            sum_e += e;
            sum_eh += e * h;
            if (a.weight) dweight[j] += slope * h;
            if (a.bias) dbias[j] += slope;
        }
        const float mean_eh = over_block(sum_eh, Sum(), 0.0f) / (float)d,
                    mean_e = centered ? over_block(sum_e, Sum(), 0.0f) / (float)d : 0;
        for (int64_t j = threadIdx.x; j < d; j += blockDim.x) {
            const float h = (get(x, at + j) - m.mean) * m.factor, slope = get(dy, at + j);
            const float e = a.weight ? slope * get(c.in[1], j) : slope;
            put(c.out[0], at + j, m.factor * (e - h * mean_eh - mean_e));
        }
    }
}

KERNEL(rms_norm_kernel, 256)
{
    normalize(c, false);
}

KERNEL(layer_norm_kernel, 256)
{
    normalize(c, true);
}

KERNEL(rms_norm_grad_kernel, 256)
{
    differentiate(c, false);
}

KERNEL(layer_norm_grad_kernel, 256)
{
    differentiate(c, true);
}
