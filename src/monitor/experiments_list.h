/* experiments_list.h - the experiments below a folder, and how to go on with them. */
#ifndef MONITOR_EXPERIMENTS_LIST_H
#define MONITOR_EXPERIMENTS_LIST_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* A table of all experiments below the folder, a few levels deep: state, steps, losses. Then why
 * those failed that did, and what to type to go on with each that is neither done nor running. */
Error *experiments_list(Arena *a, const char *folder, int width, Text *out);
#endif
