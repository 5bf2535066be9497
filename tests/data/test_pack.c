/* test_pack.c - packing with a toy tokenizer: order, ends of documents, bad lines, stops. */
#include "base/log.h"
#include "base/signal.h"
#include "data/jsonl.h"
#include "data/pack.h"
#include "data/pbin.h"
#include "data/toy_tokenizer.h"
#include "test.h"
#include <signal.h>
#include <string.h>

/* Writes `text` as lines.jsonl with its index and gives settings that pack it. */
static PackSettings settings_for(Arena *a, const char *text)
{
    const char *path = path_join(a, test_folder(), "lines.jsonl");
    IndexSummary summary;
    assert_no_error(file_write(path, text, strlen(text)));
    assert_no_error(jsonl_write_index(path, path_with_suffix(a, path, ".idx"), NULL, &summary));
    return (PackSettings){ .src_path = path,
                           .dst_path = path_with_suffix(a, path, ".pbin"),
                           .jq_pattern = ".text",
                           .eod_token = "<eod>",
                           .num_cpus = 1,
                           .processing_batch_size = 3,
                           .raw_samples_queue_size = 2,
                           .processed_samples_queue_size = 2 };
}

/* The documents of the packed file, each as text between '|'. */
static const char *documents(Arena *a, const char *path)
{
    Pbin p;
    IndexEntry *document;
    int64_t n;
    assert_no_error(pbin_open(a, path, &p));
    assert_no_error(pbin_documents(a, &p, &document, &n));
    Text t = { 0 };
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < document[i].length / p.token_bytes; k++)
            text_putc(&t, (char)pbin_token(&p, document[i].offset / p.token_bytes + k));
        text_putc(&t, '|');
    }
    const char *result = arena_string_n(a, t.ptr ? t.ptr : "", t.len);
    text_free(&t);
    return result;
}

static void assert_packs(const char *text, const char *expected)
{
    Arena *a = arena_new();
    PackSettings s = settings_for(a, text);
    Tokenizer toy = toy_tokenizer(256);
    PackSummary summary;
    assert_no_error(pack_jsonl(&s, &toy, &summary));
    assert_string_equal(documents(a, s.dst_path), expected);
    assert_int_equal(summary.n_bad, 0);
    arena_free(a);
}

TEST(documents_end_with_one_eod)
{
    assert_packs("{\"text\": \"ab\"}\n{\"text\": \"c\"}\n", "ab\n|c\n|");
    assert_packs("{\"text\": \"ends\\n\"}\n{\"text\": \"\\n\"}\n{\"text\": \"twice\\n\\n\"}",
                 "ends\n|\n|twice\n\n|");
    assert_packs("{\"text\": \"in\\nside\"}", "in\nside\n|");
}

/* Lines of very different lengths, so that workers finish out of order. */
static const char *many_lines(Arena *a, int n, Text *expected)
{
    Text t = { 0 };
    for (int i = 0; i < n; i++) {
        int length = i % 17 == 0 ? 20000 : i * 7 % 50;
        text_printf(&t, "{\"text\": \"%d:%0*d\"}\n", i, length + 1, 0);
        text_printf(expected, "%d:%0*d\n|", i, length + 1, 0);
    }
    const char *text = arena_string_n(a, t.ptr, t.len);
    text_free(&t);
    return text;
}

TEST(the_packed_file_does_not_depend_on_threads_batches_or_queues)
{
    Arena *a = arena_new();
    Text expected = { 0 };
    PackSettings s = settings_for(a, many_lines(a, 300, &expected));
    Tokenizer toy = toy_tokenizer(256);
    PackSummary summary;
    static const int64_t table[][4] = {
        { 1, 1, 1, 1 }, { 1, 1000, 5, 5 }, { 4, 1, 1, 1 }, { 4, 7, 1, 3 }, { 3, 299, 9, 9 }
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        s.jq_pattern = i % 2 ? ".text" : ".text | ."; /* the second one runs in libjq */
        s.num_cpus = table[i][0];
        s.processing_batch_size = table[i][1];
        s.raw_samples_queue_size = table[i][2];
        s.processed_samples_queue_size = table[i][3];
        assert_no_error(pack_jsonl(&s, &toy, &summary));
        assert_string_equal(documents(a, s.dst_path), expected.ptr);
        assert_int_equal(summary.n_documents, 300);
        assert_int_equal(summary.n_tokens, (int64_t)expected.len - 300); /* less the '|' */
    }
    text_free(&expected);
    arena_free(a);
}

