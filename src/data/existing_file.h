/* existing_file.h - what a command does when the file that it would write is already there. */
#ifndef DATA_EXISTING_FILE_H
#define DATA_EXISTING_FILE_H
#include "base/error.h"
#include <stdbool.h>

typedef enum { EXISTING_SKIP, EXISTING_ERROR, EXISTING_OVERRIDE } ExistingPolicy;

/* "skip", "error", "override"; ends with NULL. */
extern const char *const existing_policies[];

/* Decides about writing `path`: *write says whether to go on. An existing file is not touched here;
 * it is replaced when the new one is complete. */
Error *existing_file(const char *path, ExistingPolicy policy, bool *write);
#endif
