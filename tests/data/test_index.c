/* test_index.c - indexes are written as CPython pickles them and read back however they were
 * pickled. */
#include "data/index.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* The pickle of these entries. */
static Str written(Arena *a, const IndexEntry *entry, int64_t n)
{
    char *bytes;
    size_t len;
    FILE *f = open_memstream(&bytes, &len);
    IndexWriter w;
    index_begin(&w, f);
    for (int64_t i = 0; i < n; i++) index_add(&w, entry[i].offset, entry[i].length);
    index_end(&w);
    fclose(f);
    Str s = { arena_copy(a, bytes, len), len };
    free(bytes);
    return s;
}

static void assert_bytes(Str got, const char *bytes, size_t len)
{
    assert_int_equal(got.len, len);
    assert_memory_equal(got.ptr, bytes, len);
}

#define BYTES(literal) literal, sizeof(literal) - 1
#define STR(literal) ((Str){ literal, sizeof(literal) - 1 })

TEST(small_indexes_are_the_bytes_that_python_writes)
{
    Arena *a = arena_new();
    assert_bytes(written(a, NULL, 0), BYTES("\x80\x04]\x94."));
    assert_bytes(written(a, (IndexEntry[]){ { 0, 5 } }, 1),
                 BYTES("\x80\x04\x95\x0a\0\0\0\0\0\0\0]\x94K\0K\x05\x86\x94"
                       "a."));
    assert_bytes(written(a, (IndexEntry[]){ { 0, 5 }, { 6, 300 } }, 2),
                 BYTES("\x80\x04\x95\x12\0\0\0\0\0\0\0]\x94(K\0K\x05\x86\x94K\x06M\x2c\x01\x86\x94"
                       "e."));
    IndexEntry wide[] = { { 255, 256 }, { 65535, 65536 }, { INT32_MAX, INT64_C(1) << 31 } };
    assert_bytes(
        written(a, wide, 3),
        BYTES(
            "\x80\x04\x95\x24\0\0\0\0\0\0\0]\x94(K\xffM\0\x01\x86\x94M\xff\xffJ\0\0\x01\0\x86\x94J"
            "\xff\xff\xff\x7f\x8a\x05\0\0\0\x80\0\x86\x94"
            "e."));
    arena_free(a);
}

static void assert_read_back(Arena *a, const IndexEntry *entry, int64_t n)
{
    IndexReader *r;
    assert_no_error(index_open(a, written(a, entry, n), "test", 0, &r));
    assert_int_equal(index_count(r), n);
    IndexEntry *back = index_read_all(a, r), more;
    assert_memory_equal(back, entry, sizeof *entry * (size_t)n);
    assert_false(index_next(r, &more));
}

TEST(an_index_of_any_length_reads_back)
{
    static const int64_t lengths[] = { 0, 1, 2, 999, 1000, 1001, 1002, 2000, 2001, 30000 };
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        Arena *a = arena_new();
        IndexEntry *entry = NEW_N(a, IndexEntry, lengths[k] + 1);
        for (int64_t i = 0; i < lengths[k]; i++)
            entry[i] = (IndexEntry){ i << (i % 48), INT64_MAX >> (i % 63) };
        assert_read_back(a, entry, lengths[k]);
        arena_free(a);
    }
}

/* What Python reads from its own index files is in the bytes: the whole file is compared. */
static void assert_rewritten(const char *path)
{
    Arena *a = arena_new();
    Str file;
    IndexReader *r;
    assert_no_error(file_read(a, shared_path(a, path), &file));
    assert_no_error(index_open(a, file, path, 0, &r));
    int64_t n = index_count(r);
    assert_bytes(written(a, index_read_all(a, r), n), file.ptr, file.len);
    arena_free(a);
}

TEST(indexes_that_python_wrote_are_rewritten_byte_for_byte)
{
    assert_rewritten("data/modalities/data/lorem_ipsum.idx");
    assert_rewritten("data/modalities/data/lorem_ipsum_long.idx"); /* 500 entries */
}

static void assert_reads(Str pickle, const char *expected)
{
    Arena *a = arena_new();
    Text got = { 0 };
    IndexReader *r;
    IndexEntry entry;
    assert_no_error(index_open(a, pickle, "test", 0, &r));
    while (index_next(r, &entry))
        text_printf(&got, "%lld,%lld ", (long long)entry.offset, (long long)entry.length);
    assert_string_equal(got.len ? got.ptr : "", expected);
    text_free(&got);
    arena_free(a);
}

