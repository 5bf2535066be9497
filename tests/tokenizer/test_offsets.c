/* test_offsets.c - where in the text the ids come from, as the libraries have it. */
#include "tokenizer/golden_tokenizers.h"
#include <stdio.h>
#include <string.h>

typedef struct Row {
    const char *tokenizer;
    bool special;
    const char *text, *offsets;
} Row;

/* The offsets are those of tokenizers 0.23 (the ids equal 0.22) and, for models of SentencePiece,
 * the offset_mapping of sentencepiece 0.2. */
/* clang-format off */
static const Row rows[] = {
    { "gpt2", false, "Hello  world\n \xC3\xA9\xE6\x97\xA5\xE6\x9C\xAC",
      "0-5 5-6 6-12 12-13 13-15 15-16 15-16 16-17 16-17" },
    { "gpt2", false, " a 'll<|endoftext|> b",
      "0-2 2-4 4-6 6-19 19-21" },
    { "gpt2", false, "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 x",
      "0-1 0-1 1-2 1-2 2-3 2-3 3-4 3-4 4-5 4-5 5-7" },
    { "roberta", true, "Hello  world ",
      "0-0 0-5 6-6 7-12 13-13 0-0" },
    { "roberta", true, " \xC3\xA9 <mask>  b",
      "0-0 1-2 3-9 10-10 11-12 0-0" },
    { "roberta", false, "x  <mask>y",
      "0-1 3-9 9-10" },
    { "clip", true, "Hello  WORLD cafe\xCC\x81!",
      "0-0 0-5 7-12 13-17 18-19 0-0" },
    { "whisper_large_v3", true, "\xE6\x97\xA5 <|en|> x",
      "0-0 0-0 0-1 1-2 2-8 8-10 0-0" },
    { "dolma2", false, "It'LL  cost 12345!\n\n x",
      "0-2 2-3 3-5 5-6 6-11 11-12 12-15 15-17 17-20 20-22" },
    { "phi2", false, "a\t\tb <|endoftext|>c",
      "0-1 1-3 3-4 4-5 5-18 18-19" },
    { "falcon", false, "Hi >>TITLE<<  7890",
      "0-2 2-3 3-12 12-13 13-14 14-17 17-18" },
    { "gpt_neox_olmo", false, "e\xCC\x81 a\xCC\xA3\xCC\x87 \xE2\x84\xAB x",
      "0-1 3-3 3-4 5-6 5-6 7-8 9-10" },
    { "bert_base_uncased", true, "H\xC3\xA9llo\x01 w\xC3\xB6rld, unaffable!",
      "0-0 0-5 7-12 12-13 14-17 17-20 20-23 23-24 0-0" },
    { "bert_base_uncased", true, "\xE6\x97\xA5\xE6\x9C\xAC [MASK] x\xCC\x81y",
      "0-0 0-1 1-2 3-9 10-11 12-13 0-0" },
    { "bert_base_uncased", false, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ok",
      "0-101 102-104" },
    { "t5_small", true, "Hello  w\xC3\xB6rld \xEF\xAC\x81\xE2\x91\xA0",
      "0-5 7-8 7-8 8-10 10-11 11-12 13-14 14-15 0-0" },
    { "t5_small", true, " \xE6\x97\xA5 </s> x",
      "1-2 1-2 3-7 8-9 8-9 0-0" },
    { "t5_small", false, "\xEF\xB7\xBA\xE2\x84\xA2 e\xCC\x81",
      "0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 1-2 3-4 3-4" },
    { "synthetic/added_flags_lower", true, "A  X  <S> b Low LOW",
      "0-1 1-3 3-4 4-6 6-7 7-8 8-9 10-11 12-13 13-15 16-17 17-19" },
    { "synthetic/added_holes_bl", true, "a b c",
      "0-1 1-3 3-5" },
    { "synthetic/bpe_bl_digits_individual_nfc", true, "e\xCC\x81 12\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8",
      "0-1 2-3 3-4 4-5 5-6 5-6 5-6" },
    { "synthetic/bpe_bl_legacy_json", true, "Hello wor",
      "0-1 1-4 4-5 5-9" },
    { "synthetic/bpe_bl_llama3_ignore_merges", true, "Hello 123 WORLD",
      "0-0 0-1 1-4 4-5 5-6 6-8 8-9 9-10 10-11 11-12 12-13 13-14 14-15" },
    { "synthetic/bpe_bl_normalizer", true, "\xC3\xA9\xE6\x97\xA5 x",
      "0-1 1-2 1-2 1-2 2-3 3-4" },
    { "synthetic/bpe_bl_prefix_space", true, "Hello  x y ",
      "0-2 2-4 4-5 6-6 7-8 9-10 11-11" },
    { "synthetic/bpe_fixed_length5", true, "Hello w\xC3\xB6rld",
      "0-1 1-4 4-5 5-7 7-8 8-9 9-10 10-11" },
    { "synthetic/bpe_llama2_like", true, "Hello  \xE6\x97\xA5\xE2\x98\x83 x",
      "0-0 0-1 0-1 1-2 2-3 3-4 4-5 5-6 6-7 7-8 8-9 8-9 8-9 9-10 10-11" },
    { "synthetic/bpe_no_unk_drops", true, "low \xE2\x98\x83" "er \xE2\x98\x83\xE2\x98\x83 x",
      "0-1 1-3 4-5" },
    { "synthetic/bpe_partial_bytes_metaspace_first", true, "a  \xC3\xA9 b",
      "0-1 1-2 2-3 3-4 3-4 4-6" },
    { "synthetic/bpe_prefix_suffix", true, "lower newest",
      "0-1 1-3 3-5 6-8 8-9 9-12" },
    { "synthetic/bpe_split_regex_contiguous", true, "a1b22 c",
      "0-1 1-2 2-3 3-4 4-5 5-6 6-7" },
    { "synthetic/bpe_split_string_next", true, "a b-c d",
      "0-2 2-3 3-4 4-5 5-6 6-7" },
    { "synthetic/bpe_unicode_scripts", true, "\xE3\x81\xA9\xE3\x81\x93\xE3\x81\xA7\xE7\x94\x9F\xE3\x82\x8C\xE3\x80\x82Yes ",
      "0-1 1-2 2-3 3-4 4-5 5-6 6-7 7-9" },
    { "synthetic/norm_nmt_nfd_stripaccents", true, "e\xCC\x81\xE2\x80\x8B\xC3\x85\x07x",
      "0-1 3-4 5-6" },
    { "synthetic/norm_replace_prepend", true, "a  b \xC3\xA9",
      "0-1 3-4 5-6" },
    { "synthetic/post_template_multi", true, "Hello world",
      "0-0 0-1 1-2 2-4 4-5 5-7 7-9 9-11 0-0 0-0 0-0" },
    { "synthetic/uni_byte_fallback", true, "Hello \xE2\x98\x83\xE2\x98\x83 x",
      "0-2 2-4 4-5 5-6 6-8 6-8 6-8 6-8 6-8 6-8 8-9 9-10" },
    { "synthetic/uni_precompiled_metaspace", true, "\xEF\xAC\x81 \xE2\x85\xA7 \xC3\xA9 x",
      "0-1 0-1 1-2 2-3 3-4 4-5 5-7 0-0" },
    { "synthetic/wl_chardelim", true, "a b-c d",
      "0-1 2-5 6-7" },
    { "synthetic/wl_ctc", true, "HELLO A",
      "0-1 1-2 2-3 3-4 4-5 5-6 6-7" },
    { "synthetic/wl_whitespace_trunc_pad_left", true, "a b",
      "0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-1 2-3" },
    { "synthetic/wl_whitespace_trunc_pad_left", true, "a b c d e f g h i j k l",
      "0-0 0-0 0-0 0-0 0-0 0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15 16-17 18-19 20-21" },
    { "synthetic/wp_bert_cased", true, "Hello w\xC3\xB6rld \xE6\x97\xA5\xE6\x9C\xAC",
      "0-0 0-2 2-4 4-5 6-11 12-13 13-14 0-0" },
    { "synthetic/wp_punct_removed_nfkd", true, "a, \xEF\xAC\x81 \xC2\xBD!",
      "0-0 0-1 3-4 3-4 5-6 0-0" },
    { "synthetic/wp_strip_accents", true, "\xC3\x9Cnaff\xC3\xA9 x",
      "0-2 2-3 3-4 4-5 5-6 7-8" },
    { "sp/mistral_v1", false, "h\xC3\xA9  l\xF0\x9F\x98\x80 \xE6\x97\xA5 \xE2\x98\x83",
      "0-1 1-2 2-3 3-5 5-6 6-7 7-8 8-9 9-10" },
    { "sp/mistral_v1", false, " \xE2\x96\x81\xE2\x96\x81x\x01\n",
      "0-2 2-4 4-5 5-6" },
    { "sp/dclm_en_32k", false, "  \xEF\xAC\x81ne  \xE2\x91\xA0\xE2\x98\x83\xE2\x98\x83 \xC3\xA9  ",
      "0-1 1-5 5-7 7-8 8-8 8-8 8-9 9-9 9-9 9-10 10-12 12-14" },
    { "sp/modalities_unigram", false, "  \xC3\xA9\xE2\x98\x83\xE2\x98\x83x",
      "0-0 0-1 1-2 2-3 3-3 3-3 3-4 4-4 4-4 4-5 5-6" },
    { "sp/spm_test_ja", false, "  \xE6\x97\xA5\xE6\x9C\xAC  \xE3\x8D\xBF\xEF\xBD\xB6\xEF\xBE\x9E ",
      "2-2 2-4 4-6 6-7 7-9" },
    { "sp/spm_test_unigram_1k", false, " \xEF\xB7\xBA \xE2\x98\x83 ab  ",
      "1-1 1-1 1-1 1-1 1-1 1-1 1-1 1-2 2-3 3-4 4-6 6-7" },
    { "sp/synthetic/unigram_suffix_nodummy", false, "ab  c ",
      "0-1 1-2 2-4 4-5 5-5" },
    { "sp/synthetic/unigram_custom_rules", false, "  ab  c ",
      "2-3 3-4 4-6 6-7" },
    { "sp/synthetic/bpe_identity_bytes", false, "a  \xE6\x97\xA5" "b ",
      "0-1 1-1 1-3 3-3 3-3 3-4 4-5 5-6" },
    { "sp/synthetic/char_identity", false, "a \xE2\x98\x83\xE2\x98\x83" "b",
      "0-1 1-2 2-4 4-5" },
    { "sp/synthetic/word_identity", false, "the \xE2\x98\x83 x",
      "0-3 3-5 5-7" },
    { "tiktoken_cl100k", false, "It's  \xE6\x97\xA5 12345", "0-2 2-4 4-5 5-7 7-8 8-11 11-13" },
};
/* clang-format on */

