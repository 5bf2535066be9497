/* test_report.c - `modalities report` from the command line. */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Output and exit status of the program with these arguments. */
static int run(Arena *a, const char *args, const char **output)
{
    const char *path = path_join(a, test_folder(), "output");
    int status =
        system(arena_printf(a, "LC_ALL=C COLUMNS=80 %s %s > %s 2>&1", program_path(), args, path));
    Str text;
    assert_no_error(file_read(a, path, &text));
    *output = text.ptr;
    return WEXITSTATUS(status);
}

TEST(report_shows_a_run_within_the_width_asked_for)
{
    Arena *a = arena_new();
    const char *folder = shared_path(a, "data/goldens/train/e_validation"), *output;
    assert_int_equal(run(a, arena_printf(a, "report %s", folder), &output), 0);
    assert_contains(output, "evaluation_results.jsonl: 60 steps, 15.4k tokens\n");
    assert_contains(
        output,
        "\nval CLMCrossEntropyLoss     first 1.6802    last 0.25776   best 0.25776 at step 60\n");
    assert_contains(output, "60 steps\n");
    int n_lines = 0;
    for (const char *p = output; *p; p++) n_lines += *p == '\n';
    const char *taller;
    assert_int_equal(run(a, arena_printf(a, "report --plot_height 20 %s", folder), &taller), 0);
    for (const char *p = taller; *p; p++) n_lines -= *p == '\n';
    assert_int_equal(n_lines, 12 - 20);
    arena_free(a);
}

TEST(report_of_nothing_is_one_clear_error)
{
    Arena *a = arena_new();
    const char *output;
    assert_int_equal(run(a, arena_printf(a, "report %s", test_folder()), &output), 1);
    assert_contains(output, "holds neither evaluation_results.jsonl");
    assert_int_equal(run(a, "report /no/such/run", &output), 2);
    assert_contains(output, "/no/such/run");
    assert_int_equal(run(a, arena_printf(a, "report --plot_height 2 %s", test_folder()), &output),
                     2);
    assert_contains(output, "plot_height");
    arena_free(a);
}
