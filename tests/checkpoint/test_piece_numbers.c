/* test_piece_numbers.c - numbers that lie in two halves are written as those they are. */
#include "base/rng.h"
#include "checkpoint/piece_numbers.h"
#include "tensor/halves.h"
#include "test.h"
#include <string.h>

enum { ROWS = 37, COLUMNS = 129, N = ROWS * COLUMNS };

typedef struct Sample {
    float number[N];
    uint16_t halves[2 * N];
} Sample;

static void fill(Sample *s)
{
    for (int i = 0; i < N; i++) s->number[i] = (float)rng_normal(5, (uint64_t)i);
    halves_split(N, s->number, s->halves, (int16_t *)(s->halves + N));
}

/* Blocks and rooms of files end anywhere, also within a number. */
static void check(const Sample *s, const Box *what, size_t block, size_t room, Pool *pool)
{
    const Box part = box_whole(2, (const int64_t[]){ ROWS, COLUMNS });
    const PieceNumbers plain = { *what, part, sizeof(float), s->number, false },
                       halves = { *what, part, sizeof(float), s->halves, true };
    const size_t bytes = piece_bytes(&plain);
    static char expected[sizeof s->number], found[sizeof s->number];
    uint32_t crc[2][N * sizeof(float) / 7 + 1] = { { 0 } };
    assert_int_equal(piece_bytes(&halves), bytes);
    for (size_t from = 0, n; from < bytes; from += n) {
        n = bytes - from < room ? bytes - from : room;
        piece_copy(&plain, from, n, expected + from, block, crc[0], pool);
        piece_copy(&halves, from, n, found + from, block, crc[1], pool);
    }
    assert_memory_equal(found, expected, bytes);
    assert_memory_equal(crc[0], crc[1], sizeof *crc);
}

TEST(numbers_in_halves_are_written_joined)
{
    static Sample s;
    const Box all = box_whole(2, (const int64_t[]){ ROWS, COLUMNS });
    Box some = all;
    fill(&s);
    some.start[0] = 3;
    some.size[0] = 20;
    some.start[1] = 11;
    some.size[1] = 57;
    Pool *pool = pool_new(2);
    static const size_t sizes[] = { 7, 64, 1001, 4096, 30000 };
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++)
            for (int j = 0; j < 2; j++)
                check(&s, j ? &some : &all, sizes[i], sizes[k], k % 2 ? pool : NULL);
    pool_free(pool);
}

/* Whole rows lie together; of narrower boxes one row does. */
TEST(numbers_that_lie_as_in_the_file_are_found)
{
    static Sample s;
    fill(&s);
    const Box part = box_whole(2, (const int64_t[]){ ROWS, COLUMNS });
    Box rows = part, narrow = part;
    rows.start[0] = narrow.start[0] = 3;
    rows.size[0] = narrow.size[0] = 20;
    narrow.start[1] = 11;
    narrow.size[1] = 57;
    const Box *const what[] = { &part, &rows, &narrow };
    for (int i = 0; i < 3; i++) {
        PieceNumbers p = { *what[i], part, sizeof(float), s.number, false };
        const size_t bytes = piece_bytes(&p), run = i < 2 ? bytes : 57 * sizeof(float);
        static char copy[sizeof s.number];
        piece_copy(&p, 0, bytes, copy, 1024, NULL, NULL);
        for (size_t from = 0; from < bytes; from += 101) {
            size_t n = 5000;
            const char *at = piece_span(&p, from, &n);
            const size_t left = run - from % run;
            assert_int_equal(n, left < 5000 ? left : 5000);
            assert_memory_equal(at, copy + from, n);
        }
        p.in_halves = true;
        size_t n = 1;
        assert_null(piece_span(&p, 0, &n));
    }
}

TEST(numbers_are_summed_without_a_copy)
{
    static Sample s;
    fill(&s);
    const Box all = box_whole(2, (const int64_t[]){ ROWS, COLUMNS });
    const PieceNumbers p = { all, all, sizeof(float), s.number, false };
    enum { BLOCK = 1000, BLOCKS = (N * 4 + BLOCK - 1) / BLOCK };
    static char copy[sizeof s.number];
    uint32_t crc[2][BLOCKS] = { { 0 } };
    Pool *pool = pool_new(2);
    piece_copy(&p, 0, sizeof s.number, copy, BLOCK, crc[0], NULL);
    for (size_t from = 0, n; from < sizeof s.number; from += n) {
        n = sizeof s.number - from < 3333 ? sizeof s.number - from : 3333;
        piece_copy(&p, from, n, NULL, BLOCK, crc[1], pool);
    }
    assert_memory_equal(crc[0], crc[1], sizeof *crc);
    pool_free(pool);
}
