/* test_report.c - `modalities report` from the command line. */
#include "cli/command_line.h"
#include <math.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(report_shows_a_run_within_the_width_asked_for)
{
    Arena *a = arena_new();
    const char *folder = shared_path(a, "data/goldens/train/e_validation"), *output;
    assert_int_equal(command_line_run(a, arena_printf(a, "report %s", folder), &output), 0);
    assert_contains(output, "evaluation_results.jsonl:"); /* the path may take up its line */
    assert_contains(output, " 60 steps, 15.4k tokens\n");
    assert_contains(output, "\nval loss         1.6802    0.2578  lowest   0.2578  at 60\n");
    assert_contains(output, "60 steps\n");
    int n_lines = 0;
    for (const char *p = output; *p; p++) n_lines += *p == '\n';
    const char *taller;
    assert_int_equal(
        command_line_run(a, arena_printf(a, "report --plot_height 20 %s", folder), &taller), 0);
    for (const char *p = taller; *p; p++) n_lines -= *p == '\n';
    assert_int_equal(n_lines, 12 - 20);
    arena_free(a);
}

TEST(report_of_nothing_is_one_clear_error)
{
    Arena *a = arena_new();
    const char *output;
    assert_int_equal(command_line_run(a, arena_printf(a, "report %s", test_folder()), &output), 1);
    assert_contains(output, "holds neither evaluation_results.jsonl");
    assert_int_equal(command_line_run(a, "report /no/such/run", &output), 2);
    assert_contains(output, "/no/such/run");
    assert_int_equal(
        command_line_run(a, arena_printf(a, "report --plot_height 2 %s", test_folder()), &output),
        2);
    assert_contains(output, "plot_height");
    arena_free(a);
}

/* An experiment of the test's folder with this learning rate and number of steps. */
static void write_run(Arena *a, const char *name, const char *lr, int n_steps, double loss)
{
    const char *folder = path_join(a, path_join(a, test_folder(), "experiments"), name);
    Text t = { 0 };
    for (int step = 1; step <= n_steps; step++)
        text_printf(&t,
                    "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": %d, \"losses\": "
                    "{\"train loss avg\": %s}, \"metrics\": {}, \"throughput_metrics\": {}}\n",
                    step, isnan(loss) ? "NaN" : arena_printf(a, "%g", loss + 2.0 / step));
    const char *config = arena_printf(a,
                                      "settings: {experiment_id: %s, sequence_length: 8}\n"
                                      "optimizer: {config: {lr: %s}}\n"
                                      "scheduler: {config: {max_lr: %s}}\n"
                                      "saving: {path: x/%s/checkpoints}\n",
                                      name, lr, lr, name);
    assert_no_error(make_directories(folder));
    assert_no_error(file_write(path_join(a, folder, "evaluation_results.jsonl"), t.ptr, t.len));
    assert_no_error(
        file_write(path_join(a, folder, "train.yaml.resolved"), config, strlen(config)));
    text_free(&t);
}

TEST(report_of_several_runs_draws_their_curves_and_names_what_differs)
{
    Arena *a = arena_new();
    const char *both, *folder;
    setenv("RUNS", path_join(a, test_folder(), "experiments"), 1);
    write_run(a, "first", "0.001", 40, 3);
    write_run(a, "second", "0.003", 20, 2);
    assert_int_equal(command_line_run(a, "report $RUNS/first $RUNS/second", &both), 0);
    assert_contains(both, "loss: training as lines A, B ...\n");
    assert_contains(both, "\n   run     steps  train loss   at 20\n");
    assert_contains(both, "\nA  first      40      3.0500  3.1000\n");
    assert_contains(both, "\nB  second     20      2.1000  2.1000\n");
    assert_contains(both, "\nsettings that differ                A      B\n"
                          "optimizer.config.lr and 1 more  0.001  0.003\n");
    assert_null(strstr(both, "checkpoints")); /* a run's own id and paths do not count */
    assert_null(strstr(both, "\033["));
    /* one that has just begun has nothing to compare */
    assert_int_equal(
        shell_run(a, "mkdir $RUNS/new && : > $RUNS/new/evaluation_results.jsonl", &folder), 0);
    assert_int_equal(command_line_run(a, "report $RUNS", &folder), 0);
    assert_string_equal(folder, both);
    assert_int_equal(
        shell_run(a, arena_printf(a, "cd $RUNS && %s report", path_absolute(a, program_path())),
                  &folder),
        0);
    assert_contains(folder, "experiment  state  steps  train loss\n"
                            "first       -         40      3.0500\n"
                            "new         -          0\n");
    assert_int_equal(command_line_run(a, "report $RUNS/first $RUNS/none", &both), 2);
    assert_contains(both, "/none: there is no such file or folder");
    arena_free(a);
}

