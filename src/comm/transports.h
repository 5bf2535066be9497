/* transports.h - the ways in which ranks reach each other; each gives the group of all ranks. */
#ifndef COMM_TRANSPORTS_H
#define COMM_TRANSPORTS_H
#include "base/rank.h"
#include "comm/comm.h"

/* A job of one rank. */
Comm *comm_self_new(void);

/* The ranks of a job as threads of this process: out_by_rank[r] is for the thread that is rank r.
 * They read each other's memory, and wait without using a core. */
void comm_threads_new(int n, Comm **out_by_rank);

/* What calls over a group with this label take, beside the work: `latency` seconds each, and the
 * bytes that every rank has to send or receive. NULL: groups for which there is no other row. */
typedef struct CommLink {
    const char *label;
    double latency, bytes_per_second;
} CommLink;

/* Threads as above, whose calls take as long as links would, while the cores are free for others:
 * for tests of how well transfers hide behind computing. `links` must stay. */
void comm_delayed_new(int n, const CommLink *links, int n_links, Comm **out_by_rank);

/* The ranks of a job as processes that mpirun or srun has started (rank->launcher is LAUNCHER_MPI);
 * once in a process. The library of MPI is loaded now. A thread of its own watches the other ranks:
 * one that dies, stops or hangs ends the job with an error at all others. */
Error *comm_mpi_open(const Rank *rank, Comm **out);

#endif
