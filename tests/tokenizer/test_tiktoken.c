/* test_tiktoken.c - special tokens of rank files, patterns of unknown ones, and broken files. */
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/hf/tiktoken.h"
#include <string.h>

TEST(special_tokens_of_a_rank_file_are_found_when_they_are_allowed)
{
    Arena *a = arena_new();
    GoldenRows rows = golden_rows(a, "tiktoken_cl100k.jsonl");
    json_t *texts = golden_texts(a);
    TiktokenOptions options = { .allow_special = true };
    Tokenizer *t;
    assert_no_error(tiktoken_open(golden_tokenizer_path(a, "tiktoken_cl100k"), &options, &t));
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    int64_t n_with = 0;
    for (int64_t i = 0; i < rows.n; i++) {
        const char *id = json_string_value(json_object_get(rows.row[i], "id"));
        const json_t *expected = json_object_get(rows.row[i], "ids_allowed_all");
        n_with += expected != NULL;
        if (!expected) expected = json_object_get(rows.row[i], "ids");
        ids.n = 0;
        assert_no_error(t->encode(e, golden_text(texts, id), true, &ids));
        assert_ids(id, &ids, expected, 0, json_array_size(expected));
    }
    assert_true(n_with > 20);
    assert_int_equal(t->vocab_size, 100256);
    assert_int_equal(t->n_ids, 100277);
    assert_int_equal(t->token_id(t, str_of("<|endofprompt|>")), 100276);
    assert_true(t->is_special(t, 100257));
    Str name;
    assert_false(t->token_name(t, 100256, &name));
    ids_free(&ids);
    t->encoder_free(e);
    t->close(t);
    arena_free(a);
}

/* The 256 bytes, and what `more` says. */
static const char *rank_file(Arena *a, const char *more)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    Text text = { 0 };
    for (int byte = 0; byte < 256; byte++)
        text_printf(&text, "%c%c== %d\n", digit[byte >> 2], digit[(byte & 3) << 4], byte);
    text_puts(&text, more);
    const char *file = path_join(a, test_folder(), "test.tiktoken");
    assert_no_error(file_write(file, text.ptr, text.len));
    text_free(&text);
    return file;
}

static void assert_encodes(const Tokenizer *t, const char *text, const uint32_t *id, int64_t n)
{
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    assert_no_error(t->encode(e, str_of(text), true, &ids));
    assert_int_equal(ids.n, n);
    assert_memory_equal(ids.id, id, (size_t)n * sizeof *id);
    ids_free(&ids);
    t->encoder_free(e);
}

TEST(a_rank_file_of_an_unknown_vocabulary_needs_a_pattern)
{
    Arena *a = arena_new();
    Tokenizer *t;
    /* "ab" 256, "bc" 257, "abcd" 300: reached by no merge, but it is a word */
    const char *file = rank_file(a, "YWI= 256\nYmM= 257\r\nYWJjZA== 300\n");
    assert_error_has(tokenizer_open(file, &t), "the option tiktoken_pattern");
    assert_error_has(tokenizer_open_with_pattern(file, "(", &t), "test.tiktoken");
    assert_no_error(tokenizer_open_with_pattern(file, "[a-z]+", &t));
    assert_string_equal(t->kind, "tiktoken");
    assert_int_equal(t->vocab_size, 259);
    assert_encodes(t, "abc.bcd abcd", (uint32_t[]){ 256, 'c', 257, 'd', 300 }, 5);
    t->close(t);
    arena_free(a);
}

TEST(broken_rank_files_are_refused_by_line)
{
    Arena *a = arena_new();
    Tokenizer *t;
    static const char *const cases[][2] = {
        { "YWI 256\n", "line 257: must start with a token in base64" },
        { "YW=I 256\n", "line 257: must start with a token in base64" },
        { "YWI=\n", "line 257: must start with a token in base64" },
        { "YWI= x\n", "line 257: must end with a rank" },
        { "YWI= 2097152\n", "the rank must be at most" },
        { "YWI= 99999999999\n", "line 257: must end with a rank" },
        { "YWI= 255\n", "line 257: the rank 255 is there twice" },
        { "YQ== 256\n", "the token of rank 97 has another rank, too" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_error_has(tokenizer_open_with_pattern(rank_file(a, cases[i][0]), ".", &t),
                         cases[i][1]);
    const char *file = path_join(a, test_folder(), "few.tiktoken");
    assert_no_error(file_write(file, "YQ== 0\n", 7));
    assert_error_has(tokenizer_open_with_pattern(file, ".", &t), "not every byte has a rank");
    arena_free(a);
}
