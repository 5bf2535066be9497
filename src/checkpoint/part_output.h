/* part_output.h - bytes of a new file, put together in memory and written past the page cache.
 *
 * Numbers of a checkpoint are not read again soon: a copy of them in the page cache would cost more
 * CPU time than all the rest of a save, and whatever it displaces. */
#ifndef CHECKPOINT_PART_OUTPUT_H
#define CHECKPOINT_PART_OUTPUT_H
#include "base/file.h"

typedef struct PartOutput {
    NewFile *file;
    char *memory;
    size_t room, n; /* bytes of the memory; how many of them wait to be written */
    bool is_direct; /* the page cache is passed by */
} PartOutput;

/* Memory of the arena for a file of so many bytes, a few megabytes at most. */
void part_output_reserve(Arena *a, int64_t bytes, PartOutput *o);
/* From now on bytes go to this file. */
void part_output_open(PartOutput *o, NewFile *to);
/* Where the next bytes belong, *n of them at most; then how many of them are there now. */
char *part_output_room(const PartOutput *o, size_t *n);
Error *part_output_add(PartOutput *o, size_t n);
/* The same for bytes at hand. */
Error *part_output_put(PartOutput *o, const void *bytes, size_t n);
/* Writes what waits; file_commit makes it durable. */
Error *part_output_end(PartOutput *o);
#endif
