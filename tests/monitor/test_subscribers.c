/* test_subscribers.c - what several subscribers at once leave on disk, and after a resume. */
#include "base/file.h"
#include "end_to_end/training.h"
#include "monitor/history.h"
#include "monitor/subscribers.h"
#include "monitor/wire.h"
#include "test.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

static const char *all_subscribers(Arena *a, const char *root)
{
    return arena_printf(
        a,
        "evaluation_subscriber={component_key: results_subscriber, variant_key: combined, config: "
        "{subscribers: [{component_key: results_subscriber, variant_key: to_disc, config: "
        "{output_file_path: %s/x/evaluation_results.jsonl}}, {component_key: results_subscriber, "
        "variant_key: csv, config: {output_file_path: %s/r.csv}}, {component_key: "
        "results_subscriber, variant_key: tensorboard, config: {directory: %s/tb}}, "
        "{component_key: results_subscriber, variant_key: wandb, config: {project: p, mode: "
        "OFFLINE, global_rank: 0, experiment_id: x, directory: %s, config_file_path: "
        "\"${settings.config_file_path}\"}}]}}",
        root, root, root, root);
}

static Str only_file(Arena *a, const char *folder, const char *part)
{
    PathList files = { 0 };
    Str bytes = { 0 };
    assert_no_error(files_below(a, folder, "", &files));
    for (int64_t i = 0; i < files.n; i++)
        if (strstr(files.item[i], part)) assert_no_error(file_read(a, files.item[i], &bytes));
    assert_non_null(bytes.ptr);
    return bytes;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

static uint32_t u32(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The pieces of a log: their checksums are right, they follow each other as whole records, or as
 * first, middle and last ones, and so many records they make. Those are put into `out`. */
static int read_records(Arena *a, Str log, Str *out, int most)
{
    enum { BLOCK = 32768, HEAD = 7, WHOLE = 1, FIRST = 2, MIDDLE = 3, LAST = 4 };
    int n = 0;
    bool is_within = false;
    Text record = { 0 };
    assert_true(log.len > HEAD && !memcmp(log.ptr, ":W&B", 4));
    for (size_t at = HEAD; at < log.len;) {
        size_t left = BLOCK - at % BLOCK;
        if (left < HEAD) {
            at += left;
            continue;
        }
        uint16_t len;
        memcpy(&len, log.ptr + at + 4, sizeof len);
        assert_true(at + HEAD + len <= log.len);
        uint32_t crc = (uint32_t)crc32(0, (const Bytef *)log.ptr + at + 6, 1 + (uInt)len);
        assert_int_equal(crc, u32(log.ptr + at));
        const char kind = log.ptr[at + 6];
        assert_true(is_within ? kind == MIDDLE || kind == LAST : kind == WHOLE || kind == FIRST);
        is_within = kind == FIRST || kind == MIDDLE;
        text_add(&record, log.ptr + at + HEAD, len);
        at += HEAD + len;
        if (is_within) continue;
        if (out && n < most) out[n] = (Str){ arena_copy(a, record.ptr, record.len), record.len };
        n++;
        text_clear(&record);
    }
    assert_false(is_within);
    text_free(&record);
    return n;
}

static int count_records(Str log)
{
    return read_records(NULL, log, NULL, 0);
}

/* The text under a key of a record's history, or NULL. */
static const char *history_value(Arena *a, Str record, const char *key)
{
    enum {
        RECORD_HISTORY = 2,
        HISTORY_ITEM = 1,
        ITEM_KEY = 1,
        ITEM_NESTED_KEY = 2,
        ITEM_JSON = 16
    };
    WireField f;
    while (wire_next(&record, &f)) {
        if (f.number != RECORD_HISTORY) continue;
        Str history = f.bytes;
        while (wire_next(&history, &f)) {
            if (f.number != HISTORY_ITEM) continue;
            WireField name;
            Str item = f.bytes;
            assert_true(wire_next(&item, &name));
            assert_true(name.number == ITEM_KEY || name.number == ITEM_NESTED_KEY);
            const Str json = wire_field(f.bytes, ITEM_JSON).bytes;
            if (str_is(name.bytes, key)) return arena_string_n(a, json.ptr, json.len);
        }
    }
    return NULL;
}

static int count_events(Str file)
{
    int n = 0;
    for (size_t at = 0; at < file.len; n++) {
        uint64_t len;
        assert_true(at + 12 <= file.len);
        memcpy(&len, file.ptr + at, sizeof len);
        at += 16 + len;
        assert_true(at <= file.len);
    }
    return n;
}

/* 8 results of training and 2 of evaluation. */
TEST(several_subscribers_get_every_result)
{
    enum { RESULTS = 10, STEPS = 8, HEADER_RUN_FACT_AND_END = 4 };
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *const more[] = { "--set", all_subscribers(a, b.root), NULL };
    assert_ended_well(bench_run(&b, "x", NULL, more, NULL));
    Str jsonl = only_file(a, path_join(a, b.root, "x"), "evaluation_results.jsonl");
    assert_int_equal(count(jsonl.ptr, "\n"), RESULTS);
    Str csv = only_file(a, b.root, "r.csv");
    assert_int_equal(count(csv.ptr, "step,loader,name,value\n"), 1);
    assert_int_equal(count(csv.ptr, ",train loss avg,"), STEPS);
    assert_int_equal(count(csv.ptr, ",memory (MB),"), STEPS);
    assert_int_equal(count(csv.ptr, ",cpu (%),"), STEPS);
    assert_int_equal(count_events(only_file(a, path_join(a, b.root, "tb"), "tfevents")),
                     RESULTS + 1);
    /* training and evaluation of one step are one row */
    assert_int_equal(count_records(only_file(a, path_join(a, b.root, "wandb"), ".wandb")),
                     STEPS + HEADER_RUN_FACT_AND_END);
    arena_free(a);
}

static double result(Arena *a, const char *root, const char *tag, const char *key)
{
    History h;
    assert_no_error(history_read(a, path_join(a, root, "x/evaluation_results.jsonl"), &h));
    const Track *t = history_find(&h, tag, key);
    assert_non_null(t);
    return t->value[t->n - 1];
}

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* As the clients of both read them: field by field, with the numbers of the run. */
TEST(what_is_written_for_wandb_and_tensorboard_has_the_numbers_of_the_run)
{
    enum { MOST = 32, EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_SUMMARY = 5 };
    enum { SUMMARY_VALUE = 1, TAG = 1, SIMPLE = 2 };
    Bench b = bench_new();
    Arena *a = b.arena;
    Str record[MOST];
    const char *const more[] = { "--set", all_subscribers(a, b.root), NULL };
    double wall_time = wall_seconds();
    assert_ended_well(bench_run(&b, "x", NULL, more, NULL));
    const int n =
        read_records(a, only_file(a, path_join(a, b.root, "wandb"), ".wandb"), record, MOST);
    assert_int_equal(n, 12);
    enum { RECORD_RUN = 17, RUN_PROJECT = 3, RUN_START = 17, SECONDS = 1 };
    const Str run = wire_field(record[1], RECORD_RUN).bytes; /* behind the header */
    assert_true(str_is(wire_field(run, RUN_PROJECT).bytes, "p"));
    assert_true(wire_field(wire_field(run, RUN_START).bytes, SECONDS).value > 1700000000);
    enum { RECORD_CONFIG = 5, CONFIG_UPDATE = 1, KEY = 1, JSON = 16 };
    const Str fact = wire_field(wire_field(record[2], RECORD_CONFIG).bytes, CONFIG_UPDATE).bytes;
    assert_true(str_is(wire_field(fact, KEY).bytes, "No. parameters"));
    const Str json = wire_field(fact, JSON).bytes;
    assert_int_equal(atoi(arena_string_n(a, json.ptr, json.len)), 19136);
    const char *loss = NULL, *step = NULL, *evaluated = NULL;
    for (int i = 0; i < n; i++) {
        const char *here = history_value(a, record[i], "train train loss avg");
        if (!here) continue;
        loss = here;
        step = history_value(a, record[i], "_step");
        evaluated = history_value(a, record[i], "val CLMCrossEntropyLoss"); /* in the same row */
    }
    assert_non_null(loss);
    assert_true(strtod(loss, NULL) == result(a, b.root, "train", "train loss avg"));
    assert_string_equal(step, "8");
    assert_non_null(evaluated);
    assert_true(strtod(evaluated, NULL) == result(a, b.root, "val", "CLMCrossEntropyLoss"));
    const Str events = only_file(a, path_join(a, b.root, "tb"), "tfevents");
    float last = 0;
    int n_memories = 0; /* with results of training, not with those of evaluation */
    uint64_t at_step = 0;
    for (size_t at = 0; at < events.len;) {
        uint64_t len;
        WireField f, value;
        memcpy(&len, events.ptr + at, sizeof len);
        Str event = (Str){ events.ptr + at + 12, len }, summary = { 0 };
        while (wire_next(&event, &f)) {
            if (f.number == EVENT_SUMMARY) summary = f.bytes;
            if (f.number != EVENT_WALL_TIME) continue;
            double now;
            memcpy(&now, &f.value, sizeof now);
            assert_true(now >= wall_time && now <= wall_seconds());
            wall_time = now;
        }
        while (wire_next(&summary, &value)) {
            assert_int_equal(value.number, SUMMARY_VALUE);
            const Str tag = wire_field(value.bytes, TAG).bytes;
            n_memories += str_is(tag, "system/memory (MB)");
            if (!str_is(tag, "train/train loss avg")) continue;
            const uint32_t bits = (uint32_t)wire_field(value.bytes, SIMPLE).value;
            memcpy(&last, &bits, sizeof last);
            at_step = wire_field((Str){ events.ptr + at + 12, len }, EVENT_STEP).value;
        }
        at += 16 + len;
    }
    assert_true(last == (float)result(a, b.root, "train", "train loss avg"));
    assert_int_equal(at_step, 8);
    assert_int_equal(n_memories, 8);
    arena_free(a);
}

/* Each step stands once, as if the run had never been stopped. */
TEST(a_resumed_run_leaves_each_result_once)
{
    enum { STEPS = 8 };
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *const half[] = { "--set", all_subscribers(a, b.root), "--set",
                                 "settings.training_target.num_target_steps=6", NULL };
    assert_ended_well(bench_run(&b, "x", NULL, half, NULL));
    const char *const resume[] = { "resume", path_join(a, b.root, "x"), "--set",
                                   "settings.training_target.num_target_steps=8", NULL };
    assert_ended_well(command_output(a, resume, NULL));
    Str csv = only_file(a, b.root, "r.csv");
    assert_int_equal(count(csv.ptr, ",train loss avg,"), STEPS);
    assert_int_equal(count(csv.ptr, "step,loader"), 1);
    int n = count_records(only_file(a, path_join(a, b.root, "wandb"), ".wandb"));
    assert_true(n >= STEPS + 3 && n <= STEPS + 4);
    arena_free(a);
}

TEST(a_run_that_fails_before_its_first_step_leaves_no_results)
{
    static const char *const little[] = { "MODALITIES_MEMORY_LIMIT=100000", NULL };
    Bench b = bench_new();
    const char *const more[] = { "--set", all_subscribers(b.arena, b.root), NULL };
    assert_refused(bench_run(&b, "x", NULL, more, little), 1, "the training program needs");
    static const char *const names[] = { "x", "wandb", "tb" };
    for (int i = 0; i < 3; i++) assert_false(file_exists(path_join(b.arena, b.root, names[i])));
    arena_free(b.arena);
}

static int64_t recorded_steps(Arena *a, const char *folder)
{
    RunRecord r;
    assert_no_error(run_record_read(a, folder, &r));
    return r.steps;
}

TEST(steps_in_the_record_are_current_at_checkpoints)
{
    Arena *a = arena_new();
    const char *folder = test_folder();
    RunRecord record = { .experiment = "x", .start_folder = "y" };
    Subscriber *s = record_steps_subscriber(a, folder, &record);
    const Event step = { .kind = EVENT_PROGRESS, .progress = { .done = 3, .total = 8 } },
                evaluation = { .kind = EVENT_PROGRESS,
                               .progress = { .is_evaluation = true, .done = 7, .total = 9 } },
                saved = { .kind = EVENT_CHECKPOINT, .text = "there" };
    assert_no_error(run_record_write(folder, &record));
    assert_no_error(s->on_event(s, &step));
    assert_int_equal(recorded_steps(a, folder), 0); /* not at each step */
    assert_no_error(s->on_event(s, &evaluation));
    assert_no_error(s->on_event(s, &saved));
    assert_int_equal(recorded_steps(a, folder), 3);
    arena_free(a);
}

/* A row that is longer than a block is cut into pieces. */
TEST(long_configurations_span_blocks_of_the_wandb_file)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    Text comment = { 0 };
    for (int i = 0; i < 9000; i++) text_puts(&comment, "settings ");
    Str yaml;
    assert_no_error(file_read(a, "tests/end_to_end/train.yaml", &yaml));
    const char *path = path_join(a, b.root, "long.yaml");
    const char *text = arena_printf(a, "%s\nnotes: \"%s\"\n", yaml.ptr, comment.ptr);
    assert_no_error(file_write(path, text, strlen(text)));
    text_free(&comment);
    const char *const words[] = { "run",
                                  "--config_file_path",
                                  path,
                                  "--experiments_root_path",
                                  b.root,
                                  "--experiment_id",
                                  "x",
                                  "--set",
                                  all_subscribers(a, b.root),
                                  NULL };
    const char *const variables[] = { arena_printf(a, "TRAIN_PBIN=%s", b.pbin), NULL };
    assert_ended_well(command_output(a, words, variables));
    Str log = only_file(a, path_join(a, b.root, "wandb"), ".wandb");
    assert_true(log.len > 81000);
    assert_int_equal(count_records(log), 12);
    arena_free(a);
}
