/* main.c - finds the command, runs it, and prints what went wrong. */
#include "base/environment.h"
#include "base/lost_pages.h"
#include "base/signal.h"
#include "command.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A standard stream that is closed would be the number of the next file that is opened, and what is
 * printed would go there. Instead, using it fails. */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0) return;
}

/* Whether all that was printed has arrived; of an earlier failure only a mark is left. */
static bool finish_standard_output(const char **why)
{
    bool is_cut = ferror(stdout);
    errno = 0;
    bool is_flushed = fclose(stdout) == 0;
    *why = is_flushed || !errno ? "not all of it could be written" : strerror(errno);
    return is_flushed && !is_cut;
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    Arena *a = arena_new();
    lost_pages_catch();
    signal_ignore_file_size();
    Error *e = environment_check();
    if (!e) e = command_run(a, argc - 1, argv + 1);
    arena_free(a);
    int status = e ? error_exit_status(e) : 0;
    if (e && *error_text(e)) fprintf(stderr, "%s\n", error_text(e));
    error_free(e);
    const char *why;
    bool nobody_reads = signal_outlived_output();
    if (!finish_standard_output(&why) && !nobody_reads) {
        fprintf(stderr, "standard output: %s\n", why);
        if (!status) status = 1;
    }
    return status;
}
