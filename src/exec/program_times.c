/* program_times.c - when nodes begin and end, noted beside them, so that streams go on as they
 * would.
 *
 * A launch is given to its stream within a note, by a kernel that looks at the clock before and
 * after the real one. What has ended is told between two actions. */
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
    bool is_wait;
    bool has_failed; /* its stream points at it until somebody looks */
    _Atomic bool has_ended;
} Note;

struct TimeNotes {
    NodeTimes *told;
    void *ctx;
    Note **note, **spare;
    int64_t n, cap, n_spare, cap_spare;
};

void program_set_times(Program *p, NodeTimes *told, void *ctx)
{
    p->times = NEW(p->arena, TimeNotes);
    *p->times = (TimeNotes){ .told = told, .ctx = ctx };
}

static Note *note_new(Program *p, const Step *s, const Launch *l)
{
    TimeNotes *t = p->times;
    Note *x = t->n_spare ? t->spare[--t->n_spare] : NEW(p->arena, Note);
    x->launch = *l;
    x->of = l;
    x->node = s->node;
    x->kernel = s->kernel;
    x->now = *l->now;
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

void times_waited(Program *p, const Step *s, const Launch *l, double begin)
{
    Note *x = note_new(p, s, l);
    x->begin = begin;
    x->end = clock_seconds();
    x->is_wait = true;
    atomic_store(&x->has_ended, true);
}

Error *times_tell(Program *p)
{
    TimeNotes *t = p->times;
    int64_t n = 0;
    Error *e = NULL;
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
