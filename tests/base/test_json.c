/* test_json.c - JSON text and rounding against what Python prints. */
#include "base/json.h"
#include "test.h"
#include <math.h>

static void assert_json_string(Str from, const char *expected)
{
    Text t = { 0 };
    text_json_string(&t, from);
    assert_string_equal(t.ptr, expected);
    text_free(&t);
}

TEST(json_strings_are_ascii_with_surrogate_pairs)
{
    assert_json_string(str_of("v\xc3\xa4 \"x\"\t\xf0\x9f\x98\x80\\"),
                       "\"v\\u00e4 \\\"x\\\"\\t\\ud83d\\ude00\\\\\"");
    assert_json_string((Str){ "\0\x01\x7f\b\f\n\r/", 8 }, "\"\\u0000\\u0001\\u007f\\b\\f\\n\\r/\"");
    assert_json_string(str_of(""), "\"\"");
}

TEST(bytes_that_are_no_utf8_become_the_replacement_character)
{
    assert_json_string(str_of("a\xff z"), "\"a\\ufffd z\"");
    assert_json_string(str_of("\xc0\xaf"), "\"\\ufffd\\ufffd\"");            /* overlong */
    assert_json_string(str_of("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
    assert_json_string(str_of("\xe2\x82"), "\"\\ufffd\"");                   /* cut short */
}

TEST(json_numbers_are_spelled_as_python_spells_them)
{
    Text t = { 0 };
    const double x[] = { 10.808563232421875, (double)0.1f, 1e-5, 1e22, NAN,
                         INFINITY,           -INFINITY,    -0.0, 3 };
    for (int i = 0; i < 9; i++) {
        text_json_double(&t, x[i]);
        text_putc(&t, ' ');
    }
    assert_string_equal(t.ptr, "10.808563232421875 0.10000000149011612 1e-05 1e+22 NaN Infinity "
                               "-Infinity -0.0 3.0 ");
    text_free(&t);
}

TEST(rounding_is_of_the_exact_value_with_ties_to_even)
{
    static const struct {
        double x;
        int decimals;
        double expected;
    } row[] = {
        { 2.675, 2, 2.67 }, { 0.5, 0, 0 },       { 1.5, 0, 2 },     { 2.5, 0, 2 },
        { 0.125, 2, 0.12 }, { 0.375, 2, 0.38 },  { 1e20, 1, 1e20 }, { 65536.125, 2, 65536.12 },
        { 1.005, 2, 1.0 },  { 1e300, 3, 1e300 }, { 5e-324, 2, 0 },  { 123456789.5, 0, 123456790 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_true(round_decimals(row[i].x, row[i].decimals) == row[i].expected);
    assert_true(isnan(round_decimals(NAN, 2)));
    assert_true(isinf(round_decimals(-INFINITY, 2)));
    assert_true(signbit(round_decimals(-0.004, 2)));
}

TEST(a_path_of_any_bytes_becomes_surrogates_as_in_python)
{
    Text t = { 0 };
    text_json_path(&t, "/a\xff/\xc3\xbc/\xf0\x9f\x98\x80\xe2\x82");
    assert_string_equal(t.ptr, "\"/a\\udcff/\\u00fc/\\ud83d\\ude00\\udce2\\udc82\"");
    text_free(&t);
}
