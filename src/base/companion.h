/* companion.h - libraries of the program's own, which are opened at run time. */
#ifndef BASE_COMPANION_H
#define BASE_COMPANION_H
#include "base/arena.h"

/* The folder of the running program, with a slash after it. */
const char *program_folder(Arena *a);
/* Where the library `file` is: `set` unless that is NULL or empty, else beside the program as it is
 * built, or where `make install` puts it. NULL: nowhere. */
const char *companion_path(Arena *a, const char *set, const char *file);
#endif
