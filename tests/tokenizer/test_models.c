/* test_models.c - ids of words by each kind of model, as the library `tokenizers` gives them. */
#include "test.h"
#include "tokenizer/hf/model_load.h"
#include "tokenizer/text/trie.h"
#include <stdio.h>
#include <string.h>

typedef struct WordCase {
    const char *word, *ids; /* "!": the word cannot be encoded */
} WordCase;

typedef struct ModelCase {
    const char *json;
    WordCase word[8];
} ModelCase;

static WordModel *load(Arena *a, const char *json, bool byte_words)
{
    const char *file = path_join(a, test_folder(), "model.json");
    assert_no_error(file_write(file, json, strlen(json)));
    JsonNode root;
    WordModel *m;
    assert_no_error(json_node_read(a, file, 0, &root));
    assert_no_error(model_load(root, byte_words, a, &m));
    return m;
}

/* The ids as text, separated by blanks. */
static const char *ids_of(Arena *a, const WordModel *m, const char *word)
{
    Buffer scratch = { 0 };
    Text text = { 0 };
    uint32_t *id = NEW_N(a, uint32_t, strlen(word) * (size_t)m->ids_per_byte);
    int64_t n = m->word_ids(m, &scratch, str_of(word), id);
    for (int64_t i = 0; i < n; i++) {
        if (id[i] == NO_TOKEN)
            text_puts(&text, "!");
        else
            text_printf(&text, "%s%u", i ? " " : "", id[i]);
    }
    const char *out = arena_string_n(a, text.ptr, text.len);
    text_free(&text);
    buffer_free(&scratch);
    return out;
}

static const ModelCase cases[] = {
    { "{\"type\": \"WordLevel\", \"vocab\": {\"a\": 0, \"bc\": 1, \"?\": 2}, \"unk_token\": \"?\"}",
      { { "a", "0" }, { "bc", "1" }, { "b", "2" } } },
    { "{\"vocab\": {\"a\": 0}, \"unk_token\": \"?\"}", { { "a", "0" }, { "b", "!" } } },
    { "{\"vocab\": {\"?\": 0, \"a\": 1, \"ab\": 2, \"##b\": 3, \"##bc\": 4, \"##\": 5, \"é\": 6}, "
      "\"unk_token\": \"?\", \"continuing_subword_prefix\": \"##\", "
      "\"max_input_chars_per_word\": 5}",
      { { "abbc", "2 4" },
        { "abcb", "0" },
        { "ac", "0" },
        { "ébbbb", "6 3 3 3 3" },
        { "ébbbbb", "0" },
        { "##", "5" } } },
    /* Of equal sums the longer token was found first; a run of unknown characters is one text. */
    { "{\"vocab\": [[\"?\", 0], [\"a\", -1], [\"b\", -1], [\"ab\", -2], [\"xy\", -50], "
      "[\"<0xC3>\", -5], [\"<0xA9>\", -5]], \"unk_id\": 0, \"byte_fallback\": true}",
      { { "abab", "3 3" },
        { "xy", "4" },
        { "yx", "0" },
        { "éa", "5 6 1" },
        { "é?", "0" },
        { "??", "0" } } },
    { "{\"vocab\": [[\"a\", -1], [\"ab\", -3], [\"b\", -1], [\"a\", -0.25]], \"unk_id\": null}",
      { { "aab", "3 3 2" }, { "xb", "!" } } },
    /* Without an unk token unknown characters are dropped, and their neighbours merge. */
    { "{\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}",
      { { "axb", "2" },
        { "axxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxb",
          "2" } } },
    /* An unknown character waits for the next known one, and bytes overtake it. */
    { "{\"vocab\": {\"?\": 0, \"a\": 1, \"<0xC3>\": 2, \"<0xA9>\": 3, \"b\": 4, \"ab\": 5}, "
      "\"merges\": [\"a b\"], \"unk_token\": \"?\", \"fuse_unk\": true, \"byte_fallback\": true}",
      { { "ab", "5" },
        { "xéya", "2 3 0 1" },
        { "xya", "0 1" },
        { "éx", "2 3 0" },
        { "axyb", "1 0 4" } } },
    { "{\"vocab\": {\"?\": 0, \"a\": 1}, \"merges\": [], \"unk_token\": \"?\"}",
      { { "xya", "0 0 1" } } },
    { "{\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}",
      { { "axb", "2" }, { "x", "" } } },
    { "{\"vocab\": {\"a\": 0, \"##a\": 1, \"##b\": 2, \"##b.\": 3, \"a.\": 4, \"ab.\": 5, "
      "\"##ab.\": 6}, \"merges\": [\"##a ##b.\", \"a ##b.\"], "
      "\"continuing_subword_prefix\": \"##\", \"end_of_word_suffix\": \".\"}",
      { { "ab", "5" }, { "aab", "0 6" }, { "a", "4" }, { "abb", "0 2 3" } } },
    { "{\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2, \"aba\": 3}, \"merges\": [\"a b\"], "
      "\"ignore_merges\": true}",
      { { "aba", "3" }, { "abaa", "2 0 0" } } },
    { "{\"vocab\": {\"a\": 0}, \"merges\": [], \"unk_token\": \"?\"}",
      { { "aa", "0 0" }, { "ab", "!" } } },
};

