/* test_filter.c - filters of packed files: expressions over number, length and text, lists of
 * numbers, and what is refused. */
#include "data/filter.h"
#include "data/packed_file.h"
#include "data/pbin.h"
#include "data/toy_tokenizer.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

/* The first tokens of the documents that pass, as "0 3 8 "; or the error. */
static const char *kept(Arena *a, const Filter *f)
{
    FilterSummary done;
    Error *e = filter_pbin(f, &done);
    if (e) {
        const char *text = arena_printf(a, "error: %s", error_text(e));
        error_free(e);
        assert_false(file_exists(f->target));
        return text;
    }
    Pbin p;
    IndexEntry *document;
    int64_t n;
    Text t = { 0 };
    assert_no_error(pbin_open(a, f->target, &p));
    assert_no_error(pbin_documents(a, &p, &document, &n));
    assert_int_equal(n, done.n_kept);
    for (int64_t i = 0; i < n; i++)
        text_printf(&t, "%u ", pbin_token(&p, document[i].offset / p.token_bytes));
    const char *result = arena_string(a, t.ptr);
    text_free(&t);
    assert_no_error(remove_tree(f->target));
    return result;
}

/* Documents that begin with the tokens 0, 6, 16, 19, ... and have 6, 10, 3, 1, ... tokens. */
static Filter filter_of(Arena *a, const char *jq)
{
    static const int64_t length[] = { 6, 10, 3, 1, 2 };
    return (Filter){ .source = packed_file(a, "in.pbin", 2, 0, length, 5),
                     .target = path_join(a, test_folder(), "out.pbin"),
                     .jq = jq };
}

static const char *write_keep(Arena *a, const char *text)
{
    const char *path = path_join(a, test_folder(), "keep.txt");
    assert_no_error(file_write(path, text, strlen(text)));
    return path;
}

TEST(an_expression_filters_by_number_and_length)
{
    Arena *a = arena_new();
    Filter f = filter_of(a, ".n_tokens > 2");
    assert_string_equal(kept(a, &f), "0 6 16 ");
    f.jq = ".index | . == 1 or . == 4";
    assert_string_equal(kept(a, &f), "6 20 ");
    f.jq = "true";
    assert_string_equal(kept(a, &f), "0 6 16 19 20 ");
    f.jq = "keys == [\"index\", \"n_tokens\"]";
    assert_string_equal(kept(a, &f), "0 6 16 19 20 ");
    arena_free(a);
}

TEST(a_filter_that_keeps_nothing_or_gives_no_answer_is_an_error)
{
    Arena *a = arena_new();
    Filter f = filter_of(a, "false");
    assert_contains(kept(a, &f), "The tokenized dataset did not create any data.");
    f.jq = "empty";
    assert_contains(kept(a, &f), "in.pbin: document 0: --jq 'empty' finds nothing");
    f.jq = ".nope";
    assert_contains(kept(a, &f), "document 0: --jq '.nope' finds nothing");
    f.jq = ".index";
    assert_contains(kept(a, &f), "--jq '.index' finds a number where true or false is needed");
    f.jq = "if .index < 3 then true else error(\"no\") end";
    assert_contains(kept(a, &f), "in.pbin: document 3: --jq '");
    f.jq = ".[";
    assert_contains(kept(a, &f), "--jq '.[': jq: error: syntax error");
    arena_free(a);
}

TEST(a_list_of_numbers_filters_in_the_order_of_the_file)
{
    Arena *a = arena_new();
    Filter f = filter_of(a, NULL);
    f.keep = write_keep(a, "4\n0\n4\r\n");
    assert_string_equal(kept(a, &f), "0 20 ");
    f.keep = write_keep(a, "4\n0");
    f.jq = ".n_tokens > 2";
    assert_string_equal(kept(a, &f), "0 ");
    f.keep = write_keep(a, "0\n5\n");
    assert_contains(kept(a, &f), "keep.txt:2: document 5 of ");
    f.keep = write_keep(a, "1\n\n2");
    assert_contains(kept(a, &f), "keep.txt:2: \"\" is no number of a document");
    f.keep = write_keep(a, "-1");
    assert_contains(kept(a, &f), "keep.txt:1: \"-1\" is no number");
    f.keep = write_keep(a, "99999999999999999999");
    assert_contains(kept(a, &f), "is no number of a document");
    arena_free(a);
}

/* The toy tokenizer's tokens are bytes. */
TEST(an_expression_filters_by_text)
{
    Arena *a = arena_new();
    static const int64_t length[] = { 3, 3, 3 };
    Tokenizer toy = toy_tokenizer(256);
    Filter f = { .source = packed_file(a, "abc.pbin", 1, 'a', length, 3),
                 .target = path_join(a, test_folder(), "out.pbin"),
                 .jq = ".text == \"def\" or (.text | endswith(\"i\"))",
                 .tokenizer = &toy };
    assert_string_equal(kept(a, &f), arena_printf(a, "%d %d ", 'd', 'g'));
    arena_free(a);
}

/* More documents than a thread takes at once; the first error counts. */
TEST(large_files_are_filtered_by_all_threads_alike)
{
    Arena *a = arena_new();
    enum { N = 20000 };
    int64_t *length = NEW_N(a, int64_t, N);
    for (int i = 0; i < N; i++) length[i] = i % 5;
    Filter f = { .source = packed_file(a, "many.pbin", 4, 0, length, N),
                 .target = path_join(a, test_folder(), "out.pbin"),
                 .jq = ".index % 1000 == 1 and .n_tokens == 1" };
    FilterSummary done;
    assert_no_error(filter_pbin(&f, &done));
    assert_int_equal(done.n_documents, N);
    assert_int_equal(done.n_kept, N / 1000);
    assert_int_equal(done.n_bytes, N / 1000 * 4);
    assert_no_error(remove_tree(f.target));
    f.jq = "if .index < 7003 then true else null end";
    assert_contains(kept(a, &f), "many.pbin: document 7003: ");
    arena_free(a);
}
