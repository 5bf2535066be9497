/* program_times.c - when nodes begin and end, noted beside them, so that streams go on as they
 * would.
 *
 * A launch is given to its stream within a note, by a kernel that looks at the clock before and
 * after the real one; or the device stamps the times before and after it. What has ended is told
 * between two actions. */
#include "exec/program_times.h"
#include "base/clock.h"
#include <stdatomic.h>

typedef struct Note {
    Launch launch; /* first: the kernel is given this one */
    const Launch *of;
    const Node *node;
    Kernel *kernel;
    RunTime now;
    double begin, end;
    Stream *stream;      /* where there are stamps: of these */
    StreamMark stamp[2]; /* its beginning and its end */
    bool is_wait;
    bool has_failed; /* its stream points at it until somebody looks */
    _Atomic bool has_ended;
} Note;

struct TimeNotes {
    NodeTimes *told;
    void *ctx;
    Note **note, **spare;
    int64_t n, cap, n_spare, cap_spare;
    Note **made; /* all of them */
    int64_t n_made, cap_made;
    double begun; /* when the first stamp of `note` was, by the host's clock */
};

bool program_keeps_times(const Device *d)
{
    return d->is_host || d->stamp;
}

void program_set_times(Program *p, NodeTimes *told, void *ctx)
{
    p->times = NEW(p->arena, TimeNotes);
    *p->times = (TimeNotes){ .told = told, .ctx = ctx };
}

static Note *take_spare(Program *p)
{
    TimeNotes *t = p->times;
    if (t->n_spare) return t->spare[--t->n_spare];
    t->made = arena_grow(p->arena, t->made, t->n_made, &t->cap_made, sizeof(Note *));
    return t->made[t->n_made++] = NEW(p->arena, Note);
}

static Note *note_new(Program *p, const Step *s, const Launch *l)
{
    TimeNotes *t = p->times;
    Note *x = take_spare(p);
    x->launch = *l;
    x->of = l;
    x->node = s->node;
    x->kernel = s->kernel;
    x->now = *launch_now(l);
    x->is_wait = x->has_failed = false;
    atomic_store(&x->has_ended, false);
    t->note = arena_grow(p->arena, t->note, t->n, &t->cap, sizeof(Note *));
    t->note[t->n++] = x;
    return x;
}

static int run_noted(const Launch *l)
{
    Note *x = (Note *)l;
    x->begin = clock_seconds();
    int status = x->kernel(x->of);
    x->end = clock_seconds();
    x->has_failed = status != KERNEL_OK;
    atomic_store(&x->has_ended, true);
    return status;
}

const Launch *times_launch(Program *p, const Step *s, const Launch *l, Kernel **kernel)
{
    *kernel = run_noted;
    return &note_new(p, s, l)->launch;
}

const Launch *times_launch_of(const Program *p, const Launch *l)
{
    for (int64_t i = 0; p->times && i < p->times->n; i++)
        if (&p->times->note[i]->launch == l) return p->times->note[i]->of;
    return l;
}

static Error *begin_on(Program *p, Note *x, Stream *s)
{
    Device *d = p->settings.device;
    x->begin = clock_seconds();
    x->stream = s;
    if (!d->stamp) return NULL;
    if (p->times->n == 1) p->times->begun = x->begin; /* its stream has nothing else to do */
    return d->stamp(d, s, &x->stamp[0]);
}

Error *times_begin(Program *p, const Step *s, const Launch *l)
{
    return begin_on(p, note_new(p, s, l), l->stream);
}

Error *times_begin_wait(Program *p, const Step *s, const Launch *l)
{
    Note *x = note_new(p, s, l);
    x->is_wait = true;
    return begin_on(p, x, p->stream[0]);
}

Error *times_end(Program *p)
{
    Device *d = p->settings.device;
    Note *x = p->times->note[p->times->n - 1];
    x->end = clock_seconds();
    atomic_store(&x->has_ended, true);
    return d->stamp ? d->stamp(d, x->stream, &x->stamp[1]) : NULL;
}

/* By the stamps of those that a device has just done. */
static Error *read_stamps(Program *p)
{
    Device *d = p->settings.device;
    const TimeNotes *t = p->times;
    for (int i = 0; i < p->n_streams; i++) TRY(d->synchronize(d, p->stream[i]));
    for (int64_t i = 0; i < t->n; i++) {
        Note *x = t->note[i];
        TRY(d->elapsed(d, &t->note[0]->stamp[0], &x->stamp[0], &x->begin));
        TRY(d->elapsed(d, &x->stamp[0], &x->stamp[1], &x->end));
        x->begin += t->begun;
        x->end += x->begin;
    }
    return NULL;
}

void times_free(Program *p)
{
    Device *d = p->settings.device;
    for (int64_t i = 0; p->times && i < p->times->n_made; i++)
        for (int k = 0; k < 2; k++) d->mark_free(d, &p->times->made[i]->stamp[k]);
}

Error *times_tell(Program *p)
{
    TimeNotes *t = p->times;
    int64_t n = 0;
    Error *e = p->settings.device->stamp ? read_stamps(p) : NULL;
    for (int64_t i = 0; i < t->n; i++) {
        Note *x = t->note[i];
        if (!atomic_load(&x->has_ended) || x->has_failed) {
            t->note[n++] = x;
            continue;
        }
        const NodeTime told = { x->node, x->of, &x->now, x->begin, x->end - x->begin, x->is_wait };
        if (!e) e = t->told(t->ctx, &told);
        t->spare = arena_grow(p->arena, t->spare, t->n_spare, &t->cap_spare, sizeof(Note *));
        t->spare[t->n_spare++] = x;
    }
    t->n = n;
    return e;
}
