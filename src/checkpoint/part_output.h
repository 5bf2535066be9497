/* part_output.h - bytes of a new file, written past the page cache.
 *
 * Numbers of a checkpoint are not read again soon: a copy of them in the page cache would cost more
 * CPU time than all the rest of a save, and whatever it displaces. Where they are many and both
 * places allow it, the disk takes them from where they lie; the rest is put together in memory. */
#ifndef CHECKPOINT_PART_OUTPUT_H
#define CHECKPOINT_PART_OUTPUT_H
#include "base/file.h"
#include <sys/uio.h>

enum {
    /* Numbers of at least so many bytes are worth a place in the file at a multiple of a page, from
     * which part_output_straight takes them. */
    PART_PAGE = 4096,
    PART_LARGE = 128 << 10,
    PART_MOST_WAITING = 128
};

typedef struct PartOutput {
    NewFile *file;
    char *memory;
    size_t room, n, listed; /* bytes of the memory; taken, and in the list of what waits */
    struct iovec waiting[PART_MOST_WAITING]; /* to be written in one go */
    int n_waiting, n_straight;               /* of these: where numbers lie */
    size_t waits, most;                      /* bytes that wait; after how many they are written */
    size_t at;                               /* bytes of the file so far, with those that wait */
    size_t alignment;                        /* in memory, of what is taken from where it lies */
    bool is_direct;                          /* the page cache is passed by */
} PartOutput;

/* Memory of the arena for a file of so many bytes, a few megabytes at most. */
void part_output_reserve(Arena *a, int64_t bytes, PartOutput *o);
/* From now on bytes go to this file. */
void part_output_open(PartOutput *o, NewFile *to);
/* Takes the next bytes from where they lie: *n of them at most, then how many. 0: they are too few,
 * or at a place where the disk does not take them, and have to be copied. They may not change while
 * part_output_holds. */
Error *part_output_straight(PartOutput *o, const void *bytes, size_t *n);
/* Whether bytes that were taken so are not written yet: they soon are (0.03 s). */
bool part_output_holds(const PartOutput *o);
/* Writes them. */
Error *part_output_settle(PartOutput *o);
/* Where the next bytes belong, *n of them at most; then how many of them are there now. */
char *part_output_room(const PartOutput *o, size_t *n);
Error *part_output_add(PartOutput *o, size_t n);
/* The same for bytes at hand. */
Error *part_output_put(PartOutput *o, const void *bytes, size_t n);
/* Writes what waits; file_commit makes it durable. */
Error *part_output_end(PartOutput *o);
#endif
