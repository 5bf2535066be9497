/* memory.h - how much of the machine's memory can be had; memory for large tables. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H
#include <stddef.h>

/* Bytes that the kernel thinks can be had without swapping, or what the limit of the control group
 * leaves or those of the process are if that is less; 0 when nothing can be read.
 * MODALITIES_MEMORY_LIMIT, in bytes, stands instead. */
size_t memory_available(void);
/* Zeroed bytes, aligned to 64, in huge pages where they are many: the places of a hash table are
 * random, so that fewer pages are fewer misses. Free with free(). */
void *memory_zeroed(size_t bytes);
#endif
