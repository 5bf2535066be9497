/* consensus.h - points at which all ranks of a job hear of each other's errors and decide together,
 * so that none waits for one that has turned elsewhere.
 *
 * Every rank comes to the same points in the same order. NULL stands for a job of one rank, which
 * decides at once. */
#ifndef TRAIN_CONSENSUS_H
#define TRAIN_CONSENSUS_H
#include "base/arena.h"
#include "comm/comm.h"
#include <stdbool.h>

typedef struct Consensus {
    Comm *world;       /* all ranks */
    Arena *arena;      /* of the rank's thread */
    const char *fault; /* what this rank has to tell: what went wrong on it, if the others know it,
                          or for whom it has waited in vain; else NULL */
    bool is_over;      /* all know that the job has failed: nobody waits for this rank any more */
    bool is_broken;    /* calls over the world fail from now on */
} Consensus;

/* Whether this is the rank that makes what all share, and that tells the user. */
bool consensus_leads(const Consensus *c);
int consensus_rank(const Consensus *c);
/* How long calls wait for a rank from now on, in seconds, and those of groups that are made later;
 * NULL: as before. */
void consensus_wait_at_most(Consensus *c, const double *seconds);

/* Brings `mine` (NULL: none) to all. If any rank has an error, all get one with the exit status of
 * the first: on rank 0 it names the ranks and what each says, on the others it is silent. */
Error *consensus_error(Consensus *c, Error *mine);
/* The same, of what does not end the job. */
Error *consensus_hear(Consensus *c, Error *mine);
/* As consensus_error, and each of n numbers becomes the largest that any rank has: what one of them
 * wants, all do. */
Error *consensus_reach(Consensus *c, Error *mine, double *most, int n);
/* Each of n numbers becomes the sum over all ranks. */
Error *consensus_sum(Consensus *c, double *x, int n);
/* All get rank 0's text, which may be NULL; it belongs to the arena. */
Error *consensus_text(Consensus *c, Arena *a, const char **text);
/* An error at a place where the others may already wait for this rank: they get one, too, wherever
 * they are. Returns `e`; NULL stays NULL. */
Error *consensus_break(Consensus *c, Error *e);
#endif
