/* steppable.c - runs a steppable component under a profiler. */
#include "train/steppable.h"
#include "base/log.h"
#include "base/signal.h"
#include "device/device.h"
#include "watch/profiler.h"

/* clang-format off */
const Field profiling_config_fields[] = {
    FIELD_COMPONENT(ProfilingConfig, steppable_component, Steppable, "steppable_component", NULL, "what is measured"),
    FIELD_COMPONENT(ProfilingConfig, profiler, struct Profiler, "steppable_profiler", NULL, "how it is measured"),
    { 0 },
};
/* clang-format on */

static Error *run_steps(const ProfilingConfig *c)
{
    Steppable *s = c->steppable_component;
    TRY(profiler_begin(c->profiler));
    for (int64_t i = 0; i < c->profiler->n_steps; i++) {
        TRY(s->step(s));
        TRY(profiler_step(c->profiler));
        if (signal_stop_requested())
            return error_stopped("stopped after %lld of %lld steps", (long long)i + 1,
                                 (long long)c->profiler->n_steps);
    }
    return profiler_end(c->profiler);
}

Error *profile_steps(const ProfilingConfig *c, const Rank *rank, Groups *groups, int n_threads)
{
    Steppable *s = c->steppable_component;
    const SessionSettings settings = { .device = device_choose(NULL, rank->world_size),
                                       .local_rank = (int)rank->local_rank,
                                       .n_threads = n_threads,
                                       .watches = c->profiler->watches,
                                       .groups = groups,
                                       .rank = rank->rank };
    if (c->profiler->n_steps < 1) {
        log_info("the profiler asks for no steps: nothing to do");
        return NULL;
    }
    Error *e = s->prepare(s, &settings);
    if (!e) e = run_steps(c);
    s->release(s);
    return e;
}