static const char *path_of(Arena *a, const char *name)
{
    if (!strncmp(name, "synthetic/", 10))
        return shared_path(a, arena_printf(a, "data/goldens/tokenizers/%s", name));
    if (!strncmp(name, "sp/synthetic/", 13))
        return shared_path(
            a, arena_printf(a, "data/goldens/tokenizers/synthetic_sp/%s.model", name + 13));
    return golden_tokenizer_path(a, name);
}

static Tokenizer *open_named(Arena *a, const char *name)
{
    Tokenizer *t;
    assert_no_error(tokenizer_open(path_of(a, name), &t));
    return t;
}

static void check_row(const Tokenizer *t, const Row *row)
{
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 }, same = { 0 }, offsets = { 0 };
    Text found = { 0 };
    text_puts(&found, "");
    assert_no_error(t->encode(e, str_of(row->text), row->special, &same));
    assert_no_error(t->encode_offsets(t, str_of(row->text), row->special, &ids, &offsets));
    assert_int_equal(ids.n, same.n);
    assert_memory_equal(ids.id, same.id, (size_t)ids.n * sizeof *ids.id);
    assert_int_equal(offsets.n, 2 * ids.n);
    for (int64_t i = 0; i < offsets.n; i += 2)
        text_printf(&found, i ? " %u-%u" : "%u-%u", offsets.id[i], offsets.id[i + 1]);
    if (strcmp(found.ptr, row->offsets))
        fail_msg("%s, \"%s\": %s, expected %s", row->tokenizer, row->text, found.ptr, row->offsets);
    text_free(&found);
    ids_free(&ids);
    ids_free(&same);
    ids_free(&offsets);
    t->encoder_free(e);
}

