/* test_jsonl.c - indexing of JSON lines: what is in the index, and what is said of bad lines. */
#include "base/log.h"
#include "data/jsonl.h"
#include "test.h"
#include <string.h>

static const char *file_with(Arena *a, const char *name, const char *text)
{
    const char *path = path_join(a, test_folder(), name);
    assert_no_error(file_write(path, text, strlen(text)));
    return path;
}

/* "offset+length ..." of each entry after indexing this text. */
static void assert_index(const char *text, const char *expected)
{
    Arena *a = arena_new();
    const char *path = file_with(a, "some.jsonl", text), *index = path_with_suffix(a, path, ".idx");
    IndexSummary summary;
    assert_no_error(jsonl_write_index(path, index, NULL, &summary));
    Jsonl j;
    assert_no_error(jsonl_open(a, path, NULL, &j));
    assert_int_equal(summary.n_lines, index_count(j.index));
    assert_int_equal(summary.n_bytes, strlen(text));
    Text got = { 0 };
    IndexEntry entry;
    while (index_next(j.index, &entry))
        text_printf(&got, "%lld+%lld ", (long long)entry.offset, (long long)entry.length);
    assert_string_equal(got.ptr, expected);
    text_free(&got);
    arena_free(a);
}

TEST(each_line_gets_an_entry)
{
    assert_index("1\n", "0+1 ");
    assert_index("1", "0+1 ");
    assert_index("{\"a\": 1}\n[2]\nnull", "0+8 9+3 13+4 ");
    assert_index("1\r\n2\r\n", "0+2 3+2 ");
    assert_index("  1 \n\xef\xbb\xbf[]\n\"\xc3\xb8\"\n", "0+4 5+5 11+4 ");
}

static void assert_bad(const char *text, const char *message)
{
    Arena *a = arena_new();
    const char *path = file_with(a, "some.jsonl", text), *index = path_with_suffix(a, path, ".idx");
    IndexSummary summary;
    assert_error_has(jsonl_write_index(path, index, NULL, &summary), message);
    assert_false(file_exists(index));
    arena_free(a);
}

TEST(the_first_bad_line_is_named_and_nothing_is_written)
{
    assert_bad("", "some.jsonl:1:1: an empty line is not JSON (byte 0 of the file");
    assert_bad("1\n\n", "some.jsonl:2:1: an empty line is not JSON (byte 2 of the file");
    assert_bad("1\n \r\n2", "some.jsonl:2:3: an empty line");
    assert_bad("{\"a\": 1}\n{\"text\": \"unterminated}\n{\"b\": 1}",
               "some.jsonl:2:10: Unterminated string starting here (byte 18 of the file, in "
               "\"{\\\"text\\\": \\\"unterminated}\")");
    assert_bad("1\n2\n\"\xff\"", "some.jsonl:3:2: invalid UTF-8");
    assert_bad("{} {}", "some.jsonl:1:4: Extra data");
}

TEST(long_bad_lines_are_shown_around_the_fault)
{
    char text[400];
    memset(text, 'x', sizeof text);
    text[0] = '"';
    text[200] = '\t';
    text[399] = 0;
    assert_bad(text,
               "some.jsonl:1:201: Invalid control character in a string (byte 200 of the file, in "
               "...\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\\txxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"...)");
}

TEST(bad_lines_are_counted_and_left_out_when_told_so)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    const char *path = file_with(a, "some.jsonl", "1\nbad\n2\n\n3");
    IndexSummary summary;
    BadLines bad;
    assert_no_error(bad_lines_open(BAD_LINE_SKIP, NULL, &bad));
    assert_no_error(jsonl_write_index(path, path_with_suffix(a, path, ".idx"), &bad, &summary));
    assert_int_equal(bad.n, 2);
    assert_int_equal(bad.reason->n, 2);
    assert_no_error(bad_lines_close(&bad, true));
    assert_int_equal(summary.n_lines, 5);
    assert_int_equal(summary.n_bad, 2);
    Jsonl j;
    Str line;
    assert_no_error(jsonl_open(a, path, NULL, &j));
    IndexEntry *entry = index_read_all(a, j.index);
    assert_int_equal(index_count(j.index), 3);
    for (int i = 0; i < 3; i++) {
        assert_no_error(jsonl_line(&j, entry[i], &line));
        assert_int_equal(line.len, 1);
        assert_int_equal(line.ptr[0], '1' + i);
    }
    arena_free(a);
}

