/* existing_file.h - what a command does when the file that it would write is already there. */
#ifndef DATA_EXISTING_FILE_H
#define DATA_EXISTING_FILE_H
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>

typedef enum { EXISTING_SKIP, EXISTING_ERROR, EXISTING_OVERRIDE } ExistingPolicy;

/* "skip", "error", "override"; ends with NULL. */
extern const char *const existing_policies[];

/* Decides about writing `path`: *write says whether to go on. An existing file is not touched here;
 * it is replaced when the new one is complete. `path` may be NULL, then nothing is there. */
Error *existing_file(const char *path, ExistingPolicy policy, bool *write);

/* Reports are made again and again, so they replace earlier ones unasked, but nothing else: an
 * error where `path` holds something that is neither empty nor what `is_ours` knows. `kind` names
 * that: "a report of bad lines". */
Error *existing_report(const char *path, bool (*is_ours)(Str content), const char *kind);
#endif
