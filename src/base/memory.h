/* memory.h - how much of the machine's memory can be had; memory for large tables. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H
#include <stddef.h>

/* Bytes that the kernel thinks can be had without swapping, or what the limit of the control group
 * leaves or those of the process are if that is less; 0 when nothing can be read.
 * MODALITIES_MEMORY_LIMIT, in bytes, stands instead. */
size_t memory_available(void);
/* `p`, which was asked for with so many bytes. NULL ends the program with a message and status 1,
 * as does everything below that finds no memory: files appear complete or not at all, so that
 * nothing is left to be put in order. */
void *memory_or_end(void *p, size_t bytes);
/* Zeroed bytes, aligned to 64, in huge pages where they are many: the places of a hash table are
 * random, so that fewer pages are fewer misses. Free with free(). */
void *memory_zeroed(size_t bytes);
/* The same with any content. What is large is an address alone until it is written. */
void *memory_untouched(size_t bytes);
#endif
