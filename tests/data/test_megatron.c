/* test_megatron.c - tokens of Megatron-LM and fairseq: there and back, every form and type, and
 * damage by name. */
#include "data/megatron.h"
#include "data/packed_file.h"
#include "data/pbin.h"
#include "test.h"
#include <string.h>

/* What a pair of files is made of; written byte by byte as the formats are documented. */
typedef struct Pair {
    int type, token_bytes;
    const void *data;
    size_t n_bytes;
    int64_t n;
    const int32_t *length;
    const int64_t *place;
    const int64_t *first; /* NULL: fairseq's form */
    int64_t n_first;
    const char *modes; /* or NULL */
} Pair;

static void add(Text *t, int64_t number, int n_bytes)
{
    text_add(t, &number, (size_t)n_bytes);
}

static Text index_of(const Pair *p)
{
    Text t = { 0 };
    text_add(&t, "MMIDIDX\0\0", 9);
    add(&t, 1, 8);
    add(&t, p->type, 1);
    add(&t, p->n, 8);
    if (p->first) add(&t, p->n_first, 8);
    for (int64_t i = 0; i < p->n; i++) add(&t, p->length[i], 4);
    for (int64_t i = 0; i < p->n; i++) add(&t, p->place[i], 8);
    for (int64_t i = 0; p->first && i < p->n_first; i++) add(&t, p->first[i], 8);
    if (p->modes) text_add(&t, p->modes, (size_t)p->n);
    return t;
}

static const char *path_of(Arena *a, const char *name)
{
    return path_join(a, test_folder(), name);
}

static Error *import(Arena *a, const Pair *p, bool by_sequence, MegatronSummary *out)
{
    Text t = index_of(p);
    assert_no_error(file_write(path_of(a, "x.idx"), t.ptr, t.len));
    assert_no_error(file_write(path_of(a, "x.bin"), p->data, p->n_bytes));
    text_free(&t);
    return import_megatron(path_of(a, "x.bin"), path_of(a, "x.idx"), path_of(a, "x.pbin"),
                           by_sequence, out);
}

/* "1 2 3 | 4 |" of x.pbin */
static const char *documents(Arena *a, int token_bytes)
{
    Pbin p;
    IndexEntry *d;
    int64_t n;
    Text t = { 0 };
    assert_no_error(pbin_open(a, path_of(a, "x.pbin"), &p));
    assert_no_error(pbin_documents(a, &p, &d, &n));
    assert_int_equal(p.token_bytes, token_bytes);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < d[i].length / p.token_bytes; k++)
            text_printf(&t, "%u ", pbin_token(&p, d[i].offset / p.token_bytes + k));
        text_puts(&t, "| ");
    }
    const char *result = arena_string(a, t.ptr ? t.ptr : "");
    text_free(&t);
    return result;
}

static const uint16_t five[] = { 10, 11, 12, 13, 14 };
static const int32_t lengths[] = { 2, 1, 2 };
static const int64_t places[] = { 0, 4, 6 }, firsts[] = { 0, 1, 2, 3 };

static Pair simple(void)
{
    return (Pair){ .type = 8,
                   .token_bytes = 2,
                   .data = five,
                   .n_bytes = sizeof five,
                   .n = 3,
                   .length = lengths,
                   .place = places,
                   .first = firsts,
                   .n_first = 4 };
}

TEST(both_forms_of_the_index_are_imported)
{
    Arena *a = arena_new();
    MegatronSummary s;
    Pair p = simple();
    assert_no_error(import(a, &p, false, &s));
    assert_int_equal(s.form, MEGATRON_INDEX);
    assert_string_equal(documents(a, 2), "10 11 | 12 | 13 14 | ");
    p.modes = "\0\0\0";
    assert_no_error(import(a, &p, false, &s));
    assert_string_equal(documents(a, 2), "10 11 | 12 | 13 14 | ");
    p.modes = NULL;
    p.first = NULL;
    assert_no_error(import(a, &p, false, &s));
    assert_int_equal(s.form, FAIRSEQ_INDEX);
    assert_string_equal(documents(a, 2), "10 11 | 12 | 13 14 | ");
    arena_free(a);
}

TEST(documents_of_several_sequences_are_joined_unless_told_otherwise)
{
    Arena *a = arena_new();
    MegatronSummary s;
    Pair p = simple();
    p.first = (int64_t[]){ 0, 0, 2, 3 };
    assert_no_error(import(a, &p, false, &s));
    assert_int_equal(s.n_documents, 3);
    assert_string_equal(documents(a, 2), "| 10 11 12 | 13 14 | ");
    assert_no_error(import(a, &p, true, &s));
    assert_string_equal(documents(a, 2), "10 11 | 12 | 13 14 | ");
    p.first = (int64_t[]){ 0 };
    p.n_first = 1;
    assert_error_has(import(a, &p, false, &s), "document 0 begins with sequence 0; documents must");
    assert_no_error(import(a, &p, true, &s));
    p.n_first = 0;
    assert_error_has(import(a, &p, false, &s), "its list of documents lacks the first entry");
    arena_free(a);
}