TEST(an_index_that_is_missing_or_of_another_file_is_refused)
{
    Arena *a = arena_new();
    Jsonl j;
    IndexSummary summary;
    Str line;
    const char *path = file_with(a, "a.b.jsonl", "1\n2\n"),
               *longer = file_with(a, "longer.jsonl", "1\n2\n333\n");
    const char *index = path_join(a, test_folder(), "longer.idx");
    assert_error_has(jsonl_open(a, path, NULL, &j), "a.b.idx; `modalities data create_raw_index");
    assert_no_error(jsonl_write_index(longer, index, NULL, &summary));
    assert_no_error(jsonl_open(a, path, index, &j));
    IndexEntry *entry = index_read_all(a, j.index);
    assert_no_error(jsonl_line(&j, entry[1], &line));
    assert_error_has(jsonl_line(&j, entry[2], &line),
                     "longer.idx has an entry for bytes 4 to 7 of ");
    assert_error_has(jsonl_open(a, path_join(a, test_folder(), "nowhere.jsonl"), NULL, &j),
                     "nowhere.jsonl");
    arena_free(a);
}

TEST(line_numbers_are_found_for_offsets_in_any_order)
{
    LineCounter c = { .text = str_of("a\nbb\n\nc") };
    assert_int_equal(line_at(&c, 0), 1);
    assert_int_equal(line_at(&c, 2), 2);
    assert_int_equal(line_at(&c, 6), 4);
    assert_int_equal(line_at(&c, 5), 3);
    assert_int_equal(line_at(&c, 7), 4);
}

/* Every entry is a line of the file, in order; the lines are all there. */
static void assert_lines(const char *name, int64_t n_lines)
{
    Arena *a = arena_new();
    const char *path = shared_path(a, name), *index = path_join(a, test_folder(), "lines.idx");
    IndexSummary summary;
    Jsonl j;
    IndexEntry entry;
    Str line;
    assert_no_error(jsonl_write_index(path, index, NULL, &summary));
    assert_no_error(jsonl_open(a, path, index, &j));
    assert_int_equal(index_count(j.index), n_lines);
    size_t at = 0;
    while (index_next(j.index, &entry)) {
        assert_no_error(jsonl_line(&j, entry, &line));
        assert_ptr_equal(line.ptr, j.text.ptr + at);
        assert_null(memchr(line.ptr, '\n', line.len));
        at += line.len + 1;
        assert_true(at >= j.text.len || j.text.ptr[at - 1] == '\n');
    }
    assert_true(at == j.text.len || at == j.text.len + 1);
    arena_free(a);
}

TEST(indexes_of_real_files_cover_their_lines)
{
    assert_lines("data/modalities/tests/data/datasets/danish_test_dataset.jsonl", 10);
    assert_lines("data/modalities/tests/data/datasets/lorem_ipsum_long.jsonl", 500);
    assert_lines("data/modalities/tests/data/datasets/lorem_ipsum_without_last_newline.jsonl", 9);
}

/* ---- with all cores ---- */

/* The same by a plain loop: what an index of these lines must hold. */
static void assert_index_of_lines(Arena *a, const char *path, int64_t n_bad)
{
    const char *index = path_with_suffix(a, path, ".idx");
    IndexSummary summary;
    BadLines bad;
    Jsonl with, without;
    IndexEntry entry, expected;
    assert_no_error(bad_lines_open(BAD_LINE_SKIP, NULL, &bad));
    assert_no_error(jsonl_write_index(path, index, &bad, &summary));
    assert_no_error(bad_lines_close(&bad, true));
    assert_int_equal(summary.n_bad, n_bad);
    assert_no_error(jsonl_open(a, path, NULL, &with));
    TextInput input = { .path = path, .text = with.text };
    assert_no_error(jsonl_open_text(a, &input, NULL, &without));
    int64_t n_lines = 0;
    for (; jsonl_next(&without, &expected); n_lines++) {
        if (!expected.length || with.text.ptr[expected.offset] == '!') continue;
        assert_true(jsonl_next(&with, &entry));
        assert_int_equal(entry.offset, expected.offset);
        assert_int_equal(entry.length, expected.length);
    }
    assert_false(jsonl_next(&with, &entry));
    assert_int_equal(summary.n_lines, n_lines);
}

