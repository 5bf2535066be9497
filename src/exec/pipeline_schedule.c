/* pipeline_schedule.c - from a schedule's name to the lists of all ranks, verified. */
#include "exec/pipeline_schedule.h"
#include "base/map.h"
#include "exec/schedules/schedule_def.h"
#include <strings.h>

const ScheduleDef *pipeline_schedule_find(const char *name)
{
    for (int i = 0; schedule_def_at(i); i++)
        if (!strcasecmp(schedule_def_at(i)->name, name)) return schedule_def_at(i);
    return NULL;
}

const char *pipeline_schedule_names(Arena *a, int per_rank)
{
    const char *names = "";
    for (int i = 0; schedule_def_at(i); i++) {
        const ScheduleDef *d = schedule_def_at(i);
        if (per_rank && d->per_rank && d->per_rank != per_rank) continue;
        names = *names ? arena_printf(a, "%s, %s", names, d->name) : d->name;
    }
    return names;
}

int pipeline_rank_of(const ScheduleDef *d, const PipelineShape *s, int stage)
{
    int chunk = stage / s->ranks, place = stage % s->ranks;
    return d->turns && chunk % 2 ? s->ranks - 1 - place : place;
}

static void add(ActionList *l, unsigned phases, int chunk, int64_t microbatch)
{
    Schedule *s = &l->schedule;
    int ranks = l->shape->ranks;
    int place = l->def->turns && chunk % 2 ? ranks - 1 - l->rank : l->rank;
    if (microbatch >= l->shape->microbatches) return;
    int64_t cap = l->cap;
    l->beside = arena_grow(l->arena, l->beside, s->n, &cap, sizeof *l->beside);
    s->action = arena_grow(l->arena, s->action, s->n, &l->cap, sizeof *s->action);
    s->action[s->n++] =
        (Action){ .phases = phases, .stage = chunk * ranks + place, .microbatch = microbatch };
}

void add_forward(ActionList *l, int chunk, int64_t microbatch)
{
    add(l, RUN_FORWARD, chunk, microbatch);
}

void add_backward(ActionList *l, int chunk, int64_t microbatch)
{
    add(l, RUN_BACKWARD, chunk, microbatch);
}

void add_input(ActionList *l, int chunk, int64_t microbatch)
{
    add(l, 1u << BACKWARD_INPUT, chunk, microbatch);
}

void add_weight(ActionList *l, int chunk, int64_t microbatch)
{
    add(l, 1u << BACKWARD_WEIGHT, chunk, microbatch);
}

static Error *check_shape(Arena *a, const ScheduleDef *d, const PipelineShape *s)
{
    if (s->ranks < 1 || s->per_rank < 1 || s->microbatches < 1)
        return error_usage("a pipeline of %d ranks with %d stages on each and %lld microbatches: "
                           "there must be at least one of each",
                           s->ranks, s->per_rank, (long long)s->microbatches);
    if (d->per_rank && d->per_rank != s->per_rank)
        return error_usage("the pipeline schedule %s runs %d stage%s on each rank, not %d (%d "
                           "stages on %d ranks); %s run so many",
                           d->name, d->per_rank, d->per_rank == 1 ? "" : "s", s->per_rank,
                           s->ranks * s->per_rank, s->ranks,
                           pipeline_schedule_names(a, s->per_rank));
    int64_t least = d->microbatches_per_rank * s->ranks;
    if (s->microbatches < least)
        return error_usage("the pipeline schedule %s needs at least %lld microbatches on %d ranks "
                           "(%lld for each), not %lld",
                           d->name, (long long)least, s->ranks, (long long)d->microbatches_per_rank,
                           (long long)s->microbatches);
    return NULL;
}

void add_side_by_side(ActionList *l, int chunk, int64_t forward, int other, int64_t backward)
{
    int64_t n = l->schedule.n;
    add_forward(l, chunk, forward);
    add_backward(l, other, backward);
    if (l->schedule.n == n + 2) l->beside[n] = true;
}

static void make_list(Arena *a, PipelineSchedule *p, int rank)
{
    ActionList l = { .arena = a, .def = p->def, .shape = &p->shape, .rank = rank };
    p->def->generate(&l, &p->shape, rank);
    int64_t n = l.schedule.n;
    Schedule *made = &p->rank[rank];
    *made = (Schedule){ .action = NEW_N(a, Action, n + 2), .n = n + 2 };
    for (int64_t i = 0; i < n; i++) made->action[i] = l.schedule.action[i];
    made->action[n] = (Action){ .phases = RUN_REDUCE };
    made->action[n + 1] = (Action){ .phases = RUN_UPDATE };
    p->beside[rank] = l.beside;
}

Error *pipeline_schedule_new(Arena *a, const char *name, const PipelineShape *s,
                             PipelineSchedule **out)
{
    const ScheduleDef *d = pipeline_schedule_find(name);
    if (!d)
        return error_usage("there is no pipeline schedule %s; there are %s", name,
                           pipeline_schedule_names(a, 0));
    TRY(check_shape(a, d, s));
    PipelineSchedule *p = NEW(a, PipelineSchedule);
    *p = (PipelineSchedule){ .def = d, .shape = *s, .n_stages = s->ranks * s->per_rank };
    p->rank_of = NEW_N(a, int, p->n_stages);
    p->rank = NEW_N(a, Schedule, s->ranks);
    for (int i = 0; i < p->n_stages; i++) p->rank_of[i] = pipeline_rank_of(d, s, i);
    p->beside = NEW_N(a, bool *, s->ranks);
    for (int r = 0; r < s->ranks; r++) make_list(a, p, r);
    *out = p;
    return pipeline_schedule_verify(p);
}

int64_t pipeline_live(const PipelineSchedule *p, int rank)
{
    const Schedule *s = &p->rank[rank];
    int64_t live = 0, most = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->action[i].phases & RUN_FORWARD) live++;
        if (live > most) most = live;
        if (s->action[i].phases & 1u << BACKWARD_WEIGHT) live--;
    }
    return most;
}

static Error *verify_rank(const PipelineSchedule *p, int rank)
{
    const Schedule *s = &p->rank[rank];
    for (int64_t i = 0; i < s->n; i++) {
        const Action *x = &s->action[i];
        if (x->phases & RUN_STEP) continue;
        if (x->stage < 0 || x->stage >= p->n_stages || p->rank_of[x->stage] != rank)
            return error_new("action %lld of rank %d is for stage %d, which is not on this rank",
                             (long long)i, rank, x->stage);
    }
    int64_t live = pipeline_live(p, rank), most = p->def->live(&p->shape, rank);
    if (live > most)
        return error_new("rank %d holds up to %lld activations, but should hold at most %lld", rank,
                         (long long)live, (long long)most);
    return NULL;
}

static Error *verify(Arena *a, const PipelineSchedule *p)
{
    Schedule all;
    for (int r = 0; r < p->shape.ranks; r++) TRY(verify_rank(p, r));
    TRY(pipeline_merge(a, p, &all));
    return schedule_verify(&all, p->n_stages, p->shape.microbatches);
}

Error *pipeline_schedule_verify(const PipelineSchedule *p)
{
    Arena *a = arena_new();
    Error *e = verify(a, p);
    arena_free(a);
    return error_wrap(e,
                      "pipeline schedule %s with %d stages on each of %d ranks and %lld "
                      "microbatches",
                      p->def->name, p->shape.per_rank, p->shape.ranks,
                      (long long)p->shape.microbatches);
}
