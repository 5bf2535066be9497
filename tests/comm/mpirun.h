/* mpirun.h - jobs of processes under mpirun, in tests. */
#ifndef TESTS_MPIRUN_H
#define TESTS_MPIRUN_H
#include "base/arena.h"

/* Sets what processes of a job need, and skips the test where there is no mpirun or no library. */
void mpirun_prepare(Arena *a);
#endif
