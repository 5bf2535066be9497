/* planned_step.c - plans a step in a session of its own. */
#include "train/planned_step.h"
#include "exec/rank_plan.h"

static Error *plan(Arena *a, const PlannedStep *s, double *bytes)
{
    Session *session;
    Program *p;
    SessionSettings settings = { .model = s->model,
                                 .device = s->device,
                                 .local_rank = s->local_rank,
                                 .n_threads = s->n_threads,
                                 .is_plan = true,
                                 .rounded_buffers = s->model->compute == BF16 };
    if (s->mesh->world_size > 1) settings.groups = groups_planned(a, s->mesh);
    TRY(session_new(&settings, &session));
    Error *e =
        session_training_program(session, s->loss, s->optimizer, s->clipper, &s->schedule->schedule,
                                 s->schedule->samples, s->sequence, &p);
    if (!e) {
        const RankPlan r = program_rank_plan(p, a);
        *bytes = (double)rank_plan_bytes(&r);
        if (session_store(session)->device->is_host) *bytes += (double)r.host;
    }
    session_free(session);
    return e;
}

Error *planned_step_bytes(const PlannedStep *s, double *out)
{
    Arena *a = arena_new();
    Error *e = plan(a, s, out);
    arena_free(a);
    return e;
}
