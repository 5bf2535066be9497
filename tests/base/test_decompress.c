/* test_decompress.c - .gz and .zst: members, frames, sizes around the buffers, and damage. */
#include "base/decompress.h"
#include "base/rng.h"
#include "compressed.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static Error *content(Compression kind, Str bytes, Text *out)
{
    char *ptr;
    size_t len;
    FILE *f = open_memstream(&ptr, &len);
    Error *e = decompress_to_stream(kind, bytes, "x.gz", f);
    fclose(f);
    text_clear(out);
    text_add(out, ptr, len);
    free(ptr);
    return e;
}

/* Half random, so that neither stored nor repeated blocks are all there is. */
static Str sample(Arena *a, size_t n)
{
    char *bytes = arena_alloc(a, n + 1);
    uint64_t key = rng_key(3, RNG_DATA, 0, n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i / 1000 % 2 ? 'a' + (i & 7) : rng_bits(key, i) & 255);
    return (Str){ bytes, n };
}

static const Compression kinds[] = { COMPRESSED_GZIP, COMPRESSED_ZSTD };

TEST(compressed_content_of_any_size_comes_back)
{
    static const size_t sizes[] = { 0,       1,      100, (1 << 18) - 1, 1 << 18, (1 << 18) + 1,
                                    1 << 19, 3000000 };
    Arena *a = arena_new();
    Text got = { 0 };
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            Str plain = sample(a, sizes[i]);
            assert_no_error(content(kinds[k], compressed(a, kinds[k], plain), &got));
            assert_int_equal(got.len, plain.len);
            if (got.len) assert_memory_equal(got.ptr, plain.ptr, got.len);
        }
    text_free(&got);
    arena_free(a);
}

TEST(members_and_frames_follow_each_other)
{
    Arena *a = arena_new();
    Text got = { 0 }, both = { 0 };
    for (int k = 0; k < 2; k++) {
        Str one = compressed(a, kinds[k], str_of("one,")),
            none = compressed(a, kinds[k], str_of("")),
            other = compressed(a, kinds[k], str_of("other"));
        text_clear(&both);
        text_add(&both, one.ptr, one.len);
        text_add(&both, none.ptr, none.len);
        text_add(&both, other.ptr, other.len);
        assert_no_error(content(kinds[k], (Str){ both.ptr, both.len }, &got));
        assert_int_equal(got.len, 9);
        assert_memory_equal(got.ptr, "one,other", 9);
    }
    Str one = compressed(a, COMPRESSED_GZIP, str_of("one"));
    text_clear(&both);
    text_add(&both, one.ptr, one.len);
    for (int i = 0; i < 600; i++) text_putc(&both, 0);
    assert_no_error(content(COMPRESSED_GZIP, (Str){ both.ptr, both.len }, &got));
    assert_int_equal(got.len, 3);
    text_free(&both);
    text_free(&got);
    arena_free(a);
}

TEST(damaged_or_cut_content_is_refused_by_name)
{
    Arena *a = arena_new();
    Text got = { 0 }, bytes = { 0 };
    for (int k = 0; k < 2; k++) {
        Str whole = compressed(a, kinds[k], sample(a, 5000));
        assert_error_has(content(kinds[k], (Str){ "", 0 }, &got), "x.gz: empty");
        assert_error_has(content(kinds[k], str_of("plain text"), &got), "x.gz: damaged at byte");
        for (size_t len = 1; len < whole.len; len += len < 40 ? 1 : 97)
            assert_error_has(content(kinds[k], (Str){ whole.ptr, len }, &got), "x.gz: cut short");
        text_clear(&bytes);
        text_add(&bytes, whole.ptr, whole.len);
        bytes.ptr[whole.len / 2] ^= 1; /* found by the block's code or the checksum */
        assert_error_has(content(kinds[k], (Str){ bytes.ptr, bytes.len }, &got), "x.gz: ");
        bytes.ptr[whole.len / 2] ^= 1;
        text_puts(&bytes, "garbage");
        assert_error_has(content(kinds[k], (Str){ bytes.ptr, bytes.len }, &got), "damaged at byte");
    }
    text_free(&bytes);
    text_free(&got);
    arena_free(a);
}

/* The header of a frame may ask for any window; what is not reasonable is not allocated. */
TEST(frames_with_huge_windows_are_refused)
{
    static const char window_of_2_gib[] = "\x28\xb5\x2f\xfd\x04\xa8";
    Text got = { 0 };
    assert_error_has(content(COMPRESSED_ZSTD, (Str){ window_of_2_gib, 6 }, &got),
                     "a window of more than 128 MiB");
    text_free(&got);
}

TEST(compression_follows_from_the_last_suffix)
{
    assert_int_equal(compression_of("a.jsonl.gz"), COMPRESSED_GZIP);
    assert_int_equal(compression_of("a.zst"), COMPRESSED_ZSTD);
    assert_int_equal(compression_of("a.gz.jsonl"), NOT_COMPRESSED);
    assert_int_equal(compression_of("gz"), NOT_COMPRESSED);
    assert_int_equal(compression_of("-"), NOT_COMPRESSED);
}
