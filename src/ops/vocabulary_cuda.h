/* vocabulary_cuda.h - losses of tokens where ranks divide the vocabulary, on GPUs. Also compiles as
 * CUDA. */
#ifndef OPS_VOCABULARY_CUDA_H
#define OPS_VOCABULARY_CUDA_H
#include "device/cuda/call.h"

/* Of n tokens: sums of exponentials and behind them the targets' logits, over the ranks in the end;
 * log-sum-exps; the largest logits. */
typedef struct SplitLoss {
    double *sum, *lse;
    float *largest;
} SplitLoss;

#ifdef __CUDACC__
__host__ __device__
#endif
    static inline SplitLoss
    split_loss_of(void *scratch, int64_t n)
{
    SplitLoss s;
    s.sum = (double *)scratch;
    s.lse = s.sum + 2 * n;
    s.largest = (float *)(s.lse + n);
    return s;
}

static inline size_t split_loss_bytes(int64_t n)
{
    return (3 * sizeof(double) + sizeof(float)) * (size_t)n;
}

/* Whether dimension `dim` of a tensor is a vocabulary that ranks divide. */
bool split_loss_serves(const Tensor *t, int dim);
/* Loss of n tokens with the logits c->in[0] and targets c->in[1], of which c->number[0] tells the
 * first; their log-sum-exps are in `scratch` then. `vocabulary` has the rows as dimension `dim`. */
int split_loss_start(const Launch *l, Call *c, int64_t n, const Tensor *vocabulary, int dim,
                     void *scratch);
/* The gradient c->out[0] of the logits, from them, targets and the gradient c->in[2] of the loss.
 */
int split_grad_start(const Launch *l, Call *c, int64_t n, const Tensor *vocabulary, int dim,
                     const double *lse);
#endif
