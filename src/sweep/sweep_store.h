/* sweep_store.h - what is known of a sweep's runs, in one SQLite file in its folder.
 *
 * FOLDER/sweep.sqlite has tables `run` (configuration, settings of the sweep, state, attempts) and
 * `track` (the numbers of a run by loader and name). Results are read again only when their file
 * has changed. */
#ifndef SWEEP_SWEEP_STORE_H
#define SWEEP_SWEEP_STORE_H
#include "monitor/history.h"
#include "sweep/sweep_runs.h"

typedef struct SweepStore SweepStore;

typedef enum SweepState {
    SWEEP_WAITING, /* not begun */
    SWEEP_RUNNING,
    SWEEP_STOPPED, /* can go on */
    SWEEP_DONE,
    SWEEP_FAILED,
    SWEEP_HOPELESS, /* stopped early, by successive halving */
} SweepState;

/* What a run's own folder and the store say of it. */
typedef struct SweepStatus {
    SweepState state;
    int64_t steps, target_steps, attempts;
    const char *why; /* it failed; "" */
} SweepStatus;

/* Opens or makes it; closed with the arena. */
Error *sweep_store_open(Arena *a, const char *folder, SweepStore **out);
Error *sweep_store_status(SweepStore *s, Arena *a, const SweepRun *r, SweepStatus *out);
/* One more try was begun. */
Error *sweep_store_attempt(SweepStore *s, const SweepRun *r);
Error *sweep_store_set_hopeless(SweepStore *s, const SweepRun *r);
/* The numbers of a run; none is no error. */
Error *sweep_store_history(SweepStore *s, Arena *a, const SweepRun *r, History *out);
/* "waiting", "running", ... */
const char *sweep_state_name(SweepState s);
#endif
