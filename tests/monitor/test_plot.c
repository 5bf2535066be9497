/* test_plot.c - curves as text. */
#include "monitor/plot.h"
#include "test.h"
#include <math.h>

static const double rising[] = { 0, 1, 2, 3, 4 };

static void assert_plot(PlotStyle style, const PlotSeries *series, int n, const char *expected)
{
    Text t = { 0 };
    plot_draw(&style, series, n, &t);
    assert_string_equal(t.ptr, expected);
    text_free(&t);
}

TEST(a_line_in_ascii)
{
    const double y[] = { 10, 5, 2.5, 1.25, 0 };
    const PlotSeries s = { .n = 5, .x = rising, .y = y };
    assert_plot((PlotStyle){ .width = 24, .height = 7, .x_label = "steps" }, &s, 1,
                "      10 |'.\n"
                "         |  :\n"
                "       5 |   '.\n"
                "         |     ''..\n"
                "       0 |         '''..\n"
                "         +--------------\n"
                "          0      4 steps\n");
}

TEST(a_line_in_braille)
{
    const double y[] = { 10, 5, 2.5, 1.25, 0 };
    const PlotSeries s = { .n = 5, .x = rising, .y = y };
    assert_plot((PlotStyle){ .width = 24, .height = 5, .x_label = "steps", .is_utf8 = true }, &s, 1,
                "      10 ┤⠑⠢⡀\n"
                "       5 ┤  ⠈⠑⠢⢄⡀\n"
                "       0 ┤      ⠈⠉⠒⠢⠤⠤⣀⣀\n"
                "         └──────────────\n"
                "          0      4 steps\n");
}

TEST(marks_lie_over_lines_and_gaps_interrupt_them)
{
    const double y[] = { 0, 0, NAN, 10, INFINITY }, at[] = { 0, 4 }, marks[] = { 10, 0 };
    const PlotSeries s[] = { { .n = 5, .x = rising, .y = y },
                             { .n = 2, .x = at, .y = marks, .is_marks = true } };
    assert_plot((PlotStyle){ .width = 24, .height = 5, .x_label = "steps" }, s, 2,
                "      10 |o         '\n"
                "       5 |\n"
                "       0 |....         o\n"
                "         +--------------\n"
                "          0      4 steps\n");
}

TEST(a_single_value_and_none_at_all)
{
    const double x[] = { 7 }, y[] = { 3 }, nothing[] = { NAN };
    PlotSeries s = { .n = 1, .x = x, .y = y };
    Text t = { 0 };
    plot_draw(&(PlotStyle){ .width = 30, .height = 5, .x_label = "steps" }, &s, 1, &t);
    assert_contains(t.ptr, "\n       3 |'");
    assert_contains(t.ptr, " 7            8 steps\n");
    text_clear(&t);
    s.y = nothing;
    plot_draw(&(PlotStyle){ .width = 30, .height = 5, .x_label = "steps" }, &s, 1, &t);
    assert_string_equal(t.ptr, "(nothing to plot)\n");
    text_free(&t);
}
