/* test_results_golden.c - what a run prints and writes, byte for byte against goldens/results.
 *
 * Where the program differs on purpose, the tables name line, golden text and text here. */
#include "golden.h"
#include "monitor/error_log.h"
#include "monitor/results.h"
#include "monitor/results_panel.h"
#include "monitor/training_report.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct Difference {
    int line;                  /* of the golden file, from 1 */
    const char *golden, *here; /* replaced once in that line */
    const char *why;
} Difference;

/* Counts go through float32 there and are exact here (section 0.12). */
static const Difference console_differences[] = {
    { 2, "consumed tokens: 2147483648.0", "consumed tokens: 2147483653.0", "0.12" },
    { 4, "consumed tokens: 999999995904.0", "consumed tokens: 1000000000000.0", "0.12" },
    { 0 },
};

/* Tokens per step count data-parallel ranks, not all ranks (section 12, Q16). Intervals count from
 * the first step of the experiment, not of this run. A
 * dataset that has more than is asked for is nothing to warn of. */
static const Difference report_differences[] = {
    { 1,
      "\nWarnings: \n\t\033[38;5;214mNumber of tokens in the dataset (332800) does not match the "
      "number of target tokens (25600). Missing 92.31% of tokens in the dataset. \033[0m ",
      "", "enough" },
    { 2, "logged. Since remaining_steps", "logged. Since num_target_steps", "absolute" },
    { 2, "evaluated. Since remaining_steps", "evaluated. Since num_target_steps", "absolute" },
    { 2, "checkpointed. Since remaining_steps", "checkpointed. Since num_target_steps",
      "absolute" },
    { 2,
      "Number of target tokens (75776) does not match the number of tokens per step * num steps "
      "(151552).Missing -100.00% of target tokens.\n\t",
      "", "Q16" },
    { 2,
      "Number of tokens in the dataset (128000) does not match the number of target tokens "
      "(75776). Missing -18.40% of tokens in the dataset.\n\t",
      "", "enough" },
    { 0 },
};

/* A file that no test below reads would be a case that nobody runs. */
GOLDEN_CASES(results_files)
{
    golden_add_files(to, "results/", "results", "*", NULL);
}

TEST(every_golden_file_of_results_has_a_test)
{
    static const char *const known[] = { "results/README.md",
                                         "results/console_lines.txt",
                                         "results/error_logs_node7_1.log",
                                         "results/evaluation_results.jsonl",
                                         "results/file_names.txt",
                                         "results/messages.jsonl",
                                         "results/rich_panel.txt",
                                         "results/training_reports.jsonl" };
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    results_files(&cases);
    assert_int_equal(cases.n, sizeof known / sizeof *known);
    for (int64_t i = 0; i < cases.n; i++) assert_string_equal(cases.name[i], known[i]);
    arena_free(a);
}

static char *expected_here(Arena *a, const char *golden, const Difference *d, int line)
{
    char *text = arena_string(a, golden);
    for (; d->line; d++) {
        if (d->line != line) continue;
        char *at = strstr(text, d->golden);
        if (!at) fail_msg("line %d has no \"%s\" (%s)", line, d->golden, d->why);
        text = arena_printf(a, "%.*s%s%s", (int)(at - text), text, d->here, at + strlen(d->golden));
    }
    return text;
}

static Str read_golden(Arena *a, const char *name)
{
    Str text;
    assert_no_error(
        file_read(a, shared_path(a, arena_printf(a, "data/goldens/results/%s", name)), &text));
    return text;
}

/* The next line without its newline, or NULL. */
static char *next_line(Arena *a, Str *rest)
{
    if (!rest->len) return NULL;
    const char *end = memchr(rest->ptr, '\n', rest->len);
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    char *line = arena_string_n(a, rest->ptr, len);
    size_t used = len + (end != NULL);
    *rest = (Str){ rest->ptr + used, rest->len - used };
    return line;
}

