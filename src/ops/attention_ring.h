/* attention_ring.h - attention of ranks that divide queries and keys: keys and values go round.
 *
 * In each of as many steps as there are ranks, a rank attends to the keys it has at hand and passes
 * them on (Liu et al. 2023). Parts of a row are joined by their log-sum-exps. In the backward pass
 * the gradients of keys and values travel with them, as sums in F32 (F64). */
#ifndef OPS_ATTENTION_RING_H
#define OPS_ATTENTION_RING_H
#include "graph/op.h"

/* As attention and attention_grad, with operands that are split over Node.axes along s and t. */
extern const OpDef op_ring_attention, op_ring_attention_grad;

/* Joins what further keys gave, a result `o` with its log-sum-exps `more`, into `sum` and `lse`. */
typedef int RingJoin(const Launch *l, const Tensor *sum, const Tensor *lse, const Tensor *o,
                     const Tensor *more);
RingJoin attention_ring_join;

/* For kernels: `alone` attends to the keys of one rank and has its scratch; `room` has
 * attention_ring_bytes. Without a group they are `alone`. */
size_t attention_ring_bytes(const Launch *l);
int attention_ring(const Launch *l, Kernel *alone, RingJoin *join, void *room, void *scratch);
int attention_ring_grad(const Launch *l, Kernel *alone, void *room, void *scratch);
#endif
