/* state_gather.h - the parts of a state that lie on many ranks become whole tensors on rank 0. */
#ifndef TRAIN_STATE_GATHER_H
#define TRAIN_STATE_GATHER_H
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"

/* Every rank gives the tensors that it has parts of, with host memory. On rank 0 the list becomes
 * that of all tensors of all ranks, each whole; elsewhere it stays. `with_numbers` false: only
 * names and sizes count, and data is NULL. What was made belongs to the arena. */
Error *state_gather(Arena *a, Comm *world, StateTensor **state, int64_t *n, bool with_numbers);
#endif
