/* job_ranks.h - the processes of a job, so that tests can kill one of them. */
#ifndef TESTS_END_TO_END_JOB_RANKS_H
#define TESTS_END_TO_END_JOB_RANKS_H
#include <sys/types.h>

/* The child number `which` of a process that has not ended, or 0 where there are not so many. */
pid_t find_child(pid_t of, int which);
/* Kills an mpirun that does not end although its ranks have: Open MPI may hang then. */
void end_hanging_job(pid_t mpirun);
#endif
