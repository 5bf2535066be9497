/* memory_remedy.c - plans smaller steps until one fits. */
#include "train/memory_remedy.h"
#include "passes/recompute.h"
#include <inttypes.h>

/* The largest microbatch below `most` that fits; 0: none does. */
static Error *find_samples(const PlannedStep *s, int64_t most, double available, int64_t *out)
{
    int64_t fits = 0, fails = most;
    while (fits + 1 < fails) {
        StepSchedule schedule = *s->schedule;
        PlannedStep smaller = *s;
        double bytes;
        schedule.samples = fits + (fails - fits) / 2;
        smaller.schedule = &schedule;
        TRY(planned_step_bytes(&smaller, &bytes));
        if (bytes <= available)
            fits = schedule.samples;
        else
            fails = schedule.samples;
    }
    *out = fits;
    return NULL;
}

static bool recomputes(const Model *m)
{
    for (int64_t i = 0; i < m->passes.n; i++)
        if (m->passes.use[i].pass == &pass_recompute) return true;
    return false;
}

/* The largest microbatch of at most `most` samples that fits with all blocks computed again. */
static Error *find_again(Arena *a, const PlannedStep *s, int64_t most, double available,
                         int64_t *out)
{
    const PassList own = s->model->passes;
    Recompute *all = NEW(a, Recompute);
    *all = (Recompute){ .every = 1 };
    s->model->passes = (PassList){ .arena = a };
    for (int64_t i = 0; i < own.n; i++)
        passes_add(&s->model->passes, own.use[i].pass, own.use[i].settings);
    passes_add(&s->model->passes, &pass_recompute, all);
    Error *e = find_samples(s, most + 1, available, out);
    s->model->passes = own;
    return e;
}

static Error *find(Arena *a, const PlannedStep *s, double available, const char **out)
{
    const int64_t own = s->schedule->samples, per_batch = s->schedule->per_batch;
    const char *text = NULL;
    int64_t less, again = 0;
    double bytes;
    *out = NULL;
    TRY(planned_step_bytes(s, &bytes));
    if (bytes <= available) return NULL;
    TRY(find_samples(s, own, available, &less));
    if (less) text = arena_printf(a, "local_train_micro_batch_size %" PRId64, less * per_batch);
    if (!recomputes(s->model)) TRY(find_again(a, s, own, available, &again));
    if (again)
        text = arena_printf(a, "%s%s %" PRId64 " with all blocks computed again",
                            text ? text : "local_train_micro_batch_size", text ? ", or" : "",
                            again * per_batch);
    *out = text ? arena_printf(a, "What would fit: %s", text)
                : "Not even a microbatch of one sample would fit";
    return NULL;
}

Error *memory_remedy(Error *e, const PlannedStep *s, size_t available)
{
    const char *text = NULL;
    if (!e || !available) return e;
    Arena *a = arena_new();
    error_free(find(a, s, (double)available, &text)); /* then nothing is known */
    if (text) e = error_join(e, error_new("%s", text));
    arena_free(a);
    return e;
}