static const char bad_lines[] =
    "{\"text\": \"a\"}\n{\"text\": \"\"}\n{\"text\": \"b\"}\n{\"other\": 1}\n"
    "{\"text\": \"c\"}\n{\"text\": \"\\ud83d\"}\n{\"text\": \"d#\"}\n{\"text\": \"e\"}\n"
    "{\"text\": \"\xed\xa0\x80\"}\n{\"text\": \"f~\"}";

TEST(the_first_bad_line_of_the_file_stops_and_leaves_what_was_there)
{
    Arena *a = arena_new();
    PackSettings s = settings_for(a, bad_lines);
    Tokenizer toy = toy_tokenizer(256);
    PackSummary summary;
    Str before;
    s.num_cpus = 3;
    s.processing_batch_size = 1;
    for (int i = 0; i < 5; i++) {
        assert_error_has(pack_jsonl(&s, &toy, &summary),
                         "lines.jsonl:2: the text is empty: it has no tokens (byte 14");
        assert_error_has(pack_jsonl(&s, &toy, &summary), "with --set settings.on_bad_line=skip ");
        assert_false(file_exists(s.dst_path));
    }
    assert_no_error(file_write(s.dst_path, "old", 3));
    assert_error_has(pack_jsonl(&s, &toy, &summary), "lines.jsonl:2:");
    assert_no_error(file_read(a, s.dst_path, &before));
    assert_string_equal(before.ptr, "old");
    arena_free(a);
}

TEST(bad_lines_are_left_out_and_counted_when_told_so)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    PackSettings s = settings_for(a, bad_lines);
    Tokenizer toy = toy_tokenizer(256);
    PackSummary summary;
    s.on_bad_line = BAD_LINE_SKIP;
    for (s.processing_batch_size = 1; s.processing_batch_size < 12; s.processing_batch_size += 3) {
        assert_no_error(pack_jsonl(&s, &toy, &summary));
        assert_string_equal(documents(a, s.dst_path), "a\n|b\n|c\n|e\n|");
        assert_int_equal(summary.n_documents, 4);
        assert_int_equal(summary.n_bad, 6);
    }
    arena_free(a);
}

static void assert_stops(const char *text, const char *message)
{
    Arena *a = arena_new();
    PackSettings s = settings_for(a, text);
    Tokenizer toy = toy_tokenizer(256);
    PackSummary summary;
    assert_error_has(pack_jsonl(&s, &toy, &summary), message);
    assert_false(file_exists(s.dst_path));
    arena_free(a);
}

TEST(each_kind_of_bad_line_says_what_is_wrong)
{
    assert_stops("{\"text\": \"a\"}\n{\"txet\": \"b\"}",
                 "lines.jsonl:2: jq_pattern '.text' finds nothing");
    assert_stops("{\"text\": 5}",
                 "lines.jsonl:1: jq_pattern '.text' finds a number where a string is needed");
    assert_stops("{\"text\": \"\\ud83d\"}",
                 "lines.jsonl:1:11: a surrogate \\uXXXX escape without its other half");
    assert_stops("{\"text\": \"a#\"}", "lines.jsonl:1: the toy tokenizer has no '#'");
    assert_stops("{\"text\": \"~\"}", "lines.jsonl:1: token 70000 does not fit into the 1 bytes");
}

