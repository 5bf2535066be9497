/* test_golden_wrapper.c - tokenizer.pretrained_hf_tokenizer against the original's class, setting
 * by setting. */
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/hf/pretrained.h"
#include <string.h>

GOLDEN_CASES(wrapper_cases)
{
    golden_add(to, "tokenizers/wrapper_gpt2");
}

static json_t *settings(Arena *a)
{
    const char *file = shared_path(a, "data/goldens/tokenizers/wrapper_gpt2.meta.json");
    json_t *meta = json_load_file(file, 0, NULL);
    assert_non_null(meta);
    return meta;
}

static void add_special(PretrainedHf *p, SpecialToken *list, const char *role, const json_t *token)
{
    list[p->n_special_tokens++] = (SpecialToken){ role, json_string_value(token) };
    p->special_tokens = list;
}

/* The options of a setting; `list` has room for its special tokens. */
static PretrainedHf options_of(Arena *a, const json_t *setting, SpecialToken *list)
{
    PretrainedHf p = { .path = shared_path(a, "data/tokenizers/gpt2"), .max_length = -1 };
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(setting, "options"), key, value)
    {
        if (!strcmp(key, "truncation"))
            p.truncation = json_is_true(value);
        else if (!strcmp(key, "max_length"))
            p.max_length = json_integer_value(value);
        else if (!strcmp(key, "padding") && json_is_true(value))
            p.padding = PADDING_LONGEST;
        else if (!strcmp(key, "padding"))
            p.padding = PADDING_MAX_LENGTH;
        else if (strcmp(key, "special_tokens"))
            fail_msg("unknown option %s", key);
    }
    json_object_foreach(json_object_get(json_object_get(setting, "options"), "special_tokens"), key,
                        value)
    {
        if (json_is_string(value)) add_special(&p, list, key, value);
        for (size_t i = 0; i < json_array_size(value); i++)
            add_special(&p, list, key, json_array_get(value, i));
    }
    return p;
}

/* The original warns when it gives the id of unk. */
static void check_token_ids(const char *name, const Tokenizer *t, const json_t *setting)
{
    const char *token;
    json_t *expected;
    json_object_foreach(json_object_get(setting, "get_token_id"), token, expected)
    {
        int64_t id = t->token_id(t, str_of(token));
        if (id < 0) id = t->unk_id;
        if (id != json_integer_value(json_object_get(expected, "id")))
            fail_msg("%s: id of %s", name, token);
        if ((id == t->unk_id) != json_is_true(json_object_get(expected, "warns")))
            fail_msg("%s: %s", name, token);
    }
    const json_t *special = json_object_get(setting, "special_token_ids");
    size_t n = 0;
    for (uint32_t id = 0; id < t->n_ids; id++) {
        if (!t->is_special(t, id)) continue;
        assert_int_equal(id, json_integer_value(json_array_get(special, n)));
        n++;
    }
    assert_int_equal(n, json_array_size(special));
}

static void check_length(const Tokenizer *t, Encoder *e, const json_t *setting)
{
    Text words = { 0 };
    for (int i = 0; i < 1100; i++) text_puts(&words, "word ");
    Ids ids = { 0 };
    const json_t *length = json_object_get(setting, "len_of_word_space_x1100");
    Error *err = t->encode(e, (Str){ words.ptr, words.len }, true, &ids);
    if (json_is_string(length)) {
        assert_error_has(err, "pad token");
    } else {
        assert_no_error(err);
        assert_int_equal(ids.n, json_integer_value(length));
    }
    ids_free(&ids);
    text_free(&words);
}

static void check_row(const char *name, const Tokenizer *t, Encoder *e, const json_t *row,
                      const json_t *texts)
{
    Str text = golden_text(row, "text"), dec = golden_text(row, "dec");
    if (!text.ptr) text = golden_text(texts, json_string_value(json_object_get(row, "id")));
    Ids ids = { 0 };
    Text decoded = { 0 };
    Error *err = t->encode(e, text, true, &ids);
    if (json_object_get(row, "error")) {
        assert_error_has(err, "pad token");
        ids_free(&ids);
        return;
    }
    assert_no_error(err);
    const json_t *expected = json_object_get(row, "ids");
    assert_ids(name, &ids, expected, 0, json_array_size(expected));
    text_puts(&decoded, "");
    assert_no_error(t->decode(t, ids.id, ids.n, false, &decoded));
    if (!str_equal((Str){ decoded.ptr, decoded.len }, dec.ptr ? dec : text)) {
        fail_msg("%s: decoded \"%s\" from \"%s\"", name, decoded.ptr, text.ptr);
    }
    ids_free(&ids);
    text_free(&decoded);
}

TEST(golden_settings_of_the_original_wrapper_give_its_ids_and_texts)
{
    Arena *a = arena_new();
    json_t *meta = settings(a), *texts = golden_texts(a), *setting;
    GoldenRows rows = golden_rows(a, "wrapper_gpt2.jsonl");
    const char *name;
    int64_t n_rows = 0;
    json_object_foreach(json_object_get(meta, "settings"), name, setting)
    {
        SpecialToken list[8];
        PretrainedHf options = options_of(a, setting, list);
        Tokenizer *t;
        Error *err = pretrained_hf_open(&options, &t);
        if (json_object_get(setting, "init_error")) {
            assert_error_has(err, "grow from 50257 to 50258");
            continue;
        }
        assert_no_error(err);
        assert_int_equal(t->vocab_size, json_integer_value(json_object_get(setting, "vocab_size")));
        Encoder *e = t->encoder_new(t);
        check_token_ids(name, t, setting);
        check_length(t, e, setting);
        for (int64_t i = 0; i < rows.n; i++) {
            if (!str_is(golden_text(rows.row[i], "setting"), name)) continue;
            check_row(name, t, e, rows.row[i], texts);
            n_rows++;
        }
        t->encoder_free(e);
        t->close(t);
    }
    assert_int_equal(n_rows, rows.n);
    json_decref(meta);
    arena_free(a);
}
