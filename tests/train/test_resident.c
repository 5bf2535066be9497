/* test_resident.c - training needs the memory that the plan says, and no more.
 *
 * A model whose plan has more than 300 MB, so that code, buffers and batches are noise. Sanitizers
 * have memory of their own, so there it is not measured. */
#include "exec/store.h"
#include "train/small_job.h"
#include <stdio.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* A line of /proc/self/status, in bytes. */
static double status_bytes(const char *name)
{
    char line[256];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (str_starts(str_of(line), name)) sscanf(line + strlen(name), ": %lf kB", &kib);
    fclose(f);
    assert_true(kib > 0);
    return kib * 1024;
}

typedef struct Watcher {
    Subscriber base;
    double planned; /* resident when the plan was made and the parameters are there */
} Watcher;

/* What is resident now, or was at most, without pages of the program and other files. */
static double resident(const char *name)
{
    return status_bytes(name) - status_bytes("RssFile");
}

static Error *note_plan(Subscriber *self, const Event *event)
{
    if (event->kind == EVENT_FACT) ((Watcher *)self)->planned = resident("VmRSS");
    return NULL;
}

static void note_map(void *context, const StepReport *r)
{
    size_t workspace;
    store_workspace(r->store, &workspace);
    *(double *)context = (double)(r->store->bytes + workspace);
}

static void assert_resident_as_planned(Words set)
{
    SmallJob *s = small_job_new("x", set);
    Watcher watcher = { .base.on_event = note_plan };
    double map = 0;
    events_subscribe(&s->events, &watcher.base);
    s->job.n_threads = 2;
    s->job.observe = note_map;
    s->job.observer = &map;
    double before = resident("VmRSS");
    TrainingEnd end;
    assert_no_error(trainer_run(&s->job, &end));
    assert_int_equal(end.steps, 8);
    double plan_growth = watcher.planned - before,
           later_growth = resident("VmHWM") - watcher.planned;
    printf("plan %.1f MB, resident %+.2f %% of it, later %+.2f %%\n", map * 1e-6,
           100 * (plan_growth - map) / map, 100 * later_growth / map);
    assert_true(map > 300e6);
    assert_close(plan_growth, map, 0.03 * map);
    assert_in_range(later_growth, 0, 0.03 * map);
    arena_free(s->bench.arena);
}

/* With two evaluations. */
#define LARGE_MODEL                                                                                \
    "model_raw.config.vocab_size=24576", "model_raw.config.n_embd=384",                            \
        "model_raw.config.ffn_hidden=384"
#define SAVE_AT(step) "settings.intervals.checkpointing_interval_in_steps=" #step

TEST(resident_memory_is_what_the_plan_says_with_a_checkpoint)
{
    assert_resident_as_planned((const char *[]){ LARGE_MODEL, SAVE_AT(8), NULL });
}
TEST(resident_memory_is_what_the_plan_says_in_bf16)
{
    assert_resident_as_planned((const char *[]){
        LARGE_MODEL, SAVE_AT(9), "wrapped_model.config.mixed_precision_settings.param_dtype=BF_16",
        NULL });
}

#endif
