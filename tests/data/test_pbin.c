/* test_pbin.c - packed files: what is written is read back, and damage is refused by name. */
#include "data/packed_file.h"
#include "data/pbin.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(packed_tokens_of_every_size_read_back)
{
    Arena *a = arena_new();
    int64_t length[] = { 6, 10, 3, 1 };
    for (int size = 1; size <= 4; size *= 2) {
        Pbin p;
        IndexEntry *document;
        int64_t n;
        assert_no_error(pbin_open(a, packed_file(a, "counting.pbin", size, 0, length, 4), &p));
        assert_int_equal(p.token_bytes, size);
        assert_int_equal(p.n_tokens, 20);
        for (int64_t i = 0; i < 20; i++) assert_int_equal(pbin_token(&p, i), i);
        assert_no_error(pbin_documents(a, &p, &document, &n));
        assert_int_equal(n, 4);
        for (int64_t i = 0, at = 0; i < 4; at += length[i++] * size) {
            assert_int_equal(document[i].offset, at);
            assert_int_equal(document[i].length, length[i] * size);
        }
    }
    arena_free(a);
}

TEST(a_file_without_documents_is_valid)
{
    Arena *a = arena_new();
    Str bytes;
    const char *path = packed_file(a, "empty.pbin", 2, 0, NULL, 0);
    assert_no_error(file_read(a, path, &bytes));
    assert_int_equal(bytes.len, 12 + 5);
    assert_memory_equal(bytes.ptr, "\0\0\0\0\0\0\0\0\x02\0\0\0\x80\x04]\x94.", 17);
    Pbin p;
    IndexEntry *document;
    int64_t n;
    assert_no_error(pbin_open(a, path, &p));
    assert_no_error(pbin_documents(a, &p, &document, &n));
    assert_int_equal(n + p.n_tokens, 0);
    arena_free(a);
}

/* Rewrites a golden file from its own documents. */
static void assert_rewritten(const char *golden)
{
    Arena *a = arena_new();
    Pbin p;
    IndexEntry *document;
    int64_t n;
    PbinWriter w;
    Str expected, got;
    const char *from = shared_path(a, golden), *to = path_join(a, test_folder(), path_name(golden));
    assert_no_error(pbin_open(a, from, &p));
    assert_no_error(pbin_documents(a, &p, &document, &n));
    assert_no_error(pbin_create(to, p.token_bytes, &w));
    for (int64_t i = 0; i < n; i++)
        assert_no_error(pbin_add(&w, p.tokens + document[i].offset, (size_t)document[i].length));
    assert_false(file_exists(to)); /* nothing under the name before the end */
    assert_no_error(pbin_commit(&w));
    assert_no_error(file_read(a, from, &expected));
    assert_no_error(file_read(a, to, &got));
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.ptr, expected.ptr, got.len);
    arena_free(a);
}

TEST(files_that_the_original_wrote_are_rewritten_byte_for_byte)
{
    assert_rewritten("data/modalities/data/lorem_ipsum.pbin");
    assert_rewritten("data/modalities/data/lorem_ipsum_long.pbin");
    assert_rewritten("data/goldens/data/in/one_byte.pbin");
    assert_rewritten("data/goldens/data/in/four_byte.pbin");
}

TEST(the_token_size_follows_from_the_vocabulary)
{
    static const int64_t table[][2] = { { 1, 4 },
                                        { 2, 1 },
                                        { 254, 1 },
                                        { 255, 1 },
                                        { 256, 1 },
                                        { 257, 2 },
                                        { 65534, 2 },
                                        { 65535, 2 },
                                        { 65536, 2 },
                                        { 65537, 4 },
                                        { 65538, 4 },
                                        { 10000000, 4 },
                                        { INT64_C(1) << 32, 4 } };
    int size;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_no_error(pbin_token_bytes(table[i][0], &size));
        assert_int_equal(size, table[i][1]);
    }
    assert_error_has(pbin_token_bytes(0, &size), "a vocabulary of 0 tokens");
    assert_error_has(pbin_token_bytes((INT64_C(1) << 32) + 1, &size), "allowed are 1 to 2^32");
}

TEST(ids_that_do_not_fit_are_refused)
{
    Text t = { 0 };
    uint32_t id[] = { 255, 256, 65535, 65536, UINT32_MAX };
    assert_no_error(pbin_encode(id, 1, 1, &t));
    assert_error_has(pbin_encode(id, 2, 1, &t), "token 256 does not fit into the 1 bytes");
    assert_no_error(pbin_encode(id, 3, 2, &t));
    assert_error_has(pbin_encode(id, 4, 2, &t), "token 65536 does not fit into the 2 bytes");
    text_clear(&t);
    assert_no_error(pbin_encode(id, 5, 4, &t));
    assert_memory_equal(t.ptr, id, sizeof id);
    text_free(&t);
}

