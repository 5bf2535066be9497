/* test_sweep_configs.c - the tree of a sweep, byte for byte as PyYAML and the original write it,
 * and the list of what remains. */
#include "base/file.h"
#include "base/md5.h"
#include "end_to_end/training.h"
#include "sweep/sweep_configs.h"
#include "sweep/sweep_runs.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* scalars.yaml has what PyYAML writes in a way of its own; the numbers are those that it gave. */
TEST(names_and_bytes_of_a_sweep_are_those_of_the_original)
{
    static const char hash[] = "d0d9467e26744fb1", all[] = "7aa88820ee8359d7131bf90c9a3d9215";
    Arena *a = arena_new();
    int64_t sizes[] = { 1, 8 };
    SweepTree tree;
    SweepRuns runs;
    Md5 whole = { 0 };
    assert_no_error(sweep_configs_write(a, "tests/sweep/scalars.yaml",
                                        path_join(a, test_folder(), "out"), &(IntList){ sizes, 2 },
                                        &tree));
    assert_int_equal(tree.n_combinations, 48);
    assert_string_equal(tree.folder + strlen(tree.folder) - 16, hash);
    assert_no_error(sweep_runs_find(a, tree.folder, 8, &runs));
    assert_int_equal(runs.n, 48);
    char hex[33];
    for (int64_t i = 0; i < runs.n; i++) {
        Str text;
        Md5 m = { 0 };
        assert_no_error(file_read(a, runs.item[i].config, &text));
        md5_add(&m, text.ptr, text.len);
        md5_finish(&m, hex);
        const char *line = arena_printf(a, "%s %s", runs.item[i].hash, hex);
        md5_add(&whole, line, strlen(line));
    }
    md5_finish(&whole, hex);
    assert_string_equal(hex, all);
    assert_no_error(sweep_runs_find(a, tree.folder, 0, &runs));
    assert_int_equal(runs.n, 96);
    arena_free(a);
}

static Error *write_sweep(Arena *a, const char *text)
{
    SweepTree tree;
    int64_t one = 1;
    const char *path = path_join(a, test_folder(), "sweep.yaml");
    assert_no_error(file_write(path, text, strlen(text)));
    return sweep_configs_write(a, path, path_join(a, test_folder(), "out"), &(IntList){ &one, 1 },
                               &tree);
}

TEST(sweeps_without_alternatives_are_refused_with_their_place)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "a: 1\n", "no mapping `sweep`" },
        { "sweep: [1]\n", "no mapping `sweep`" },
        { "sweep: {a: {}}\n", "sweep.yaml:1:12: `sweep.a` is empty" },
        { "sweep: {}\n", "`sweep` is empty" },
        { "sweep: {a: []}\n", "sweep.yaml:1:12: `sweep.a` has no alternatives" },
        { "sweep: {a: &x [1,2,3,4,5,6,7,8,9,0], b: *x, c: *x, d: *x, e: *x, f: *x, g: *x}\n",
          "more than 1000000 combinations" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Error *e = write_sweep(a, bad[i].text);
        if (!e || !strstr(error_text(e), bad[i].says))
            fail_msg("%s: %s", bad[i].text, e ? error_text(e) : "accepted");
        error_free(e);
    }
    arena_free(a);
}

static void put(Arena *a, const char *root, const char *name, const char *text)
{
    const char *path = path_join(a, root, name);
    assert_no_error(make_directories(path_folder(a, path)));
    assert_no_error(file_write(path, text, strlen(text)));
}

static const char *remaining(Arena *a, const char *root, Words more)
{
    const char *list = path_join(a, test_folder(), "list.txt"), *words[32];
    const char *const first[] = {
        "benchmark", "list_remaining_runs", "--exp_root", root, "--file_list_path",
        list,        "--expected_steps",    "2",          NULL
    };
    int n = 0;
    Str text;
    for (Words w = first; *w; w++) words[n++] = *w;
    for (; *more; more++) words[n++] = *more;
    words[n] = NULL;
    assert_ended_well(command_output(a, words, NULL));
    assert_no_error(file_read(a, list, &text));
    return text.ptr;
}

#define OLD "_2026-01-01__00-00-00/c.yaml"
#define NEW_TRY "_2026-01-02__00-00-00/c.yaml"
#define LOG "/error_logs_host_0.log"

TEST(newest_tries_that_are_not_done_remain)
{
    Arena *a = arena_new();
    const char *root = path_join(a, path_absolute(a, test_folder()), "sweep");
    put(a, root, "1/aaaa" OLD, "x: 1\n");
    put(a, root, "1/aaaa" NEW_TRY, "x: 1\n");
    put(a, root, "1/aaaa_2026-01-02__00-00-00/kept_config.yaml", "x: 1\n");
    put(a, root, "1/bbbb" OLD, "x: 2\n");
    put(a, root, "1/bbbb_2026-01-01__00-00-00/evaluation_results.jsonl", "{}\n{}\n");
    put(a, root, "1/cccc" OLD, "x: 3\n");
    put(a, root, "1/cccc_2026-01-01__00-00-00" LOG, "{\"error\": {\"type\": \"ValueError\"}}");
    put(a, root, "2/aaaa" OLD, "x: 1\n");
    put(a, root, "2/aaaa_2026-01-01__00-00-00/evaluation_results.jsonl", "{}\n{}\n{}\n");
    const char *const all[] = { NULL };
    const char *const one[] = { "--world_size", "1", "--skip_exception_types", "X,ValueError",
                                NULL };
    const char *const renewed[] = { "--world_size", "2", "--create_new_folders_if_partially_done",
                                    NULL };
    assert_string_equal(remaining(a, root, all),
                        arena_printf(a,
                                     "%s/1/aaaa" NEW_TRY "\n%s/1/cccc" OLD "\n%s/2/aaaa" OLD "\n",
                                     root, root, root));
    assert_string_equal(remaining(a, root, one), arena_printf(a, "%s/1/aaaa" NEW_TRY "\n", root));
    /* nothing was run of these: the configurations are listed as they are */
    assert_string_equal(remaining(a, root, renewed), arena_printf(a, "%s/2/aaaa" OLD "\n", root));
    put(a, root, "2/dddd" OLD, "x: 4\n");
    put(a, root, "2/dddd_2026-01-01__00-00-00/evaluation_results.jsonl", "{}\n{}\n");
    const char *list = remaining(a, root, renewed);
    assert_null(strstr(list, OLD));
    assert_true(file_exists(arena_string_n(a, list, strlen(list) - 1)));
    arena_free(a);
}

TEST(a_folder_that_is_no_try_of_a_sweep_is_refused)
{
    Arena *a = arena_new();
    SweepRuns runs;
    const char *root = path_join(a, test_folder(), "sweep");
    put(a, root, "1/first_try/c.yaml", "x: 1\n");
    Error *e = sweep_runs_find(a, root, 0, &runs);
    assert_non_null(strstr(error_text(e), "first_try has not the form HASH_"));
    error_free(e);
    arena_free(a);
}
