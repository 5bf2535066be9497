/* transports.h - the ways in which ranks reach each other; each gives the group of all ranks. */
#ifndef COMM_TRANSPORTS_H
#define COMM_TRANSPORTS_H
#include "comm/comm.h"

/* A job of one rank. */
Comm *comm_self_new(void);

/* The ranks of a job as threads of this process: out_by_rank[r] is for the thread that is rank r.
 * They read each other's memory, and wait without using a core. */
void comm_threads_new(int n, Comm **out_by_rank);

#endif
