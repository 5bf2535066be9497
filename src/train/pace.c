/* pace.c - how long a training will take, told after its first steps. */
#include "train/pace.h"
#include "base/clock.h"
#include "base/str.h"
#include <inttypes.h>
#include <stdio.h>

enum { TOLD_AFTER = 5 };

void pace_begin(Pace *p)
{
    p->begun = clock_seconds();
}

/* The first step is left out: it also warms up memory and caches. */
void pace_pause(Pace *p)
{
    if (p->n) p->seconds += clock_seconds() - p->begun;
}

Error *pace_end(Pace *p, int64_t n_left, Events *events)
{
    pace_pause(p);
    p->n++;
    if (p->n != TOLD_AFTER || n_left <= 0) return NULL;
    double one = p->seconds / (TOLD_AFTER - 1);
    char step[32], all[32], text[160];
    format_seconds(one, step);
    format_seconds(one * (double)n_left, all);
    snprintf(text, sizeof text,
             "about %s for the %" PRId64 " step%s to go, %s each; evaluations and checkpoints come "
             "on top",
             all, n_left, n_left == 1 ? "" : "s", step);
    return events_publish(events, (Event){ .kind = EVENT_NOTICE, .text = text });
}
