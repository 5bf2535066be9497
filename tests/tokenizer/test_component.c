/* test_component.c - tokenizer.pretrained_hf_tokenizer as a YAML makes it. */
#include "components.h"
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
