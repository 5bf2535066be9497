/* token_loss.h - the loss of every token, for references: also where ranks divide the vocabulary.
 */
#ifndef OPS_TOKEN_LOSS_H
#define OPS_TOKEN_LOSS_H
#include "ops/vocabulary.h"

/* Logits of a token for the rows of the vocabulary that this rank has. */
typedef void LogitsOf(const Launch *l, int64_t token, const Vocabulary *v, double *logit);

/* loss[t] = lse[t] - the target's logit, 0 where the target is ignored; lse[t] = log(sum(exp)).
 * Returns a kernel's status; KERNEL_BAD_INDEX for a target outside of the vocabulary. */
int token_loss(const Launch *l, const Vocabulary *v, const Tensor *targets, LogitsOf *logits_of,
               double *loss, double *lse);
#endif
