/* profiler.h - what measures some steps of a training or of a steppable component. */
#ifndef WATCH_PROFILER_H
#define WATCH_PROFILER_H
#include "config/builder.h"
#include "config/field.h"
#include "watch/watch.h"

/* Rests for `wait` steps, looks on without keeping for `warmup`, keeps `active` ones, then writes.
 * A step of a training is a microbatch, as in the original. */
typedef struct Profiler {
    int64_t n_steps; /* wait + warmup + active; -1: none is needed */
    Watch *watches;  /* for the programs that are measured; NULL: it needs to see none */
    /* Each may be NULL. */
    Error *(*begin)(struct Profiler *self);
    Error *(*step)(struct Profiler *self); /* a step is done */
    /* The last step is done; an error if steps are missing. */
    Error *(*end)(struct Profiler *self);
} Profiler;

/* The steps that both profilers of this folder count. */
typedef struct ProfilerWindow {
    int64_t num_wait_steps, num_warmup_steps, num_active_steps;
    int64_t done;
} ProfilerWindow;

bool window_is_active(const ProfilerWindow *w);
bool window_is_over(const ProfilerWindow *w);
int64_t window_length(const ProfilerWindow *w);
/* "the profiler needs 10 steps, but there were only 4". */
Error *window_check_end(const ProfilerWindow *w);
/* Whether this rank is among those listed; NULL: none is. */
bool profiler_is_tracked(const Builder *b, const IntList *ranks);
/* "FOLDER/profiler_trace_ranks_4_rank_0.json". */
char *profiler_path(const Builder *b, const char *folder, const char *name, const char *suffix);

/* Both at once; either may be NULL. */
Profiler *profiler_and(Arena *a, Profiler *first, Profiler *second);
Error *profiler_begin(Profiler *p);
Error *profiler_step(Profiler *p);
Error *profiler_end(Profiler *p);
#endif
