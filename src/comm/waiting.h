/* waiting.h - what a rank waits for, in words. */
#ifndef COMM_WAITING_H
#define COMM_WAITING_H
#include "comm/comm.h"

/* The timeout of a new job: COMM_TIMEOUT, or what MODALITIES_COMM_TIMEOUT says. */
double waiting_timeout(void);
/* "WHY; rank 2 waited in all_reduce over dp_shard, layer 3, step 17": the end of the job as it is
 * told by `rank` of the job, whose call on `c` it ended. */
Error *waiting_ended(const Comm *c, int rank, const char *op, const char *why);
enum { WAITING_TEXT = 500 };
/* Writes "all_reduce over dp_shard, layer 3, step 17", and of a node's call "in node 42: " with its
 * origin. At most `size` bytes with the NUL; WAITING_TEXT are enough for most. */
void waiting_text(const Comm *c, const char *op, char *out, size_t size);
/* Writes "rank 0 has waited 600 s for rank 3", of two ranks of the job. */
void waiting_too_long(const Comm *c, int rank, int missing, char *out, size_t size);

#endif
