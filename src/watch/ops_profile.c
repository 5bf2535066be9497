/* ops_profile.c - prints time, share of the limit and bytes per op and per module. */
#include "watch/ops_profile.h"
#include "watch/node_trace.h"

typedef struct OpsProfile {
    Profiler base;
    ProfilerWindow window;
    NodeTrace *trace;
    FILE *to;
    bool is_printed;
} OpsProfile;

static void print(OpsProfile *o)
{
    Text t = { 0 };
    if (o->is_printed) return;
    o->is_printed = true;
    node_trace_tables(o->trace, &t);
    fprintf(o->to, "Profile of %lld microbatches, and what was between them:\n%s",
            (long long)(o->window.done - o->window.num_wait_steps), t.ptr);
    fflush(o->to);
    text_free(&t);
}

static Error *begin(Profiler *self)
{
    OpsProfile *o = (OpsProfile *)self;
    o->trace->base.is_off = !window_is_active(&o->window);
    return NULL;
}

static Error *step(Profiler *self)
{
    OpsProfile *o = (OpsProfile *)self;
    if (window_is_over(&o->window)) return NULL;
    o->window.done++;
    o->trace->base.is_off = !window_is_active(&o->window);
    if (window_is_over(&o->window)) print(o);
    return NULL;
}

/* A short training has fewer. */
static Error *end(Profiler *self)
{
    OpsProfile *o = (OpsProfile *)self;
    if (o->window.done > o->window.num_wait_steps) print(o);
    return NULL;
}

Profiler *ops_profile_new(Arena *a, int64_t n, FILE *to)
{
    OpsProfile *o = NEW(a, OpsProfile);
    *o = (OpsProfile){ .base = { .n_steps = -1, .begin = begin, .step = step, .end = end },
                       .window = { .num_wait_steps = 1, .num_active_steps = n },
                       .trace = node_trace_new(a, false),
                       .to = to };
    o->trace->base.is_off = true;
    o->base.watches = &o->trace->base;
    return &o->base;
}
