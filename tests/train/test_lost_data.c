/* test_lost_data.c - a training whose data become shorter under it ends with an error, and keeps
 * what it has learnt. */
#include "base/lost_pages.h"
#include "train/small_job.h"
#include <stdlib.h>
#include <unistd.h>

enum { CUT_AFTER = 3 };

static const char *to_cut;
static int64_t cut_to; /* bytes */

static void cut(void *context, const StepReport *r)
{
    (void)context;
    if (r->step == CUT_AFTER) assert_int_equal(truncate(to_cut, cut_to), 0);
}

/* The training of small_job until `file` is cut; returns the step of its last checkpoint. */
static int64_t train_until_cut(SmallJob *s, const char *file, const char *says)
{
    TrainingEnd end;
    int64_t steps;
    to_cut = file;
    s->job.observe = cut;
    lost_pages_catch();
    Error *e = trainer_run(&s->job, &end);
    assert_non_null(e);
    assert_contains(error_text(e), says);
    assert_contains(error_text(e), "cannot read ");
    assert_error_has(e, "the file became shorter while it was read");
    assert_true(end.steps >= CUT_AFTER && end.steps < 8);
    assert_int_equal(end.saved_steps, end.steps);
    bench_last_checkpoint(&s->bench, "cut", &steps);
    assert_int_equal(steps, end.steps);
    return steps;
}

/* What is saved must be what an uninterrupted run has there. */
static void check_going_on(const Bench *b)
{
    assert_ended_well(bench_run(b, "whole", NULL, NULL, NULL));
    assert_ended_well(bench_run(b, "on", "cut", NULL, NULL));
    assert_same_state(b, "on", "whole");
}

/* The evaluation, which reads the same file, comes at the end. */
static void check_training_data(const char *workers)
{
    const char *const set[] = { workers, "settings.intervals.evaluation_interval_in_steps=8",
                                NULL };
    SmallJob *s = small_job_new("cut", set);
    const Bench *b = &s->bench;
    Str content;
    assert_no_error(file_read(b->arena, b->pbin, &content));
    train_until_cut(s, b->pbin, "data loader 'train': ");
    assert_no_error(file_write(b->pbin, content.ptr, content.len));
    check_going_on(b);
    arena_free(b->arena);
}

TEST(training_data_cut_while_threads_read_them_end_the_run_after_a_checkpoint)
{
    check_training_data("train_dataloader.config.num_workers=2");
}

TEST(training_data_cut_while_the_trainer_reads_them_end_the_run_after_a_checkpoint)
{
    check_training_data("train_dataloader.config.num_workers=0");
}

/* Inside its last page there is no signal, and the rest reads as zeros. */
TEST(training_data_cut_inside_a_page_end_the_run_after_a_checkpoint)
{
    static const char *const set[] = { "train_dataloader.config.num_workers=0",
                                       "settings.intervals.evaluation_interval_in_steps=8", NULL };
    SmallJob *s = small_job_new("cut", set);
    Str content;
    assert_no_error(file_read(s->bench.arena, s->bench.pbin, &content));
    cut_to = (int64_t)content.len - 1;
    train_until_cut(s, s->bench.pbin, "data loader 'train': ");
    cut_to = 0;
    arena_free(s->bench.arena);
}

TEST(evaluation_data_cut_end_the_run_after_a_checkpoint)
{
    Arena *a = arena_new();
    const char *other = path_join(a, path_absolute(a, test_folder()), "val.pbin");
    Bench beside = bench_new();
    Str content;
    assert_no_error(file_read(a, beside.pbin, &content));
    arena_free(beside.arena);
    assert_no_error(file_write(other, content.ptr, content.len));
    assert_int_equal(setenv("EVAL_PBIN", other, 1), 0);
    SmallJob *s = small_job_new("cut", NULL);
    assert_int_equal(train_until_cut(s, other, "evaluation on val: data loader 'val': "), 4);
    assert_no_error(file_write(other, content.ptr, content.len));
    check_going_on(&s->bench);
    arena_free(s->bench.arena);
    arena_free(a);
}
