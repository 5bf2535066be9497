/* buffer.c - a block of memory that grows. */
#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include <stdint.h>
#include <stdlib.h>

void *buffer_grow(Buffer *b, size_t bytes)
{
    CHECK(bytes <= SIZE_MAX / 2);
    if (bytes <= b->cap) return b->ptr;
    size_t cap = b->cap + b->cap / 2 > bytes ? b->cap + b->cap / 2 : bytes;
    b->ptr = memory_or_end(realloc(b->ptr, cap), cap);
    b->cap = cap;
    return b->ptr;
}

void buffer_free(Buffer *b)
{
    free(b->ptr);
    *b = (Buffer){ 0 };
}