TEST(models_give_the_ids_of_the_library)
{
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const WordModel *m = load(a, cases[i].json, false);
        for (const WordCase *c = cases[i].word; c->word; c++) {
            const char *ids = ids_of(a, m, c->word);
            if (strcmp(ids, c->ids)) {
                fail_msg("model %zu, word \"%s\": \"%s\", expected \"%s\"", i, c->word, ids,
                         c->ids);
            }
            if (strchr(ids, '!')) assert_non_null(m->cannot);
        }
    }
    arena_free(a);
}

TEST(a_model_of_names_reads_words_that_come_as_bytes)
{
    Arena *a = arena_new();
    const WordModel *m =
        load(a,
             "{\"vocab\": {\"?\": 0, \"\\u0120a.\": 1, \"\\u0120\": 2, \"a.\": 3}, "
             "\"merges\": [\"\\u0120 a.\"], \"end_of_word_suffix\": \".\", "
             "\"unk_token\": \"?\"}",
             true);
    assert_string_equal(ids_of(a, m, " a"), "1");
    assert_string_equal(ids_of(a, m, "\n"), "0");
    assert_null(m->cut);
    m = load(a, "{\"vocab\": {\"\\u0120a\": 7, \"?\": 1}, \"unk_token\": \"?\"}", true);
    assert_string_equal(ids_of(a, m, " a"), "7");
    arena_free(a);
}

/* Merging makes neither "aba" nor " aabbaabbaabbaabbaabb"; a part of a longer word is no word. */
TEST(a_word_of_bytes_that_is_a_token_is_that_token)
{
    static const char *const file = "{\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2, \"aba\": 3, "
                                    "\"\\u0120\": 4, \"\\u0120aabbaabbaabbaabbaabb\": 5}, "
                                    "\"merges\": [\"a b\"], \"ignore_merges\": %s}";
    Arena *a = arena_new();
    const WordModel *m = load(a, arena_printf(a, file, "true"), true);
    assert_string_equal(ids_of(a, m, "aba"), "3");
    assert_string_equal(ids_of(a, m, "abab"), "2 2");
    assert_string_equal(ids_of(a, m, "ab"), "2");
    assert_string_equal(ids_of(a, m, "a"), "0");
    assert_string_equal(ids_of(a, m, " aabbaabbaabbaabbaabb"), "5");
    assert_string_equal(ids_of(a, m, "aabbaabb"), "0 2 1 0 2 1");
    assert_null(m->cut);
    m = load(a, arena_printf(a, file, "false"), true);
    assert_string_equal(ids_of(a, m, "aba"), "2 0");
    assert_string_equal(ids_of(a, m, " aabb"), "4 0 2 1");
    arena_free(a);
}

TEST(a_trie_finds_every_key_and_nothing_else)
{
    enum { N = 3000 };
    Arena *a = arena_new();
    Str key[N];
    uint32_t value[N], got;
    /* Of i and N - i, which have the same text, the later value counts. */
    for (int i = 0; i < N; i++) {
        key[i] = str_of(arena_printf(a, "%d%s", i * i % N, i % 3 ? "" : "x"));
        value[i] = (uint32_t)i;
    }
    Trie t = trie_new(a, key, value, N);
    for (int i = 0; i < N; i++) {
        int last = i;
        for (int k = i; k < N; k++) {
            if (str_equal(key[k], key[i])) last = k;
        }
        assert_int_equal(trie_longest(&t, key[i], &got), key[i].len);
        assert_int_equal(got, last);
    }
    assert_int_equal(trie_longest(&t, str_of("y1"), &got), 0);
    assert_int_equal(trie_longest(&t, str_of(""), &got), 0);
    t = trie_new(a, key, value, 0);
    assert_int_equal(trie_longest(&t, str_of("1"), &got), 0);
    arena_free(a);
}