TEST(sequences_may_lie_anywhere_in_the_data)
{
    Arena *a = arena_new();
    MegatronSummary s;
    Pair p = simple();
    p.place = (int64_t[]){ 6, 0, 2 };
    assert_no_error(import(a, &p, false, &s));
    assert_string_equal(documents(a, 2), "13 14 | 10 | 11 12 | ");
    p.place = (int64_t[]){ 6, 6, 6 };
    assert_no_error(import(a, &p, false, &s));
    assert_string_equal(documents(a, 2), "13 14 | 13 | 13 14 | ");
    arena_free(a);
}

/* Any whole type becomes the unsigned one of its size, 8 bytes become 4. */
TEST(tokens_of_every_whole_type_are_imported)
{
    static const struct {
        int type, bytes, becomes;
        bool is_signed;
    } types[] = { { 1, 1, 1, false }, { 2, 1, 1, true },  { 3, 2, 2, true },  { 4, 4, 4, true },
                  { 5, 8, 4, true },  { 8, 2, 2, false }, { 9, 4, 4, false }, { 10, 8, 4, false } };
    Arena *a = arena_new();
    MegatronSummary s;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        Text data = { 0 };
        int size = types[i].bytes;
        for (int k = 0; k < 5; k++) add(&data, 100 + k, size);
        Pair p = simple();
        p.type = types[i].type;
        p.place = (int64_t[]){ 0, 2 * size, 3 * size };
        p.data = data.ptr;
        p.n_bytes = data.len;
        assert_no_error(import(a, &p, false, &s));
        assert_string_equal(documents(a, types[i].becomes), "100 101 | 102 | 103 104 | ");
        data.ptr[4 * size - 1] = (char)0xff; /* the sign of the fourth token */
        Error *e = import(a, &p, false, &s);
        if (types[i].is_signed || size == 8)
            assert_error_has(
                e, arena_printf(a, "x.bin: the token at byte %d is negative or needs", 3 * size));
        else
            assert_no_error(e);
        text_free(&data);
    }
    arena_free(a);
}

/* More than one block of the check, the bad token in a late one. */
TEST(large_data_is_checked_and_converted_whole)
{
    enum { N = 700000 };
    Arena *a = arena_new();
    MegatronSummary s;
    int64_t *data = NEW_N(a, int64_t, N);
    for (int i = 0; i < N; i++) data[i] = i * INT64_C(5000);
    Pair p = { .type = 5,
               .data = data,
               .n_bytes = (size_t)N * 8,
               .n = 1,
               .length = (int32_t[]){ N },
               .place = (int64_t[]){ 0 } };
    assert_no_error(import(a, &p, false, &s));
    assert_int_equal(s.n_bytes, (int64_t)N * 4);
    Pbin out;
    assert_no_error(pbin_open(a, path_of(a, "x.pbin"), &out));
    for (int i = 0; i < N; i++) assert_int_equal(pbin_token(&out, i), (uint32_t)data[i]);
    data[N - 1] = INT64_C(1) << 32;
    data[N - 2] = -1;
    assert_error_has(import(a, &p, false, &s), "the token at byte 5599984 is negative");
    arena_free(a);
}

static void assert_same_file(Arena *a, const char *one, const char *other)
{
    Str x, y;
    assert_no_error(file_read(a, one, &x));
    assert_no_error(file_read(a, other, &y));
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.ptr, y.ptr, x.len);
}

TEST(what_is_exported_comes_back_byte_for_byte)
{
    Arena *a = arena_new();
    MegatronSummary s;
    static const int64_t length[] = { 6, 0, 1, 700 };
    const char *const files[] = { packed_file(a, "one.pbin", 1, 0, length, 3),
                                  packed_file(a, "two.pbin", 2, 9, length, 4),
                                  packed_file(a, "four.pbin", 4, 70000, length, 4),
                                  packed_file(a, "no.pbin", 2, 0, NULL, 0),
                                  shared_path(a, "data/modalities/data/lorem_ipsum_long.pbin") };
    for (int i = 0; i < 5; i++)
        for (int form = 0; form < 2; form++) {
            assert_no_error(export_megatron(files[i], path_of(a, "e.bin"), path_of(a, "e.idx"),
                                            (MegatronForm)form, &s));
            assert_no_error(import_megatron(path_of(a, "e.bin"), path_of(a, "e.idx"),
                                            path_of(a, "back.pbin"), false, &s));
            assert_int_equal(s.form, form);
            assert_same_file(a, path_of(a, "back.pbin"), files[i]);
            /* and what was imported is exported as it was */
            assert_no_error(export_megatron(path_of(a, "back.pbin"), path_of(a, "f.bin"),
                                            path_of(a, "f.idx"), (MegatronForm)form, &s));
            assert_same_file(a, path_of(a, "f.bin"), path_of(a, "e.bin"));
            assert_same_file(a, path_of(a, "f.idx"), path_of(a, "e.idx"));
        }
    arena_free(a);
}

