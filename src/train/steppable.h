/* steppable.h - what a profiler steps through: a model's forward pass, or a norm. */
#ifndef TRAIN_STEPPABLE_H
#define TRAIN_STEPPABLE_H
#include "base/rank.h"
#include "config/field.h"
#include "train/session.h"
#include "watch/watch.h"

typedef struct Steppable {
    /* Makes its programs, at which `watches` look on. */
    Error *(*prepare)(struct Steppable *self, const SessionSettings *settings);
    Error *(*step)(struct Steppable *self);
    void (*release)(struct Steppable *self);
} Steppable;

/* The top-level keys of `profile`. */
typedef struct ProfilingConfig {
    Steppable *steppable_component;
    struct Profiler *profiler;
} ProfilingConfig;

extern const Field profiling_config_fields[];

/* As many steps as the profiler needs. `groups`: the ranks that share the work; NULL: one rank. */
Error *profile_steps(const ProfilingConfig *c, const Rank *rank, Groups *groups, int n_threads);
#endif
