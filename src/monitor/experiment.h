/* experiment.h - the folder of a run: its name, the copy of its YAML, the resolved YAML. */
#ifndef MONITOR_EXPERIMENT_H
#define MONITOR_EXPERIMENT_H
#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>
#include <stdio.h>

/* "2026-01-31__12-00-00_" and the first 16 hex digits of the SHA-256 of the path as given. */
char *experiment_id_new(Arena *a, const char *config_file_path);
/* Makes the folder of a new id. Another run of the same file may have begun in the same second:
 * then *is_ours is false, and the next second has come. */
Error *experiment_claim(Arena *a, const char *root, const char *id, bool *is_ours);
/* ROOT/ID; of the empty id the root itself, as runs of a sweep have it, whose results lie beside
 * their configuration. */
const char *experiment_folder(Arena *a, const char *root, const char *id);
/* An id has at most 1024 bytes without '/', or the ranks could not share it. */
Error *experiment_id_check(const char *id);

typedef struct Experiment {
    const char *root, *id;        /* the folder is root/id */
    const char *config_file_path; /* copied there unless it is there already */
    /* Writes the resolved configuration as YAML. */
    Error *(*write_resolved)(FILE *to, void *context);
    void *context;
} Experiment;

/* An error if the folder holds results or checkpoints: two runs would become one curve. */
Error *experiment_check_unused(Arena *a, const char *folder);
/* On rank 0: makes the folder, the copy and <stem>.yaml.resolved. `folder` gets its path. */
Error *experiment_create(Arena *a, const Experiment *x, const char **folder);
#endif
