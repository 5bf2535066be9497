/* staging.c - memory in which the files of a save wait until they are written. */
#include "checkpoint/staging.h"
#include "base/memory.h"
#include <stdlib.h>

void staging_reserve(Staging *s, size_t bytes)
{
    s->used = 0;
    if (bytes <= s->bytes) return;
    staging_free(s);
    *s = (Staging){ .memory = memory_zeroed(bytes), .bytes = bytes };
}

void staging_free(Staging *s)
{
    free(s->memory);
    *s = (Staging){ 0 };
}
