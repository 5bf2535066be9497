/* test_fp8.c - numbers of eight bits and the scales of their blocks. */
#include "checkpoint/fp8.h"
#include "checkpoint/mxfp4.h"
#include "test.h"
#include <math.h>

TEST(numbers_of_eight_bits_are_those_of_their_format)
{
    static const struct {
        uint8_t code;
        float number;
    } row[] = { { 0x00, 0 },  { 0x01, 0.001953125f }, { 0x07, 0.013671875f }, { 0x08, 0.015625f },
                { 0x38, 1 },  { 0x39, 1.125f },       { 0x7e, 448 },          { 0x80, 0 },
                { 0xb8, -1 }, { 0xfe, -448 } };
    float number[256];
    fp8_numbers(number);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_true(number[row[i].code] == row[i].number);
    assert_true(isnan(number[0x7f]) && isnan(number[0xff]) && signbit(number[0x80]));
}

/* Two matrices of 5 rows and 7 columns, in blocks of 2 x 3: 3 x 3 of each. */
TEST(blocks_are_cut_by_the_edges_of_a_matrix)
{
    float number[256], scale[18], out[35];
    uint8_t codes[70];
    Tensor scales = { .dtype = F32, .n_dims = 3, .size = { 2, 3, 3 }, .data = scale };
    fp8_numbers(number);
    for (int i = 0; i < 18; i++) scale[i] = (float)(i + 1);
    for (int i = 0; i < 70; i++) codes[i] = 0x38; /* 1 */
    const Fp8 m = { number, codes, &scales, 5, 7, { 2, 3 }, false };
    fp8_read(&m, 35, 1, 35, out);
    for (int i = 0; i < 35; i++) assert_true(out[i] == (float)(9 + i / 7 / 2 * 3 + i % 7 / 3 + 1));
    fp8_read(&m, 2, 7, 10, out); /* a column of both */
    for (int i = 0; i < 10; i++) assert_true(out[i] == (float)(i / 5 * 9 + i % 5 / 2 * 3 + 1));
}

/* Three rows of 34 numbers, in blocks of 32: two scales each. */
TEST(halves_of_bytes_are_numbers_of_four_bits_and_bytes_exponents_of_scales)
{
    enum { COLUMNS = 34, N = 3 * COLUMNS };
    uint8_t codes[N / 2], exponent[] = { 127, 130, 0, 1, 254, 255 };
    float out[N];
    const Tensor scales = { .dtype = U8, .n_dims = 2, .size = { 3, 2 }, .data = exponent };
    const Fp8 m = { mxfp4_numbers, codes, &scales, 3, COLUMNS, { 1, MXFP4_BLOCK }, true };
    for (int i = 0; i < N / 2; i++) codes[i] = (uint8_t)(37 * i);
    fp8_read(&m, 0, 1, N, out);
    for (int i = 0; i < N; i++) {
        const int row = i / COLUMNS, block = i % COLUMNS / MXFP4_BLOCK;
        const float x = mxfp4_numbers[codes[i / 2] >> (i % 2 ? 4 : 0) & 15];
        if (row == 2 && block)
            assert_true(isnan(out[i]));
        else
            assert_true(out[i] == ldexpf(x, exponent[2 * row + block] - 127));
    }
    float again[2];
    fp8_read(&m, 1, COLUMNS, 2, again); /* of a column */
    assert_true(again[0] == out[1] && again[1] == out[1 + COLUMNS]);
}
