/* golden_tokenizers.c - reading the goldens of tokenizers. */
#include "tokenizer/golden_tokenizers.h"
#include <string.h>

static void release(void *tree)
{
    json_decref(tree);
}

GoldenRows golden_rows(Arena *a, const char *file)
{
    GoldenRows rows = { 0 };
    int64_t cap = 0;
    Str text;
    assert_no_error(
        file_read(a, shared_path(a, arena_printf(a, "data/goldens/tokenizers/%s", file)), &text));
    for (const char *at = text.ptr; *at;) {
        size_t len = strcspn(at, "\n");
        json_error_t problem;
        json_t *row = json_loadb(at, len, JSON_ALLOW_NUL, &problem);
        if (!row) fail_msg("%s line %d: %s", file, (int)rows.n + 1, problem.text);
        arena_on_free(a, release, row);
        rows.row = arena_grow(a, rows.row, rows.n, &cap, sizeof *rows.row);
        rows.row[rows.n++] = row;
        at += len + (at[len] == '\n');
    }
    return rows;
}

json_t *golden_texts(Arena *a)
{
    GoldenRows rows = golden_rows(a, "nasty.jsonl");
    json_t *texts = json_object();
    arena_on_free(a, release, texts);
    for (int64_t i = 0; i < rows.n; i++) {
        json_object_set(texts, json_string_value(json_object_get(rows.row[i], "id")),
                        json_object_get(rows.row[i], "text"));
    }
    return texts;
}

Str golden_text(const json_t *row, const char *key)
{
    const json_t *text = json_object_get(row, key);
    return (Str){ json_string_value(text), json_string_length(text) };
}

void assert_ids(const char *what, const Ids *ids, const json_t *expected, size_t from, size_t to)
{
    for (size_t i = from; i < to && i - from < (size_t)ids->n; i++) {
        json_int_t wanted = json_integer_value(json_array_get(expected, i));
        if (ids->id[i - from] != wanted) {
            fail_msg("%s: id %zu is %u, expected %lld", what, i - from, ids->id[i - from],
                     (long long)wanted);
        }
    }
    if ((size_t)ids->n != to - from)
        fail_msg("%s: %lld ids, expected %zu", what, (long long)ids->n, to - from);
}

const char *golden_tokenizer_path(Arena *a, const char *name)
{
    const char *below = arena_printf(a, "data/tokenizers/%s", name);
    if (!strncmp(name, "sp/", 3))
        below = arena_printf(a, "data/tokenizers/sentencepiece/%s.model", name + 3);
    if (!strcmp(name, "tiktoken_cl100k")) below = "data/tokenizers/tiktoken/cl100k_base.tiktoken";
    return shared_path(a, below);
}

Tokenizer *golden_tokenizer_in(Arena *a, const char *folder)
{
    Tokenizer *t;
    assert_no_error(tokenizer_open(shared_path(a, folder), &t));
    return t;
}

Tokenizer *golden_tokenizer(Arena *a, const char *name)
{
    Tokenizer *t;
    assert_no_error(tokenizer_open(golden_tokenizer_path(a, name), &t));
    return t;
}
