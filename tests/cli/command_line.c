/* command_line.c - running the program in tests. */
#include "cli/command_line.h"
#include <stdlib.h>
#include <sys/wait.h>

int command_line_run(Arena *a, const char *args, const char **output)
{
    const char *path = path_join(a, test_folder(), "output");
    Str text;
    int status =
        system(arena_printf(a, "LC_ALL=C COLUMNS=80 %s %s > %s 2>&1", program_path(), args, path));
    assert_no_error(file_read(a, path, &text));
    *output = text.ptr;
    return WEXITSTATUS(status);
}
