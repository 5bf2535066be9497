/* test_algorithms_on_gpus.c - products of a run are made by the algorithms that it began with, also
 * where the library would choose others when it goes on, or another one starts from it. */
#include "base/file.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

#define TARGET(n) "settings.training_target.num_target_steps=" n
/* Evaluations have products of their own, which a run must have seen before another goes on. */
#define SETTINGS                                                                                   \
    "--set", "model_raw.config.dropout=0", "--set", "lr_scheduler.config.total_steps=4", "--set",  \
        "settings.intervals.checkpointing_interval_in_steps=2", "--set",                           \
        "settings.intervals.evaluation_interval_in_steps=2"
static const char *const two[] = { SETTINGS, "--set", TARGET("2"), NULL };
static const char *const four[] = { SETTINGS, "--set", TARGET("4"), NULL };

static const char *record_of(const Bench *b, const char *id)
{
    Str text;
    assert_no_error(file_read(
        b->arena, arena_printf(b->arena, "%s/%s/gpu_algorithms.txt", b->root, id), &text));
    assert_true(text.len > 0);
    return arena_string_n(b->arena, text.ptr, text.len);
}

/* `resume` with up to 4 steps. */
static void go_on(const Bench *b, const char *id)
{
    const char *const words[] = { "resume", arena_printf(b->arena, "%s/%s", b->root, id), "--set",
                                  TARGET("4"), NULL };
    assert_ended_well(command_output(b->arena, words, NULL));
}

/* The quickest of those that the library puts first, and what was chosen stays. */
TEST(algorithms_are_tried_where_runs_need_not_have_the_same_bits)
{
    const char *more[] = {
        "--set", "settings.determinism=off", "--set", TARGET("2"), SETTINGS, NULL
    };
    Bench b = bench_with_short_evaluations();
    setenv("MODALITIES_DEVICE", "cuda", 1);
    setenv("MODALITIES_MOCK_SLOW", "1", 1);
    assert_ended_well(bench_run(&b, "tried", NULL, more, NULL));
    const char *kept = record_of(&b, "tried");
    assert_null(strstr(kept, "\t0101"));
    assert_contains(kept, "\t0202");
    setenv("MODALITIES_MOCK_SLOW", "2", 1);
    go_on(&b, "tried");
    assert_string_equal(record_of(&b, "tried"), kept);
    more[1] = "settings.determinism=on";
    more[3] = TARGET("1");
    assert_ended_well(bench_run(&b, "fixed", NULL, more, NULL));
    assert_null(strstr(record_of(&b, "fixed"), "\t0202"));
    arena_free(b.arena);
}

/* The checkpoint of step 2, for a warm start from "middle". */
static const char *middle_of(const Bench *b, const char *id)
{
    const char *first = arena_printf(b->arena,
                                     "%s/%s/checkpoints/eid_%s-seen_steps_2-seen_tokens_128-"
                                     "target_steps_4-target_tokens_256",
                                     b->root, id, id);
    const char *folder = path_join(b->arena, b->root, "middle/checkpoints"),
               *info = arena_printf(b->arena, "{\"checkpoint_folder_path\": \"%s\"}", first);
    assert_no_error(make_directories(folder));
    assert_no_error(
        file_write(path_join(b->arena, folder, "last_checkpoint_info.json"), info, strlen(info)));
    return first;
}

/* The last bytes of such a file may be missing, as those of a run that was killed. */
TEST(a_training_that_goes_on_uses_the_algorithms_of_its_record)
{
    Bench b = bench_with_short_evaluations();
    setenv("MODALITIES_DEVICE", "cuda", 1);
    setenv("MODALITIES_MOCK_ALGORITHM", "1", 1);
    assert_ended_well(bench_run(&b, "whole", NULL, four, NULL));
    assert_ended_well(bench_run(&b, "half", NULL, two, NULL));
    const char *kept = record_of(&b, "half"), *middle = middle_of(&b, "whole");
    assert_contains(kept, "cuBLASLt ");
    assert_contains(kept, "mock of a GPU: ");
    setenv("MODALITIES_MOCK_ALGORITHM", "2", 1);
    assert_ended_well(bench_run(&b, "other", NULL, two, NULL));
    assert_null(strstr(record_of(&b, "other"), "\t0101"));
    const Outcome o =
        command_output(b.arena,
                       (const char *[]){ "checkpoint", "diff", middle,
                                         bench_last_checkpoint(&b, "other", NULL), NULL },
                       NULL);
    assert_contains(o.text, ".weight"); /* the other algorithms show */
    assert_ended_well(bench_run(&b, "warm", "middle", four, NULL));
    assert_same_state(&b, "warm", "whole");
    assert_curve_within(&b, "warm", "whole");
    assert_string_equal(record_of(&b, "warm"), record_of(&b, "whole"));
    go_on(&b, "half");
    assert_same_state(&b, "half", "whole");
    assert_curve_within(&b, "half", "whole");
    assert_string_equal(record_of(&b, "half"), kept);
    arena_free(b.arena);
}