/* There are letters for eight curves: for the best, and of equal ones for those named first. */
TEST(report_of_many_runs_draws_the_best)
{
    Arena *a = arena_new();
    const char *said, *names = "";
    setenv("RUNS", path_join(a, test_folder(), "experiments"), 1);
    for (int i = 0; i < 11; i++) {
        const char *name = arena_printf(a, "r%02d", i);
        write_run(a, name, "0.001", 3, i == 3 ? 9 : i == 5 ? NAN : 2);
        names = arena_printf(a, "%s $RUNS/%s", names, name);
    }
    assert_int_equal(command_line_run(a, arena_printf(a, "report%s", names), &said), 0);
    static const char *const row[] = { "A  r00", "B  r01", "C  r02", "   r03", "D  r04", "   r05",
                                       "E  r06", "F  r07", "G  r08", "H  r09", "   r10" };
    for (int i = 0; i < 11; i++) assert_contains(said, arena_printf(a, "\n%s ", row[i]));
    assert_contains(said, "the curves are those of the 8 best\n");
    /* one without a loss, and then another one, when there are not enough */
    assert_int_equal(
        shell_run(a, "for i in 0 1 2; do cp $RUNS/r05/evaluation_results.jsonl $RUNS/r0$i; done",
                  &said),
        0);
    assert_int_equal(command_line_run(a, arena_printf(a, "report%s", names), &said), 0);
    static const char *const then[] = {
        "A  r00", "   r01", "   r02", "B  r03", "   r05", "H  r10"
    };
    for (int i = 0; i < 6; i++) assert_contains(said, arena_printf(a, "\n%s ", then[i]));
    arena_free(a);
}

TEST(report_of_a_run_fits_a_narrow_terminal)
{
    Arena *a = arena_new();
    const char *folder = shared_path(a, "data/goldens/train/e_validation"), *said;
    const char *line = arena_printf(a, "LC_ALL=C COLUMNS=50 %s report %s", program_path(), folder);
    assert_int_equal(shell_run(a, line, &said), 0);
    assert_contains(said, "/evaluation_results.jsonl:\n  60 steps, 15.4k tokens\n");
    for (const char *at = strchr(said, '\n') + 1; *at; at += strcspn(at, "\n") + 1)
        if (strcspn(at, "\n") > 50) fail_msg("%s", at);
    arena_free(a);
}

/* From inside of an experiment, and of a folder whose experiments lie deeper. */
TEST(report_lists_the_experiment_around_and_those_below_a_folder)
{
    Arena *a = arena_new();
    const char *said, *here = path_absolute(a, test_folder());
    const char *const record = "{\"state\": \"stopped\"}";
    const char *folder = path_join(a, here, "a/b/one");
    assert_no_error(make_directories(folder));
    assert_no_error(file_write(path_join(a, folder, "run.json"), record, strlen(record)));
    assert_no_error(file_write(path_join(a, folder, "run.lock"), "", 0));
    const char *program = path_absolute(a, program_path());
    assert_int_equal(shell_run(a, arena_printf(a, "cd %s && %s report", folder, program), &said),
                     0);
    assert_null(strstr(said, "There is no experiment"));
    assert_contains(said, "experiment");
    if (command_line_run(a, arena_printf(a, "report %s/a", here), &said)) fail_msg("%s", said);
    assert_contains(said, "a/b/one");
    arena_free(a);
}

/* What a command prints on a terminal of its own. */
static const char *on_terminal(Arena *a, const char *variables, const char *command)
{
    int fd, status;
    char bytes[4096];
    Text shown = { 0 };
    const pid_t child = forkpty(&fd, NULL, NULL, NULL);
    assert_true(child >= 0);
    if (!child) {
        const char *line = arena_printf(a, "%s exec %s %s", variables, program_path(), command);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;) text_add(&shown, bytes, (size_t)n);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(fd);
    const char *text = arena_string(a, shown.ptr);
    text_free(&shown);
    return text;
}

TEST(colours_are_for_terminals_that_want_them)
{
    Arena *a = arena_new();
    const char *piped;
    setenv("RUNS", path_join(a, test_folder(), "experiments"), 1);
    write_run(a, "first", "0.001", 40, 3);
    write_run(a, "second", "0.003", 20, 2);
    assert_contains(on_terminal(a, "TERM=xterm NO_COLOR=", "report $RUNS"), "\033[3");
    assert_null(strstr(on_terminal(a, "TERM=xterm NO_COLOR=1", "report $RUNS"), "\033["));
    assert_null(strstr(on_terminal(a, "TERM=dumb NO_COLOR=", "report $RUNS"), "\033["));
    assert_int_equal(command_line_run(a, "report $RUNS", &piped), 0);
    assert_null(strstr(piped, "\033["));
    arena_free(a);
}
