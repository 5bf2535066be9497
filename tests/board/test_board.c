/* test_board.c - the page over all runs below a folder. */
#include "base/file.h"
#include "board/board.h"
#include "end_to_end/training.h"
#include "monitor/run_record.h"
#include "test.h"
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The data of the page, which stands in its script. */
static json_t *data_of(Arena *a, const char *path)
{
    Str page;
    json_error_t error;
    assert_no_error(file_read(a, path, &page));
    const char *from = strstr(page.ptr, "const board = ");
    assert_non_null(from);
    from += strlen("const board = ");
    json_t *j = json_loads(from, JSON_DISABLE_EOF_CHECK, &error);
    if (!j) fail_msg("%s: %s at %d", path, error.text, error.position);
    assert_null(strstr(page.ptr, "http")); /* opens without a network */
    return j;
}

static const json_t *run_named(const json_t *board, const char *name)
{
    size_t i;
    const json_t *run;
    json_array_foreach(
        json_object_get(board, "runs"), i,
        run) if (!strcmp(json_string_value(json_object_get(run, "name")), name)) return run;
    fail_msg("no run %s", name);
    return NULL;
}

TEST(board_has_all_runs_below_a_folder_with_curves_states_and_differing_settings)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *const small[] = { "--set", "lr_scheduler.config.max_lr=1e-3", NULL };
    assert_ended_well(bench_run(&b, "one", NULL, NULL, NULL));
    assert_ended_well(bench_run(&b, "two<script>", NULL, small, NULL));
    const char *const words[] = { "board", b.root, NULL };
    assert_ended_well(command_output(a, words, NULL));
    json_t *board = data_of(a, path_join(a, b.root, "board.html"));
    assert_int_equal(json_array_size(json_object_get(board, "runs")), 2);
    const json_t *run = run_named(board, "two<script>");
    assert_string_equal(json_string_value(json_object_get(run, "state")), "done");
    assert_int_equal(json_integer_value(json_object_get(run, "steps")), 8);
    const json_t *lr =
        json_object_get(json_object_get(run, "settings"), "lr_scheduler.config.max_lr");
    assert_string_equal(json_string_value(lr), "0.001");
    assert_int_equal(json_array_size(json_object_get(board, "seeds")), 0);
    size_t i, n_losses = 0;
    const json_t *track;
    json_array_foreach(json_object_get(run, "tracks"), i, track)
    {
        if (strcmp(json_string_value(json_object_get(track, "key")), "train loss avg") != 0)
            continue;
        n_losses++;
        assert_int_equal(json_array_size(json_object_get(track, "y")), 8);
    }
    assert_int_equal(n_losses, 1);
    json_decref(board);
    arena_free(a);
}

/* What a run's record tells, and its results where they have come further. */
TEST(board_tells_how_far_runs_came_that_have_not_ended_well)
{
    static const char row[] =
        "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": 10, \"losses\": {\"train loss "
        "avg\": 9.5}, \"metrics\": {}, \"throughput_metrics\": {}}\n";
    Arena *a = arena_new();
    const char *root = path_join(a, test_folder(), "runs");
    static const char *const names[] = { "begun", "failed" };
    for (int i = 0; i < 2; i++) {
        const char *folder = path_join(a, root, names[i]);
        const RunRecord record = { .state = RUN_FAILED,
                                   .why = "it",
                                   .steps = 6,
                                   .target_steps = 20,
                                   .experiment = folder,
                                   .start_folder = "/" };
        assert_no_error(make_directories(folder));
        assert_no_error(run_record_write(folder, &record));
        assert_no_error(file_write(path_join(a, folder, RUN_LOCK), "", 0));
        if (i)
            assert_no_error(
                file_write(path_join(a, folder, "evaluation_results.jsonl"), row, sizeof row - 1));
    }
    const char *const words[] = { "board", root, NULL };
    assert_ended_well(command_output(a, words, NULL));
    json_t *board = data_of(a, path_join(a, root, "board.html"));
    for (int i = 0; i < 2; i++) {
        const json_t *run = run_named(board, names[i]);
        assert_string_equal(json_string_value(json_object_get(run, "state")), "failed");
        assert_int_equal(json_integer_value(json_object_get(run, "steps")), i ? 10 : 6);
        assert_int_equal(json_integer_value(json_object_get(run, "target")), 20);
    }
    json_decref(board);
    arena_free(a);
}

/* Runs that differ in their seed alone are a group of the page. */
TEST(board_names_the_settings_that_only_repeat)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *const other[] = { "--set", "model_raw.config.seed=7", NULL };
    assert_ended_well(bench_run(&b, "one", NULL, NULL, NULL));
    assert_ended_well(bench_run(&b, "two", NULL, other, NULL));
    const char *const words[] = { "board", b.root, NULL };
    assert_ended_well(command_output(a, words, NULL));
    json_t *board = data_of(a, path_join(a, b.root, "board.html"));
    const json_t *seeds = json_object_get(board, "seeds");
    assert_int_equal(json_array_size(seeds), 1);
    assert_string_equal(json_string_value(json_array_get(seeds, 0)), "model_raw.config.seed");
    json_decref(board);
    assert_true(board_is_seed("seed") && board_is_seed("sweep.seed"));
    assert_true(!board_is_seed("seeds") && !board_is_seed("sweep.reseed"));
    arena_free(a);
}

TEST(board_of_a_folder_without_runs_is_refused)
{
    Arena *a = arena_new();
    const char *const words[] = { "board", test_folder(), NULL };
    assert_refused(command_output(a, words, NULL), 1, "there is no run below");
    arena_free(a);
}

/* Written again while it is watched, until it is stopped. */
TEST(watched_board_takes_in_a_run_that_comes_later)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *path = path_join(a, b.root, "board.html");
    assert_ended_well(bench_run(&b, "one", NULL, NULL, NULL));
    const char *const words[] = { "board", b.root, "--watch", "--every", "1", NULL };
    pid_t child = command_start(a, words, NULL, NULL);
    for (int i = 0; i < 1000 && !file_exists(path); i++) usleep(10 * 1000);
    assert_ended_well(bench_run(&b, "two", NULL, NULL, NULL));
    size_t n = 0;
    for (int i = 0; i < 1000 && n < 2; i++) {
        usleep(20 * 1000);
        json_t *board = data_of(a, path);
        n = json_array_size(json_object_get(board, "runs"));
        json_decref(board);
    }
    kill(child, SIGTERM); /* SIGINT may be ignored where the tests run in the background */
    assert_ended_well(command_wait(a, child, NULL));
    assert_int_equal(n, 2);
    arena_free(a);
}
