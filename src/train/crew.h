/* crew.h - a training that a launcher started as several processes on one machine.
 *
 * Until there is more than one rank, the process with LOCAL_RANK 0 trains with all cores, and the
 * others wait for it, so that launcher and user see one job: stopped, failed or done together. */
#ifndef TRAIN_CREW_H
#define TRAIN_CREW_H
#include "base/arena.h"
#include "base/rank.h"

/* The processes that were started for one training, for the one that trains. */
typedef struct Crew {
    const Rank *rank;         /* its place as the training sees it */
    int64_t n_processes;      /* that were started for it, itself included */
    struct Gathering *others; /* NULL: none */
} Crew;

/* Calls `work` in the process that trains, and tells the others its exit status; in the others,
 * returns once it has ended, with a silent error of the same status. Refuses several machines. */
Error *crew_run(Arena *a, const Rank *process,
                Error *(*work)(Arena *a, const void *context, const Crew *crew),
                const void *context);
/* For a training that catches stop signals: it gets one when a waiting process ends. */
void crew_watch(const Crew *c);
/* One line about what one rank means for a step of this many samples. */
void crew_notice(const Crew *c, int64_t samples_per_step);
#endif