static void read_measures(json_t *group, Measures *out)
{
    const char *name;
    json_t *item;
    json_object_foreach(group, name, item)
    {
        json_t *value = json_object_get(item, "value"),
               *decimals = json_object_get(item, "decimal_places");
        if (json_is_integer(value))
            measures_add_count(out, name, json_integer_value(value));
        else
            measures_add_real(out, name, strtod(json_string_value(value), NULL),
                              json_is_null(decimals) ? ALL_DECIMALS
                                                     : (int)json_integer_value(decimals));
    }
}

/* The names in `out` live as long as the returned message. */
static json_t *read_message(const char *line, Results *out)
{
    json_t *message = json_loads(line, 0, NULL);
    assert_non_null(message);
    *out =
        (Results){ .tag = json_string_value(json_object_get(message, "dataloader_tag")),
                   .step = json_integer_value(json_object_get(message, "num_train_steps_done")) };
    read_measures(json_object_get(message, "losses"), &out->losses);
    read_measures(json_object_get(message, "metrics"), &out->metrics);
    read_measures(json_object_get(message, "throughput_metrics"), &out->throughput);
    return message;
}

TEST(golden_messages_give_the_jsonl_and_console_lines)
{
    Arena *a = arena_new();
    Str messages = read_golden(a, "messages.jsonl"),
        jsonl = read_golden(a, "evaluation_results.jsonl");
    Str console = read_golden(a, "console_lines.txt");
    int n = 0;
    for (char *line; (line = next_line(a, &messages)); n++) {
        Results r;
        json_t *message = read_message(line, &r);
        Text json = { 0 }, shown = { 0 };
        results_json_line(&r, &json);
        results_console_line(&r, &shown);
        assert_string_equal(json.ptr, next_line(a, &jsonl));
        assert_string_equal(shown.ptr,
                            expected_here(a, next_line(a, &console), console_differences, n + 1));
        text_free(&json);
        text_free(&shown);
        json_decref(message);
    }
    assert_true(n >= 11);
    assert_true(jsonl.len == 0 && console.len == 0);
    arena_free(a);
}

static double value_of(const Results *r, const char *name)
{
    const Measure *m = results_find(r, name);
    if (!m) fail_msg("the golden has no %s", name);
    return m->is_count ? (double)m->count : m->value;
}

/* The same message, made the way the trainer and the evaluator make it. */
static Results made_again(const Results *r)
{
    if (!results_find(r, "train loss avg"))
        return evaluation_results(r->tag, r->step, "CLMCrossEntropyLoss",
                                  value_of(r, "CLMCrossEntropyLoss"),
                                  value_of(r, "evaluation_num_samples_per_second"));
    const TrainingNumbers numbers = {
        .tag = r->tag,
        .step = r->step,
        .consumed_tokens = results_find(r, "consumed tokens")->count,
        .loss_avg = value_of(r, "train loss avg"),
        .loss_last = value_of(r, "train loss last"),
        .grad_norm_avg = value_of(r, "grad norm avg"),
        .grad_norm_last = value_of(r, "grad norm last"),
        .samples_per_second = value_of(r, "train samples/s"),
        .mfu = value_of(r, "train mfu (16-bit)"),
        .lr = value_of(r, "lr mean"),
        .peak_memory_mb = value_of(r, "peak memory rank 0 (MB)"),
    };
    return training_results(&numbers);
}

TEST(training_and_evaluation_results_have_the_goldens_names_order_and_decimals)
{
    Arena *a = arena_new();
    Str messages = read_golden(a, "messages.jsonl"),
        jsonl = read_golden(a, "evaluation_results.jsonl");
    for (char *line; (line = next_line(a, &messages));) {
        Results r;
        json_t *message = read_message(line, &r);
        Results made = made_again(&r);
        Text json = { 0 }, one = { 0 }, two = { 0 };
        results_json_line(&made, &json);
        assert_string_equal(json.ptr, next_line(a, &jsonl));
        results_console_line(&made, &one);
        results_console_line(&r, &two);
        assert_string_equal(one.ptr, two.ptr);
        text_free(&json);
        text_free(&one);
        text_free(&two);
        json_decref(message);
    }
    arena_free(a);
}

