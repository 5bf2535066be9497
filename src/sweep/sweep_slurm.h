/* sweep_slurm.h - a sweep as job arrays of Slurm. */
#ifndef SWEEP_SWEEP_SLURM_H
#define SWEEP_SWEEP_SLURM_H
#include "base/arena.h"
#include "base/error.h"

/* Writes FOLDER/sweep_W.sbatch for each world size W: an array with a task per configuration, which
 * goes on where it was interrupted. */
Error *sweep_slurm_write(Arena *a, const char *folder);
#endif
