/* test_text_stream.c - chunks of a text in order, whole lines, lines that are too long, ends. */
#include "base/file.h"
#include "base/rng.h"
#include "base/text_stream.h"
#include "compressed.h"
#include "test.h"
#include <string.h>

static const char *write_compressed(Arena *a, Compression kind, Str text)
{
    const char *path =
        path_join(a, test_folder(), kind == COMPRESSED_GZIP ? "text.gz" : "text.zst");
    Str bytes = compressed(a, kind, text);
    assert_no_error(file_write(path, bytes.ptr, bytes.len));
    return path;
}

/* Lines of random lengths around `length`, some MB of them. */
static Str lines(Arena *a, int64_t length, bool ends)
{
    enum { BYTES = 6 << 20 };
    Text t = { 0 };
    for (uint64_t i = 0; t.len < BYTES; i++) {
        int64_t n = (int64_t)(rng_bits(3, i) % (uint64_t)(2 * length));
        memset(text_reserve(&t, (size_t)n), 'a' + (int)(i % 26), (size_t)n);
        text_extend(&t, (size_t)n);
        text_putc(&t, '\n');
    }
    if (!ends) text_puts(&t, "the end");
    Str result = { arena_copy(a, t.ptr, t.len), t.len };
    text_free(&t);
    return result;
}

/* Reads all from byte `from` on: what is there is there in order, and chunks hold whole lines. */
static void assert_comes_back(const char *path, Str text, int64_t most, size_t from)
{
    TextStream *s;
    TextChunk *c;
    size_t at = from;
    int64_t n_left_out = 0;
    assert_no_error(text_stream_open(path, most, &s));
    text_stream_skip(s, (int64_t)from);
    for (;;) {
        assert_no_error(text_stream_next(s, &c));
        if (!c) break;
        assert_int_equal(c->offset, at);
        assert_true(c->text.len <= text.len - at);
        assert_memory_equal(c->text.ptr, text.ptr + at, c->text.len);
        at += c->text.len + (size_t)c->left_out;
        if (c->left_out) {
            const char *newline = memrchr(c->text.ptr, '\n', c->text.len);
            assert_int_equal(c->text.len - (size_t)(newline ? newline + 1 - c->text.ptr : 0),
                             most + 1);
            n_left_out++;
            if (at < text.len) assert_int_equal(text.ptr[at++], '\n');
        } else {
            assert_true(at == text.len || text.ptr[at - 1] == '\n');
        }
        text_stream_give_back(s, c);
    }
    assert_int_equal(at, text.len);
    if (most < 1 << 20) assert_true(n_left_out > 0);
    text_stream_close(s);
}

TEST(a_stream_gives_all_lines_in_order)
{
    static const int64_t lengths[] = { 1, 100, 300000, 2000000 };
    Arena *a = arena_new();
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            Str text = lines(a, lengths[i], k);
            const char *path = write_compressed(a, k ? COMPRESSED_GZIP : COMPRESSED_ZSTD, text);
            const char *middle = memchr(text.ptr + text.len / 2, '\n', text.len / 2);
            assert_comes_back(path, text, 1 << 30, 0);
            assert_comes_back(path, text, 1 << 30, middle ? (size_t)(middle + 1 - text.ptr) : 0);
        }
    arena_free(a);
}

TEST(of_lines_that_are_too_long_the_beginning_comes)
{
    static const int64_t limits[] = { 10, (1 << 18) - 1, 1 << 18, 300000 };
    Arena *a = arena_new();
    for (int k = 0; k < 2; k++) {
        Str text = lines(a, 1000000, k);
        const char *path = write_compressed(a, COMPRESSED_ZSTD, text);
        for (int i = 0; i < 4; i++) assert_comes_back(path, text, limits[i], 0);
    }
    arena_free(a);
}

TEST(what_is_damaged_comes_behind_the_text_before_it)
{
    Arena *a = arena_new();
    TextStream *s;
    TextChunk *c;
    Str text = lines(a, 100, true), file;
    const char *path = write_compressed(a, COMPRESSED_GZIP, text);
    assert_no_error(file_read(a, path, &file));
    assert_no_error(file_write(path, file.ptr, file.len - 9));
    assert_no_error(text_stream_open(path, 1000, &s));
    int64_t n = 0;
    Error *e;
    while (!(e = text_stream_next(s, &c))) {
        assert_non_null(c);
        n += (int64_t)c->text.len;
        text_stream_give_back(s, c);
    }
    assert_error_has(e, "text.gz: cut short");
    assert_true(n > (int64_t)text.len / 2);
    text_stream_close(s);
    assert_error_has(text_stream_open(path_join(a, test_folder(), "none.gz"), 1000, &s), "none.gz");
    arena_free(a);
}

/* Before it began, while it waits for room, and after its end. */
TEST(a_stream_can_be_closed_at_any_time)
{
    Arena *a = arena_new();
    TextStream *s;
    TextChunk *c;
    Str text = lines(a, 100, true);
    const char *path = write_compressed(a, COMPRESSED_GZIP, text);
    for (int n = 0; n < 60; n += n < 3 ? 1 : 19) {
        assert_no_error(text_stream_open(path, 1000, &s));
        for (int i = 0; i < n; i++) {
            assert_no_error(text_stream_next(s, &c));
            if (c && i % 4) text_stream_give_back(s, c);
        }
        text_stream_close(s);
    }
    arena_free(a);
}