static double real(const json_t *row, const char *group, const char *name)
{
    const json_t *value = json_object_get(json_object_get(row, group), name);
    if (!json_is_number(value)) fail_msg("the golden has no %s", name);
    return json_number_value(value);
}

/* A line of the original's runs, read and made again from its numbers. */
static Results results_of_row(json_t *row)
{
    const char *tag = json_string_value(json_object_get(row, "dataloader_tag"));
    int64_t step = json_integer_value(json_object_get(row, "num_train_steps_done"));
    json_t *losses = json_object_get(row, "losses");
    const char *first_loss = json_object_iter_key(json_object_iter(losses));
    if (strcmp(first_loss, "train loss avg") != 0)
        return evaluation_results(
            tag, step, first_loss, real(row, "losses", first_loss),
            real(row, "throughput_metrics", "evaluation_num_samples_per_second"));
    const TrainingNumbers numbers = {
        .tag = tag,
        .step = step,
        .consumed_tokens = (int64_t)real(row, "metrics", "consumed tokens"),
        .loss_avg = real(row, "losses", "train loss avg"),
        .loss_last = real(row, "losses", "train loss last"),
        .grad_norm_avg = real(row, "metrics", "grad norm avg"),
        .grad_norm_last = real(row, "metrics", "grad norm last"),
        .samples_per_second = real(row, "throughput_metrics", "train samples/s"),
        .mfu = real(row, "throughput_metrics", "train mfu (16-bit)"),
        .lr = real(row, "throughput_metrics", "lr mean"),
        .peak_memory_mb = real(row, "throughput_metrics", "peak memory rank 0 (MB)"),
    };
    return training_results(&numbers);
}

TEST(results_of_the_originals_runs_are_spelled_the_same)
{
    Arena *a = arena_new();
    GoldenCases runs = { .arena = a };
    golden_add_files(&runs, "", "train", "*_*", NULL);
    int n_rows = 0, n_evaluations = 0;
    for (int64_t i = 0; i < runs.n; i++) {
        Str rest;
        assert_no_error(file_read(
            a,
            shared_path(
                a, arena_printf(a, "data/goldens/train/%s/evaluation_results.jsonl", runs.name[i])),
            &rest));
        for (char *line; (line = next_line(a, &rest)); n_rows++) {
            json_t *row = json_loads(line, 0, NULL);
            assert_non_null(row);
            Results r = results_of_row(row);
            n_evaluations += r.is_evaluation;
            Text made = { 0 };
            results_json_line(&r, &made);
            assert_string_equal(made.ptr, line);
            text_free(&made);
            json_decref(row);
        }
    }
    assert_true(n_rows > 400 && n_evaluations > 0);
    arena_free(a);
}

TEST(golden_rich_panel)
{
    Arena *a = arena_new();
    Results r = evaluation_results("val", 14, "CLMCrossEntropyLoss", 2.5, 1);
    Text panel = { 0 };
    results_panel(&r, 1, 80, true, &panel);
    assert_string_equal(panel.ptr, read_golden(a, "rich_panel.txt").ptr);
    text_clear(&panel);
    r.step = 7; /* the count is steps times ranks */
    results_panel(&r, 2, 80, true, &panel);
    assert_string_equal(panel.ptr, read_golden(a, "rich_panel.txt").ptr);
    text_free(&panel);
    arena_free(a);
}

static int64_t number(const json_t *from, const char *name)
{
    const json_t *value = json_object_get(from, name);
    if (!json_is_integer(value)) fail_msg("the golden has no %s", name);
    return json_integer_value(value);
}

