/* test_report.c - reading results back, the screen of a run, MFU, and the folder of an experiment.
 */
#include "base/clock.h"
#include "base/sha256.h"
#include "monitor/error_log.h"
#include "monitor/experiment.h"
#include "monitor/history.h"
#include "monitor/mfu.h"
#include "monitor/report.h"
#include "test.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *write_text(Arena *a, const char *name, const char *text)
{
    const char *path = path_join(a, test_folder(), name);
    assert_no_error(file_write(path, text, strlen(text)));
    return path;
}

static void assert_track(const Track *t, int64_t n, const double *step, const double *value)
{
    assert_non_null(t);
    assert_int_equal(t->n, n);
    for (int64_t i = 0; i < n; i++) {
        assert_true(t->step[i] == step[i]);
        assert_true(isnan(value[i]) ? isnan(t->value[i]) : t->value[i] == value[i]);
    }
}

TEST(history_reads_rows_with_nan_and_skips_broken_lines)
{
    Arena *a = arena_new();
    const char *path = write_text(
        a, "r.jsonl",
        "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": 1, \"losses\": {\"train loss "
        "avg\": NaN}, "
        "\"metrics\": {\"consumed tokens\": 8192}, \"throughput_metrics\": {\"x\": -Infinity}}\n"
        "not a row\n"
        "{\"dataloader_tag\": \"NaN \\\"Infinity\", \"num_train_steps_done\": 1, \"losses\": "
        "{\"L\": 2.5}, "
        "\"metrics\": {}, \"throughput_metrics\": {}}\n"
        "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": 2, \"losses\": {\"train loss "
        "avg\": 1.5}, "
        "\"metrics\": {\"consumed tokens\": 16384}, \"throughput_metrics\": {\"x\": Infinity}}\n"
        "{\"dataloader_tag\": \"train\", \"num_tra");
    History h;
    assert_no_error(history_read(a, path, &h));
    assert_int_equal(h.n_rows, 3);
    assert_int_equal(h.n_bad, 2);
    assert_int_equal(h.first_bad, 2);
    assert_track(history_find(&h, "train", "train loss avg"), 2, (double[]){ 1, 2 },
                 (double[]){ NAN, 1.5 });
    assert_track(history_find(&h, NULL, "consumed tokens"), 2, (double[]){ 1, 2 },
                 (double[]){ 8192, 16384 });
    assert_track(history_find(&h, NULL, "x"), 2, (double[]){ 1, 2 }, (double[]){ NAN, NAN });
    assert_track(history_find(&h, "NaN \"Infinity", "L"), 1, (double[]){ 1 }, (double[]){ 2.5 });
    assert_null(history_find(&h, "val", "L"));
    arena_free(a);
}

TEST(rows_of_a_resumed_run_replace_those_from_their_step_on)
{
    Arena *a = arena_new();
    Text t = { 0 };
    static const int steps[] = { 1, 2, 3, 4, 3, 4, 5 };
    for (int i = 0; i < 7; i++)
        text_printf(
            &t,
            "{\"_step\": %d, \"_timestamp\": 5, \"train train loss avg\": %d, \"my val CLM\": 1}\n",
            steps[i], 10 * i);
    History h;
    assert_no_error(history_read(a, write_text(a, "history.jsonl", t.ptr), &h));
    assert_track(history_find(&h, "train", "train loss avg"), 5, (double[]){ 1, 2, 3, 4, 5 },
                 (double[]){ 0, 10, 40, 50, 60 });
    assert_int_equal(history_find(&h, "my val", "CLM")->n, 5);
    text_free(&t);
    arena_free(a);
}

TEST(report_of_a_golden_run)
{
    Arena *a = arena_new();
    const char *path = shared_path(a, "data/goldens/train/e_validation/evaluation_results.jsonl");
    Text t = { 0 };
    const ReportStyle style = { .width = 80, .plot_height = 12 };
    assert_no_error(report_write(a, path, &style, &t));
    int n_lines = 0;
    for (const char *p = t.ptr; *p; p++) n_lines += *p == '\n';
    assert_true(n_lines <= 24); /* one screen */
    assert_contains(t.ptr, "loss: training as a line, evaluation as o\n");
    assert_contains(t.ptr, "\ntrain loss       6.4795 ");
    assert_contains(t.ptr, "\nval loss         1.6802 ");
    assert_contains(t.ptr, " samples/s");
    assert_contains(t.ptr, "peak memory: ");
    text_free(&t);
    arena_free(a);
}

