/* crew.h - the ranks of a training that this process is: itself, threads of it, or one of many.
 *
 * With --ranks N, and under torchrun on one machine, the ranks are threads of one process; the
 * other processes that torchrun has started wait for it, so that launcher and user see one job:
 * stopped, failed or done together. */
#ifndef TRAIN_CREW_H
#define TRAIN_CREW_H
#include "base/rank.h"
#include "train/consensus.h"

/* What one rank knows of the others. */
typedef struct Crew {
    const Rank *rank;
    Consensus *consensus;     /* NULL: it is the only rank */
    int n_threads;            /* its share of the cores; 0: all */
    size_t memory;            /* its share of what is free, in bytes; 0: all */
    int64_t n_processes;      /* that were started for the ranks of this process, itself included */
    struct Gathering *others; /* those of them that wait; NULL: none */
} Crew;

typedef struct CrewSettings {
    const Rank *process;
    int64_t n_ranks;   /* --ranks; 0: not given */
    int64_t n_threads; /* --threads, of each rank; 0: its share */
    const char
        *error_log_folder; /* every rank on which something fails leaves a file; NULL: none */
    /* What each rank does. */
    Error *(*work)(Arena *a, const void *context, const Crew *crew);
    const void *context;
} CrewSettings;

/* Calls `work` for each rank of this process, at the same time. An error of any rank ends all, and
 * comes back with the ranks that it is of. In processes that wait it returns when the others have
 * ended, with a silent error of the same status. */
Error *crew_run(Arena *a, const CrewSettings *s);
/* NULL for a rank without others. */
Consensus *crew_consensus(const Crew *c);
/* For a training that catches stop signals: it gets one when a waiting process ends. */
void crew_watch(const Crew *c);
/* One line about processes that wait, if there are any. */
void crew_notice(const Crew *c);
#endif
