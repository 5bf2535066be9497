/* test_golden_sentencepiece.c - ids, pieces and texts of .model files as SentencePiece has them. */
#include "tokenizer/decode/stream.h"
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/sentencepiece/sentencepiece.h"
#include <string.h>

GOLDEN_CASES(sentencepiece_cases)
{
    golden_add_files(to, "tokenizers/sp/", "tokenizers/sp", "*.jsonl", ".jsonl");
    golden_add_files(to, "tokenizers/synthetic_sp/", "tokenizers/synthetic_sp", "*.jsonl",
                     ".jsonl");
}

/* Is it the one with the ids of the texts, and not "NAME.flags" or "NAME.decode"? */
static bool is_main(const char *name)
{
    return !strchr(name, '.');
}

static const char *model_path(Arena *a, const char *name)
{
    const char *below = name + strlen("tokenizers/");
    if (!strncmp(below, "sp/", 3)) return golden_tokenizer_path(a, below);
    return shared_path(a, arena_printf(a, "data/goldens/%s.model", name));
}

static const char *rows_file(Arena *a, const char *name, const char *suffix)
{
    return arena_printf(a, "%s%s", name + strlen("tokenizers/"), suffix);
}

static bool flag(const json_t *row, const char *key)
{
    return json_is_true(json_object_get(row, key));
}

static void check_text(const char *what, const Tokenizer *t, const Ids *ids, const json_t *row,
                       Str otherwise)
{
    Str expected = golden_text(row, "dec");
    if (!expected.ptr) expected = otherwise;
    Text text = { 0 };
    text_puts(&text, "");
    assert_no_error(t->decode(t, ids->id, ids->n, false, &text));
    if (!str_equal((Str){ text.ptr, text.len }, expected))
        fail_msg("%s: \"%.*s\", expected \"%.*s\"", what, (int)text.len, text.ptr,
                 (int)expected.len, expected.ptr);
    text_clear(&text);
    text_puts(&text, "");
    DecodeStream *s = decode_stream_new(t, false);
    for (int64_t i = 0; i < ids->n; i++) assert_no_error(decode_stream_add(s, ids->id[i], &text));
    assert_no_error(decode_stream_finish(s, &text));
    if (!str_equal((Str){ text.ptr, text.len }, expected)) fail_msg("%s: another stream", what);
    decode_stream_free(s);
    text_free(&text);
}

static void check_ids(Arena *a, const char *name, const json_t *texts, bool plain)
{
    GoldenRows rows = golden_rows(a, rows_file(a, name, ".jsonl"));
    assert_true(rows.n > 100);
    SpOptions options = { .plain = plain };
    Tokenizer *t;
    assert_no_error(sentencepiece_open(model_path(a, name), &options, &t));
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    for (int64_t i = 0; i < rows.n; i++) {
        const char *id = json_string_value(json_object_get(rows.row[i], "id"));
        const json_t *expected = json_object_get(rows.row[i], "ids");
        const char *what = arena_printf(a, "%s%s %s", name, plain ? " (plain)" : "", id);
        Str text = golden_text(texts, id);
        ids.n = 0;
        assert_no_error(t->encode(e, text, false, &ids));
        assert_ids(what, &ids, expected, 0, json_array_size(expected));
        check_text(what, t, &ids, rows.row[i], text);
    }
    ids_free(&ids);
    t->encoder_free(e);
    t->close(t);
}

typedef struct Expected {
    const char *what;
    const json_t *pieces;
    size_t n;
} Expected;

static void compare_piece(void *to, Str piece, uint32_t id)
{
    (void)id;
    Expected *e = to;
    const json_t *expected = json_array_get(e->pieces, e->n++);
    Str wanted = { json_string_value(expected), json_string_length(expected) };
    if (!wanted.ptr || !str_equal(piece, wanted))
        fail_msg("%s: piece %zu is \"%.*s\", expected \"%.*s\"", e->what, e->n - 1, (int)piece.len,
                 piece.ptr, (int)wanted.len, wanted.ptr);
}

/* One tokenizer for each way to set the three options, opened when it is needed. */
typedef struct ByOptions {
    const char *path;
    Tokenizer *t[8];
} ByOptions;

static Error *with_options(ByOptions *o, const json_t *row, Tokenizer **out)
{
    SpOptions options = { .add_bos = flag(row, "add_bos"),
                          .add_eos = flag(row, "add_eos"),
                          .reverse = flag(row, "reverse") };
    Tokenizer **t = &o->t[options.add_bos | options.add_eos << 1 | options.reverse << 2];
    if (!*t) TRY(sentencepiece_open(o->path, &options, t));
    *out = *t;
    return NULL;
}

