/* rank.h - the place of a process among the ranks of its job.
 *
 * Made once when a command starts and handed down; nothing below reads the variables itself. What
 * runs several ranks in one process makes one of these for each. */
#ifndef BASE_RANK_H
#define BASE_RANK_H
#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum Launcher {
    LAUNCHER_NONE,      /* started by hand, alone */
    LAUNCHER_VARIABLES, /* somebody set RANK, LOCAL_RANK, WORLD_SIZE or LOCAL_WORLD_SIZE */
    LAUNCHER_TORCHRUN,
    LAUNCHER_MPI,     /* mpirun, mpiexec, or srun with PMIx */
    LAUNCHER_THREADS, /* none: the ranks are threads of one process */
} Launcher;

typedef struct Rank {
    int64_t rank, world_size;             /* among all processes of the job */
    int64_t local_rank, local_world_size; /* on this machine; a size of 0: nobody told it */
    bool is_uneven; /* some machine of the job has another number of ranks, as far as it is known */
    const char *master_address, *master_port; /* NULL where they are not set */
    Launcher launcher;
} Rank;

/* The only rank of a job. */
extern const Rank rank_alone;
/* As the launcher's variables say; what is not set is as in rank_alone. An error where one is no
 * number, or is outside the size. Texts are those of the environment. */
Error *rank_of_process(Rank *out);
#endif
