/* test_verify.c - lengths of documents and their picture; whole files checked. */
#include "cli/command_line.h"
#include "data/document_lengths.h"
#include "data/jsonl.h"
#include "data/packed_file.h"
#include "data/verify.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(lengths_are_counted_exactly_when_short_and_nearly_when_long)
{
    Arena *a = arena_new();
    DocumentLengths *d = document_lengths_new(a);
    assert_int_equal(document_lengths_quantile(d, 0.5), 0);
    for (int64_t i = 0; i <= 2000; i++) document_lengths_add(d, i);
    assert_int_equal(document_lengths_quantile(d, 0), 0);
    assert_int_equal(document_lengths_quantile(d, 0.5), 1000);
    assert_int_equal(document_lengths_quantile(d, 1), 2000);
    assert_int_equal(d->longest, 2000);
    assert_int_equal(d->sum, 2000 * 2001 / 2);
    static const int64_t large[] = { 2048, 2049, 4097, 1000003, INT64_C(1) << 40, INT64_MAX / 2 };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        DocumentLengths *one = document_lengths_new(a);
        document_lengths_add(one, large[i]);
        double error = (double)(large[i] - document_lengths_quantile(one, 0.5)) / (double)large[i];
        assert_true(error >= 0 && error < 1.0 / 1024);
    }
    arena_free(a);
}

TEST(lengths_are_drawn_by_powers_of_two)
{
    Arena *a = arena_new();
    DocumentLengths *d = document_lengths_new(a);
    Text t = { 0 };
    static const int64_t length[] = { 0, 1, 4, 5, 7, 9 };
    document_lengths_draw(d, 80, false, &t);
    assert_int_equal(t.len, 0);
    for (int i = 0; i < 6; i++) document_lengths_add(d, length[i]);
    document_lengths_draw(d, 58, false, &t);
    assert_string_equal(t.ptr, "                  tokens              documents of tokens\n"
                               "         0 to          0  ###                 1     0.0 %\n"
                               "         1 to          1  ###                 1     3.8 %\n"
                               "         2 to          3                      0     0.0 %\n"
                               "         4 to          7  ##########          3    61.5 %\n"
                               "         8 to         15  ###                 1    34.6 %\n");
    text_clear(&t);
    document_lengths_draw(d, 58, true, &t);
    assert_contains(t.ptr, "        4 to          7  ██████████          3    61.5 %\n");
    assert_contains(t.ptr, "        8 to         15  ███▍                1    34.6 %\n");
    text_free(&t);
    arena_free(a);
}

TEST(a_packed_file_is_verified_whole)
{
    Arena *a = arena_new();
    static const int64_t length[] = { 6, 10, 0, 4 };
    const char *path = packed_file(a, "x.pbin", 2, 0, length, 4);
    PbinVerdict v;
    assert_no_error(verify_pbin(path, &(PbinExpectation){ .vocab_size = 20, .eod = -1 }, &v));
    assert_int_equal(v.n_documents, 4);
    assert_int_equal(v.n_tokens, 20);
    assert_int_equal(v.n_empty, 1);
    assert_int_equal(v.largest_id, 19);
    assert_false(v.is_miscounted);
    assert_no_error(verify_pbin(path, &(PbinExpectation){ .eod = -1 }, &v));
    assert_error_has(verify_pbin(path, &(PbinExpectation){ .vocab_size = 19, .eod = -1 }, &v),
                     "x.pbin: token 19 (byte 50 of the file) is 19, allowed are 0 to 18");
    assert_error_has(verify_pbin(path, &(PbinExpectation){ .eod = 5 }, &v),
                     "document 1 ends with token 15 (token 15 of the file); it should be the EOD "
                     "token 5");
    static const int64_t with_empty[] = { 6, 0 };
    path = packed_file(a, "y.pbin", 1, 0, with_empty, 2);
    assert_error_has(verify_pbin(path, &(PbinExpectation){ .eod = 5 }, &v),
                     "document 1 is empty; it should end with the EOD token 5");
    assert_no_error(truncate(path, 40) ? error_new("truncate") : NULL);
    assert_error_has(verify_pbin(path, &(PbinExpectation){ .eod = 5 }, &v), "missing or cut short");
    arena_free(a);
}

/* The largest id counts wherever it is. */
TEST(every_token_of_a_large_file_is_verified)
{
    Arena *a = arena_new();
    enum { N = 3 << 20 };
    uint8_t *tokens = arena_alloc(a, (size_t)N * 4 + 4);
    const char *path = path_join(a, test_folder(), "large.pbin");
    static const int64_t places[] = { 0, 1023, 1 << 20, (2 << 20) - 1, N };
    for (int i = 0; i < 5; i++) {
        uint32_t large = 70000 + (uint32_t)i;
        PbinWriter w;
        PbinVerdict v;
        memset(tokens, 0, (size_t)N * 4 + 4);
        memcpy(tokens + places[i] * 4, &large, 4);
        assert_no_error(pbin_create(path, 4, &w));
        assert_no_error(pbin_add(&w, tokens, (size_t)N * 4 + 4));
        assert_no_error(pbin_commit(&w));
        assert_no_error(verify_pbin(path, &(PbinExpectation){ .eod = -1 }, &v));
        assert_int_equal(v.largest_id, large);
    }
    arena_free(a);
}

