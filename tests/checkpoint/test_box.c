/* test_box.c - rectangles, against the same computed element by element. */
#include "base/rng.h"
#include "checkpoint/box.h"
#include "test.h"
#include <string.h>

static bool holds(const Box *b, const int64_t *at)
{
    for (int d = 0; d < b->n_dims; d++)
        if (at[d] < b->start[d] || at[d] >= b->start[d] + b->size[d]) return false;
    return true;
}

static int64_t offset_in(const Box *b, const int64_t *at)
{
    int64_t offset = 0;
    for (int d = 0; d < b->n_dims; d++) offset = offset * b->size[d] + at[d] - b->start[d];
    return offset;
}

/* The next index of the whole; false at the end. */
static bool advance(int n_dims, const int64_t *size, int64_t *at)
{
    for (int d = n_dims - 1; d >= 0; d--) {
        if (++at[d] < size[d]) return true;
        at[d] = 0;
    }
    return false;
}

static Box random_box(Mt19937 *m, int n_dims, const int64_t *size)
{
    Box b = { .n_dims = n_dims };
    for (int d = 0; d < n_dims; d++) {
        b.start[d] = mt19937_next(m) % size[d];
        b.size[d] = 1 + mt19937_next(m) % (size[d] - b.start[d]);
        if (mt19937_next(m) % 3 == 0) b.start[d] = 0, b.size[d] = size[d];
    }
    return b;
}

TEST(box_intersection_copies_exactly_what_both_hold)
{
    Mt19937 m;
    mt19937_seed(&m, 1);
    for (int round = 0; round < 2000; round++) {
        int n_dims = mt19937_next(&m) % 5;
        int64_t size[MAX_DIMS], at[MAX_DIMS] = { 0 };
        for (int d = 0; d < n_dims; d++) size[d] = 1 + mt19937_next(&m) % 4;
        Box from = random_box(&m, n_dims, size), to = random_box(&m, n_dims, size), both;
        int in[256], out[256], want[256];
        for (int i = 0; i < 256; i++) in[i] = 1000 + i, out[i] = want[i] = -i;
        int64_t n = 0;
        do {
            if (!holds(&from, at) || !holds(&to, at)) continue;
            want[offset_in(&to, at)] = in[offset_in(&from, at)];
            n++;
        } while (advance(n_dims, size, at));
        bool meets = box_intersect(&from, &to, &both);
        assert_int_equal(meets, n > 0);
        if (!meets) continue;
        assert_int_equal(box_count(&both), n);
        assert_true(box_contains(&from, &both) && box_contains(&to, &both));
        box_copy(&both, sizeof(int), &from, in, &to, out);
        assert_memory_equal(out, want, sizeof out);
    }
}

TEST(box_runs_are_as_long_as_they_can_be)
{
    const Box in = box_whole(3, (int64_t[]){ 4, 5, 6 });
    Box what = { .n_dims = 3, .start = { 1, 0, 0 }, .size = { 2, 5, 6 } };
    Runs r = box_runs(&what, &in);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.length, 60);
    assert_int_equal(box_run_offset(&r, &what, &in, 0), 30);
    what = (Box){ .n_dims = 3, .start = { 1, 2, 0 }, .size = { 2, 3, 6 } };
    r = box_runs(&what, &in);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.length, 18);
    assert_int_equal(box_run_offset(&r, &what, &in, 1), 2 * 30 + 2 * 6);
}

/* Every element of the whole belongs to exactly one part, at the place that global_index says. */
static void check_inner_parts(int64_t whole, int64_t padded, int n_parts, Layout layout,
                              int n_inner)
{
    Arena *a = arena_new();
    int seen[64][2] = { 0 };
    for (int index = 0; index < n_parts * n_inner; index++) {
        Part part = { .whole = padded,
                      .n_parts = n_parts,
                      .index = index / n_inner,
                      .layout = layout,
                      .n_inner = n_inner,
                      .inner = index % n_inner };
        const int64_t size = (padded / n_parts + n_inner - 1) / n_inner;
        Tensor t = { .dtype = I32, .n_dims = 2, .size = { size, 2 }, .part = { &part } };
        PartBox *box;
        int n = part_boxes(a, (int64_t[]){ whole, 2 }, &t, &box);
        for (int i = 0; i < n; i++) {
            assert_int_equal(box[i].whole.size[1], 2);
            for (int64_t k = 0; k < box[i].whole.size[0]; k++) {
                assert_int_equal(global_index(&t, 0, box[i].local.start[0] + k),
                                 box[i].whole.start[0] + k);
                seen[box[i].whole.start[0] + k][0]++;
            }
        }
    }
    for (int64_t i = 0; i < 64; i++) assert_int_equal(seen[i][0], i < whole);
    arena_free(a);
}

static void check_parts(int64_t whole, int64_t padded, int n_parts, Layout layout)
{
    check_inner_parts(whole, padded, n_parts, layout, 1);
}

TEST(box_parts_tile_the_whole_without_padding)
{
    check_parts(12, 12, 1, CONTIGUOUS);
    check_parts(12, 12, 3, CONTIGUOUS);
    check_parts(10, 12, 4, CONTIGUOUS);
    check_parts(5, 12, 4, CONTIGUOUS); /* the last parts are padding only */
    check_parts(24, 24, 3, ZIGZAG);
    check_parts(17, 24, 3, ZIGZAG);
    for (int n_inner = 2; n_inner <= 7; n_inner++) { /* which have padding of their own */
        check_inner_parts(10, 10, 2, CONTIGUOUS, n_inner);
        check_inner_parts(9, 10, 2, CONTIGUOUS, n_inner);
        check_inner_parts(23, 24, 3, CONTIGUOUS, n_inner);
    }
}

TEST(box_bytes_that_no_int64_holds_are_refused)
{
    int64_t n;
    assert_true(dense_bytes(F32, 2, (int64_t[]){ 3, 5 }, &n) && n == 60);
    assert_true(dense_bytes(F32, 0, NULL, &n) && n == 4);
    assert_true(dense_bytes(F64, 2, (int64_t[]){ INT64_MAX / 8, 0 }, &n) && n == 0);
    assert_false(dense_bytes(F64, 1, (int64_t[]){ INT64_MAX / 4 }, &n));
    assert_false(dense_bytes(U8, 3, (int64_t[]){ INT64_MAX, INT64_MAX, 0 }, &n));
}