static void check_flags_row(const char *what, ByOptions *o, const json_t *row, Str text)
{
    Tokenizer *t = NULL;
    Error *e = with_options(o, row, &t);
    if (json_object_get(row, "error")) {
        assert_error_has(e, "no control piece");
        return;
    }
    assert_no_error(e);
    const json_t *pieces = json_object_get(row, "pieces"), *expected = json_object_get(row, "ids");
    if (pieces) {
        Expected list = { what, pieces, 0 };
        assert_no_error(sentencepiece_pieces(t, text, compare_piece, &list));
        assert_int_equal(list.n, json_array_size(pieces));
        return;
    }
    Encoder *encoder = t->encoder_new(t);
    Ids ids = { 0 };
    assert_no_error(t->encode(encoder, text, true, &ids));
    assert_ids(what, &ids, expected, 0, json_array_size(expected));
    ids_free(&ids);
    t->encoder_free(encoder);
}

static void check_flags(Arena *a, const char *name, const json_t *texts)
{
    GoldenRows rows = golden_rows(a, rows_file(a, name, ".flags.jsonl"));
    ByOptions o = { .path = model_path(a, name) };
    assert_true(rows.n > 10);
    for (int64_t i = 0; i < rows.n; i++) {
        const char *id = json_string_value(json_object_get(rows.row[i], "id"));
        check_flags_row(arena_printf(a, "%s flags row %lld", name, (long long)i), &o, rows.row[i],
                        golden_text(texts, id));
    }
    for (int i = 0; i < 8; i++) {
        if (o.t[i]) o.t[i]->close(o.t[i]);
    }
}

static void check_decoding(Arena *a, const char *name, const Tokenizer *t)
{
    GoldenRows rows = golden_rows(a, rows_file(a, name, ".decode.jsonl"));
    assert_true(rows.n > 10);
    for (int64_t i = 0; i < rows.n; i++) {
        const json_t *list = json_object_get(rows.row[i], "ids");
        Ids ids = { 0 };
        for (size_t k = 0; k < json_array_size(list); k++)
            ids_add(&ids, (uint32_t)json_integer_value(json_array_get(list, k)));
        check_text(arena_printf(a, "%s decode row %lld", name, (long long)i), t, &ids, rows.row[i],
                   (Str){ "", 0 });
        ids_free(&ids);
    }
}

static int64_t number(const json_t *meta, const char *key)
{
    return json_integer_value(json_object_get(meta, key));
}

/* Piece to id and back; an unknown name has no id here, where SentencePiece gives unk_id. */
static void check_meta(Arena *a, const char *name, const Tokenizer *t)
{
    const json_t *meta = golden_rows(a, rows_file(a, name, ".meta.json")).row[0], *id;
    assert_int_equal(t->vocab_size, number(meta, "vocab_size"));
    SpSpecialIds special = sentencepiece_special_ids(t);
    assert_int_equal(special.unk, number(meta, "unk_id"));
    assert_int_equal(special.bos, number(meta, "bos_id"));
    assert_int_equal(special.eos, number(meta, "eos_id"));
    assert_int_equal(special.pad, number(meta, "pad_id"));
    const char *piece;
    json_object_foreach(json_object_get(meta, "piece_to_id"), piece, id)
    {
        int64_t got = t->token_id(t, str_of(piece));
        Str spelled;
        if (got >= 0)
            assert_true(t->token_name(t, (uint32_t)got, &spelled) && str_is(spelled, piece));
        else
            got = special.unk;
        assert_int_equal(got, json_integer_value(id));
    }
    size_t i;
    int64_t n_special = 0;
    for (int64_t k = 0; k < t->vocab_size; k++) n_special += t->is_special(t, (uint32_t)k);
    const json_t *control = json_object_get(meta, "control_ids"), *item;
    assert_int_equal(n_special, json_array_size(control));
    json_array_foreach(control, i, item)
        assert_true(t->is_special(t, (uint32_t)json_integer_value(item)));
}

TEST(golden_sentencepiece_models_give_ids_pieces_and_texts)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    sentencepiece_cases(&cases);
    json_t *texts = golden_texts(a);
    int64_t n_run = 0;
    for (int64_t i = 0; i < cases.n; i++) {
        const char *name = cases.name[i];
        n_run++; /* the flags and lists of ids are run with their texts */
        if (!is_main(name)) continue;
        check_ids(a, name, texts, false);
        check_ids(a, name, texts, true);
        check_flags(a, name, texts);
        Tokenizer *t;
        assert_no_error(tokenizer_open(model_path(a, name), &t));
        check_decoding(a, name, t);
        check_meta(a, name, t);
        t->close(t);
    }
    assert_true(n_run >= 33);
    arena_free(a);
}
