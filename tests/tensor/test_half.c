/* test_half.c - float16: every number, and the rounding of those between them. */
#include "base/rng.h"
#include "tensor/dtype.h"
#include "test.h"
#include <math.h>
#include <string.h>

/* By its definition: sign, five bits of exponent, ten of the fraction. */
static double value_of(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double sign = h & 0x8000 ? -1 : 1;
    if (exponent == 31) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

TEST(every_float16_has_its_value_and_comes_back)
{
    for (int h = 0; h < 65536; h++) {
        const double want = value_of((uint16_t)h);
        const float got = f16_to_float((uint16_t)h);
        if (isnan(want)) {
            assert_true(isnan(got) && isnan(f16_to_float(f16_of_float(got))));
            continue;
        }
        if (got != want) fail_msg("%04x is %g, not %g", h, got, want);
        assert_int_equal(f16_of_float(got), h);
    }
}

/* Neighbours a < b: below the middle a, above it b, in the middle the even one. */
TEST(numbers_between_two_float16_go_to_the_nearer_one)
{
    for (int h = 0; h < 0x7bff; h++) {
        const double a = value_of((uint16_t)h), b = value_of((uint16_t)(h + 1));
        const float middle = (float)((a + b) / 2); /* exact */
        assert_int_equal(f16_of_float(middle), h + (h & 1));
        assert_int_equal(f16_of_float(nextafterf(middle, 0)), h);
        assert_int_equal(f16_of_float(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(f16_of_float(-middle), 0x8000 | (h + (h & 1)));
    }
    assert_int_equal(f16_of_float(65519.996F), 0x7bff);
    assert_int_equal(f16_of_float(65520), 0x7c00); /* infinite */
    assert_int_equal(f16_of_float(-3e38F), 0xfc00);
    assert_int_equal(f16_of_float(1e-30F), 0);
}
