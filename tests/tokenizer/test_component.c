/* test_component.c - tokenizer.pretrained_hf_tokenizer as a YAML makes it. */
#include "components.h"
#include "tokenizer/hf/pretrained.h"
#include "tokenizer/small_tokenizer.h"
#include <string.h>

static const char *const no_merges[] = { NULL };
static const char specials[] =
    "[{\"id\":0,\"content\":\"<eod>\",\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":true},"
    "{\"id\":0,\"content\":\"<pad>\",\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":true}]";

/* Builds the component with these lines as further settings. */
static Error *build(Arena *a, const char *settings, Tokenizer **out)
{
    const char *json = small_tokenizer(a, no_merges, specials);
    const char *file = path_join(a, test_folder(), "config.yaml");
    const char *yaml = arena_printf(a,
                                    "tokenizer:\n  component_key: tokenizer\n"
                                    "  variant_key: pretrained_hf_tokenizer\n  config:\n"
                                    "    pretrained_model_name_or_path: %s\n%s",
                                    path_folder(a, json), settings);
    assert_no_error(file_write(file, yaml, strlen(yaml)));
    return component_from_file(a, file, (StringList){ 0 }, "tokenizer", "tokenizer", (void **)out);
}

static void assert_encodes(const Tokenizer *t, const char *text, int64_t n, uint32_t last)
{
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    assert_no_error(t->encode(e, str_of(text), true, &ids));
    assert_int_equal(ids.n, n);
    assert_int_equal(ids.id[n - 1], last);
    ids_free(&ids);
    t->encoder_free(e);
}

TEST(the_component_pads_and_truncates_as_its_settings_say)
{
    Arena *a = arena_new();
    Tokenizer *t;
    assert_no_error(
        build(a, "    max_length: null\n    padding: true\n    special_tokens: null\n", &t));
    assert_int_equal(t->vocab_size, 256);
    assert_int_equal(t->n_ids, 258);
    assert_int_equal(t->token_id(t, str_of("<pad>")), 257);
    assert_int_equal(t->token_id(t, str_of("none")), -1);

    assert_no_error(
        build(a,
              "    max_length: 5\n    truncation: true\n    padding: max_length\n"
              "    special_tokens: {pad_token: <pad>, additional_special_tokens: [<eod>]}\n",
              &t));
    assert_encodes(t, "ab", 5, 257);
    assert_encodes(t, "abcdefgh", 5, 'e');
    assert_encodes(t, "abc<eod>", 5, 257);
    assert_true(t->is_special(t, 256));
    arena_free(a);
}

TEST(the_component_refuses_what_it_cannot_do)
{
    Arena *a = arena_new();
    Tokenizer *t;
    assert_error_has(build(a, "    padding: widest\n", &t), "padding");
    assert_error_has(build(a, "    max_length: -1\n", &t), "max_length");
    assert_error_has(build(a, "    special_tokens: {pad_token: <new>}\n", &t),
                     "grow from 258 to 259");
    assert_error_has(build(a, "    special_tokens: {pad: <pad>}\n", &t), "\"pad\" is no role");
    assert_no_error(build(a, "    padding: max_length\n    max_length: 4\n", &t));
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    assert_error_has(t->encode(e, str_of("a"), true, &ids), "pad token");
    t->encoder_free(e);
    assert_no_error(remove_tree(path_join(a, test_folder(), "tokenizer.json")));
    const char *file = path_join(a, test_folder(), "config.yaml");
    assert_error_has(
        component_from_file(a, file, (StringList){ 0 }, "tokenizer", "tokenizer", (void **)&t),
        "nothing is downloaded");
    arena_free(a);
}

/* ---- classes of transformers ---- */

static const char word_specials[] =
    "[{\"id\":0,\"content\":\"<s>\",\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":true},"
    "{\"id\":0,\"content\":\"</s>\",\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":true}]";

