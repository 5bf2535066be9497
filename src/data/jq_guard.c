/* jq_guard.c - leaves libjq when it has no memory, and ends the program when it crashes or does
 * not come back.
 *
 * libjq 1.6 ends with an assertion, a fault or the end of the C stack on some patterns, and nothing
 * interrupts one that loops. Its memory may be inconsistent then and a lock of malloc be held, so
 * the thread cannot go on: the handler says which pattern and which line it was, and leaves what
 * was written as a kill would. Memory that runs out is a clean place to leave: malloc has returned.
 */
#include "data/jq_guard.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signal.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HANDLER_STACK = 32 << 10, SHOWN = 80 };
static const double PATIENCE = 2; /* seconds that a call may last after a stop was asked for */

static _Thread_local JqGuard *current; /* inside libjq */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static JqGuard *guards; /* all that are open, for the watcher */
static bool is_watched;

/* ---- last words ---- */

static void say(const char *text, size_t n)
{
    ssize_t written = write(STDERR_FILENO, text, n);
    (void)written; /* nobody to tell */
}

static void say_string(const char *text)
{
    say(text, strlen(text));
}

/* "jq_pattern 'f': libjq REASON on the line {"text": ..." with what a signal handler may call. */
static void say_place(const JqGuard *g, const char *reason)
{
    say_string(g->name);
    say_string(" '");
    say_string(g->expression);
    say_string("': libjq ");
    say_string(reason);
    if (g->input.len) {
        say_string(" on ");
        say(g->input.ptr, g->input.len < SHOWN ? g->input.len : SHOWN);
        if (g->input.len > SHOWN) say_string("...");
    }
    say_string("\n");
}

/* ---- crashes ---- */

static const int crashes[] = { SIGABRT, SIGSEGV, SIGFPE, SIGILL };
enum { N_CRASHES = sizeof crashes / sizeof *crashes };
static struct sigaction before[N_CRASHES];

static void on_crash(int number)
{
    if (current) {
        say_place(current, "fails");
        _exit(1);
    }
    for (int i = 0; i < N_CRASHES; i++) /* as if this were not here: the fault comes again */
        if (crashes[i] == number) sigaction(number, &before[i], NULL);
}

static void catch_crashes(void)
{
    struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_CRASHES; i++) sigaction(crashes[i], &action, &before[i]);
}

/* ---- calls that last ---- */

static const JqGuard *lasting_call(double stop)
{
    for (const JqGuard *g = guards; g; g = g->next) {
        double start = g->start;
        if (start && clock_seconds() - (start > stop ? start : stop) > PATIENCE) return g;
    }
    return NULL;
}

static void *watch(void *unused)
{
    const struct timespec pause = { .tv_nsec = 200000000 };
    double stop = 0; /* when it was asked for */
    (void)unused;
    pthread_mutex_lock(&lock);
    while (guards) {
        if (!stop && signal_stop_requested()) stop = clock_seconds();
        const JqGuard *lasting = stop ? lasting_call(stop) : NULL;
        if (lasting) {
            say_place(lasting, "does not come back; stopped by a signal");
            _exit(EXIT_STOPPED);
        }
        pthread_mutex_unlock(&lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&lock);
    }
    is_watched = false;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void start_watching(void)
{
    pthread_t thread;
    is_watched = pthread_create(&thread, NULL, watch, NULL) == 0;
    if (is_watched)
        pthread_detach(thread);
    else
        log_warning("no thread could be made that watches jq: a pattern that never returns must be "
                    "killed");
}

void jq_guard_open(JqGuard *g)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, catch_crashes);
    pthread_mutex_lock(&lock);
    g->next = guards;
    if (guards) guards->previous = g;
    guards = g;
    if (!is_watched) start_watching();
    pthread_mutex_unlock(&lock);
}

void jq_guard_close(JqGuard *g)
{
    pthread_mutex_lock(&lock);
    if (g->next) g->next->previous = g->previous;
    *(g->previous ? &g->previous->next : &guards) = g->next;
    pthread_mutex_unlock(&lock);
}

/* ---- memory ---- */

/* libjq 1.6 forgets its argument. */
void jq_guard_no_memory(void *unused)
{
    (void)unused;
    if (current) siglongjmp(current->no_memory, 1);
}

bool jq_guarded(JqGuard *g, Str input, void (*work)(void *arg), void *arg)
{
    char room[HANDLER_STACK]; /* for the handler when the stack itself is at its end */
    stack_t mine = { .ss_sp = room, .ss_size = sizeof room }, other;
    volatile bool is_done = false;
    g->input = input;
    g->start = clock_seconds();
    sigaltstack(&mine, &other);
    current = g;
    if (sigsetjmp(g->no_memory, 0) == 0) {
        work(arg);
        is_done = true;
    }
    current = NULL;
    sigaltstack(&other, NULL);
    g->start = 0;
    return is_done;
}
