/* timeline.c - walks a schedule, gives slots, and keeps each kind of moment once. */
#include "exec/timeline.h"
#include "base/map.h"
#include <string.h>

typedef struct Walk {
    Arena *arena;
    Timeline *t;
    int64_t *last; /* by microbatch: its last action */
    int64_t *held; /* by slot: the microbatch that holds it; -1: free */
    unsigned *done;
    Map *seen;
} Walk;

static size_t n_done(const Timeline *t)
{
    return (size_t)(t->n_slots + 1) * (size_t)t->n_stages;
}

/* Only microbatches that are in flight at the same time need slots of their own. */
static void give_slots(Walk *w, const Schedule *s, int64_t n_microbatches)
{
    for (int64_t m = 0; m < n_microbatches; m++) w->t->slot_of[m] = w->held[m] = -1;
    for (int64_t i = 0; i < s->n; i++)
        if (s->action[i].phases & RUN_MICROBATCH) w->last[s->action[i].microbatch] = i;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t m = s->action[i].microbatch;
        if (!(s->action[i].phases & RUN_MICROBATCH)) continue;
        int *slot = &w->t->slot_of[m];
        if (*slot < 0) {
            *slot = 0;
            while (w->held[*slot] >= 0) ++*slot;
            w->held[*slot] = m;
            if (*slot >= w->t->n_slots) w->t->n_slots = *slot + 1;
        }
        if (w->last[m] == i) w->held[*slot] = -1;
    }
    if (!w->t->n_slots) w->t->n_slots = 1;
}

static void keep_moment(Walk *w, const Moment *m)
{
    size_t bytes = n_done(w->t) * sizeof(unsigned), head = sizeof(int[3]);
    char *key = arena_alloc(w->arena, head + bytes);
    memcpy(key, (int[]){ (int)m->phases, m->stage, m->slot }, head);
    memcpy(key + head, w->done, bytes);
    if (map_get(w->seen, (Str){ key, head + bytes })) return;
    Moment *kept = &w->t->moment[w->t->n++];
    *kept = *m;
    kept->done = arena_copy(w->arena, w->done, bytes);
    map_set(w->seen, (Str){ key, head + bytes }, kept);
}

static void walk(Walk *w, const Schedule *s)
{
    Timeline *t = w->t;
    keep_moment(w, &(Moment){ .phases = 1u << PREPARE, .slot = -1 });
    for (int64_t i = 0; i < s->n; i++) {
        const Action *x = &s->action[i];
        bool is_step = x->phases & RUN_STEP;
        int slot = is_step ? t->n_slots : t->slot_of[x->microbatch];
        int stage = is_step ? 0 : x->stage;
        keep_moment(w, &(Moment){ .phases = x->phases, .stage = stage, .slot = slot });
        w->done[slot * t->n_stages + stage] |= x->phases;
        if (!is_step && w->last[x->microbatch] == i)
            memset(w->done + slot * t->n_stages, 0, sizeof(unsigned) * (size_t)t->n_stages);
    }
}

Timeline *timeline_new(Arena *a, const Schedule *s, int n_stages)
{
    Timeline *t = NEW(a, Timeline);
    int64_t n_microbatches = schedule_microbatches(s);
    t->n_stages = n_stages;
    t->slot_of = NEW_N(a, int, n_microbatches);
    t->moment = NEW_N(a, Moment, s->n + 1);
    Walk w = { .arena = a, .t = t, .seen = map_new(a) };
    w.last = NEW_N(a, int64_t, n_microbatches);
    w.held = NEW_N(a, int64_t, n_microbatches);
    give_slots(&w, s, n_microbatches);
    w.done = NEW_N(a, unsigned, (int64_t)n_done(t));
    walk(&w, s);
    return t;
}

unsigned timeline_done(const Timeline *t, const Moment *m, int slot, int stage)
{
    return m->done[slot * t->n_stages + (slot == t->n_slots ? 0 : stage)];
}

bool timeline_runs(const Timeline *t, const Moment *m, int slot, Phase p, int stage)
{
    return m->slot == slot && m->phases >> p & 1 && (slot == t->n_slots || m->stage == stage);
}
