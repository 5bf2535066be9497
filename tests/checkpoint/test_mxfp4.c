/* test_mxfp4.c - numbers of four bits. */
#include "checkpoint/mxfp4.h"
#include "test.h"
#include <math.h>

TEST(numbers_of_four_bits_are_those_of_their_format)
{
    static const float all[] = {
        0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6
    };
    uint8_t blocks[2 * MXFP4_BYTES];
    const uint8_t scales[] = { 127, 130 };
    bf16 out[2 * MXFP4_BLOCK];
    for (int i = 0; i < 2 * MXFP4_BYTES; i++)
        blocks[i] = (uint8_t)(2 * i % 16 | (2 * i + 1) % 16 << 4);
    mxfp4_read(blocks, scales, 0, 2 * MXFP4_BLOCK, out);
    for (int i = 0; i < 2 * MXFP4_BLOCK; i++)
        assert_true(bf16_to_float(out[i]) == all[i % 16] * (i < MXFP4_BLOCK ? 1 : 8));
    mxfp4_read(blocks, scales, 29, 6, out);
    for (int i = 0; i < 6; i++)
        assert_true(bf16_to_float(out[i]) == all[(29 + i) % 16] * (29 + i < 32 ? 1 : 8));
    assert_true(signbit(bf16_to_float(out[0]))); /* 29 is -3 */
}

TEST(scales_of_four_bits_reach_to_the_ends_of_bf16)
{
    const uint8_t blocks[MXFP4_BYTES] = { 0x72 }, tiny = 0, huge = 254;
    bf16 out[2];
    mxfp4_read(blocks, &tiny, 0, 2, out);
    assert_true(bf16_to_float(out[0]) == ldexpf(1, -127) &&
                bf16_to_float(out[1]) == ldexpf(6, -127));
    mxfp4_read(blocks, &huge, 0, 2, out);
    assert_true(bf16_to_float(out[0]) == ldexpf(1, 127) && isinf(bf16_to_float(out[1])));
}