/* A tokenizer whose <s> is 256 and </s> 257, of a class with further settings. */
static Error *open_class(Arena *a, const char *class, const char *settings, Tokenizer **out)
{
    const char *json = small_tokenizer(a, no_merges, word_specials), *folder = path_folder(a, json);
    const char *text =
        arena_printf(a,
                     "{\"tokenizer_class\": \"%s\", \"bos_token\": \"<s>\", \"eos_token\": "
                     "\"</s>\", \"unk_token\": null, \"pad_token\": null, \"sep_token\": null, "
                     "\"cls_token\": null, \"mask_token\": null%s}",
                     class, settings);
    assert_no_error(
        file_write_unsynced(path_join(a, folder, "tokenizer_config.json"), text, strlen(text)));
    return pretrained_hf_open(&(PretrainedHf){ .path = folder, .max_length = -1 }, out);
}

static void assert_ids(const Tokenizer *t, bool special, const char *text, int64_t n,
                       const uint32_t *want)
{
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    assert_no_error(t->encode(e, str_of(text), special, &ids));
    assert_int_equal(ids.n, n);
    for (int64_t i = 0; i < n; i++) assert_int_equal(ids.id[i], want[i]);
    ids_free(&ids);
    t->encoder_free(e);
}

TEST(classes_put_bos_and_eos_around_texts_as_their_settings_say)
{
    static const struct {
        const char *class, *settings;
        bool bos, eos;
    } row[] = {
        { "LlamaTokenizer", "", true, false },
        { "LlamaTokenizerFast", ", \"add_bos_token\": false, \"add_eos_token\": true", false,
          true },
        { "GemmaTokenizer", ", \"add_eos_token\": true", true, true },
        { "CohereTokenizerFast", "", true, false },
        { "GPTNeoXTokenizerFast", "", false, false },
        { "GPTNeoXTokenizer", ", \"add_bos_token\": true", true, false },
        { "Qwen2Tokenizer", ", \"add_bos_token\": true", false, false },
        { "Qwen2TokenizerFast", "", false, false },
        { "WhisperTokenizerFast", "", false, false },
        { "BloomTokenizerFast", "", false, false },
        { "RobertaTokenizerFast", "", false, false },
        { "XLMRobertaTokenizer", "", false, false },
        { "PreTrainedTokenizerFast", ", \"add_bos_token\": true", false, false },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Tokenizer *t;
        uint32_t want[4];
        int64_t n = 0;
        if (row[i].bos) want[n++] = 256;
        want[n++] = 'a';
        want[n++] = 'b';
        if (row[i].eos) want[n++] = 257;
        assert_no_error(open_class(a, row[i].class, row[i].settings, &t));
        assert_ids(t, true, "ab", n, want);
        assert_ids(t, false, "ab", 2, (const uint32_t[]){ 'a', 'b' });
        t->close(t);
    }
    arena_free(a);
}

TEST(classes_that_would_need_other_files_are_refused)
{
    Arena *a = arena_new();
    Tokenizer *t;
    assert_error_has(open_class(a, "LlamaTokenizer", ", \"add_prefix_space\": true", &t),
                     "add_prefix_space: is not supported for LlamaTokenizer");
    assert_error_has(open_class(a, "BertTokenizer", "", &t), "supported: GPT2Tokenizer, CodeGen");
    assert_error_has(open_class(a, "PreTrainedTokenizer", "", &t), "is not supported");
    assert_error_has(open_class(a, "LlamaTokenizerSlow", "", &t), "is not supported");
    assert_error_has(open_class(a, "LlamaTokenizer", ", \"bos_token\": null", &t),
                     "says add_bos_token, but there is no bos_token");
    arena_free(a);
}

/* A mask that the file does not list takes the blanks in front of it. */
TEST(the_mask_of_a_class_takes_blanks)
{
    Arena *a = arena_new();
    Tokenizer *t;
    assert_no_error(open_class(a, "RobertaTokenizer", ", \"mask_token\": \"<mask>\"", &t));
    assert_ids(t, false, "a  <mask>", 2, (const uint32_t[]){ 'a', 258 });
    t->close(t);
    assert_no_error(open_class(a, "Qwen2Tokenizer", ", \"mask_token\": \"<mask>\"", &t));
    assert_int_equal(t->n_ids, 259);
    t->close(t);
    arena_free(a);
}
