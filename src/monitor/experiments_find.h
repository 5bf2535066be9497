/* experiments_find.h - the folders of experiments below a folder. */
#ifndef MONITOR_EXPERIMENTS_FIND_H
#define MONITOR_EXPERIMENTS_FIND_H
#include "base/arena.h"
#include <stdbool.h>

typedef struct FoundExperiment {
    const char *path;
    bool has_record; /* false: results only, of another program or an earlier version */
} FoundExperiment;

typedef struct FoundExperiments {
    FoundExperiment *item;
    int64_t n, cap;
} FoundExperiments;

/* The folder itself if a run was begun in it; else those below, by path, a few levels deep; what
 * cannot be read is passed over, as what is hidden. */
void experiments_find(Arena *a, const char *folder, FoundExperiments *out);
#endif