TEST(settings_that_cannot_work_are_refused_before_any_line_is_read)
{
    Arena *a = arena_new();
    PackSettings s = settings_for(a, "{\"text\": \"a\"}"), bad;
    Tokenizer toy = toy_tokenizer(256);
    PackSummary summary;
    bad = s;
    bad.eod_token = "<|nothing|>";
    assert_error_has(pack_jsonl(&bad, &toy, &summary),
                     "eod_token '<|nothing|>' is no token of the tokenizer");
    bad.eod_token = "<far>";
    assert_error_has(pack_jsonl(&bad, &toy, &summary),
                     "eod_token '<far>' has the id 70000, which does not fit into 1 ");
    bad = s;
    bad.jq_pattern = ".[";
    assert_error_has(pack_jsonl(&bad, &toy, &summary), "jq_pattern '.['");
    bad = s;
    bad.src_path = path_join(a, test_folder(), "other.jsonl");
    assert_no_error(file_write(bad.src_path, "1", 1));
    assert_error_has(pack_jsonl(&bad, &toy, &summary), "create_raw_index");
    bad.index_path = path_with_suffix(a, s.src_path, ".idx");
    assert_error_has(pack_jsonl(&bad, &toy, &summary), "the index was made from another file");
    bad = s;
    bad.dst_path = path_join(a, test_folder(), "lines.jsonl/x/y.pbin");
    assert_error_has(pack_jsonl(&bad, &toy, &summary), "lines.jsonl/x");
    bad.dst_path = path_join(a, test_folder(), "new/folder/y.pbin");
    assert_no_error(pack_jsonl(&bad, &toy, &summary));
    assert_string_equal(documents(a, bad.dst_path), "a\n|");
    assert_false(file_exists(s.dst_path));
    arena_free(a);
}

TEST(ids_of_two_bytes_are_packed_as_such)
{
    Arena *a = arena_new();
    PackSettings s = settings_for(a, "{\"text\": \"ab\"}");
    Tokenizer toy = toy_tokenizer(50000);
    PackSummary summary;
    Str file;
    assert_no_error(pack_jsonl(&s, &toy, &summary));
    assert_int_equal(summary.token_bytes, 2);
    assert_no_error(file_read(a, s.dst_path, &file));
    assert_memory_equal(file.ptr, "\x06\0\0\0\0\0\0\0\x02\0\0\0a\0b\0\n\0\x80", 19);
    arena_free(a);
}

TEST(a_stop_that_cannot_be_continued_leaves_nothing)
{
    Arena *a = arena_new();
    Text expected = { 0 };
    PackSettings s = settings_for(a, many_lines(a, 50, &expected));
    Tokenizer toy = toy_tokenizer(256);
    PackSummary summary;
    signal_catch();
    raise(SIGINT);
    Error *e = pack_jsonl(&s, &toy, &summary);
    assert_int_equal(error_exit_status(e), EXIT_STOPPED);
    assert_error_has(e, "lines.pbin was not written");
    PathList left = { 0 };
    assert_no_error(files_below(a, test_folder(), "", &left));
    assert_int_equal(left.n, 2); /* the lines and their index */
    text_free(&expected);
    arena_free(a);
}

TEST(lines_over_the_limit_are_bad_lines)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    PackSettings s = settings_for(
        a, "{\"text\": \"a\"}\n{\"text\": \"long\"}\n{\"text\": \"b\"}\n{\"text\": \"abc\"}");
    Tokenizer toy = toy_tokenizer(256);
    PackSummary summary;
    s.max_line_bytes = 15;
    assert_error_has(pack_jsonl(&s, &toy, &summary),
                     "lines.jsonl:2: a line of more than 15 bytes (max_line_bytes) (byte 14 of");
    s.on_bad_line = BAD_LINE_SKIP;
    assert_no_error(pack_jsonl(&s, &toy, &summary));
    assert_string_equal(documents(a, s.dst_path), "a\n|b\n|abc\n|");
    assert_int_equal(summary.n_bad, 1);
    arena_free(a);
}
