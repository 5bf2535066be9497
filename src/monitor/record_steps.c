/* record_steps.c - keeps the steps done in run.json current while a training runs, so that `report`
 * knows them of one that is killed. */
#include "base/clock.h"
#include "monitor/run_record.h"
#include "monitor/subscribers.h"

enum { WRITE_EVERY_S = 10 };

typedef struct RecordSteps {
    Subscriber base;
    const char *folder;
    RunRecord *record;
    double written_at;
    int64_t written; /* steps */
} RecordSteps;

static Error *on_event(Subscriber *self, const Event *event)
{
    RecordSteps *r = (RecordSteps *)self;
    const bool is_step = event->kind == EVENT_PROGRESS && !event->progress.is_evaluation;
    if (is_step) r->record->steps = event->progress.done;
    const bool is_due =
        event->kind == EVENT_CHECKPOINT || clock_seconds() - r->written_at >= WRITE_EVERY_S;
    if (!is_due || r->record->steps == r->written) return NULL;
    r->written = r->record->steps;
    r->written_at = clock_seconds();
    /* a disk that is full is told where it matters */
    error_free(run_record_update(r->folder, r->record));
    return NULL;
}

Subscriber *record_steps_subscriber(Arena *a, const char *folder, RunRecord *record)
{
    RecordSteps *r = NEW(a, RecordSteps);
    *r = (RecordSteps){ .base = { .on_event = on_event },
                        .folder = folder,
                        .record = record,
                        .written_at = clock_seconds(),
                        .written = record->steps };
    return &r->base;
}