/* Lines around and far above the size of a block, and many short ones, good and bad. */
TEST(lines_across_blocks_are_indexed_once_and_in_order)
{
    static const int64_t length[] = { 2,      262140, 262141, 1,       7,      786432, 262144,
                                      262143, 5,      262145, 1000000, 524286, 524287, 3 };
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "blocks.jsonl");
    Text t = { 0 };
    int64_t n_bad = 0;
    log_set_level(LOG_SILENT);
    for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
        char *line = arena_alloc(a, (size_t)length[k]);
        memset(line, '1', (size_t)length[k]);
        if (k % 5 == 3) line[0] = '!';
        n_bad += k % 5 == 3;
        text_add(&t, line, (size_t)length[k]);
        text_putc(&t, '\n');
        for (size_t i = 0; i < 20000 * (k % 3); i++) {
            bool is_empty = i % 1000 == 999;
            text_puts(&t, is_empty ? "\n" : "[\"\"]\n");
            n_bad += is_empty;
        }
    }
    text_puts(&t, "[]\n");
    assert_no_error(file_write(path, t.ptr, t.len));
    assert_index_of_lines(a, path, n_bad);
    assert_no_error(file_write(path, t.ptr, t.len - 1)); /* the last newline is optional */
    assert_index_of_lines(a, path, n_bad);
    text_free(&t);
    arena_free(a);
}

/* Of several bad lines in several blocks the first one is named, whichever thread was first. */
TEST(the_first_bad_line_of_many_blocks_is_named)
{
    enum { LINES = 400000, FIRST = 123456 };
    Arena *a = arena_new();
    IndexSummary summary;
    const char *path = path_join(a, test_folder(), "many.jsonl"),
               *index = path_with_suffix(a, path, ".idx");
    Text t = { 0 };
    for (int i = 0; i < LINES; i++) text_puts(&t, i >= FIRST && i % 7 ? "nul\n" : "123\n");
    assert_no_error(file_write(path, t.ptr, t.len));
    assert_error_has(jsonl_write_index(path, index, NULL, &summary),
                     "many.jsonl:123457:1: Expecting value (byte 493824 of the file");
    assert_false(file_exists(index));
    text_free(&t);
    arena_free(a);
}

TEST(lines_over_the_limit_are_bad_and_the_ones_behind_them_are_found)
{
    enum { LIMIT = 1000 };
    Arena *a = arena_new();
    IndexSummary summary;
    BadLines bad;
    Jsonl j;
    const char *path = path_join(a, test_folder(), "long.jsonl"),
               *index = path_with_suffix(a, path, ".idx");
    static const int64_t length[] = { LIMIT, LIMIT + 1, 5, 300000, 900000, LIMIT, 2 * LIMIT, 1 };
    Text t = { 0 }, got = { 0 };
    log_set_level(LOG_SILENT);
    for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
        for (int64_t i = 0; i < length[k]; i++) text_putc(&t, '1');
        if (k < 7) text_putc(&t, '\n');
    }
    assert_no_error(file_write(path, t.ptr, t.len));
    assert_no_error(bad_lines_open(BAD_LINE_SKIP, NULL, &bad));
    bad.max_line_bytes = LIMIT;
    assert_no_error(jsonl_write_index(path, index, &bad, &summary));
    assert_int_equal(summary.n_lines, 8);
    assert_int_equal(summary.n_bad, 4);
    assert_int_equal(bad.reason->n, 1);
    assert_string_equal(bad.reason->entry[0].key.ptr,
                        "a line of more than 1000 bytes (max_line_bytes)");
    assert_no_error(bad_lines_close(&bad, true));
    assert_no_error(jsonl_open(a, path, NULL, &j));
    for (IndexEntry e; jsonl_next(&j, &e);) text_printf(&got, "%lld ", (long long)e.length);
    assert_string_equal(got.ptr, "1000 5 1000 1 ");
    assert_no_error(bad_lines_open(BAD_LINE_STOP, NULL, &bad));
    bad.max_line_bytes = LIMIT;
    assert_error_has(jsonl_write_index(path, index, &bad, &summary),
                     "long.jsonl:2: a line of more than 1000 bytes (max_line_bytes) (byte 1001 of");
    assert_no_error(bad_lines_close(&bad, false));
    text_free(&t);
    text_free(&got);
    arena_free(a);
}
