/* console.c - what every run prints: scripts read the lines on stdout, people those on stderr. */
#include "base/clock.h"
#include "base/log.h"
#include "base/terminal.h"
#include "monitor/results.h"
#include "monitor/subscribers.h"
#include <stdio.h>

static void print_results(const Results *r)
{
    char now[32];
    Text line = { 0 };
    results_console_line(r, &line);
    if (r->is_evaluation) {
        log_info("%s | %s", r->tag, line.ptr);
    } else {
        clock_format("%Y-%m-%dT%H:%M:%S", now, sizeof now);
        printf("%s%s | %s\n", terminal_erase(1), now, line.ptr);
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
    else if (event->kind == EVENT_NOTICE || event->kind == EVENT_DONE)
        log_info("%s", event->text);
    return NULL;
}

Subscriber *console_subscriber(Arena *a)
{
    Subscriber *s = NEW(a, Subscriber);
    s->on_event = on_event;
    return s;
}
