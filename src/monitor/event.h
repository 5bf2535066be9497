/* event.h - what happens in a run, as data: rank 0 of the run publishes, subscribers show or store
 * it. */
#ifndef MONITOR_EVENT_H
#define MONITOR_EVENT_H
#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

/* One reported number: a real, narrowed to float32 as the original's tensors are, or an exact
 * count. */
typedef struct Measure {
    const char *name;
    double value;
    int64_t count;
    bool is_count;
    int decimals; /* shown on the console; ALL_DECIMALS: unrounded; or
                       NOT_ON_CONSOLE */
} Measure;

enum { ALL_DECIMALS = -1, NOT_ON_CONSOLE = -2, MAX_MEASURES = 96 };

typedef struct Measures {
    int n;
    Measure item[MAX_MEASURES];
} Measures;

/* Results at a log interval or of one evaluation loader; results.h makes them with the usual names.
 */
typedef struct Results {
    const char *tag; /* of the data loader: "train", "val" */
    bool is_evaluation;
    int64_t step; /* optimizer steps done, those of earlier runs included */
    Measures losses, metrics, throughput;
} Results;

/* Training: steps done (those of earlier runs included) of the target; evaluation: batches of a
 * pass. Publish one with the start's `done` first, so that rates are known after the first step. */
typedef struct Progress {
    const char *tag;
    bool is_evaluation;
    int64_t done, total;
    int64_t tokens;             /* of training, consumed so far */
    double loss, lr, grad_norm; /* of the last step; NaN: not known */
} Progress;

typedef enum {
    EVENT_PROGRESS,
    EVENT_RESULTS,
    EVENT_FACT,       /* something known once, such as the number of parameters */
    EVENT_CHECKPOINT, /* saved: text is its folder */
    EVENT_NOTICE      /* text is a line for people */
} EventKind;

typedef struct Event {
    EventKind kind;
    double seconds; /* clock_seconds() of the moment; set by events_publish when 0 */
    union {
        Progress progress;
        const Results *results;
        Measure fact;
        const char *text;
    };
} Event;

/* Where a training goes on. */
typedef struct TrainingMoment {
    int64_t step;
    const char *train_tag; /* of the training loader */
    bool is_evaluated;     /* evaluations at that step stay */
} TrainingMoment;

typedef struct Subscriber {
    /* Ignores events that are none of its business. The event is valid during the call only. */
    Error *(*on_event)(struct Subscriber *self, const Event *event);
    /* Forgets results after that moment, which will come again. NULL: keeps none. */
    Error *(*go_back)(struct Subscriber *self, const TrainingMoment *to);
    /* NULL: nothing to close. */
    Error *(*close)(struct Subscriber *self);
} Subscriber;

enum { MAX_SUBSCRIBERS = 8 };

/* The fan-out; zero-initialise. Subscribers belong to the arena they were made in. */
typedef struct Events {
    int n;
    Subscriber *subscriber[MAX_SUBSCRIBERS];
} Events;

void events_subscribe(Events *e, Subscriber *s);
/* In the order of subscription; every one gets the event even if another fails. */
Error *events_publish(Events *e, Event event);
/* Asks all that keep results. */
Error *events_go_back(Events *e, const TrainingMoment *to);
/* Closes all and forgets them. */
Error *events_close(Events *e);
#endif