TEST(report_takes_a_folder_and_names_what_it_looked_for)
{
    Arena *a = arena_new();
    Text t = { 0 };
    const ReportStyle style = { .width = 120, .plot_height = 8 };
    make_directories(path_join(a, test_folder(), "x"));
    assert_error_has(report_write(a, path_join(a, test_folder(), "x"), &style, &t),
                     "evaluation_results.jsonl");
    assert_error_has(report_write(a, path_join(a, test_folder(), "y.jsonl"), &style, &t),
                     "y.jsonl");
    write_text(a, "x/evaluation_results.jsonl", "\n");
    assert_error_has(report_write(a, path_join(a, test_folder(), "x"), &style, &t),
                     "holds no results");

    write_text(a, "x/evaluation_results.jsonl",
               "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": 4, \"losses\": {\"train "
               "loss avg\": 3}, "
               "\"metrics\": {\"consumed tokens\": 12345}, \"throughput_metrics\": {\"train "
               "samples/s\": 10, "
               "\"train mfu (16-bit)\": 0.25, \"train mfu of products (16-bit)\": 0.2}}\n");
    write_text(a, "x/train.yaml.resolved", "settings:\n  step_profile:\n    sequence_length: 64\n");
    text_clear(&t);
    assert_no_error(report_write(a, path_join(a, test_folder(), "x"), &style, &t));
    assert_contains(t.ptr, "evaluation_results.jsonl: 4 steps, 12.3k tokens\n");
    assert_contains(t.ptr, "10 samples/s, 640 tokens/s, MFU 25.0 %, 20.0 % of products\n");
    text_free(&t);
    arena_free(a);
}

TEST(mfu_is_the_originals_figure_for_gpt2_on_a100)
{
    assert_true(flops_per_token_palm(125160192, 12, 2048, 768) == 977453568);
    const Mfu m = { .n_layer = 12, .sequence_length = 2048, .n_embd = 768, .world_size = 4 };
    double peak = device_peak_flops("NVIDIA A100-SXM4-80GB");
    assert_close(mfu_compute(&m, 125160192, 4 * 66.5, peak), 0.4267, 1e-4);
    assert_true(mfu_compute(&m, 125160192, 100, device_peak_flops("Unknown GPU")) == -1);
}

TEST(peaks_are_found_by_the_longest_name)
{
    assert_true(device_peak_flops("NVIDIA H100 80GB HBM3") == 989e12);
    assert_true(device_peak_flops("NVIDIA H200") == 989e12);
    assert_true(device_peak_flops("NVIDIA H20") == 148e12);
    assert_true(device_peak_flops("NVIDIA GH200 480GB") == 989e12);
    assert_true(device_peak_flops("NVIDIA B200") == 2.25e15);
    assert_true(device_peak_flops("NVIDIA A10") == 125e12);
    assert_true(device_peak_flops("AMD Instinct MI300X") == 1307.4e12);
    assert_true(device_peak_flops("H100") == 0);
}

/* A sum over the positions that a token may attend to gives the closed form. */
TEST(matmul_flops_count_the_causal_half_of_attention)
{
    double attention = 0;
    for (int position = 0; position < 64; position++)
        attention += 3 * 2 * 2 * 48.0 * (position + 1);
    assert_close(flops_per_token_matmul(1000, 5, 64, 48), 6 * 1000 + 5 * attention / 64, 1e-6);
}