/* An index of `text` with one entry replaced. */
static Error *verify_entries(Arena *a, const char *text, const IndexEntry *entry, int64_t n,
                             IndexVerdict *v)
{
    const char *path = path_join(a, test_folder(), "x.jsonl");
    NewFile f;
    IndexWriter w;
    assert_no_error(file_write(path, text, strlen(text)));
    assert_no_error(file_create(path_with_suffix(a, path, ".idx"), &f));
    index_begin(&w, f.stream);
    for (int64_t i = 0; i < n; i++) index_add(&w, entry[i].offset, entry[i].length);
    index_end(&w);
    assert_no_error(file_commit(&f));
    return verify_index(path, NULL, (Share){ 0 }, v);
}

TEST(an_index_is_verified_line_by_line)
{
    Arena *a = arena_new();
    IndexVerdict v;
    static const char text[] = "{\"a\": 1}\nbroken\n[2]";
    assert_no_error(verify_entries(a, text, (IndexEntry[]){ { 0, 8 }, { 16, 3 } }, 2, &v));
    assert_int_equal(v.n_entries, 2);
    assert_int_equal(v.n_lines, 3);
    assert_error_has(verify_entries(a, text, (IndexEntry[]){ { 0, 8 }, { 9, 6 } }, 2, &v),
                     "x.jsonl:2:1: ");
    assert_error_has(verify_entries(a, text, (IndexEntry[]){ { 0, 7 } }, 1, &v),
                     "entry 0, bytes 0 to 7 of ");
    assert_error_has(verify_entries(a, text, (IndexEntry[]){ { 1, 7 } }, 1, &v),
                     "is no whole line");
    assert_error_has(verify_entries(a, text, (IndexEntry[]){ { 16, 3 }, { 0, 8 } }, 2, &v),
                     "entry 1 begins at byte 0, before the end of the last one");
    assert_error_has(verify_entries(a, text, (IndexEntry[]){ { 16, 4 } }, 1, &v),
                     "which has 19 bytes");
    assert_error_has(verify_entries(a, text, (IndexEntry[]){ { 99, 4 } }, 1, &v),
                     "which has 19 bytes");
    arena_free(a);
}

TEST(inspect_and_verify_print_what_they_find)
{
    Arena *a = arena_new();
    const char *said;
    const char *merged = shared_path(a, "data/goldens/data/out/merged3.pbin");
    const char *gpt2 = shared_path(a, "data/tokenizers/gpt2");
    assert_int_equal(
        command_line_run(a, arena_printf(a, "data inspect %s --tokenizer %s", merged, gpt2), &said),
        0);
    assert_contains(said, "documents     83\ntokens        5584 of 2 bytes (11.2 kB)\n");
    assert_contains(said, "miscounted by the original's merging");
    assert_contains(said, "       64 to        127  #####");
    assert_contains(said, "\ndocument 0 (118 tokens): \"");
    assert_null(strstr(said, "\\x20")); /* a blank is a blank */
    const char *args = arena_printf(a, "data inspect %s --samples 1 --sample_tokens 5", merged);
    assert_int_equal(command_line_run(a, args, &said), 0);
    const char *tokens = strstr(said, "\ndocument 0 (118 tokens): "), *end = NULL;
    assert_non_null(tokens);
    tokens += strlen("\ndocument 0 (118 tokens): ");
    for (int i = 0; i < 5; i++, tokens = end)
        if (strtol(tokens, (char **)&end, 10) <= 0) fail_msg("token %d: %s", i, said);
    assert_true(!strncmp(end, " ...\n", 5));
    assert_int_equal(
        command_line_run(a,
                         arena_printf(a,
                                      "data verify %s --tokenizer %s --eod_token '<|endoftext|>'",
                                      merged, gpt2),
                         &said),
        0);
    assert_contains(said,
                    "merged3.pbin: fine: 83 documents, 5584 tokens, ids up to 50256; offsets");
    assert_int_equal(
        command_line_run(a, arena_printf(a, "data verify %s %s --vocab_size 10", merged, merged),
                         &said),
        1);
    assert_contains(said, "allowed are 0 to 9");
    assert_int_equal(
        command_line_run(a, arena_printf(a, "data verify %s --eod_token x", merged), &said), 2);
    assert_contains(said, "--eod_token needs --tokenizer");
    arena_free(a);
}
