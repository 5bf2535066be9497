/* signal.c - the one mutable global of the program besides the log level. */
#include "base/signal.h"
#include "base/terminal.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int requested;      /* any thread may take the signal, others look */
static atomic_llong requested_ms; /* when */
static const char *_Atomic erase; /* what removes a live display from the terminal */
static const char *_Atomic of_launcher = "";
static atomic_bool outlives_output;

static long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Whether the program was asked before, by one of the two that may ask twice, and has had time to
 * hear it. */
static bool is_once_more(int number)
{
    bool asks_twice = number == SIGINT || number == SIGTERM;
    bool asked_before = requested == SIGINT || requested == SIGTERM;
    return asks_twice && asked_before && now_ms() - requested_ms >= 1000;
}

static void on_signal(int number)
{
    int kept = errno;
    if (is_once_more(number)) {
        signal(number, SIG_DFL);
        raise(number);
    } else if (requested != SIGINT && requested != SIGTERM) {
        requested = number;
        requested_ms = now_ms();
    }
    errno = kept;
}

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* nobody to tell */
}

static void on_signal_in_steps(int number)
{
    int kept = errno;
    bool is_first = !requested;
    on_signal(number);
    if (is_first) {
        say(erase);
        say("stopping after this step; Ctrl-C or SIGTERM once more ends at once\n");
        if (number != SIGUSR1) say(of_launcher);
    }
    errno = kept;
}

/* With SA_RESTART, so that a write to a pipe or a network drive goes on. */
static void catch_one(int number, void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, before;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN) return;
    sigaction(number, &action, NULL);
}

static void catch_with(void (*handler)(int))
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };
    erase = terminal_erase(STDERR_FILENO);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) catch_one(numbers[i], handler);
}

static void outlive_output(void)
{
    signal(SIGPIPE, SIG_IGN);
    outlives_output = true;
}

void signal_catch(void)
{
    catch_with(on_signal);
    outlive_output();
}
void signal_catch_in_steps(const char *more)
{
    of_launcher = more;
    catch_with(on_signal_in_steps);
    outlive_output();
}
void signal_catch_while_printing(void)
{
    catch_with(on_signal);
}

void signal_ignore_file_size(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

bool signal_stop_requested(void)
{
    return requested != 0;
}
int signal_number(void)
{
    return requested;
}

bool signal_outlived_output(void)
{
    struct pollfd f = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return outlives_output && poll(&f, 1, 0) == 1 && (f.revents & (POLLERR | POLLHUP));
}
