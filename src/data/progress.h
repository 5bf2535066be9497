/* progress.h - how far a long command is, on stderr: one live line on a terminal, else a line now
 * and then. Short work shows nothing. */
#ifndef DATA_PROGRESS_H
#define DATA_PROGRESS_H
#include <stdint.h>

typedef enum { PROGRESS_ITEMS, PROGRESS_BYTES } ProgressUnit;

typedef struct CommandProgress {
    const char *what; /* "packing" */
    int64_t total;
    ProgressUnit unit;
    double started, shown;
    int64_t found; /* of the total, done by an earlier run: the rate is without it */
} CommandProgress;

CommandProgress progress_start(const char *what, int64_t total, ProgressUnit unit);
/* `done` of the total; cheap when called too often. */
void progress_update(CommandProgress *p, int64_t done);
/* Removes the live line. */
void progress_end(CommandProgress *p);
#endif