/* The same ids as without offsets, which lie in the text. */
static void check_texts(Tokenizer *t, const json_t *texts)
{
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 }, same = { 0 }, offsets = { 0 };
    const char *id;
    json_t *value;
    json_object_foreach((json_t *)texts, id, value)
    {
        Str text = golden_text(texts, id);
        ids.n = same.n = offsets.n = 0;
        Error *failed = t->encode(e, text, true, &same);
        if (failed) { /* so does the other */
            error_free(failed);
            assert_error_has(t->encode_offsets(t, text, true, &ids, &offsets), "");
            continue;
        }
        assert_no_error(t->encode_offsets(t, text, true, &ids, &offsets));
        if (ids.n != same.n || (ids.n && memcmp(ids.id, same.id, (size_t)ids.n * sizeof *ids.id)))
            fail_msg("%s: text %s has other ids with offsets", t->kind, id);
        assert_int_equal(offsets.n, 2 * ids.n);
        for (int64_t i = 0; i < offsets.n; i += 2) {
            assert_true(offsets.id[i] <= offsets.id[i + 1]);
            assert_true(offsets.id[i + 1] <= text.len);
        }
    }
    ids_free(&ids);
    ids_free(&same);
    ids_free(&offsets);
    t->encoder_free(e);
}

/* Rows of one tokenizer stand together, so each is opened once. */
TEST(offsets_are_those_of_the_libraries)
{
    Arena *a = arena_new();
    const json_t *texts = golden_texts(a);
    size_t n = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < n;) {
        const char *name = rows[i].tokenizer;
        Tokenizer *t = open_named(a, name);
        check_texts(t, texts);
        for (; i < n && !strcmp(name, rows[i].tokenizer); i++) check_row(t, &rows[i]);
        t->close(t);
    }
    arena_free(a);
}

/* What symbols count decides, by rounding, which of two ways of equal score wins after them. */
TEST(ids_behind_user_defined_symbols_are_those_of_sentencepiece)
{
    static const uint32_t expected[] = { 517, 5, 524, 524, 21220 };
    Arena *a = arena_new();
    Tokenizer *t = golden_tokenizer(a, "sp/modalities_unigram");
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    assert_no_error(t->encode(e, str_of("<placeholder_tok_0>------"), false, &ids));
    assert_int_equal(ids.n, 5);
    assert_memory_equal(ids.id, expected, sizeof expected);
    ids_free(&ids);
    t->encoder_free(e);
    t->close(t);
    arena_free(a);
}
