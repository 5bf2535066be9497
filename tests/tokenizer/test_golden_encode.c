/* test_golden_encode.c - ids and decoded text of every golden text, and of random lists of ids. */
#include "tokenizer/golden_tokenizers.h"
#include <string.h>

GOLDEN_CASES(encode_cases)
{
    golden_add_files(to, "tokenizers/", "tokenizers", "*.jsonl", ".jsonl");
    int64_t n = 0; /* without the inputs, pairs, and what test_golden_wrapper.c runs */
    for (int64_t i = 0; i < to->n; i++) {
        const char *name = to->name[i];
        if (strcmp(name, "tokenizers/nasty") && strcmp(name, "tokenizers/pairs") &&
            strcmp(name, "tokenizers/wrapper_gpt2")) {
            to->name[n++] = name;
        }
    }
    to->n = n;
}

GOLDEN_CASES(synthetic_cases)
{
    golden_add_files(to, "tokenizers/synthetic/", "tokenizers/synthetic", "*", NULL);
}

GOLDEN_CASES(decode_cases)
{
    golden_add_files(to, "tokenizers/decode/", "tokenizers/decode", "*.jsonl", ".jsonl");
}

static Str decoded(const Tokenizer *t, const Ids *ids, bool skip_special, Text *room)
{
    text_clear(room);
    text_puts(room, "");
    assert_no_error(t->decode(t, ids->id, ids->n, skip_special, room));
    return (Str){ room->ptr, room->len };
}

static void assert_text(const char *what, Str got, Str expected)
{
    if (!str_equal(got, expected)) {
        fail_msg("%s: \"%.*s\", expected \"%.*s\"", what, (int)got.len, got.ptr, (int)expected.len,
                 expected.ptr);
    }
}

/* `dec` and `dec_skip` of a row; `otherwise` is what an absent `dec` stands for. */
static void check_decoding(const char *what, const Tokenizer *t, const Ids *ids, const json_t *row,
                           Str otherwise)
{
    Text room = { 0 };
    if (json_is_null(json_object_get(row, "dec"))) { /* the library gives up: any answer will do */
        error_free(t->decode(t, ids->id, ids->n, false, &room));
        text_free(&room);
        return;
    }
    Str dec = golden_text(row, "dec"), skip = golden_text(row, "dec_skip");
    if (!dec.ptr) dec = otherwise;
    if (json_is_true(json_object_get(row, "skip_is_text"))) skip = otherwise;
    if (!skip.ptr) skip = dec;
    assert_text(what, decoded(t, ids, false, &room), dec);
    /* The library tiktoken knows no skipping, and its goldens tell nothing about it. */
    if (strcmp(t->kind, "tiktoken") != 0) assert_text(what, decoded(t, ids, true, &room), skip);
    text_free(&room);
}

static int64_t number(const json_t *row, const char *key)
{
    return json_integer_value(json_object_get(row, key));
}

static void check_row(const char *file, const Tokenizer *t, Encoder *e, const json_t *row, Str text)
{
    char what[200];
    snprintf(what, sizeof what, "%s %s", file, json_string_value(json_object_get(row, "id")));
    const json_t *expected = json_object_get(row, "ids"),
                 *plain = json_object_get(row, "ids_plain");
    size_t n = json_array_size(expected);
    Ids ids = { 0 };
    if (json_object_get(row, "error")) {
        Error *err = t->encode(e, text, true, &ids);
        if (!err) fail_msg("%s: no error", what);
        error_free(err);
        ids_free(&ids);
        return;
    }
    assert_no_error(t->encode(e, text, false, &ids));
    if (plain)
        assert_ids(what, &ids, plain, 0, json_array_size(plain));
    else
        assert_ids(what, &ids, expected, (size_t)number(row, "pre"),
                   n - (size_t)number(row, "post"));
    ids.n = 0;
    assert_no_error(t->encode(e, text, true, &ids));
    assert_ids(what, &ids, expected, 0, n);
    check_decoding(what, t, &ids, row, text);
    ids_free(&ids);
}

static void check_encoding(Arena *a, const char *file, const Tokenizer *t, const json_t *texts)
{
    GoldenRows rows = golden_rows(a, file);
    assert_true(rows.n > 100);
    Encoder *e = t->encoder_new(t);
    for (int64_t i = 0; i < rows.n; i++) {
        const json_t *row = rows.row[i];
        check_row(file, t, e, row,
                  golden_text(texts, json_string_value(json_object_get(row, "id"))));
    }
    t->encoder_free(e);
}

static void check_decode_file(Arena *a, const char *file, const Tokenizer *t)
{
    GoldenRows rows = golden_rows(a, file);
    assert_true(rows.n > 0);
    for (int64_t i = 0; i < rows.n; i++) {
        const json_t *list = json_object_get(rows.row[i], "ids");
        Ids ids = { 0 };
        for (size_t k = 0; k < json_array_size(list); k++) {
            ids_add(&ids, (uint32_t)json_integer_value(json_array_get(list, k)));
        }
        char what[200];
        snprintf(what, sizeof what, "%s row %lld", file, (long long)i);
        check_decoding(what, t, &ids, rows.row[i], (Str){ "", 0 });
        ids_free(&ids);
    }
}

static const char *tail(const char *name)
{
    return strrchr(name, '/') + 1;
}

TEST(golden_texts_are_encoded_and_decoded)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    encode_cases(&cases);
    json_t *texts = golden_texts(a);
    int64_t n_run = 0;
    for (int64_t i = 0; i < cases.n; i++) {
        if (golden_later(a, cases.name[i])) continue;
        Tokenizer *t = golden_tokenizer(a, tail(cases.name[i]));
        check_encoding(a, arena_printf(a, "%s.jsonl", tail(cases.name[i])), t, texts);
        t->close(t);
        n_run++;
    }
    assert_true(n_run > 0);
    arena_free(a);
}

TEST(golden_texts_are_encoded_by_synthetic_tokenizers)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    synthetic_cases(&cases);
    json_t *texts = golden_texts(a);
    int64_t n_run = 0;
    for (int64_t i = 0; i < cases.n; i++) {
        const char *name = tail(cases.name[i]);
        if (golden_later(a, cases.name[i])) continue;
        Tokenizer *t = golden_tokenizer_in(a, arena_printf(a, "data/goldens/%s", cases.name[i]));
        check_encoding(a, arena_printf(a, "synthetic/%s/%s.jsonl", name, name), t, texts);
        check_decode_file(a, arena_printf(a, "synthetic/%s/%s.decode.jsonl", name, name), t);
        t->close(t);
        n_run++;
    }
    assert_true(n_run > 0);
    arena_free(a);
}

TEST(golden_lists_of_ids_are_decoded)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    decode_cases(&cases);
    int64_t n_run = 0;
    for (int64_t i = 0; i < cases.n; i++) {
        if (golden_later(a, cases.name[i])) continue;
        Tokenizer *t = golden_tokenizer(a, tail(cases.name[i]));
        check_decode_file(a, arena_printf(a, "decode/%s.jsonl", tail(cases.name[i])), t);
        t->close(t);
        n_run++;
    }
    assert_true(n_run > 0);
    arena_free(a);
}
