/* step_profile.c - the ops of training steps, each with its time, as `run --profile_ops` tells
 * them. */
#include "step_profile.h"
#include "bare_step.h"
#include "watch/node_trace.h"

void bench_profile(Session *s, Program *p, int n, FILE *to)
{
    Arena *a = arena_new();
    NodeTrace *trace = node_trace_new(a, false);
    Watchers *w = NEW(a, Watchers);
    Text t = { 0 };
    *w = (Watchers){ .of_run = &trace->base, .device = session_store(s)->device };
    Error *e = watchers_attach(w, p);
    CHECK(!e);
    trace->base.is_off = true;
    bench_step(p, 0);
    trace->base.is_off = false;
    for (int i = 0; i < n; i++) bench_step(p, i);
    node_trace_tables(trace, &t);
    fprintf(to, "Profile of %d steps:\n%s\n", n, t.ptr);
    fflush(to);
    text_free(&t);
    arena_free(a);
}
