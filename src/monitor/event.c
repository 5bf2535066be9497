/* event.c - the fan-out of events to subscribers. */
#include "monitor/event.h"
#include "base/clock.h"
#include <stddef.h>

void events_subscribe(Events *e, Subscriber *s)
{
    CHECK(e->n < MAX_SUBSCRIBERS);
    e->subscriber[e->n++] = s;
}

Error *events_publish(Events *e, Event event)
{
    if (event.seconds == 0) event.seconds = clock_seconds();
    Error *failed = NULL;
    for (int i = 0; i < e->n; i++)
        failed = error_join(failed, e->subscriber[i]->on_event(e->subscriber[i], &event));
    return failed;
}

Error *events_go_back(Events *e, const TrainingMoment *to)
{
    Error *all = NULL;
    for (int i = 0; i < e->n; i++)
        if (e->subscriber[i]->go_back)
            all = error_join(all, e->subscriber[i]->go_back(e->subscriber[i], to));
    return all;
}

Error *events_close(Events *e)
{
    Error *failed = NULL;
    for (int i = 0; i < e->n; i++)
        if (e->subscriber[i]->close)
            failed = error_join(failed, e->subscriber[i]->close(e->subscriber[i]));
    e->n = 0;
    return failed;
}
