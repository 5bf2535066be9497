/* test_student.c - Student's t against closed forms and against SciPy's numbers. */
#include "sweep/student.h"
#include "test.h"
#include <math.h>

static void assert_near(double x, double expected)
{
    if (!(fabs(x - expected) <= 1e-11 * (1 + fabs(expected))))
        fail_msg("%.17g, expected %.17g", x, expected);
}

TEST(student_has_its_closed_forms)
{
    static const double t[] = { -40, -3, -0.5, 0, 0.1, 1, 2.5, 1000 };
    const double pi = acos(-1);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        assert_near(student_below(t[i], 1), 0.5 + atan(t[i]) / pi);
        assert_near(student_below(t[i], 2), 0.5 + t[i] / (2 * sqrt(2 + t[i] * t[i])));
    }
    for (double part = 0.001; part < 1; part += 0.0499)
        assert_near(student_quantile(part, 2), (2 * part - 1) / sqrt(2 * part * (1 - part)));
}

/* scipy.stats.t.ppf(part, df) */
TEST(student_has_the_quantiles_of_scipy)
{
    static const struct {
        double part, df, t;
    } expected[] = {
        { 0.975, 1, 12.706204736174694 },  { 0.975, 2, 4.302652729749462 },
        { 0.975, 3, 3.1824463052837078 },  { 0.975, 4, 2.7764451051977934 },
        { 0.975, 9, 2.262157162798205 },   { 0.95, 30, 1.697260886593957 },
        { 0.995, 5, 4.032142983555228 },   { 0.9, 120, 1.288646233656378 },
        { 0.025, 7, -2.3646242515927844 }, { 0.9995, 3, 12.923978636687961 },
        { 0.6, 1.5, 0.30074539256979543 },
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_near(student_quantile(expected[i].part, expected[i].df), expected[i].t);
}

/* scipy.stats.t.interval(0.95, 3, loc=mean, scale=sem) and ttest_1samp(x, 0) of these. */
TEST(intervals_are_those_of_scipy)
{
    static const double x[] = { 0.0102, -0.0031, 0.0077, 0.0129 };
    const Estimate e = estimate_mean(x, 4, 0.95);
    assert_near(e.mean, 0.006925000000000001);
    assert_near(e.low, -0.0042335291769361304);
    assert_near(e.high, 0.018083529176936133);
    assert_near(e.p, 0.14274586184549584);
}

TEST(too_few_values_have_no_interval)
{
    static const double x[] = { 3, 3 };
    assert_true(isnan(estimate_mean(x, 0, 0.95).mean));
    assert_true(estimate_mean(x, 1, 0.95).mean == 3 && isnan(estimate_mean(x, 1, 0.95).low));
    const Estimate e = estimate_mean(x, 2, 0.95);
    assert_true(e.low == 3 && e.high == 3 && e.p == 0);
}
