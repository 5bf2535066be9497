/* test_parts.c - which indices a rank holds: each index once, there and back. */
#include "tensor/tensor.h"
#include "test.h"

static void check(int64_t whole, int n_parts, int n_inner, Layout layout)
{
    int seen[144] = { 0 };
    int64_t n = n_parts * n_inner, size = (whole + n - 1) / n;
    for (int index = 0; index < n_parts; index++)
        for (int inner = 0; inner < n_inner; inner++) {
            const Part p = { .whole = whole,
                             .n_parts = n_parts,
                             .index = index,
                             .layout = layout,
                             .n_inner = n_inner,
                             .inner = inner };
            const Tensor t = { .dtype = F32, .n_dims = 1, .size = { size }, .part = { &p } };
            for (int64_t i = 0; i < size; i++) {
                int64_t at = global_index(&t, 0, i);
                assert_true(at >= 0);
                if (at >= whole) continue; /* padding */
                seen[at]++;
                assert_int_equal(local_index(&t, 0, at), i);
            }
            int64_t n_held = 0;
            for (int64_t at = 0; at < whole; at++) n_held += local_index(&t, 0, at) >= 0;
            assert_true(n_held <= size && local_index(&t, 0, whole) == -1);
        }
    for (int64_t i = 0; i < whole; i++) assert_int_equal(seen[i], 1);
}

TEST(parts_hold_every_index_once)
{
    for (int n = 1; n <= 4; n++)
        for (int inner = 1; inner <= 4; inner++) {
            check(144, n, inner, CONTIGUOUS);
            check(144, n, inner, ZIGZAG);
        }
}
TEST(parts_that_do_not_divide_are_padded_at_the_end)
{
    for (int whole = 1; whole <= 13; whole++)
        for (int n = 1; n <= 5; n++) check(whole, n, 1, CONTIGUOUS);
    check(13, 2, 3, CONTIGUOUS);
}

/* Of 16 places on two ranks with two parts each: the first rank has 0-3 and 12-15. */
TEST(an_inner_part_cuts_through_the_two_chunks_of_a_zig_zag_part)
{
    const Part p = {
        .whole = 16, .n_parts = 2, .index = 0, .layout = ZIGZAG, .n_inner = 2, .inner = 1
    };
    const Tensor t = { .dtype = F32, .n_dims = 1, .size = { 4 }, .part = { &p } };
    assert_int_equal(global_index(&t, 0, 0), 12);
    assert_int_equal(global_index(&t, 0, 3), 15);
}
