/* test_history.c - rows of results as tracks, whether parsed or compared with an earlier row. */
#include "monitor/history.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static History read_text(Arena *a, const char *text)
{
    History h;
    const char *path = path_join(a, test_folder(), "results.jsonl");
    assert_no_error(file_write(path, text, strlen(text)));
    assert_no_error(history_read(a, path, &h));
    return h;
}

#define ROW                                                                                        \
    "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": %d, \"losses\": {\"loss\": %s}, "   \
    "\"metrics\": {\"n 2\": 7, \"note\": \"1 of 2\"}}\n"

static const char *rows_of(Arena *a, const char *const *value, int n)
{
    Text t = { 0 };
    for (int i = 0; i < n; i++) text_printf(&t, ROW, i + 1, value[i]);
    const char *text = arena_string(a, t.ptr);
    text_free(&t);
    return text;
}

/* A first row is parsed, those after it are compared: both must give the bits that strtod gives. */
TEST(numbers_of_rows_have_the_same_bits_however_they_are_read)
{
    static const char *const value[] = {
        "2.5",
        "0",
        "-0.0",
        "10.123456789012345",
        "3.14159265358979",
        "1e3",
        "-2E-7",
        "1e-310",
        "0.1",
        "123456789012345",
        "9007199254740993",
        "7.0e+22",
        "0.30000000000000004",
        "4.35",
        "1234567.8901234",
        "99999999999999.9",
        "5e-324",
        "-17",
    };
    enum { N = sizeof value / sizeof *value };
    Arena *a = arena_new();
    const History h = read_text(a, rows_of(a, value, N));
    const Track *loss = history_find(&h, "train", "loss"), *other = history_find(&h, NULL, "n 2");
    assert_int_equal(h.n_rows, N);
    assert_int_equal(h.n_bad, 0);
    assert_int_equal(loss->n, N);
    assert_true(loss->is_loss && !other->is_loss);
    for (int i = 0; i < N; i++) {
        const double want = strtod(value[i], NULL);
        if (memcmp(&loss->value[i], &want, sizeof want) != 0)
            fail_msg("%s was read as %.17g", value[i], loss->value[i]);
        assert_true(loss->step[i] == i + 1 && other->value[i] == 7);
    }
    assert_true(isnan(history_find(&h, NULL, "note")->value[N - 1]));
    arena_free(a);
}

TEST(what_is_no_number_is_a_gap_and_what_is_no_json_is_no_row)
{
    static const char *const value[] = { "1.5",      "NaN", "Infinity", "-Infinity", "null",
                                         "\"text\"", "2.5", "1e400",    "01",        "1.",
                                         "--1",      ".5",  "+1",       "1e",        "3.5 4" };
    enum { N = sizeof value / sizeof *value, GOOD = 7 };
    Arena *a = arena_new();
    const History h = read_text(a, rows_of(a, value, N));
    const Track *loss = history_find(&h, "train", "loss");
    assert_int_equal(h.n_rows, GOOD);
    assert_int_equal(h.n_bad, N - GOOD);
    assert_int_equal(h.first_bad, GOOD + 1);
    assert_int_equal(loss->n, GOOD);
    for (int i = 0; i < GOOD; i++) assert_int_equal(isnan(loss->value[i]), i > 0 && i < GOOD - 1);
    arena_free(a);
}

/* Steps that were done again after a restart count once; rows of several shapes take turns. */
TEST(later_rows_of_a_step_replace_earlier_ones_and_shapes_take_turns)
{
    Arena *a = arena_new();
    Text t = { 0 };
    for (int i = 1; i <= 40; i++) {
        const int step = i <= 20 ? i : i - 10;
        text_printf(&t, ROW, step, i <= 20 ? "1" : "2");
        text_printf(&t,
                    "{\"dataloader_tag\": \"v%d\", \"num_train_steps_done\": %d, \"losses\": "
                    "{\"x\": %d.5}}\n",
                    i % 12, i, i);
    }
    text_puts(&t, "{\"dataloader_tag\": \"train\", \"num_train_steps_done\": NaN, \"losses\": "
                  "{\"loss\": 1}}\n");
    const History h = read_text(a, t.ptr);
    const Track *loss = history_find(&h, "train", "loss");
    assert_int_equal(h.n_bad, 1);
    assert_int_equal(loss->n, 30);
    for (int i = 0; i < 30; i++) {
        assert_true(loss->step[i] == i + 1);
        assert_true(loss->value[i] == (i < 10 ? 1 : 2));
    }
    for (int k = 0; k < 12; k++) {
        const Track *v = history_find(&h, arena_printf(a, "v%d", k), "x");
        assert_true(v->value[v->n - 1] == v->step[v->n - 1] + 0.5);
        assert_true(v->n >= 3);
    }
    text_free(&t);
    arena_free(a);
}
