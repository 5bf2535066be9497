/* state_gather.h - the parts of a state that lie on many ranks become whole tensors on rank 0, one
 * at a time. */
#ifndef TRAIN_STATE_GATHER_H
#define TRAIN_STATE_GATHER_H
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"

typedef struct StateGather StateGather;

/* Gives the numbers of state[i].part in host memory until the next call. */
typedef Error *GatherNumbers(void *context, int64_t i, const void **data);

/* Every rank gives the tensors that it has parts of; names and sizes alone are sent. All of it
 * belongs to the arena, `group` and `state` to the caller. */
Error *state_gather_new(Arena *a, Comm *group, const StateTensor *state, int64_t n,
                        StateGather **out);
/* On rank 0 all tensors of all ranks, each whole and without numbers. */
const StateTensor *state_gather_whole(const StateGather *g, int64_t *n);
/* Which tensors of its state this rank will be asked for. */
const bool *state_gather_wanted(const StateGather *g);

/* On rank 0: the numbers of whole tensor i, until the next call. The others must be serving. An
 * error of the rank that has them is silent here. */
Error *state_gather_fetch(StateGather *g, GatherNumbers *numbers, void *context, int64_t i,
                          const void **data);
/* On the others: gives what rank 0 asks for, until it ends that. */
Error *state_gather_serve(StateGather *g, GatherNumbers *numbers, void *context);
Error *state_gather_end(StateGather *g);
/* On rank 0: the most bytes that it has set aside for numbers so far. */
int64_t state_gather_most(const StateGather *g);
#endif
