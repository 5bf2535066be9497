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

Schedule schedule_once(Arena *a, int n_stages)
{
    Schedule s = { .action = NEW_N(a, Action, 2 * n_stages + 2) };
    for (int i = 0; i < n_stages; i++)
        s.action[s.n++] = (Action){ .phases = RUN_FORWARD, .stage = i };
    for (int i = n_stages - 1; i >= 0; i--)
        s.action[s.n++] = (Action){ .phases = RUN_BACKWARD, .stage = i };
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

int64_t schedule_microbatches(const Schedule *s)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (s->action[i].microbatch >= n) n = s->action[i].microbatch + 1;
    return n;
}

int schedule_stages(const Schedule *s)
{
    int n = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (s->action[i].stage >= n) n = s->action[i].stage + 1;
    return n;
}

Schedule schedule_with_last(Arena *a, const Schedule *s, int64_t **last)
{
    int n_stages = schedule_stages(s);
    Schedule copy = { .action = arena_copy(a, s->action, sizeof *s->action * (size_t)s->n),
                      .n = s->n };
    *last = NEW_N(a, int64_t, n_stages);
    for (int i = 0; i < n_stages; i++) (*last)[i] = -1;
    for (int64_t i = s->n - 1; i >= 0; i--) {
        Action *x = &copy.action[i];
        if (!(x->phases >> BACKWARD_WEIGHT & 1) || (*last)[x->stage] >= 0) continue;
        x->phases |= RUN_LAST;
        (*last)[x->stage] = x->microbatch;
    }
    return copy;
}

/* What must have been done on a stage, for a microbatch, before a phase may run there. */
static bool may_run(const unsigned *done, int n_stages, int stage, Phase p)
{
    switch (p) {
    case FORWARD:
        return stage == 0 || done[stage - 1] >> FORWARD & 1;
    case BACKWARD_INPUT:
        return done[stage] >> FORWARD & 1 &&
               (stage == n_stages - 1 || done[stage + 1] >> BACKWARD_INPUT & 1);
    case BACKWARD_WEIGHT:
        return done[stage] >> BACKWARD_INPUT & 1;
    default:
        return false;
    }
}

static Error *verify_action(const Action *x, int n_stages, unsigned *done)
{
    for (int p = FORWARD; p <= BACKWARD_WEIGHT; p++) {
        if (!(x->phases >> p & 1)) continue;
        if (done[x->stage] >> p & 1 || !may_run(done, n_stages, x->stage, (Phase)p))
            return error_new("%s of microbatch %lld on stage %d is out of turn",
                             phase_name((Phase)p), (long long)x->microbatch, x->stage);
        done[x->stage] |= 1u << p;
    }
    return NULL;
}

static Error *verify(Arena *a, const Schedule *s, int n_stages, int64_t n_microbatches)
{
    unsigned *done = NEW_N(a, unsigned, n_stages *n_microbatches);
    for (int64_t i = 0; i < s->n; i++) {
        const Action *x = &s->action[i];
        if (x->microbatch < 0 || x->microbatch >= n_microbatches || x->stage < 0 ||
            x->stage >= n_stages)
            return error_new(
                "action %lld is for microbatch %lld on stage %d, but there are %lld on %d stages",
                (long long)i, (long long)x->microbatch, x->stage, (long long)n_microbatches,
                n_stages);
        if (x->phases & RUN_MICROBATCH) {
            if (x->phases & RUN_STEP)
                return error_new("action %lld runs both for a microbatch and for the step",
                                 (long long)i);
            TRY(verify_action(x, n_stages, done + x->microbatch * n_stages));
        }
        if (!(x->phases & RUN_STEP)) continue;
        for (int64_t k = 0; k < n_stages * n_microbatches; k++)
            if (done[k] != RUN_MICROBATCH)
                return error_new("action %lld comes before all microbatches are done",
                                 (long long)i);
    }
    return NULL;
}

Error *schedule_verify(const Schedule *s, int n_stages, int64_t n_microbatches)
{
    Arena *a = arena_new();
    Error *e = verify(a, s, n_stages, n_microbatches);
    arena_free(a);
    return e;
}
