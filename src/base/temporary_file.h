/* temporary_file.h - files that have another name until they are complete, and what is left of them
 * when their writer dies.
 *
 * A file X is made as X.tmp.XXXXXXXXXXXX, twelve random hex digits, which its writer keeps locked
 * (flock). The system drops the lock of a process that died, whatever number another one has got.
 */
#ifndef BASE_TEMPORARY_FILE_H
#define BASE_TEMPORARY_FILE_H
#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>

/* Removes what dead writers of `path` left; creates and locks a new file, never one that is there.
 * Closing *fd and its duplicates gives up the lock. */
Error *temporary_create(Arena *a, const char *path, unsigned mode, char **name, int *fd);
/* Removes a file of such a name, unless its writer lives or it is no file of ours. */
void temporary_remove_dead(const char *name);

/* Opens an existing file, or creates it, for writing in place. A symbolic link, what is no regular
 * file, belongs to another user or has a second name is an error: it is not what a run left. */
Error *open_own_file(const char *path, int *fd);
#endif
