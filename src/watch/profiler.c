/* profiler.c - what profilers share, and steppable_profiler.no_profiler and combined. */
#include "watch/profiler.h"
#include "base/log.h"

bool window_is_active(const ProfilerWindow *w)
{
    int64_t from = w->num_wait_steps + w->num_warmup_steps;
    return w->done >= from && w->done < from + w->num_active_steps;
}

int64_t window_length(const ProfilerWindow *w)
{
    return w->num_wait_steps + w->num_warmup_steps + w->num_active_steps;
}

bool window_is_over(const ProfilerWindow *w)
{
    return w->done >= window_length(w);
}

Error *window_check_end(const ProfilerWindow *w)
{
    if (window_is_over(w)) return NULL;
    return error_new("the profiler needs %lld steps (wait %lld, warmup %lld, active %lld), but "
                     "there were only %lld; nothing was written",
                     (long long)window_length(w), (long long)w->num_wait_steps,
                     (long long)w->num_warmup_steps, (long long)w->num_active_steps,
                     (long long)w->done);
}

bool profiler_is_tracked(const Builder *b, const IntList *ranks)
{
    const Rank *rank = builder_rank(b);
    bool found = false;
    for (int64_t i = 0; ranks && i < ranks->n; i++)
        found |= ranks->item[i] == (rank ? rank->rank : 0);
    return found;
}

char *profiler_path(const Builder *b, const char *folder, const char *name, const char *suffix)
{
    const Rank *rank = builder_rank(b) ? builder_rank(b) : &rank_alone;
    return arena_printf(builder_arena((Builder *)b), "%s/%s_ranks_%lld_rank_%lld%s", folder, name,
                        (long long)rank->world_size, (long long)rank->rank, suffix);
}

Error *profiler_begin(Profiler *p)
{
    return p && p->begin ? p->begin(p) : NULL;
}

Error *profiler_step(Profiler *p)
{
    return p && p->step ? p->step(p) : NULL;
}

Error *profiler_end(Profiler *p)
{
    return p && p->end ? p->end(p) : NULL;
}

/* ---- none ---- */

static Error *build_none(Builder *b, const void *settings, void **out)
{
    (void)settings;
    Profiler *p = NEW(builder_arena(b), Profiler);
    p->n_steps = -1;
    *out = p;
    return NULL;
}

const ComponentDef steppable_profiler_no_profiler = {
    .kind = "steppable_profiler",
    .variant = "no_profiler",
    .doc = "measures nothing",
    .build = build_none,
};

/* ---- several ---- */

typedef struct Settings {
    ComponentList profilers;
} Settings;

typedef struct Combined {
    Profiler base;
    ComponentList profilers;
} Combined;

static Error *for_all(Profiler *self, Error *(*call)(Profiler *p))
{
    const Combined *c = (const Combined *)self;
    Error *e = NULL;
    for (int64_t i = 0; i < c->profilers.n; i++) e = error_join(e, call(c->profilers.item[i]));
    return e;
}

static Error *begin_all(Profiler *self)
{
    return for_all(self, profiler_begin);
}

static Error *step_all(Profiler *self)
{
    return for_all(self, profiler_step);
}

static Error *end_all(Profiler *self)
{
    return for_all(self, profiler_end);
}

static Combined *combine(Arena *a, ComponentList profilers)
{
    Combined *c = NEW(a, Combined);
    *c =
        (Combined){ .base = { .n_steps = -1, .begin = begin_all, .step = step_all, .end = end_all },
                    .profilers = profilers };
    for (int64_t i = 0; i < profilers.n; i++) {
        const Profiler *p = profilers.item[i];
        if (p->n_steps > c->base.n_steps) c->base.n_steps = p->n_steps;
        if (p->watches) watch_add(&c->base.watches, p->watches);
    }
    return c;
}

Profiler *profiler_and(Arena *a, Profiler *first, Profiler *second)
{
    if (!first || !second) return first ? first : second;
    ComponentList both = { NEW_N(a, void *, 2), 2 };
    both.item[0] = first;
    both.item[1] = second;
    return &combine(a, both)->base;
}

static Error *build_combined(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    const Combined *c = combine(builder_arena(b), s->profilers);
    int64_t least = c->base.n_steps;
    for (int64_t i = 0; i < s->profilers.n; i++) {
        const Profiler *p = s->profilers.item[i];
        if (p->n_steps >= 0 && p->n_steps < least) least = p->n_steps;
    }
    if (c->base.n_steps < 0)
        return error_new("profilers has none that measures: at least one other than no_profiler "
                         "must be there");
    if (least != c->base.n_steps)
        log_warning("the combined profilers need different numbers of steps, %lld to %lld; all of "
                    "them get %lld",
                    (long long)least, (long long)c->base.n_steps, (long long)c->base.n_steps);
    *out = (void *)c;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENTS(Settings, profilers, "steppable_profiler", NULL, 0, 0, "they measure the same steps"),
    { 0 },
};
/* clang-format on */

const ComponentDef steppable_profiler_combined = {
    .kind = "steppable_profiler",
    .variant = "combined",
    .doc = "several profilers at once",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build_combined,
};
