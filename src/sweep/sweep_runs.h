/* sweep_runs.h - the configurations below a sweep's folder, and which of them are done. */
#ifndef SWEEP_SWEEP_RUNS_H
#define SWEEP_SWEEP_RUNS_H
#include "config/field.h"

/* One configuration: FOLDER/WORLD_SIZE/HASH_TIME/FILE. */
typedef struct SweepRun {
    const char *config; /* absolute */
    const char *folder; /* its own: results lie there, too */
    const char *hash;   /* of the combination: runs of one are tries of the same */
    int64_t world_size;
} SweepRun;

typedef struct SweepRuns {
    SweepRun *item;
    int64_t n, cap;
} SweepRuns;

/* By path. `world_size` 0: all. An error where a folder's name is not HASH_TIME. */
Error *sweep_runs_find(Arena *a, const char *root, int64_t world_size, SweepRuns *out);
/* Whether a configuration is that of one run: it lies in such a folder, or is a run's own copy. */
bool sweep_run_is_in(Arena *a, const char *config);
/* The newest of those that have the same combination and world size. */
SweepRuns sweep_runs_newest(Arena *a, const SweepRuns *all);
/* As the original judges: that many lines in evaluation_results.jsonl, or an error log whose
 * exception is one of `skip`. */
bool sweep_run_is_done(Arena *a, const SweepRun *r, int64_t expected_lines, const StringList *skip);
#endif
