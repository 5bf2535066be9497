/* gathering.h - the processes of a job on one machine find each other and know when one ends.
 *
 * The one with LOCAL_RANK 0 leads. It listens on a socket with an abstract name made of what all of
 * them know of their job, until all have come; so whoever comes first waits, and none can end
 * before the others have met it. The name is free from then on, and nothing of it is ever on a
 * disk. What remains is a connection to each, whose end is the end of the process at its other
 * side, however that came about. */
#ifndef COMM_GATHERING_H
#define COMM_GATHERING_H
#include "base/arena.h"
#include "base/rank.h"

typedef struct Gathering Gathering;

/* For LOCAL_RANK 0: returns once all others of this machine have come. A stop signal ends the
 * program meanwhile. An error where they do not come, or one comes twice. */
Error *gathering_lead(Arena *a, const Rank *rank, Gathering **out);
/* From now on this process gets SIGUSR1 when another one ends, also where that has happened. */
void gathering_watch(const Gathering *g);
/* The LOCAL_RANK of a process that has ended; 0: all are there. */
int64_t gathering_lost(const Gathering *g);
/* Tells all others the exit status with which this process is about to end; they end after it. */
void gathering_tell(const Gathering *g, int status);

/* For any other LOCAL_RANK: waits, deaf to signals that ask for a stop, until the leader has ended;
 * `status` gets its exit status, or -1 if it did not say one. An error where it does not come. */
Error *gathering_follow(const Rank *rank, int *status);
#endif
