/* timeline.h - the different moments of a schedule, as far as memory is concerned.
 *
 * Every microbatch in flight holds a slot: its own copy of what lives from one action to another.
 * What is alive during an action depends on what it runs and on how far the microbatches in the
 * slots are; a schedule of many microbatches comes by the same moment again and again, and one of
 * each kind is enough to plan memory. */
#ifndef EXEC_TIMELINE_H
#define EXEC_TIMELINE_H
#include "exec/schedule.h"

/* An action in slot `slot` (n_slots: REDUCE and UPDATE, which are of no microbatch; -1: PREPARE).
 * `done` has the phases that ran before it, [slot][stage]; n_slots + 1 rows. */
typedef struct Moment {
    unsigned phases;
    int stage, slot;
    const unsigned *done;
} Moment;

typedef struct Timeline {
    Moment *moment; /* the first is PREPARE */
    int64_t n;
    int n_slots, n_stages;
    int *slot_of; /* by microbatch */
} Timeline;

/* From the first action of a microbatch to its last it holds the lowest slot that is free then. */
Timeline *timeline_new(Arena *a, const Schedule *s, int n_stages);
/* What ran in a slot on a stage before a moment. */
unsigned timeline_done(const Timeline *t, const Moment *m, int slot, int stage);
/* Whether a moment runs nodes of this phase and stage in this slot. */
bool timeline_runs(const Timeline *t, const Moment *m, int slot, Phase p, int stage);
#endif
