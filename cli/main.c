/* main.c - finds the command, runs it, and prints what went wrong. */
#include "base/lost_pages.h"
#include "command.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    Arena *a = arena_new();
    lost_pages_catch();
    Error *e = command_run(a, argc - 1, argv + 1);
    arena_free(a);
    int status = e ? error_exit_status(e) : 0;
    if (e) fprintf(stderr, "%s\n", error_text(e));
    error_free(e);
    if (fflush(stdout) && !status) {
        perror("standard output");
        status = 1;
    }
    return status;
}
