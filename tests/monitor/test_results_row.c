/* test_results_row.c - a step is one row of a terminal, whatever its width. */
#include "monitor/results.h"
#include "monitor/results_row.h"
#include "test.h"
#include <string.h>

static const char *row(Arena *a, const Results *r, int width)
{
    Text t = { 0 };
    results_row(r, "23:10:05", width, &t);
    const char *made = arena_string(a, t.ptr);
    text_free(&t);
    return made;
}

static Results at_step(int64_t step, double mfu)
{
    return training_results(&(TrainingNumbers){ .tag = "train",
                                                .step = step,
                                                .loss_avg = 4.23456,
                                                .grad_norm_avg = 0.8125,
                                                .samples_per_second = 42.18,
                                                .mfu = mfu,
                                                .lr = 5.9e-4,
                                                .peak_memory_mb = 512 });
}

TEST(a_step_is_one_row_with_what_fits)
{
    Arena *a = arena_new();
    Results r = at_step(120, 0.41);
    assert_string_equal(row(a, &r, 60),
                        "23:10:05  step    120  loss  4.2346  norm  0.81  lr 5.90e-04");
    assert_string_equal(row(a, &r, 80),
                        "23:10:05  step    120  loss  4.2346  norm  0.81  lr 5.90e-04     42.2 "
                        "samples/s");
    assert_string_equal(row(a, &r, 200),
                        "23:10:05  step    120  loss  4.2346  norm  0.81  lr 5.90e-04     42.2 "
                        "samples/s  MFU 41.0 %     512 MB");
    for (int width = 24; width < 200; width++) assert_true(strlen(row(a, &r, width)) <= width);
    r = at_step(120, -1); /* not known */
    assert_null(strstr(row(a, &r, 200), "MFU"));
    arena_free(a);
}

TEST(an_evaluation_is_a_row_whose_columns_are_those_of_a_step)
{
    Arena *a = arena_new();
    Results r = evaluation_results("validation", 120, "CLMCrossEntropyLoss", 4.2175, 10);
    assert_string_equal(row(a, &r, 80),
                        "23:10:05  step    120  loss  4.2175  validation  perplexity 67.86");
    measures_add_count(&r.metrics, "evaluation batches", 50);
    assert_string_equal(row(a, &r, 100),
                        "23:10:05  step    120  loss  4.2175  validation  perplexity 67.86  "
                        "of 50 batches");
    arena_free(a);
}