TEST(experiment_ids_are_time_and_hash_of_the_path)
{
    Arena *a = arena_new();
    char before[32], after[32], hash[65];
    clock_format("%Y-%m-%d__%H-%M-%S", before, sizeof before);
    const char *id = experiment_id_new(a, "configs/train.yaml");
    clock_format("%Y-%m-%d__%H-%M-%S", after, sizeof after);
    sha256_hex("configs/train.yaml", 18, hash);
    assert_true(strlen(id) == 20 + 1 + 16);
    assert_true(strncmp(id, before, 20) >= 0 && strncmp(id, after, 20) <= 0);
    assert_memory_equal(id + 20, "_", 1);
    assert_memory_equal(id + 21, hash, 16);
    assert_no_error(experiment_id_check(id));
    assert_error_has(experiment_id_check("a/b"), "\"a/b\"");
    assert_error_has(experiment_id_check(".."), "no name of a folder");
    assert_error_has(experiment_id_check("a\nb"), "control character 10");
    char *longest = arena_alloc(a, 1026);
    memset(longest, 'x', 1024);
    assert_no_error(experiment_id_check(longest));
    longest[1024] = 'x';
    assert_error_has(experiment_id_check(longest), "1025 bytes");
    arena_free(a);
}

static Error *write_resolved(FILE *to, void *context)
{
    if (!context) return error_new("cannot resolve");
    fputs(context, to);
    return NULL;
}

TEST(an_experiment_folder_holds_the_yaml_and_its_resolved_form)
{
    Arena *a = arena_new();
    const char *config = write_text(a, "train.yml", "a: ${b}\nb: 1\n"), *folder;
    Experiment x = { .root = path_join(a, test_folder(), "runs"),
                     .id = "one",
                     .config_file_path = config,
                     .write_resolved = write_resolved,
                     .context = "a: 1\nb: 1\n" };
    assert_no_error(experiment_create(a, &x, &folder));
    assert_string_equal(folder, path_join(a, x.root, "one"));
    Str text;
    assert_no_error(file_read(a, path_join(a, folder, "train.yml"), &text));
    assert_string_equal(text.ptr, "a: ${b}\nb: 1\n");
    assert_no_error(file_read(a, path_join(a, folder, "train.yaml.resolved"), &text));
    assert_string_equal(text.ptr, "a: 1\nb: 1\n");

    x.config_file_path = path_join(a, folder, "train.yml"); /* the copy itself, on a rerun */
    assert_no_error(experiment_create(a, &x, &folder));
    x.id = "two";
    x.context = NULL;
    assert_error_has(experiment_create(a, &x, &folder), "train.yaml.resolved: cannot resolve");
    assert_false(file_exists(path_join(a, x.root, "two/train.yaml.resolved")));
    arena_free(a);
}

TEST(the_error_log_of_a_rank_holds_the_chain_of_contexts)
{
    Arena *a = arena_new();
    setenv("RANK", "5", 1);
    setenv("LOCAL_RANK", "1", 1);
    setenv("WORLD_SIZE", "8", 1);
    Rank rank;
    assert_no_error(rank_of_process(&rank));
    Error *e = error_wrap(error_usage("bad value 3:4\nsecond line"), "train.yaml:12:5");
    assert_no_error(error_log_save(test_folder(), &rank, e));
    error_free(e);
    ErrorLog here = error_log_here(a, &rank);
    Str text;
    assert_no_error(file_read(a, path_join(a, test_folder(), error_log_name(a, &here)), &text));
    json_t *j = json_loads(text.ptr, 0, NULL), *of, *trace;
    assert_non_null(j);
    of = json_object_get(j, "environment");
    assert_int_equal(json_integer_value(json_object_get(of, "rank")), 5);
    assert_int_equal(json_integer_value(json_object_get(of, "local_rank")), 1);
    assert_int_equal(json_integer_value(json_object_get(of, "world_size")), 8);
    assert_int_equal(error_log_here(a, &rank_alone).world_size, -1);
    of = json_object_get(j, "error");
    assert_string_equal(json_string_value(json_object_get(of, "error")),
                        "train.yaml:12:5: bad value 3:4\nsecond line");
    assert_string_equal(json_string_value(json_object_get(of, "type")), "ValueError");
    trace = json_object_get(of, "stacktrace");
    assert_int_equal(json_array_size(trace), 3);
    assert_string_equal(json_string_value(json_array_get(trace, 0)), "train.yaml:12:5\n");
    assert_string_equal(json_string_value(json_array_get(trace, 1)), "bad value 3:4\n");
    assert_string_equal(json_string_value(json_array_get(trace, 2)), "second line\n");
    json_decref(j);
    arena_free(a);
}
