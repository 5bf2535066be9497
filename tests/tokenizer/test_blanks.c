/* test_blanks.c - tokenizers that only write blanks as U+2581 give the same ids by the short cut,
 * where that character is one byte, as stage by stage. */
#include "base/file.h"
#include "test.h"
#include "tokenizer/bpe/bpe.h"
#include "tokenizer/fuzz_text.h"
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include <string.h>

enum { N_TEXTS = 3000 };

#define PREPEND "{\"type\":\"Prepend\",\"prepend\":\"\u2581\"}"
#define REPLACE "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}"
#define SEQUENCE(list) "{\"type\":\"Sequence\",\"normalizers\":[" list "]}"
#define METASPACE(scheme, split)                                                                   \
    "{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"" scheme "\","        \
    "\"split\":" split "}"

/* Members of a tokenizer.json, NULL: as they are. */
typedef struct Change {
    const char *normalizer, *pre_tokenizer, *key, *value; /* the latter in the model */
    bool drops;                                           /* characters that are no tokens */
    bool normalized; /* an added token is sought in the normalized text */
} Change;

static void set_json(json_t *to, const char *key, const char *json)
{
    if (json)
        assert_int_equal(json_object_set_new(to, key, json_loads(json, JSON_DECODE_ANY, NULL)), 0);
}

/* The golden Llama-2-like tokenizer with these changes. */
static const char *changed(Arena *a, const Change *c)
{
    json_t *root = json_load_file(
        shared_path(a, "data/goldens/tokenizers/synthetic/bpe_llama2_like/tokenizer.json"), 0,
        NULL);
    assert_non_null(root);
    set_json(root, "normalizer", c->normalizer);
    set_json(root, "pre_tokenizer", c->pre_tokenizer);
    if (c->key) set_json(json_object_get(root, "model"), c->key, c->value);
    if (c->drops) {
        set_json(json_object_get(root, "model"), "byte_fallback", "false");
        set_json(json_object_get(root, "model"), "unk_token", "null");
    }
    if (c->normalized)
        set_json(json_array_get(json_object_get(root, "added_tokens"), 1), "normalized", "true");
    const char *path = path_join(a, test_folder(), "tokenizer.json");
    assert_int_equal(json_dump_file(root, path, 0), 0);
    json_decref(root);
    return path;
}

static HfTokenizer *opened(const char *path, bool plain)
{
    HfTokenizer *t;
    assert_no_error(hf_tokenizer_read(path, &t));
    t->without_cache = plain;
    assert_no_error(hf_tokenizer_finish(t));
    return t;
}

static void compare(const Change *c)
{
    Arena *a = arena_new();
    const char *path = changed(a, c);
    HfTokenizer *t[] = { opened(path, false), opened(path, true) };
    assert_non_null(t[0]->blank_model);
    assert_null(t[1]->blank_model);
    ((Bpe *)t[1]->model)->walk = NULL;
    FuzzSource source = fuzz_source(a, &t[0]->base);
    Encoder *e[] = { hf_encoder_new(&t[0]->base), hf_encoder_new(&t[1]->base) };
    Ids ids[2] = { { 0 } };
    Text text = { 0 };
    for (uint64_t i = 0; i < N_TEXTS; i++) {
        fuzz_text(&source, i, &text);
        for (int k = 0; k < 2; k++) {
            ids[k].n = 0;
            assert_no_error(hf_encoder_encode(e[k], (Str){ text.ptr, text.len }, false, &ids[k]));
        }
        assert_int_equal(ids[0].n, ids[1].n);
        assert_memory_equal(ids[0].id, ids[1].id, (size_t)ids[0].n * sizeof(uint32_t));
    }
    text_free(&text);
    for (int k = 0; k < 2; k++) {
        ids_free(&ids[k]);
        t[k]->base.encoder_free(e[k]);
        hf_tokenizer_free(t[k]);
    }
    arena_free(a);
}

TEST(text_whose_blanks_alone_change_has_the_same_ids_by_the_short_cut)
{
    static const Change change[] = {
        { 0 },
        { .normalizer = REPLACE },
        { .normalizer = SEQUENCE(REPLACE "," PREPEND) },
        { .normalizer = SEQUENCE(PREPEND "," REPLACE), .key = "byte_fallback", .value = "false" },
        { .normalizer = REPLACE, .key = "fuse_unk", .value = "false" },
        { .normalizer = REPLACE, .key = "unk_token", .value = "null" },
        { .normalizer = REPLACE, .drops = true },
        { .normalizer = "null", .pre_tokenizer = METASPACE("first", "false") },
        { .normalizer = "null", .pre_tokenizer = METASPACE("always", "false") },
        { .normalizer = "null", .pre_tokenizer = METASPACE("always", "true") },
        { .normalizer = "null", .pre_tokenizer = METASPACE("never", "true") },
        { .normalizer = "null",
          .pre_tokenizer = METASPACE("first", "true"),
          .key = "byte_fallback",
          .value = "false" },
        { .normalizer = PREPEND, .pre_tokenizer = METASPACE("first", "true") },
    };
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) compare(&change[i]);
}

TEST(text_that_changes_otherwise_goes_stage_by_stage)
{
    static const Change change[] = {
        { .normalizer = "null" },
        { .normalizer = PREPEND },
        { .normalizer = SEQUENCE(PREPEND "," PREPEND "," REPLACE) },
        { .normalizer = SEQUENCE(REPLACE ",{\"type\":\"NFC\"}") },
        { .normalizer =
              "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" \"},\"content\":\"\u2581\"}" },
        { .pre_tokenizer = "{\"type\":\"Whitespace\"}" },
        { .pre_tokenizer = "{\"type\":\"Metaspace\",\"replacement\":\"_\"}" },
        { .key = "ignore_merges", .value = "true" },
        { .key = "end_of_word_suffix", .value = "\"</w>\"" },
        { .normalized = true },
    };
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        Arena *a = arena_new();
        HfTokenizer *t = opened(changed(a, &change[i]), false);
        assert_null(t->blank_model);
        hf_tokenizer_free(t);
        arena_free(a);
    }
}
