/* command_line.c - running the program, or any command, in tests. */
#include "cli/command_line.h"
#include <stdlib.h>
#include <sys/wait.h>

int shell_run(Arena *a, const char *command, const char **output)
{
    const char *path = path_join(a, test_folder(), "output");
    Str text;
    int status = system(arena_printf(a, "{ %s\n} > %s 2>&1", command, path));
    assert_no_error(file_read(a, path, &text));
    *output = text.ptr;
    return WEXITSTATUS(status);
}

int command_line_run(Arena *a, const char *args, const char **output)
{
    return shell_run(a, arena_printf(a, "LC_ALL=C COLUMNS=80 %s %s", program_path(), args), output);
}