TEST(an_exported_index_has_the_documented_bytes)
{
    Arena *a = arena_new();
    MegatronSummary s;
    Str got;
    static const int64_t length[] = { 2, 1, 2 };
    Pair p = simple();
    Text expected = index_of(&p);
    assert_no_error(export_megatron(packed_file(a, "s.pbin", 2, 10, length, 3), path_of(a, "e.bin"),
                                    path_of(a, "e.idx"), MEGATRON_INDEX, &s));
    assert_no_error(file_read(a, path_of(a, "e.idx"), &got));
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.ptr, expected.ptr, got.len);
    assert_no_error(file_read(a, path_of(a, "e.bin"), &got));
    assert_int_equal(got.len, sizeof five);
    assert_memory_equal(got.ptr, five, sizeof five);
    text_free(&expected);
    arena_free(a);
}

TEST(ids_beyond_megatrons_type_are_refused)
{
    Arena *a = arena_new();
    MegatronSummary s;
    const char *path = packed_file(a, "big.pbin", 4, UINT32_C(1) << 31, (int64_t[]){ 2 }, 1);
    assert_error_has(
        export_megatron(path, path_of(a, "e.bin"), path_of(a, "e.idx"), MEGATRON_INDEX, &s),
        "big.pbin: token 0 (byte 12 of the file) is 2147483648, allowed are 0 to 2147483647");
    assert_false(file_exists(path_of(a, "e.bin")));
    arena_free(a);
}

/* The index with bytes replaced, cut to len, or as it is with -1. */
static void assert_damaged(const Pair *p, size_t at, const void *bytes, size_t n, int64_t len,
                           const char *why)
{
    Text t = index_of(p);
    MegatronIndex m;
    assert_true(at + n <= t.len);
    if (n) memcpy(t.ptr + at, bytes, n);
    Str cut = { t.ptr, len < 0 ? t.len : (size_t)len };
    Error *e = megatron_index_open(cut, "bad.idx", (int64_t)p->n_bytes, false, &m);
    if (!e) fail_msg("accepted; expected \"%s\"", why);
    assert_contains(error_text(e), "bad.idx");
    assert_error_has(e, why);
    text_free(&t);
}

TEST(a_damaged_index_is_refused_by_name)
{
    Pair p = simple();
    enum { HEADER = 34 };
    assert_damaged(&p, 0, NULL, 0, 0, "it does not begin with MMIDIDX");
    assert_damaged(&p, 0, NULL, 0, 25, "it does not begin with MMIDIDX");
    assert_damaged(&p, 0, "TNTIDX\0\0", 8, -1, "--dataset-impl mmap");
    assert_damaged(&p, 9, "\2", 1, -1, "version 2, known is 1");
    assert_damaged(&p, 17, "\6", 1, -1, "type 6 of tokens");
    assert_damaged(&p, 17, "\0", 1, -1, "type 0 of tokens");
    assert_damaged(&p, 17, "\377", 1, -1, "type 255 of tokens");
    assert_damaged(&p, 18, "\377\377\377\377\377\377\377\377", 8, -1,
                   "do not hold 18446744073709551615");
    assert_damaged(&p, 26, "\377\377\377\377\377\377\377\377", 8, -1, "fit neither");
    assert_damaged(&p, 0, NULL, 0, 101, "101 bytes fit neither Megatron-LM's nor fairseq's index");
    assert_damaged(&p, HEADER, "\377\377\377\377", 4, -1, "sequence 0 is -1 tokens");
    assert_damaged(&p, HEADER + 8, "\3", 1, -1,
                   "sequence 2 is 3 tokens of 2 bytes at byte 6 of the .bin file, which has 10");
    assert_damaged(&p, HEADER + 12 + 7, "\200", 1, -1,
                   "sequence 0 is 2 tokens of 2 bytes at byte -");
    assert_damaged(&p, HEADER + 36, "\1", 1, -1, "document 0 begins with sequence 1");
    assert_damaged(&p, HEADER + 36 + 8, "\3", 1, -1, "document 2 begins with sequence 2");
    assert_damaged(&p, HEADER + 36 + 24, "\2", 1, -1, "document 3 begins with sequence 2");
    p.modes = "\0\1\0";
    assert_damaged(&p, 0, NULL, 0, -1, "sequence 1 is no text (mode 1)");
    p = simple();
    p.place = (int64_t[]){ 0, 3, 6 };
    Arena *a = arena_new();
    MegatronSummary s;
    assert_error_has(import(a, &p, false, &s), "sequence 1 begins at byte 3, in the middle of");
    assert_false(file_exists(path_of(a, "x.pbin")));
    arena_free(a);
}
