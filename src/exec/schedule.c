/* schedule.c - generators of schedules and what can be read off them. */
#include "exec/schedule.h"

Schedule schedule_accumulate(Arena *a, int64_t n_microbatches)
{
    Schedule s = { .action = NEW_N(a, Action, 2 * n_microbatches + 2) };
    for (int64_t m = 0; m < n_microbatches; m++) {
        s.action[s.n++] = (Action){ .phases = RUN_FORWARD, .microbatch = m };
        s.action[s.n++] = (Action){ .phases = RUN_BACKWARD, .microbatch = m };
    }
    s.action[s.n++] = (Action){ .phases = RUN_REDUCE };
    s.action[s.n++] = (Action){ .phases = RUN_UPDATE };
    return s;
}

int64_t schedule_live(const Schedule *s, int stage)
{
    int64_t live = 0, most = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->action[i].stage != stage) continue;
        if (s->action[i].phases & RUN_FORWARD) live++;
        if (live > most) most = live;
        if (s->action[i].phases & 1u << BACKWARD_WEIGHT) live--;
    }
    return most;
}

Error *schedule_verify(const Schedule *s, int64_t n_microbatches)
{
    Arena *a = arena_new();
    bool *forward = NEW_N(a, bool, n_microbatches), *backward = NEW_N(a, bool, n_microbatches);
    int64_t n_forward = 0, n_backward = 0;
    Error *e = NULL;
    for (int64_t i = 0; !e && i < s->n; i++) {
        const Action *x = &s->action[i];
        int64_t m = x->microbatch;
        if (m < 0 || m >= n_microbatches) {
            e = error_new("action %lld is for microbatch %lld of %lld", (long long)i, (long long)m,
                          (long long)n_microbatches);
        } else if (x->phases & RUN_FORWARD) {
            if (forward[m]) e = error_new("microbatch %lld goes forward twice", (long long)m);
            forward[m] = true;
            n_forward++;
        } else if (x->phases & RUN_BACKWARD) {
            if (!forward[m] || backward[m])
                e = error_new("microbatch %lld goes backward out of turn", (long long)m);
            backward[m] = true;
            n_backward++;
        } else if (n_forward < n_microbatches || n_backward < n_microbatches) {
            e = error_new("action %lld comes before all microbatches are done", (long long)i);
        }
    }
    arena_free(a);
    return e;
}
