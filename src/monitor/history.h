/* history.h - reading back what a run wrote: evaluation_results.jsonl or wandb's history.jsonl. */
#ifndef MONITOR_HISTORY_H
#define MONITOR_HISTORY_H
#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

/* One number over the steps, which rise; null, NaN and infinities are NaN. */
typedef struct Track {
    const char *tag, *key; /* "train", "train loss avg" */
    bool is_loss;
    int64_t n, cap;
    double *step, *value;
} Track;

typedef struct History {
    Track *track; /* in the order of appearance */
    int64_t n, cap;
    int64_t n_rows;
    int64_t n_bad, first_bad; /* lines that could not be read, and the first of them */
} History;

/* A row with an earlier step than the last (a resumed run) replaces what came from that step on.
 * Lines that cannot be read, such as one cut short by a crash, are counted and skipped. */
Error *history_read(Arena *a, const char *path, History *out);
enum { SHOWN_POINTS = 2000 }; /* of a curve: more than a screen has columns */

/* The track with at most so many values: for each stretch of steps its last step, and the value
 * that is farthest from the mean there, or one that is not finite; the last value is the track's
 * last. Tracks with the same steps keep that. A track that is short enough is returned as it is. */
Track track_thinned(Arena *a, const Track *t, int64_t most);
/* The track of that key; `tag` NULL: of any tag. NULL when there is none. */
const Track *history_find(const History *h, const char *tag, const char *key);
#endif
