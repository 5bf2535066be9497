/* vocabulary.h - a vocabulary that ranks divide: the rows a rank has, and sums over the ranks. */
#ifndef OPS_VOCABULARY_H
#define OPS_VOCABULARY_H
#include "comm/comm.h"
#include "device/device.h"

/* Rows [first, first + n) of `whole`; a rank's further rows are padding. */
typedef struct Vocabulary {
    int64_t first, n, whole;
} Vocabulary;

/* Of dimension `dim`, which ranks divide into consecutive parts, if at all. */
Vocabulary vocabulary_of(const Tensor *t, int dim);
/* The row of a token on this rank; -1: it is none of the vocabulary, or another rank's. */
static inline int64_t vocabulary_row(const Vocabulary *v, int64_t token)
{
    const int64_t row = token - v->first;
    return token >= 0 && row >= 0 && row < v->n ? row : -1;
}
static inline bool vocabulary_has(const Vocabulary *v, int64_t token)
{
    return token >= 0 && token < v->whole;
}
/* x[0 .. n) becomes its sum or maximum over the ranks of the launch, all of which call it. Returns
 * a kernel's status. */
int vocabulary_reduce(const Launch *l, void *x, int64_t n, Dtype t, ReduceOp op);
/* What the losses of a divided vocabulary reduce per token: a largest logit as F32, a sum and the
 * target's logit as F64 (references keep the largest one as F64, too). */
enum { VOCABULARY_TOKEN_BYTES = sizeof(float) + 2 * sizeof(double) };
/* Bytes that a rank sends for this, by a ring. */
double vocabulary_sent(const Launch *l, int64_t n_tokens);
#endif
