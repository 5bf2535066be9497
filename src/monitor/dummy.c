/* dummy.c - subscribers that ignore everything. */
#include "config/builder.h"
#include "monitor/event.h"
#include "monitor/subscribers.h"

static Error *ignore(Subscriber *self, const Event *event)
{
    (void)self;
    (void)event;
    return NULL;
}

Subscriber *dummy_subscriber(Arena *a)
{
    Subscriber *s = NEW(a, Subscriber);
    s->on_event = ignore;
    return s;
}

Subscriber *subscriber_of_rank(Arena *a, Subscriber *s, int64_t global_rank)
{
    return global_rank == 0 ? s : dummy_subscriber(a);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    (void)settings;
    *out = dummy_subscriber(builder_arena(b));
    return NULL;
}

const ComponentDef results_subscriber_dummy = {
    .kind = "results_subscriber",
    .variant = "dummy",
    .doc = "keeps no results",
    .build = build,
};

const ComponentDef progress_subscriber_dummy = {
    .kind = "progress_subscriber",
    .variant = "dummy",
    .doc = "shows no progress",
    .build = build,
};
