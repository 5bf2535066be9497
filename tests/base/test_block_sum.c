/* test_block_sum.c - every small change of a block changes its sum. */
#include "base/block_sum.h"
#include "base/rng.h"
#include "test.h"
#include <string.h>

TEST(a_flipped_bit_anywhere_changes_the_sum_of_a_block)
{
    uint8_t bytes[300];
    for (int n = 1; n <= 300; n = n < 130 ? n + 1 : n + 85) {
        for (int i = 0; i < n; i++) bytes[i] = (uint8_t)rng_bits(3, (uint64_t)i);
        uint64_t sum = block_sum(bytes, (size_t)n);
        assert_true(sum == block_sum(bytes, (size_t)n));
        assert_true(sum != block_sum(bytes, (size_t)n - 1));
        for (int bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_true(sum != block_sum(bytes, (size_t)n));
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

/* Two flips of one lane's highest bits, swapped words, zeros at the end: what weak sums miss. */
TEST(changes_that_cancel_in_weak_sums_are_found)
{
    uint8_t bytes[1024], other[1024];
    for (int i = 0; i < 1024; i++) bytes[i] = (uint8_t)rng_bits(4, (uint64_t)i);
    uint64_t sum = block_sum(bytes, 1024);
    for (int i = 7; i < 1024 - 64; i += 8)
        for (int k = i + 8; k < 1024; k += 8) {
            memcpy(other, bytes, 1024);
            other[i] ^= 0x80;
            other[k] ^= 0x80;
            assert_true(sum != block_sum(other, 1024));
            memcpy(other, bytes, 1024);
            memcpy(other + i - 7, bytes + k - 7, 8);
            memcpy(other + k - 7, bytes + i - 7, 8);
            assert_true(sum != block_sum(other, 1024));
        }
    memset(bytes, 0, sizeof bytes);
    for (size_t n = 0; n < 1024; n++) assert_true(block_sum(bytes, n) != block_sum(bytes, n + 1));
    assert_true(block_sum_add(block_sum_add(0, 1), 2) != block_sum_add(block_sum_add(0, 2), 1));
}

TEST(a_block_in_pieces_has_the_sum_of_the_whole)
{
    uint8_t bytes[500];
    BlockSum s = { 0 };
    for (int i = 0; i < 500; i++) bytes[i] = (uint8_t)rng_bits(5, (uint64_t)i);
    for (size_t n = 0; n <= 500; n += n < 140 ? 1 : 90)
        for (size_t first = 0; first <= n; first++) {
            size_t second = (n - first) / 3;
            block_sum_take(&s, bytes, first);
            block_sum_take(&s, bytes + first, second);
            block_sum_take(&s, bytes + first + second, n - first - second);
            assert_true(block_sum_end(&s) == block_sum(bytes, n));
        }
}
