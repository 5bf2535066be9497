/* sweep_queue.h - runs what remains of a sweep on this machine, several at a time. */
#ifndef SWEEP_SWEEP_QUEUE_H
#define SWEEP_SWEEP_QUEUE_H
#include "sweep/sweep_store.h"

typedef struct QueueSettings {
    const char *program; /* to be started for each run */
    int64_t n_ranks;     /* of each run, at least 1: those of this world size are run */
    int n_parallel;      /* 0: as many as there are processors, or runs if these are fewer */
    int n_threads;       /* of each rank; 0: shared out */
    int64_t retries;     /* of a run that fails */
    double halving;      /* above 1: at each rung only the best part, one in so many, goes on */
    int64_t first_rung;  /* step of the first rung; 0: the target by halving^2 */
} QueueSettings;

/* Starts, resumes and tries again until nothing remains. A stop signal is passed on to the runs,
 * which save; the queue goes on when it is started again. An error if runs failed at last. */
Error *sweep_queue_run(Arena *a, const char *folder, const QueueSettings *s);
#endif
