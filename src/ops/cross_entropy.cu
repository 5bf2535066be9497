/* cross_entropy.cu - loss per token from logits, and the gradient of the logits, on a GPU: a block
 * per token. The head with its loss (head_loss_cuda.c) uses these for chunks of its logits. */
#include "device/cuda/kernel.h"
extern "C" {
#include "tensor/target.h"
}

/* log(sum(exp(x))) of a row, as a sum in double of exponentials in float. */
__device__ static double log_sum(const CallTensor &x, int64_t at, int64_t n)
{
    float top = -INFINITY;
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) top = Largest()(top, get(x, at + j));
    top = over_block(top, Largest(), -INFINITY);
    if (isinf(top) && top < 0) top = 0;
    double sum = 0;
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) sum += expf(get(x, at + j) - top);
    sum = over_block(sum, Sum(), 0.0);
    return sum == 0 ? -INFINITY : top + log(sum);
}

__device__ static bool is_target(int32_t target, int64_t n)
{
    return target == IGNORED_TARGET || (target >= 0 && target < n);
}

/* in: logits [rows, v], targets; out: loss, lse. The token of row r is number[0] + r. */
KERNEL(token_loss_kernel, 512)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        const int64_t token = c.number[0] + row;
        const int32_t target = get_int(c.in[1], token);
        const double lse = log_sum(x, row * v, v);
        if (threadIdx.x != 0) continue;
        if (!is_target(target, v)) fail(c, KERNEL_BAD_INDEX);
        const bool counts = target >= 0 && target < v;
        put_double(c.out[0], token, counts ? lse - (double)get(x, row * v + target) : 0);
        put_double(c.out[1], token, lse);
    }
}

__device__ static void write_gradient(const CallTensor &x, const CallTensor &dx, int64_t row,
                                      int32_t target, double lse, float dloss)
{
    const int64_t v = x.size[x.n_dims - 1];
    for (int64_t j = threadIdx.x; j < v; j += blockDim.x) {
        const float p = expf((float)((double)get(x, row * v + j) - lse));
        put(dx, row * v + j, target == IGNORED_TARGET ? 0 : dloss * (p - (j == target)));
    }
}

/* in: logits, targets, lse, gradient of the loss; out: gradient of the logits, which may lie where
 * they do. */
KERNEL(token_loss_grad_kernel, 512)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        const int64_t token = c.number[0] + row;
        write_gradient(x, c.out[0], row, get_int(c.in[1], token), get_double(c.in[2], token),
                       get(c.in[3], token));
    }
}

/* Both at once: in: logits, targets, gradient of the loss; out: loss, gradient of the logits. */
KERNEL(token_step_kernel, 512)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        const int64_t token = c.number[0] + row;
        const int32_t target = get_int(c.in[1], token);
        const double lse = log_sum(x, row * v, v);
        const bool counts = target >= 0 && target < v;
        if (threadIdx.x == 0) {
            if (!is_target(target, v)) fail(c, KERNEL_BAD_INDEX);
            put_double(c.out[0], token, counts ? lse - (double)get(x, row * v + target) : 0);
        }
        __syncthreads(); /* the logit of the target was read */
        write_gradient(x, c.out[1], row, counts ? target : (int32_t)IGNORED_TARGET, lse,
                       get(c.in[2], token));
    }
}
