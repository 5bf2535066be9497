/* test_row_shape.c - numbers of lines that are read by their shape, and curves made short. */
#include "base/rng.h"
#include "monitor/history.h"
#include "monitor/row_shape.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_reads(const RowShape *s, const char *number)
{
    char line[96];
    double value;
    const double expected = strtod(number, NULL);
    snprintf(line, sizeof line, "{\"a\": %s}", number);
    if (!row_shape_read(s, str_of(line), &value)) fail_msg("%s is not read", number);
    if (memcmp(&value, &expected, sizeof value) != 0)
        fail_msg("%s: %.17g instead of %.17g", number, value, expected);
}

TEST(numbers_have_the_bits_that_strtod_gives_them)
{
    enum { N = 100000 };
    static const char *const formats[] = { "%.17g", "%.16g", "%.15g", "%.9g", "%.12f", "%.10e" };
    static const char *const hard[] = { "9007199254740993.0",
                                        "9007199254740995.0",
                                        "4503599627370497.5",
                                        "0.1",
                                        "1e22",
                                        "1e23",
                                        "8.5e-27",
                                        "-0.0",
                                        "1.00000000000000011",
                                        "9999999999999999999.0",
                                        "1e-300",
                                        "0.3000000000000000166",
                                        "5e-324",
                                        "179769313486231570e291",
                                        "1e27",
                                        "1e28",
                                        "1.0000000000000001110",
                                        "18446744073709551615.5" };
    Arena *a = arena_new();
    RowShape s;
    assert_true(row_shape_of(a, str_of("{\"a\": 1}"), &s));
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) assert_reads(&s, hard[i]);
    for (uint64_t i = 0; i < N; i++) {
        char number[64];
        const double x = ldexp((double)(rng_bits(1, i) >> 11), (int)(rng_bits(2, i) % 120) - 100);
        const double shown = i % 2 ? x : (double)(float)x; /* results are floats, widened */
        snprintf(number, sizeof number, formats[i % 6], i % 3 ? shown : -shown);
        if (strlen(number) <= 40 && strpbrk(number, ".e")) assert_reads(&s, number);
    }
    arena_free(a);
}

TEST(a_thinned_curve_keeps_its_steps_its_end_and_what_stands_out)
{
    enum { N = 10000, MOST = 100 };
    Arena *a = arena_new();
    Track t = { .tag = "train",
                .key = "x",
                .n = N,
                .step = NEW_N(a, double, N),
                .value = NEW_N(a, double, N) };
    for (int i = 0; i < N; i++) {
        t.step[i] = i + 1;
        t.value[i] = 3 + 1e-3 * (i % 7);
    }
    t.value[1234] = 50;  /* a spike */
    t.value[7777] = NAN; /* a step that was not finite */
    const Track thin = track_thinned(a, &t, MOST);
    assert_int_equal(thin.n, MOST);
    assert_true(thin.step[0] == 100 && thin.step[MOST - 1] == N);
    assert_true(thin.value[12] == 50 && isnan(thin.value[77]));
    assert_true(thin.value[MOST - 1] == t.value[N - 1]);
    assert_ptr_equal(track_thinned(a, &t, N).value, t.value);
    arena_free(a);
}
