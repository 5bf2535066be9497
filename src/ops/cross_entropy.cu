/* cross_entropy.cu - loss per token from logits, and the gradient of the logits, on a GPU: a block
 * per token. The head with its loss (head_loss_cuda.c) uses these for chunks of its logits. */
#include "device/cuda/kernel.h"
extern "C" {
#include "ops/vocabulary_cuda.h"
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

/* ---- a vocabulary that ranks divide (vocabulary_cuda.c) ----
 *
 * This rank's part of it begins at number[1] and has number[2] of number[3] rows; further columns
 * are padding. Scratch is a SplitLoss. */

/* Each token's largest logit of this rank. */
KERNEL(split_largest_kernel, 512)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    float *largest = split_loss_of(c.scratch, n).largest;
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        float top = -INFINITY;
        for (int64_t j = threadIdx.x; j < c.number[2]; j += blockDim.x)
            top = Largest()(top, get(x, row * v + j));
        top = over_block(top, Largest(), -INFINITY);
        if (threadIdx.x == 0) largest[row] = top;
    }
}

/* Then, relative to the largest of all ranks, the sum of its exponentials, and the target's logit.
 * in: logits, targets. */
KERNEL(split_sum_kernel, 512)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    const SplitLoss s = split_loss_of(c.scratch, n);
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        const float top = isinf(s.largest[row]) && s.largest[row] < 0 ? 0 : s.largest[row];
        const int64_t own = (int64_t)get_int(c.in[1], c.number[0] + row) - c.number[1];
        double sum = 0;
        for (int64_t j = threadIdx.x; j < c.number[2]; j += blockDim.x)
            sum += expf(get(x, row * v + j) - top);
        sum = over_block(sum, Sum(), 0.0);
        if (threadIdx.x != 0) continue;
        s.sum[row] = sum;
        s.sum[n + row] = own >= 0 && own < c.number[2] ? get(x, row * v + own) : 0;
    }
}

/* Then, with the sums of all ranks, the loss. out: loss; lse stays in scratch. */
KERNEL(split_loss_kernel, 256)
{
    const CallTensor &x = c.in[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    const SplitLoss s = split_loss_of(c.scratch, n);
    for (int64_t row = thread_number(); row < n; row += all_threads()) {
        const int64_t token = c.number[0] + row;
        const int32_t target = get_int(c.in[1], token);
        const float top = isinf(s.largest[row]) && s.largest[row] < 0 ? 0 : s.largest[row];
        const double lse = s.sum[row] == 0 ? -INFINITY : top + log(s.sum[row]);
        if (!is_target(target, c.number[3])) fail(c, KERNEL_BAD_INDEX);
        const bool counts = target >= 0 && target < c.number[3];
        s.lse[row] = lse;
        put_double(c.out[0], token, counts ? lse - s.sum[n + row] : 0);
    }
}

/* The gradient of the logits, which may lie where they do. in: logits, targets, gradient of the
 * loss; scratch: the lse of these tokens. */
KERNEL(split_grad_kernel, 512)
{
    const CallTensor &x = c.in[0], &dx = c.out[0];
    const int64_t v = x.size[x.n_dims - 1], n = x.count / v;
    const double *lse = (const double *)c.scratch;
    for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
        const int32_t target = get_int(c.in[1], c.number[0] + row);
        const bool counts = target >= 0 && target < c.number[3];
        const float dloss = get(c.in[2], c.number[0] + row);
        for (int64_t j = threadIdx.x; j < v; j += blockDim.x) {
            const float p = expf((float)((double)get(x, row * v + j) - lse[row]));
            const float slope = dloss * (p - (c.number[1] + j == target));
            put(dx, row * v + j, counts && j < c.number[2] ? slope : 0);
        }
    }
}
