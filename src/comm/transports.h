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

/* The ranks of a job as processes that mpirun or srun has started (rank->launcher is LAUNCHER_MPI);
 * once in a process. The library of MPI is loaded now. A thread of its own watches the other ranks:
 * one that dies, stops or hangs ends the job with an error at all others. */
Error *comm_mpi_open(const Rank *rank, Comm **out);

#endif
