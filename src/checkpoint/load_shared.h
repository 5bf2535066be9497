/* load_shared.h - all ranks of a job load a checkpoint together. */
#ifndef CHECKPOINT_LOAD_SHARED_H
#define CHECKPOINT_LOAD_SHARED_H
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"

/* Fills the parts of every rank, as checkpoint_load and checkpoint_verify would: each rank reads
 * and checks an equal share of the tensors that any of them needs, whatever the split, and sends on
 * what others need of it. Every rank calls it, with a checkpoint that checkpoint_check has found to
 * fit; all fail together. A NULL `comm` is a rank without others. */
Error *checkpoint_load_shared(CheckpointReader *r, const StateTensor *state, int64_t n, Comm *comm);
#endif
