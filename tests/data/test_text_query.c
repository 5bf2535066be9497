/* test_text_query.c - jq patterns find the same text whether looked up or run by libjq. */
#include "data/text_query.h"
#include "test.h"
#include <string.h>

/* The text, or "error ...". */
static const char *run(Arena *a, TextQuery *q, Str line)
{
    Text out = { 0 };
    int64_t column;
    Error *e = text_query_run(q, line, &out, &column);
    const char *result = e ? arena_printf(a, "error at %lld: %s", (long long)column, error_text(e))
                           : arena_string_n(a, out.ptr ? out.ptr : "", out.len);
    error_free(e);
    text_free(&out);
    return result;
}

static void assert_text(const char *pattern, const char *line, const char *expected)
{
    Arena *a = arena_new();
    TextQuery *q;
    assert_no_error(text_query_new(pattern, &q));
    assert_string_equal(run(a, q, str_of(line)), expected);
    text_query_free(q);
    arena_free(a);
}

TEST(a_pattern_gives_the_first_string_it_finds)
{
    const char *line = "{\"text\": \"t\", \"n\": 5, \"a\": {\"b\": [{\"text\": \"deep\"}], "
                       "\"parts\": [\"x\", \"y\"]}}";
    assert_text(".text", line, "t");
    assert_text(" .text ", line, "t");
    assert_text(".a.b[0].text", line, "deep");
    assert_text(".a.parts[]", line, "x");
    assert_text(".a.parts | join(\" \")", line, "x y");
    assert_text(".n | tostring", line, "5");
    assert_text("\"\\(.n): \\(.text | ascii_upcase)\"", line, "5: T");
    assert_text(".", "\"whole\"", "whole");
    assert_text("", "\"whole\"", "whole");
    assert_text(".missing // .text", line, "t");
}

TEST(what_gives_no_string_says_why)
{
    assert_text(".text", "{}", "error at -1: jq_pattern '.text' finds nothing");
    assert_text(".text", "null", "error at -1: jq_pattern '.text' finds nothing");
    assert_text(".text", "{\"text\": [\"a\"]}",
                "error at -1: jq_pattern '.text' finds an array where a string is needed");
    assert_text(".text", "{\"text\": 1}",
                "error at -1: jq_pattern '.text' finds a number where a string is needed");
    assert_text(".text", "3",
                "error at -1: jq_pattern '.text': Cannot index number with string \"text\"");
    assert_text(".text", "{\"text\": \"a}", "error at 9: Unterminated string starting here");
    assert_text(".text|.", "{\"text\": \"a}", "error at 9: Unterminated string starting here");
    assert_text("empty", "{}", "error at -1: jq_pattern 'empty' finds nothing");
    assert_text("error(\"no\")", "{}", "error at -1: jq_pattern 'error(\"no\")': no");
    assert_text("error({a: 1})", "{}", "error at -1: jq_pattern 'error({a: 1})': {\"a\":1}");
}

TEST(a_pattern_that_does_not_compile_is_an_error_with_jqs_reason)
{
    TextQuery *q;
    assert_error_has(text_query_new(".[", &q), "jq_pattern '.[': jq: error: syntax error");
    assert_error_has(text_query_new(".text | nonsense", &q), "nonsense/0 is not defined");
}

static const char *without_pattern(const char *result)
{
    const char *finds = strstr(result, "' finds"), *reason = strstr(result, "': ");
    return finds ? finds : reason ? reason : result;
}

/* `slow` means the same as `fast` but is not only keys. */
static void assert_same(const char *fast, const char *slow, const char *const *line, size_t n)
{
    Arena *a = arena_new();
    TextQuery *x, *y;
    assert_no_error(text_query_new(fast, &x));
    assert_no_error(text_query_new(slow, &y));
    for (size_t i = 0; i < n; i++)
        assert_string_equal(without_pattern(run(a, x, str_of(line[i]))),
                            without_pattern(run(a, y, str_of(line[i]))));
    text_query_free(x);
    text_query_free(y);
    arena_free(a);
}

TEST(plain_keys_give_what_libjq_gives)
{
    static const char *const lines[] = {
        "{\"text\": \"a\", \"text\": \"b\"}",
        "{\"te\\u0078t\": \"escaped\"}",
        "{\"text\": \"\\u0000\\ud83d\\ude00\\/\"}",
        "{\"text\": null}",
        "{\"text\": {\"text\": \"x\"}}",
        "[1]",
        "\"s\"",
        "null",
        "NaN",
        "true",
        "{\"a\": {\"text\": \"x\"}, \"a\": null}",
        "{\"a\": {\"text\": \"x\"}, \"a\": 3}",
        "{\"a\": 3, \"a\": {\"text\": \"x\"}}",
        "{\"a\": {\"text\": \"x\"}, \"a\": {}}",
        "{\"a\": {\"text\": \"x\"}}",
        "\xef\xbb\xbf{\"text\": \"after a mark\"}",
        "{\"text\": \"x\", \"n\": [NaN, Infinity, -Infinity, 1e999]}\r",
        "{\"text\": \"\\ude00\"}",
        "{\"text\": \"\xed\xa0\x80\"}",
        "{\"text\": \"x\"} 1",
        "{\"text\": 01}",
        "",
    };
    enum { N = sizeof lines / sizeof *lines };
    assert_same(".text", ".text|.", lines, N);
    assert_same(".a.text", ".a|.text", lines, N);
    assert_same(".a.text.b", "(.a.text.b)", lines, N);
}

TEST(a_query_is_used_for_one_line_after_another)
{
    TextQuery *q;
    Text out = { 0 };
    int64_t column;
    assert_no_error(text_query_new(".a[]", &q));
    for (int i = 0; i < 3; i++) {
        assert_no_error(
            text_query_run(q, str_of("{\"a\": [\"first\", \"second\"]}"), &out, &column));
        assert_string_equal(out.ptr, "first");
        error_free(text_query_run(q, str_of("{\"a\": 1}"), &out, &column));
        error_free(text_query_run(q, str_of("nonsense"), &out, &column));
    }
    text_free(&out);
    text_query_free(q);
}