static TrainingPlan read_plan(const json_t *j)
{
    return (TrainingPlan){
        .num_target_tokens = number(j, "num_target_tokens"),
        .num_target_steps = number(j, "num_target_steps"),
        .training_log_interval_in_steps = number(j, "training_log_interval_in_steps"),
        .checkpointing_interval_in_steps = number(j, "checkpointing_interval_in_steps"),
        .evaluation_interval_in_steps = number(j, "evaluation_interval_in_steps"),
        .gradient_accumulation_steps = number(j, "gradient_accumulation_steps"),
        .local_train_micro_batch_size = number(j, "local_train_micro_batch_size"),
        .sequence_length = number(j, "sequence_length"),
        .dp_degree = number(j, "dp_degree"),
        .world_size = number(j, "world_size"),
        .enforce_tokens_per_step_consistency = true,
        .enforce_last_step_logged = true,
        .enforce_last_step_evaluated = true,
        .enforce_last_step_checkpointed = true,
        .enforce_enough_tokens_in_dataset = true,
        .global_num_seen_tokens = number(j, "global_num_seen_tokens"),
        .num_seen_steps = number(j, "num_seen_steps"),
        .num_seen_samples = number(j, "num_seen_samples"),
        .last_step = number(j, "num_seen_steps") - 1,
        .n_samples = number(j, "dataset_length"),
    };
}

/* Columns of the widest line. */
static int columns_of(const char *text)
{
    int widest = 0, column = 0;
    for (const char *p = text; *p; p++) {
        column = *p == '\n' ? 0 : *p == '\t' ? column / 8 * 8 + 8 : column + 1;
        if (column > widest) widest = column;
    }
    return widest;
}

TEST(training_reports_fit_the_screen)
{
    const TrainingPlan plan = { .num_target_tokens = 1000000000,
                                .num_target_steps = 7,
                                .training_log_interval_in_steps = 2,
                                .checkpointing_interval_in_steps = 4,
                                .evaluation_interval_in_steps = 3,
                                .enforce_tokens_per_step_consistency = true,
                                .n_samples = 5,
                                .sequence_length = 256 };
    static const int widths[] = { 60, 80, 200 };
    for (int i = 0; i < 3; i++) {
        Text shown = { 0 };
        training_report_shown(&plan, widths[i], false, &shown);
        assert_in_range(columns_of(shown.ptr), 60, widths[i]);
        assert_null(strchr(shown.ptr, '\033'));
        text_free(&shown);
    }
}

TEST(golden_training_reports)
{
    Arena *a = arena_new();
    Str rest = read_golden(a, "training_reports.jsonl");
    int n = 0;
    for (char *line; (line = next_line(a, &rest));) {
        json_t *j = json_loads(line, 0, NULL);
        assert_non_null(j);
        TrainingPlan plan = read_plan(j);
        Text report = { 0 };
        training_report(&plan, &report);
        n++;
        assert_string_equal(report.ptr,
                            expected_here(a, json_string_value(json_object_get(j, "report")),
                                          report_differences, n));
        text_free(&report);
        json_decref(j);
    }
    assert_true(n >= 3);
    arena_free(a);
}

TEST(golden_error_log_and_its_name)
{
    Arena *a = arena_new();
    static const char *const trace[] = { "Traceback (most recent call last):\n", "..." };
    const ErrorLog log = {
        .rank = 3,
        .local_rank = 1,
        .world_size = 4,
        .hostname = "node7",
        .error = "Not enough tokens in dataset. Actual: 1, Expected: >=2 \xc3\xa4\xc3\x9f",
        .type = "ValueError",
        .stacktrace = trace,
        .n_stacktrace = 2,
    };
    const char *folder = path_join(a, test_folder(), "logs/deep");
    assert_no_error(error_log_write(folder, &log));
    assert_no_error(error_log_write(folder, &log)); /* a restart replaces it */
    Str written;
    assert_no_error(file_read(a, path_join(a, folder, "error_logs_node7_1.log"), &written));
    assert_string_equal(written.ptr, read_golden(a, "error_logs_node7_1.log").ptr);

    assert_contains(read_golden(a, "file_names.txt").ptr,
                    "\nerror_logs_{hostname}_{local_rank}.log ");
    assert_string_equal(error_log_name(a, &log), "error_logs_node7_1.log");
    arena_free(a);
}