/* The file with its bytes from `at` on replaced, and cut to `len` (or whole with -1). */
static void assert_damaged(const char *path, size_t at, const void *bytes, size_t n, int64_t len,
                           const char *why)
{
    Arena *a = arena_new();
    Str file;
    assert_no_error(file_read(a, path, &file));
    if (n) memcpy((char *)file.ptr + at, bytes, n);
    const char *damaged = path_join(a, test_folder(), "damaged.pbin");
    assert_no_error(file_write(damaged, file.ptr, len < 0 ? file.len : (size_t)len));
    Pbin p;
    IndexEntry *document;
    int64_t n_documents;
    Error *e = pbin_open(a, damaged, &p);
    if (!e) e = pbin_documents(a, &p, &document, &n_documents);
    if (!e) fail_msg("accepted; expected \"%s\"", why);
    assert_contains(error_text(e), "damaged.pbin");
    assert_error_has(e, why);
    arena_free(a);
}

TEST(a_damaged_file_is_refused_by_name)
{
    Arena *a = arena_new();
    int64_t length[] = { 6, 10, 3, 1 };
    const char *path = packed_file(a, "counting.pbin", 2, 0, length, 4);
    assert_damaged(path, 0, NULL, 0, 0, "its header alone has 12");
    assert_damaged(path, 0, NULL, 0, 11, "its header alone has 12");
    assert_damaged(path, 0, NULL, 0, 30,
                   "cut short: its header announces 40 bytes of tokens, the file has 18");
    assert_damaged(path, 0, NULL, 0, 52,
                   "the index of documents after the 40 bytes of tokens is missing");
    assert_damaged(path, 0, NULL, 0, 60, "missing or cut short");
    assert_damaged(path, 8, "\x03", 1, -1, "token size 3 in the header, allowed are 1, 2 and 4");
    assert_damaged(path, 0, "\x27", 1, -1,
                   "39 bytes of tokens are no multiple of the token size 2");
    assert_damaged(path, 0, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, -1, "cut short");
    assert_damaged(path, 0, "\0", 1, -1, "missing or cut short"); /* a writer that died */
    /* protocol, frame, list and mark take 14 bytes; then K offset K length */
    assert_damaged(path, 52 + 14 + 3, "\x0e", 1, -1, "document 1 of the index is at bytes 12 to");
    assert_damaged(path, 52 + 14 + 1, "\x02", 1, -1, "document 0 of the index is at bytes 2 to");
    assert_damaged(path, 52 + 14 + 1, "\x02", 1, -1, "of the data, but the data begin at 0");
    assert_damaged(path, 52 + 14 + 3, "\x0d", 1, -1, "token size 2");
    arena_free(a);
}

TEST(offsets_that_count_the_header_are_understood)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "old.pbin");
    static const char bytes[] =
        "\x06\0\0\0\0\0\0\0\x01\0\0\0abcdef"
        "\x80\x04\x95\x12\0\0\0\0\0\0\0]\x94(K\x0cK\x02\x86\x94K\x0eK\x04\x86\x94"
        "e.";
    assert_no_error(file_write(path, bytes, sizeof bytes - 1));
    Pbin p;
    IndexEntry *document;
    int64_t n;
    assert_no_error(pbin_open(a, path, &p));
    assert_error_has(pbin_documents(a, &p, &document, &n), "frame"); /* its length is 0x11 */
    char *fixed = arena_copy(a, bytes, sizeof bytes - 1);
    fixed[12 + 6 + 3] = 0x11;
    assert_no_error(file_write(path, fixed, sizeof bytes - 1));
    assert_no_error(pbin_open(a, path, &p));
    assert_no_error(pbin_documents(a, &p, &document, &n));
    assert_int_equal(n, 2);
    assert_int_equal(document[0].offset, 0);
    assert_int_equal(document[1].offset, 2);
    arena_free(a);
}

TEST(an_id_beyond_the_vocabulary_is_named_with_its_place)
{
    Arena *a = arena_new();
    int64_t length[] = { 20 };
    Pbin p;
    assert_no_error(pbin_open(a, packed_file(a, "counting.pbin", 2, 0, length, 1), &p));
    assert_no_error(pbin_check_ids(&p, 20));
    assert_error_has(pbin_check_ids(&p, 17),
                     "token 17 (byte 46 of the file) is 17, allowed are 0 to 16");
    arena_free(a);
}

TEST(an_abandoned_file_leaves_nothing)
{
    Arena *a = arena_new();
    PbinWriter w;
    const char *folder = path_join(a, test_folder(), "empty");
    assert_no_error(make_directories(folder));
    assert_no_error(pbin_create(path_join(a, folder, "x.pbin"), 2, &w));
    assert_no_error(pbin_add(&w, "abcd", 4));
    assert_null(pbin_abandon(&w, NULL));
    assert_int_equal(rmdir(folder), 0);
    assert_error_has(pbin_create(path_join(a, folder, "x.pbin"), 2, &w), "x.pbin");
    arena_free(a);
}

TEST(as_many_tokens_are_decoded_as_there_are)
{
    static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    for (int size = 1; size <= 4; size *= 2) {
        uint32_t out[9];
        for (int i = 0; i < 9; i++) out[i] = 99;
        pbin_decode((Str){ (const char *)bytes, 8 }, size, out);
        assert_int_equal(out[0], size == 1 ? 1 : size == 2 ? 0x0201 : 0x04030201);
        assert_int_equal(out[8 / size - 1], size == 1 ? 8 : size == 2 ? 0x0807 : 0x08070605);
        for (int i = 8 / size; i < 9; i++) assert_int_equal(out[i], 99);
    }
}
