/* token_loss.c - the loss of every token, for references: also where ranks divide the vocabulary.
 */
#include "ops/token_loss.h"
#include "base/arena.h"
#include "ops/softmax.h"
#include "tensor/target.h"

/* By token: the largest logit, then the sum of exponentials relative to it, and the target's. */
typedef struct Found {
    double *largest, *sum, *of_target;
} Found;

static int find(const Launch *l, const Vocabulary *v, const Tensor *targets, LogitsOf *logits_of,
                Arena *a, Found *f)
{
    const int32_t *target = targets->data;
    const int64_t n = tensor_count(targets);
    double *logit = NEW_N(a, double, v->n);
    f->largest = NEW_N(a, double, n);
    f->sum = NEW_N(a, double, 2 * n);
    f->of_target = f->sum + n;
    for (int64_t t = 0; t < n; t++) {
        const int64_t row = vocabulary_row(v, target[t]);
        logits_of(l, t, v, logit);
        f->largest[t] = largest_of(logit, v->n);
        if (row >= 0) f->of_target[t] = logit[row];
    }
    int status = vocabulary_reduce(l, f->largest, n, F64, REDUCE_MAX);
    if (status != KERNEL_OK) return status;
    for (int64_t t = 0; t < n; t++) {
        if (isinf(f->largest[t]) && f->largest[t] < 0) f->largest[t] = 0;
        logits_of(l, t, v, logit);
        f->sum[t] = sum_of_exp(logit, v->n, f->largest[t]);
    }
    return vocabulary_reduce(l, f->sum, 2 * n, F64, REDUCE_SUM);
}

int token_loss(const Launch *l, const Vocabulary *v, const Tensor *targets, LogitsOf *logits_of,
               double *loss, double *lse)
{
    const int32_t *target = targets->data;
    Arena *arena = arena_new();
    Found f;
    int status = find(l, v, targets, logits_of, arena, &f);
    for (int64_t t = 0, n = tensor_count(targets); t < n && status == KERNEL_OK; t++) {
        const bool counts = target[t] != IGNORED_TARGET;
        if (counts && !vocabulary_has(v, target[t])) status = KERNEL_BAD_INDEX;
        lse[t] = f.sum[t] == 0 ? -INFINITY : f.largest[t] + log(f.sum[t]);
        loss[t] = counts ? lse[t] - f.of_target[t] : 0;
    }
    arena_free(arena);
    return status;
}
