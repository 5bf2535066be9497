/* test_changes.c - trainings that go on with other ranks, batches or data than they were begun
 * with.
 */
#include "data/pbin.h"
#include "end_to_end/training.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SET(assignment) "--set", assignment
#define ACCUMULATION "settings.step_profile.gradient_accumulation_steps="
#define STEPS "settings.training_target.num_target_steps="
#define EVERY SET("settings.intervals.checkpointing_interval_in_steps=2")
#define NO_DROPOUT SET("model_raw.config.dropout=0.0")

static Outcome resume(const Bench *b, const char *id, Words more)
{
    const char *words[40] = { "resume", path_join(b->arena, b->root, id) };
    int n = 2;
    for (int i = 0; more && more[i]; i++) words[n++] = more[i];
    return command_output(b->arena, words, NULL);
}

/* Four steps of eight. */
static void begin(const Bench *b, const char *id)
{
    static const char *const half[] = { SET(STEPS "4"), SET("lr_scheduler.config.total_steps=16"),
                                        EVERY, NO_DROPOUT, NULL };
    assert_ended_well(bench_run(b, id, NULL, half, NULL));
}

static void assert_ends(const Bench *b, const char *id, int steps, int tokens)
{
    int64_t reached;
    const char *name = path_name(bench_last_checkpoint(b, id, &reached));
    assert_int_equal(reached, steps);
    assert_contains(name, arena_printf(b->arena, "seen_tokens_%d-target_steps_%d-target_tokens_%d",
                                       tokens, steps, tokens));
}

TEST(going_on_with_another_step_is_refused_with_what_each_choice_means)
{
    Bench b = bench_new();
    begin(&b, "x");
    const char *before = bench_last_checkpoint(&b, "x", NULL);
    const Outcome o =
        resume(&b, "x", (const char *[]){ SET(STEPS "8"), SET(ACCUMULATION "1"), NULL });
    assert_refused(o, 2, "a step would take 2 samples");
    assert_contains(o.text, "the 4 steps so far took 4 each");
    assert_contains(o.text, "--changed_step keep_steps: training ends after step 8 as planned, "
                            "then with 384 tokens");
    assert_string_equal(bench_last_checkpoint(&b, "x", NULL), before);
    arena_free(b.arena);
}

TEST(going_on_with_another_step_keeps_steps_or_tokens)
{
    Bench b = bench_new();
    begin(&b, "steps");
    assert_ended_well(resume(&b, "steps",
                             (const char *[]){ SET(STEPS "8"), SET(ACCUMULATION "1"),
                                               "--changed_step", "keep_steps", NULL }));
    assert_ends(&b, "steps", 8, 256 + 4 * 32);
    static const char *const whole[] = { EVERY, NO_DROPOUT,
                                         SET("lr_scheduler.config.total_steps=16"), NULL };
    const char *const killed[] = { arena_printf(b.arena, "LD_PRELOAD=%s",
                                                test_tool(b.arena, "crash_shim.so")),
                                   "ASAN_OPTIONS=verify_asan_link_order=0",
                                   "CRASH_PATH=seen_steps_8", "CRASH_AT=create:1", NULL };
    assert_int_equal(bench_run(&b, "tokens", NULL, whole, killed).status, -SIGKILL);
    Outcome o =
        resume(&b, "tokens",
               (const char *[]){ SET(ACCUMULATION "1"), "--changed_step", "keep_tokens", NULL });
    assert_ended_well(o);
    assert_contains(o.text, "a step takes 2 samples now, after 4 before: training ends after step "
                            "10 with 512 tokens");
    assert_ends(&b, "tokens", 10, 512);
    arena_free(b.arena);
}

/* The same samples in each step, by more ranks. */
TEST(going_on_with_other_ranks_and_the_same_step_learns_the_same)
{
    Bench b = bench_new();
    static const char *const whole[] = { SET("lr_scheduler.config.total_steps=16"), EVERY,
                                         NO_DROPOUT, NULL };
    assert_ended_well(bench_run(&b, "whole", NULL, whole, NULL));
    begin(&b, "x");
    assert_ended_well(resume(
        &b, "x", (const char *[]){ "--ranks", "2", SET(STEPS "8"), SET(ACCUMULATION "1"), NULL }));
    assert_ends(&b, "x", 8, 512);
    assert_learnt_alike(&b, "x", "whole");
    arena_free(b.arena);
}

static const char *other_data(Arena *a)
{
    enum { N_TOKENS = 2000 };
    const char *path = path_join(a, path_absolute(a, test_folder()), "other.pbin");
    uint16_t *token = NEW_N(a, uint16_t, N_TOKENS);
    for (int i = 1; i < N_TOKENS; i++) token[i] = (uint16_t)((token[i - 1] * 7 + 1) % 64);
    PbinWriter w;
    assert_no_error(pbin_create(path, 2, &w));
    assert_no_error(pbin_add(&w, token, sizeof *token * N_TOKENS));
    assert_no_error(pbin_commit(&w));
    return path;
}

TEST(going_on_with_other_data_is_refused_or_said_where)
{
    Bench b = bench_new();
    const char *set =
        arena_printf(b.arena, "settings.paths.train_dataset_path=%s", other_data(b.arena));
    begin(&b, "x");
    const char *const plain[] = { SET(STEPS "6"), SET(set), NULL },
                      *const place[] = { SET(STEPS "6"), SET(set), "--changed_data", "from_place",
                                         NULL },
                      *const start[] = { SET(STEPS "8"), SET(set), "--changed_data", "from_start",
                                         NULL };
    Outcome o = resume(&b, "x", plain);
    assert_refused(o, 2, "--changed_data from_place, which goes on at sample 16 of the new order");
    o = resume(&b, "x", place);
    assert_ended_well(o);
    assert_contains(o.text, "they are read from sample 16 on");
    assert_ends(&b, "x", 6, 384);
    begin(&b, "y");
    o = resume(&b, "y", start);
    assert_ended_well(o);
    assert_contains(o.text, "they are read from sample 0 on");
    arena_free(b.arena);
}
