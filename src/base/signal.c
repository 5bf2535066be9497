/* signal.c - the one mutable global of the program besides the log level. */
#include "base/signal.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int requested; /* any thread may take the signal, others look */

/* Whichever of the two comes next is no longer caught. */
static void on_signal(int number)
{
    int kept = errno;
    requested = number;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    errno = kept;
}

static void on_signal_in_steps(int number)
{
    static const char text[] = "\nstopping after this step; once more ends at once\n";
    int kept = errno;
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written; /* nobody to tell */
    errno = kept;
    on_signal(number);
}

/* With SA_RESTART, so that a write to a pipe or a network drive goes on. */
static void catch_with(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void signal_catch(void)
{
    catch_with(on_signal);
}
void signal_catch_in_steps(void)
{
    catch_with(on_signal_in_steps);
}

bool signal_stop_requested(void)
{
    return requested != 0;
}
int signal_number(void)
{
    return requested;
}
