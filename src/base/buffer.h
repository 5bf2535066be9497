/* buffer.h - one block of memory that grows and is used again: scratch of loops that must not
 * allocate. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H
#include <stddef.h>

/* Zero-initialise; free with buffer_free. */
typedef struct Buffer {
    void *ptr; /* aligned to 16 */
    size_t cap;
} Buffer;

/* Makes room for at least `bytes` (half as much again, so that growing step by step stays cheap)
 * and returns the block. What was written stays; new bytes are undefined. */
void *buffer_grow(Buffer *b, size_t bytes);
void buffer_free(Buffer *b);
#endif
