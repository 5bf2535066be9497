/* test_bad_lines.c - lines that are left out: named, counted by reason, reported; or the first one
 * stops. */
#include "cli/command_line.h"
#include "data/bad_lines.h"
#include "test.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *at(Arena *a, const char *name)
{
    return path_join(a, test_folder(), name);
}

/* 40 lines, each third one broken in one of three ways. */
static const char *write_lines(Arena *a)
{
    static const char *const broken[] = { "", "{\"text\": \"\\ud8\"}", "{\"text\": \"\xff\"}" };
    Text t = { 0 };
    for (int i = 0; i < 40; i++)
        text_printf(&t, "%s\n", i % 3 ? "{\"text\": \"a\"}" : broken[i / 3 % 3]);
    assert_no_error(file_write(at(a, "x.jsonl"), t.ptr, t.len));
    text_free(&t);
    return at(a, "x.jsonl");
}

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part)) n++;
    return n;
}

TEST(bad_lines_are_named_counted_by_reason_and_reported)
{
    Arena *a = arena_new();
    const char *said;
    const char *args =
        arena_printf(a, "data create_raw_index %s --on_bad_line skip --bad_line_report %s",
                     write_lines(a), at(a, "new/report.jsonl"));
    assert_int_equal(command_line_run(a, args, &said), 0);
    assert_int_equal(count_of(said, "skipped: "), 10);
    assert_contains(said, "x.jsonl:1:1: an empty line is not JSON");
    assert_contains(said, "further bad lines are only counted");
    assert_contains(said, "x.jsonl: 14 of 40 lines were left out\n  5: an empty line is not JSON\n"
                          "  5: ");
    Str report;
    assert_no_error(file_read(a, at(a, "new/report.jsonl"), &report));
    int64_t n = 0;
    for (char *rest = (char *)report.ptr, *line; (line = strsep(&rest, "\n")) && *line; n++) {
        json_error_t e;
        json_t *j = json_loads(line, 0, &e);
        assert_non_null(j);
        assert_string_equal(json_string_value(json_object_get(j, "file")), at(a, "x.jsonl"));
        assert_int_equal(json_integer_value(json_object_get(j, "line")), n * 3 + 1);
        assert_true(strlen(json_string_value(json_object_get(j, "reason"))) > 5);
        if (n % 3 == 0) assert_string_equal(json_string_value(json_object_get(j, "text")), "");
        json_decref(j);
    }
    assert_int_equal(n, 14);
    arena_free(a);
}

TEST(the_first_bad_line_stops_and_leaves_no_report)
{
    Arena *a = arena_new();
    const char *said, *path = write_lines(a);
    static const char *const policies[] = { "", "--on_bad_line stop", "--on_bad_line error" };
    for (int i = 0; i < 3; i++) {
        const char *args = arena_printf(a, "data create_raw_index %s %s --bad_line_report %s", path,
                                        policies[i], at(a, "report.jsonl"));
        assert_int_equal(command_line_run(a, args, &said), 1);
        assert_contains(said, "x.jsonl:1:1: an empty line is not JSON");
        assert_contains(said, "with --on_bad_line skip such lines are named");
        PathList left = { 0 };
        assert_no_error(files_below(a, test_folder(), "", &left));
        for (int64_t k = 0; k < left.n; k++)
            assert_false(text_matches("*report*", path_name(left.item[k])));
    }
    assert_int_equal(command_line_run(a,
                                      arena_printf(a,
                                                   "data create_raw_index %s --on_bad_line skip "
                                                   "--bad_line_report %s",
                                                   path, test_folder()),
                                      &said),
                     1);
    assert_contains(said, "--bad_line_report: ");
    assert_contains(said, " is a folder");
    arena_free(a);
}

/* Reasons that name numbers do not fill the memory. */
TEST(many_different_reasons_are_counted_together)
{
    BadLines b;
    assert_no_error(bad_lines_open(BAD_LINE_SKIP, NULL, &b));
    for (int i = 0; i < 300; i++)
        assert_no_error(bad_lines_add(&b, "x", i, i, str_of("line"), -1, error_new("bad %d", i)));
    assert_int_equal(b.n, 300);
    assert_int_equal(b.reason->n, 101);
    assert_int_equal(*(int64_t *)map_get(b.reason, str_of("other reasons")), 200);
    assert_no_error(bad_lines_close(&b, true));
}

/* ---- what a report replaces ---- */

TEST(a_report_replaces_an_older_report_and_nothing_else)
{
    static const char *const others[] = { "{\"text\": \"a user's line\"}\n", "\n", "x",
                                          "{\"file\": \"a\", \"line\": 1}\n", "\x01\x02" };
    Arena *a = arena_new();
    const char *lines = write_lines(a), *report = at(a, "report"), *said;
    const char *args = arena_printf(a,
                                    "data create_raw_index %s --on_bad_line skip --bad_line_report "
                                    "%s --file_existence_policy override",
                                    lines, report);
    Str first, again;
    assert_int_equal(command_line_run(a, args, &said), 0);
    assert_no_error(file_read(a, report, &first));
    assert_true(first.len > 0);
    assert_int_equal(command_line_run(a, args, &said), 0);
    assert_no_error(file_read(a, report, &again));
    assert_string_equal(again.ptr, first.ptr);
    assert_no_error(file_write(report, "", 0));
    assert_int_equal(command_line_run(a, args, &said), 0);
    for (int i = 0; i < 5; i++) {
        assert_no_error(file_write(report, others[i], strlen(others[i])));
        assert_int_equal(command_line_run(a, args, &said), 1);
        assert_contains(said, "report is there already and is not a report of bad lines");
        assert_no_error(file_read(a, report, &again));
        assert_string_equal(again.ptr, others[i]);
    }
    arena_free(a);
}
