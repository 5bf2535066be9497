/* head_loss.h - the loss of each token from hidden states and the head, without logits in memory.
 */
#ifndef OPS_HEAD_LOSS_H
#define OPS_HEAD_LOSS_H
#include "graph/op.h"

/* From x [* d] and the head's weight [v d]; 0 for ignored targets (tensor/target.h). */
Value *head_loss(Graph *g, Value *x, Value *weight, Value *targets);
/* The same and its gradients from one computation of the logits, where the gradient of the loss is
 * known beforehand. Results: loss, dx, dweight. */
Node *head_step(Graph *g, Value *x, Value *weight, Value *targets, Value *loss_grad);

extern const OpDef op_head_loss, op_head_loss_grad;
#endif
