/* command_line.h - running the program, or any command, in tests. */
#ifndef TESTS_COMMAND_LINE_H
#define TESTS_COMMAND_LINE_H
#include "test.h"

/* Runs it with these arguments (a shell's words); returns its exit status. `output` gets stdout and
 * stderr together, owned by the arena. */
int command_line_run(Arena *a, const char *args, const char **output);
/* The same for a shell's command. */
int shell_run(Arena *a, const char *command, const char **output);
#endif
