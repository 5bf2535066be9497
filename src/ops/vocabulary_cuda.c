/* vocabulary_cuda.c - losses of tokens where ranks divide the vocabulary, on GPUs: kernels of
 * cross_entropy.cu, with sums over the ranks between them. */
#include "ops/vocabulary_cuda.h"
#include "ops/token_loss_cuda.h"
#include "ops/vocabulary.h"

bool split_loss_serves(const Tensor *t, int dim)
{
    return t->part[dim] && t->part[dim]->layout == CONTIGUOUS;
}

static void tell_rows(Call *c, const Tensor *vocabulary, int dim, void *scratch)
{
    const Vocabulary v = vocabulary_of(vocabulary, dim);
    c->number[1] = v.first;
    c->number[2] = v.n;
    c->number[3] = v.whole;
    c->scratch = scratch;
}

int split_loss_start(const Launch *l, Call *c, int64_t n, const Tensor *vocabulary, int dim,
                     void *scratch)
{
    const SplitLoss s = split_loss_of(scratch, n);
    tell_rows(c, vocabulary, dim, scratch);
    int status = token_loss_start(l, "split_largest_kernel", c, n);
    if (!status) status = vocabulary_reduce(l, s.largest, n, F32, REDUCE_MAX);
    if (!status) status = token_loss_start(l, "split_sum_kernel", c, n);
    if (!status) status = vocabulary_reduce(l, s.sum, 2 * n, F64, REDUCE_SUM);
    if (!status) status = cuda_start(l, "split_loss_kernel", c, cuda_blocks(l, n, 256), 256, 0);
    return status;
}

int split_grad_start(const Launch *l, Call *c, int64_t n, const Tensor *vocabulary, int dim,
                     const double *lse)
{
    tell_rows(c, vocabulary, dim, (void *)lse);
    return token_loss_start(l, "split_grad_kernel", c, n);
}
