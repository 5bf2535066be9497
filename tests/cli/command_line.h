/* command_line.h - running the program in tests. */
#ifndef TESTS_COMMAND_LINE_H
#define TESTS_COMMAND_LINE_H
#include "test.h"

/* Runs it with these arguments (a shell's words); returns its exit status. `output` gets stdout and
 * stderr together, owned by the arena. */
int command_line_run(Arena *a, const char *args, const char **output);
#endif
