/* results_combined.c - results_subscriber.combined: several at once. */
#include "config/builder.h"
#include "monitor/event.h"

typedef struct Settings {
    ComponentList subscribers;
} Settings;

typedef struct Combined {
    Subscriber base;
    ComponentList subscribers;
} Combined;

/* Each gets it even if another one fails. */
static Error *on_event(Subscriber *self, const Event *event)
{
    const Combined *c = (const Combined *)self;
    Error *e = NULL;
    for (int64_t i = 0; i < c->subscribers.n; i++) {
        Subscriber *s = c->subscribers.item[i];
        e = error_join(e, s->on_event(s, event));
    }
    return e;
}

static Error *go_back(Subscriber *self, const TrainingMoment *to)
{
    const Combined *c = (const Combined *)self;
    Error *e = NULL;
    for (int64_t i = 0; i < c->subscribers.n; i++) {
        Subscriber *s = c->subscribers.item[i];
        if (s->go_back) e = error_join(e, s->go_back(s, to));
    }
    return e;
}

static Error *close_all(Subscriber *self)
{
    const Combined *c = (const Combined *)self;
    Error *e = NULL;
    for (int64_t i = 0; i < c->subscribers.n; i++) {
        Subscriber *s = c->subscribers.item[i];
        if (s->close) e = error_join(e, s->close(s));
    }
    return e;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    Combined *c = NEW(builder_arena(b), Combined);
    *c = (Combined){ .base = { .on_event = on_event, .go_back = go_back, .close = close_all },
                     .subscribers = ((const Settings *)settings)->subscribers };
    *out = &c->base;
    return NULL;
}

static const Field fields[] = {
    FIELD_COMPONENTS(Settings, subscribers, "results_subscriber", NULL, 1, INFINITY,
                     "each of them gets every result"),
    { 0 },
};

const ComponentDef results_subscriber_combined = {
    .kind = "results_subscriber",
    .variant = "combined",
    .doc = "several subscribers at once",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
