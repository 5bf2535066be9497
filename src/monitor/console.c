/* console.c - what every run prints: scripts read the lines on stdout, people those on stderr,
 * and rows of a terminal. */
#include "base/clock.h"
#include "base/log.h"
#include "base/terminal.h"
#include "monitor/results.h"
#include "monitor/results_row.h"
#include "monitor/subscribers.h"
#include <stdio.h>
#include <unistd.h>

static void print_results(const Results *r)
{
    int fd = r->is_evaluation ? STDERR_FILENO : STDOUT_FILENO;
    char now[32];
    Text line = { 0 };
    if (is_terminal(fd)) {
        clock_format("%H:%M:%S", now, sizeof now);
        results_row(r, now, terminal_width(fd), &line);
    } else {
        clock_format("%Y-%m-%dT%H:%M:%S", now, sizeof now);
        text_printf(&line, "%s | ", r->is_evaluation ? r->tag : now);
        results_console_line(r, &line);
    }
    if (r->is_evaluation) {
        log_info("%s", line.ptr);
    } else {
        printf("%s%s\n", terminal_erase(1), line.ptr);
        fflush(stdout); /* a pipe shall show it now */
    }
    text_free(&line);
}

static Error *on_event(Subscriber *self, const Event *event)
{
    (void)self;
    if (event->kind == EVENT_RESULTS)
        print_results(event->results);
    else if (event->kind == EVENT_CHECKPOINT)
        log_info("checkpoint saved: %s", event->text);
    else if (event->kind == EVENT_NOTICE)
        log_info("%s", event->text);
    return NULL;
}

Subscriber *console_subscriber(Arena *a)
{
    Subscriber *s = NEW(a, Subscriber);
    s->on_event = on_event;
    return s;
}
