/* test_experiments_list.c - `modalities report` without a folder: states, and how to go on. */
#include "cli/command_line.h"
#include "monitor/experiments_list.h"
#include "monitor/run_record.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An experiment with a result of this step. */
static const char *write_experiment(Arena *a, const char *name, RunState state, int64_t steps,
                                    const char *why)
{
    const char *folder = path_join(a, path_join(a, test_folder(), "experiments"), name);
    const char *row = arena_printf(
        a,
        "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": %d, \"losses\": {\"train loss "
        "avg\": 2.5}, \"metrics\": {}, \"throughput_metrics\": {}}\n",
        (int)steps);
    const RunRecord r = { .state = state,
                          .why = why,
                          .steps = steps,
                          .target_steps = 40,
                          .experiment = path_absolute(a, folder),
                          .checkpoints = "",
                          .start_folder = "/",
                          .checkpoint_id = "",
                          .config_file_path = "",
                          .initial_weights = "" };
    assert_no_error(make_directories(folder));
    assert_no_error(file_write(path_join(a, folder, "evaluation_results.jsonl"), row, strlen(row)));
    assert_no_error(file_write(path_join(a, folder, RUN_LOCK), "", 0));
    assert_no_error(run_record_write(folder, &r));
    return folder;
}

TEST(the_list_of_experiments_tells_states_and_how_to_go_on)
{
    Arena *a = arena_new();
    int lock;
    write_experiment(a, "a", RUN_DONE, 40, "");
    write_experiment(a, "b", RUN_STOPPED, 17, "");
    const char *failed = write_experiment(a, "c", RUN_FAILED, 3, "the loss is nan");
    write_experiment(a, "d", RUN_RUNNING, 5, ""); /* nobody is there */
    assert_no_error(run_lock_take(a, write_experiment(a, "e", RUN_RUNNING, 6, ""), &lock));
    const char *broken = write_experiment(a, "f", RUN_DONE, 7, "");
    assert_no_error(file_write(path_join(a, broken, RUN_RECORD), "{}", 2));
    /* a checkpoint is no experiment, and links are not followed */
    assert_no_error(make_directories(path_join(a, failed, "checkpoints/x")));
    assert_int_equal(symlink(".", path_join(a, test_folder(), "experiments/loop")), 0);

    Text t = { 0 };
    assert_int_equal(chdir(test_folder()), 0);
    assert_no_error(experiments_list(a, ".", 80, &t));
    assert_string_equal(
        t.ptr, "experiment     state    steps  train loss\n"
               "experiments/a  done     40/40      2.5000\n"
               "experiments/b  stopped  17/40      2.5000\n"
               "experiments/c  failed    3/40      2.5000\n"
               "experiments/d  killed    5/40      2.5000\n"
               "experiments/e  running   6/40      2.5000\n"
               "experiments/f  -            7      2.5000\n"
               "\nexperiments/c failed: the loss is nan\n"
               "\nexperiments/f/run.json: no record of a run: experiment or start_folder is "
               "missing\n"
               "\nTo go on:\n"
               "  modalities resume experiments/b\n"
               "  modalities resume experiments/c\n"
               "  modalities resume experiments/d\n");
    text_free(&t);
    close(lock);
    arena_free(a);
}

TEST(the_list_of_no_experiment_says_so)
{
    Arena *a = arena_new();
    Text t = { 0 };
    assert_no_error(experiments_list(a, test_folder(), 80, &t));
    assert_string_equal(t.ptr, "There is no experiment below this folder.\n");
    text_free(&t);
    arena_free(a);
}
