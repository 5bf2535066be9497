/* resumable_state.h - the work behind resumable.h, and its record. */
#ifndef DATA_RESUMABLE_STATE_H
#define DATA_RESUMABLE_STATE_H
#include "data/growing_file.h"
#include "data/parts.h"
#include <pthread.h>

struct Resumable {
    Arena *arena;
    const char *output, *record_path, *new_record_path,
        *identity; /* identity NULL: not to be continued */
    GrowingFile stream[MOST_STREAMS];
    int n_streams;
    PartRecord found;
    FinishedPart last;     /* handed over last, or found last */
    int64_t reached_bytes; /* of all streams, when the work was last at a place to go on from */
    int64_t reached_number[MOST_NUMBERS];
    bool is_reached, is_placed;
    int64_t part_bytes;
    double part_began;
    int record; /* file, or -1 */
    /* the thread, from the first part on */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_busy, is_ending;
    FinishedPart job;
    int64_t n_durable; /* parts of this run */
    Error *failure;
};

/* Bytes of all streams at the end of a part. */
int64_t part_bytes(const FinishedPart *part, int n_streams);

/* Sets the identity: the program, since another one may write other bytes, and what was given. */
Error *record_identify(Resumable *r, const char *given);
/* Writes a new record of what was found; the first one of this run, unless it is there; appends
 * lines to it; removes it. */
Error *record_write(Resumable *r);
/* Writes one without parts that tells that the growing files are ours; nothing waits for the disk.
 */
Error *record_mark(Resumable *r);
Error *record_begin(Resumable *r);
Error *record_append(Resumable *r, const Text *lines);
Error *record_remove(Resumable *r);

/* Closes all files and frees r. */
void resumable_release(Resumable *r);
#endif