TEST(other_spellings_of_an_index_are_read)
{
    assert_reads(STR("\x80\x02]q\0(K\0K\x05\x86q\x01K\x06M\x2c\x01\x86q\x02"
                     "e."),
                 "0,5 6,300 "); /* protocol 2 */
    assert_reads(STR("\x80\x03]q\0K\0K\x05\x86q\x01"
                     "a."),
                 "0,5 ");
    assert_reads(STR("\x80\x05]\x94(]\x94(K\x01K\x02"
                     "e]\x94(K\x03K\x04"
                     "ee."),
                 "1,2 3,4 "); /* lists of lists */
    assert_reads(STR("\x80\x02]r\0\0\0\0(K\x01K\x02\x86r\x01\0\0\0h\x01j\x01\0\0\0"
                     "e."),
                 "1,2 1,2 1,2 "); /* references */
    assert_reads(STR("\x80\x04](]\x94(K\x01K\x02"
                     "eh\0e."),
                 "1,2 1,2 "); /* a list pair referred to; the outer list without a number */
    assert_reads(STR("\x80\x02](\x8a\0\x8b\x02\0\0\0\xff\0\x86"
                     "e."),
                 "0,255 ");
    assert_reads(STR("\x80\x04\x95\x03\0\0\0\0\0\0\0]\x94(\x95\x08\0\0\0\0\0\0\0K\x01K\x02\x86\x94"
                     "e."),
                 "1,2 "); /* two frames */
}

static void assert_refused(Str pickle, const char *place, const char *why)
{
    Arena *a = arena_new();
    IndexReader *r;
    Error *e = index_open(a, pickle, "some.idx", 100, &r);
    if (!e) fail_msg("accepted; expected \"%s\"", why);
    assert_contains(error_text(e), "some.idx");
    assert_contains(error_text(e), place);
    assert_error_has(e, why);
    arena_free(a);
}

TEST(a_damaged_index_is_refused_with_its_place)
{
    assert_refused(STR(""), "byte 100", "cut short");
    assert_refused(STR("\x80"), "byte 101", "cut short");
    assert_refused(STR("not a pickle"), "byte 100", "opcode 0x6e where the start of a pickle");
    assert_refused(STR("\x80\x06]."), "byte 102", "protocol other than 2 to 5");
    assert_refused(STR("\x80\x01]."), "byte 102", "protocol");
    assert_refused(STR("\x80\x04}\x94."), "byte 102", "where a list should be");
    assert_refused(STR("\x80\x04]\x94"), "byte 104", "cut short");
    assert_refused(STR("\x80\x04]\x94.x"), "byte 105", "more bytes");
    assert_refused(STR("\x80\x04]\x94(K\x01K\x02\x86\x94"), "byte 111", "cut short");
    assert_refused(STR("\x80\x04]\x94(K\x01K\x02\x86\x94."), "byte 111", "0x2e where an integer");
    assert_refused(STR("\x80\x04]\x94K\x01K\x02\x86\x94."), "byte 110", "the end of an entry");
    assert_refused(STR("\x80\x04]\x94(K\x01K\x02K\x03\x87\x94"
                       "e."),
                   "byte 109", "the end of a pair");
    assert_refused(STR("\x80\x04]\x94(K\x01J\xff\xff\xff\xff\x86\x94"
                       "e."),
                   "", "negative");
    assert_refused(STR("\x80\x04]\x94(K\x01\x8a\x09\0\0\0\0\0\0\0\0\x01\x86\x94"
                       "e."),
                   "", "more than 63 bits");
    assert_refused(STR("\x80\x04]\x94(K\x01\x8b\xff\xff\xff\xffK"), "", "cut short");
    assert_refused(STR("\x80\x04]\x94(K\x01\x88\x86\x94"
                       "e."),
                   "byte 107", "0x88 where an integer");
    assert_refused(STR("\x80\x04]\x94(h\0e."), "", "no earlier pair"); /* the list itself */
    assert_refused(STR("\x80\x04]\x94(h\x01"
                       "e."),
                   "", "no earlier pair");
    assert_refused(STR("\x80\x02]q\x05."), "", "memo numbers");
    assert_refused(STR("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff]\x94."), "",
                   "cut short inside a frame");
    assert_refused(STR("\x80\x04\x95\x06\0\0\0\0\0\0\0]\x94(K\x01K\x02\x86\x94"
                       "e."),
                   "", "frame ends too early");
    assert_refused(STR("\x80\x04\x95\x0b\0\0\0\0\0\0\0]\x94\x95\0\0\0\0\0\0\0\0."), "",
                   "frame inside a frame");
    assert_refused(STR("\x80\x04"
                       "cos\nsystem\n(S'true'\ntR."),
                   "byte 102", "0x63 where a list");
}

TEST(no_prefix_of_an_index_is_taken_for_an_index)
{
    Arena *a = arena_new();
    IndexEntry entry[40];
    for (int64_t i = 0; i < 40; i++) entry[i] = (IndexEntry){ i * 7000, i };
    Str whole = written(a, entry, 40);
    for (size_t len = 0; len < whole.len; len++) {
        IndexReader *r;
        Error *e = index_open(a, (Str){ whole.ptr, len }, "test", 0, &r);
        assert_non_null(e);
        error_free(e);
    }
    arena_free(a);
}
