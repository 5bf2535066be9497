/* signal.c - the one mutable global of the program besides the log level. */
#include "base/signal.h"
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t requested;

/* Whichever of the two comes next is no longer caught. */
static void on_signal(int number)
{
    requested = number;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

/* With SA_RESTART, so that a write to a pipe or a network drive goes on. */
void signal_catch(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool signal_stop_requested(void)
{
    return requested != 0;
}
int signal_number(void)
{
    return requested;
}
