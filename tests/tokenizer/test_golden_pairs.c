/* test_golden_pairs.c - pairs of texts: ids, type ids, masks, and what truncation leaves over. */
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include <string.h>

GOLDEN_CASES(pair_cases)
{
    golden_add(to, "tokenizers/pairs.jsonl");
}

static void check_list(const char *what, const char *list, const Ids *got, const json_t *row)
{
    char name[300];
    snprintf(name, sizeof name, "%s %s", what, list);
    const json_t *expected = json_object_get(row, list);
    assert_ids(name, got, expected, 0, json_array_size(expected));
}

/* Left out when all of it is 1. */
static void check_attention(const char *what, const Ids *got, const json_t *row)
{
    if (json_object_get(row, "attention")) {
        check_list(what, "attention", got, row);
        return;
    }
    for (int64_t i = 0; i < got->n; i++) {
        if (got->id[i] != 1) fail_msg("%s attention %lld is 0", what, (long long)i);
    }
}

static void check_overflow(const char *what, const HfEncoding *got, const json_t *row)
{
    const json_t *expected = json_object_get(row, "overflow");
    if (!expected) return;
    if ((size_t)got->overflow_ends.n != json_array_size(expected)) {
        fail_msg("%s: %lld overflowing encodings, expected %zu", what,
                 (long long)got->overflow_ends.n, json_array_size(expected));
    }
    for (int64_t i = 0; i < got->overflow_ends.n; i++) {
        uint32_t from = i ? got->overflow_ends.id[i - 1] : 0;
        const json_t *list = json_array_get(expected, (size_t)i);
        Ids part = { .id = got->overflow.id + from, .n = got->overflow_ends.id[i] - from };
        assert_ids(what, &part, list, 0, json_array_size(list));
    }
}

static void check_row(const char *file, Encoder *e, const json_t *row, const json_t *texts)
{
    const char *a = json_string_value(json_object_get(row, "a")),
               *b = json_string_value(json_object_get(row, "b"));
    char what[200];
    snprintf(what, sizeof what, "%s %s %s", file, a, b ? b : "");
    Str first = golden_text(texts, a), second = { 0 };
    if (b) second = golden_text(texts, b);
    HfEncoding got = { 0 };
    Error *err = hf_encoder_encode_pair(e, first, b ? &second : NULL, true, &got);
    if (json_object_get(row, "error")) {
        if (!err) fail_msg("%s: no error", what);
        error_free(err);
    } else {
        assert_no_error(err);
        check_list(what, "ids", &got.ids, row);
        check_list(what, "type_ids", &got.type_ids, row);
        check_list(what, "special", &got.special, row);
        check_attention(what, &got.attention, row);
        check_overflow(what, &got, row);
    }
    hf_encoding_free(&got);
}

TEST(golden_pairs_of_texts_are_encoded)
{
    Arena *a = arena_new();
    json_t *texts = golden_texts(a);
    GoldenRows rows = golden_rows(a, "pairs.jsonl");
    assert_true(rows.n > 50);
    const char *open = "";
    Tokenizer *t = NULL;
    Encoder *e = NULL;
    for (int64_t i = 0; i <= rows.n; i++) {
        const char *name =
            i < rows.n ? json_string_value(json_object_get(rows.row[i], "tokenizer")) : "end";
        if (strcmp(name, open) != 0) {
            if (t) t->encoder_free(e);
            if (t) t->close(t);
            if (i == rows.n) break;
            t = golden_tokenizer(a, name);
            e = t->encoder_new(t);
            open = name;
        }
        check_row(name, e, rows.row[i], texts);
    }
    arena_free(a);
}

TEST(golden_pairs_of_texts_are_encoded_by_synthetic_tokenizers)
{
    Arena *a = arena_new();
    json_t *texts = golden_texts(a);
    GoldenCases cases = { .arena = a };
    golden_add_files(&cases, "", "tokenizers/synthetic", "*", NULL);
    int64_t n_overflow = 0;
    for (int64_t i = 0; i < cases.n; i++) {
        const char *name = cases.name[i];
        GoldenRows rows =
            golden_rows(a, arena_printf(a, "synthetic/%s/%s.pairs.jsonl", name, name));
        assert_true(rows.n > 0);
        Tokenizer *t =
            golden_tokenizer_in(a, arena_printf(a, "data/goldens/tokenizers/synthetic/%s", name));
        Encoder *e = t->encoder_new(t);
        for (int64_t k = 0; k < rows.n; k++) {
            check_row(name, e, rows.row[k], texts);
            n_overflow += json_object_get(rows.row[k], "overflow") != NULL;
        }
        t->encoder_free(e);
        t->close(t);
    }
    assert_true(cases.n > 20 && n_overflow > 0);
    arena_free(a);
}
