/* staging.h - memory in which the files of a save wait until they are written. */
#ifndef CHECKPOINT_STAGING_H
#define CHECKPOINT_STAGING_H
#include <stddef.h>

typedef struct Staging {
    char *memory;
    size_t bytes, used;
} Staging;

/* At least so many bytes, touched now, so that no step waits for the system to find them; what was
 * in it is lost. */
void staging_reserve(Staging *s, size_t bytes);
void staging_free(Staging *s);
#endif
