/* test_pieces.c - lines, lists of pieces, and writing them with all cores. */
#include "base/rng.h"
#include "data/lines.h"
#include "data/pieces.h"
#include "test.h"
#include <string.h>

/* The lines as readlines() of Python splits them, one by one. */
static void assert_lines(Arena *a, Str text)
{
    Lines l;
    lines_count(a, text, &l);
    int64_t n = 0;
    for (size_t at = 0; at < text.len; n++) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.ptr) + 1 - at : text.len - at;
        if (n < 5 || n % 100 == 0 || at + len == text.len) {
            Str got;
            lines_get(&l, n, n + 1, &got);
            assert_ptr_equal(got.ptr, text.ptr + at);
            assert_int_equal(got.len, len);
        }
        at += len;
    }
    assert_int_equal(l.n, n);
    Str *all = NEW_N(a, Str, n + 1);
    lines_get(&l, 0, n, all);
    const char *p = text.ptr;
    for (int64_t i = 0; i < n; p += all[i++].len) assert_ptr_equal(all[i].ptr, p);
    assert_ptr_equal(p, text.ptr + text.len);
}

TEST(lines_are_found_as_python_splits_them)
{
    static const char *const texts[] = {
        "", "\n", "a", "a\n", "\n\n", "a\nb", "a\r\n\rb\n", "\na"
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_lines(a, str_of(texts[i]));
    arena_free(a);
}

TEST(lines_are_found_across_blocks)
{
    Arena *a = arena_new();
    size_t n = (3 << 20) + 17;
    char *text = arena_alloc(a, n);
    uint64_t key = rng_key(1, RNG_DATA, 0, 0);
    for (size_t i = 0; i < n; i++) text[i] = rng_bits(key, i) % 40 ? 'x' : '\n';
    assert_lines(a, (Str){ text, n });
    text[(1 << 20) - 1] = text[(2 << 20) - 1] = '\n'; /* lines that begin with a block */
    text[1 << 20] = text[n - 1] = '\n';
    assert_lines(a, (Str){ text, n });
    memset(text, 'x', n); /* one line of many blocks */
    assert_lines(a, (Str){ text, n });
    text[n - 1] = '\n';
    assert_lines(a, (Str){ text, n });
    arena_free(a);
}

static void assert_written(Arena *a, const Pieces *p, int64_t at)
{
    const char *path = path_join(a, test_folder(), "pieces");
    Str got;
    Resumable *f;
    OutputStream stream = { .path = path, .header = at };
    assert_no_error(resumable_open(path, NULL, &stream, 1, &f));
    assert_no_error(pieces_write(p, f, "testing"));
    assert_no_error(resumable_commit(f));
    assert_no_error(file_read(a, path, &got));
    assert_int_equal(got.len, at + pieces_bytes(p));
    const char *g = got.ptr + at;
    for (int64_t i = 0; i < p->n; g += p->item[i++].len)
        if (p->item[i].len) assert_memory_equal(g, p->item[i].ptr, p->item[i].len);
}

/* Lengths from nothing to several tasks, more of them than one round of tasks. */
TEST(pieces_of_any_size_are_written_in_order)
{
    Arena *a = arena_new();
    size_t n_bytes = 24 << 20;
    char *source = arena_alloc(a, n_bytes);
    uint64_t key = rng_key(2, RNG_DATA, 0, 0);
    for (size_t i = 0; i < n_bytes; i += 8) {
        uint64_t bits = rng_bits(key, i);
        memcpy(source + i, &bits, 8);
    }
    static const size_t most[] = { 3, 1000, 1 << 20, 5 << 20 };
    for (int kind = 0; kind < 4; kind++) {
        Pieces p = { NEW_N(a, Str, 200000), 0 };
        for (size_t at = 0; p.n < 200000;) {
            size_t len = rng_bits(key, (uint64_t)p.n + 7) % (most[kind] + 1);
            if (len > n_bytes - at) break;
            p.item[p.n++] = (Str){ source + at, len };
            at += len;
        }
        pieces_shuffle_python(&p, 5);
        assert_written(a, &p, kind * 13);
    }
    assert_written(a, &(Pieces){ &(Str){ source, n_bytes }, 1 }, 12);
    assert_written(a, &(Pieces){ &(Str){ "", 0 }, 1 }, 0);
    assert_written(a, &(Pieces){ NULL, 0 }, 0);
    arena_free(a);
}

/* Against the plain shuffles, which are compared with both libraries elsewhere. */
TEST(pieces_are_shuffled_as_lists_are)
{
    static char bytes[300];
    static const int64_t seeds[] = { 0, 1, 42, -7, INT64_MIN };
    for (int64_t n = 0; n < 300; n = n < 5 ? n + 1 : n * 3 / 2)
        for (size_t s = 0; s < 5; s++) {
            Str item[2][300];
            int64_t plain[2][300];
            for (int64_t i = 0; i < n; i++) {
                item[0][i] = item[1][i] = (Str){ bytes + i, 1 };
                plain[0][i] = plain[1][i] = i;
            }
            Mt19937 m;
            Pcg64 g;
            mt19937_seed_python(&m, seeds[s] < 0 ? -(uint64_t)seeds[s] : (uint64_t)seeds[s]);
            pcg64_seed(&g, (uint64_t)seeds[s]);
            python_shuffle(&m, plain[0], n);
            numpy_shuffle(&g, plain[1], n);
            pieces_shuffle_python(&(Pieces){ item[0], n }, seeds[s]);
            pieces_shuffle_numpy(&(Pieces){ item[1], n }, (uint64_t)seeds[s]);
            for (int k = 0; k < 2; k++)
                for (int64_t i = 0; i < n; i++)
                    assert_int_equal(item[k][i].ptr - bytes, plain[k][i]);
        }
}

TEST(scratch_memory_is_zeroed_and_leaves_no_file)
{
    Arena *a = arena_new();
    const char *folder = path_join(a, test_folder(), "scratch");
    assert_no_error(make_directories(folder));
    void *room;
    assert_no_error(file_scratch(a, path_join(a, folder, "x"), 100000, &room));
    for (int i = 0; i < 100000; i++) assert_int_equal(((char *)room)[i], 0);
    memset(room, 1, 100000);
    assert_no_error(file_scratch(a, path_join(a, folder, "x"), 0, &room));
    PathList left = { 0 };
    assert_no_error(files_below(a, folder, "", &left));
    assert_int_equal(left.n, 0);
    assert_error_has(file_scratch(a, "/nowhere/at/all", 1, &room), "/nowhere/at/all");
    assert_error_has(file_scratch(a, path_join(a, folder, "x"), (size_t)1 << 60, &room),
                     "cannot reserve a temporary file beside");
    arena_free(a);
}
