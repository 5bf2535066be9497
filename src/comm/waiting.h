/* waiting.h - what a rank waits for, in words. */
#ifndef COMM_WAITING_H
#define COMM_WAITING_H
#include "comm/comm.h"

/* Writes "all_reduce over dp_shard, layer 3, step 17": what the rank of `c` is in. At most `size`
 * bytes with the NUL. */
void waiting_text(const Comm *c, const char *op, char *out, size_t size);

#endif
