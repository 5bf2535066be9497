/* sweep_configs.h - from one sweep file to a tree of configurations. */
#ifndef SWEEP_SWEEP_CONFIGS_H
#define SWEEP_SWEEP_CONFIGS_H
#include "config/field.h"

typedef struct SweepTree {
    const char *folder; /* OUTPUT/TIME_HASH */
    int64_t n_combinations;
} SweepTree;

/* Every combination of the alternatives in the file's `sweep` as
 * OUTPUT/TIME_HASH/WORLD_SIZE/HASH_TIME/FILE; names and bytes are the original's. Nothing is left
 * when a file cannot be written. */
Error *sweep_configs_write(Arena *a, const char *sweep_file, const char *output_folder,
                           const IntList *world_sizes, SweepTree *out);
/* All combinations of a `sweep` mapping: lists are alternatives, mappings are expanded, the last
 * key changes fastest. */
Error *sweep_combinations(Arena *a, const Yaml *sweep, Yaml ***out, int64_t *n);
/* Those of a file: 0 for a single configuration, and for one that was made from a sweep, in whose
 * `sweep` lists are values; 0 also where the file cannot be read. */
int64_t sweep_alternatives_of(Arena *a, const char *path, Yaml ***out);
#endif
