/* plot.c - curves as text.
 *
 * Lines are drawn (Bresenham 1965) into a grid of dots; a character shows 2 x 4 of them in braille,
 * or 1 x 2 in ASCII. */
#include "monitor/plot.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUTTER = 10 }; /* the labels of y and the axis */

typedef struct Grid {
    int n_columns, n_rows;      /* characters */
    int dots_across, dots_down; /* of one character */
    uint8_t *dots;              /* bit (down * dots_across + across) of each character */
    char *mark;                 /* 0: none */
    uint8_t *colour;            /* of the series drawn last */
    double x_min, x_max, y_min, y_max;
} Grid;

static int cell_of(const Grid *g, int x, int y)
{
    return y / g->dots_down * g->n_columns + x / g->dots_across;
}

static void set_dot(Grid *g, int x, int y, int colour)
{
    int cell = cell_of(g, x, y);
    g->colour[cell] = (uint8_t)colour;
    g->dots[cell] |= (uint8_t)(1u << (y % g->dots_down * g->dots_across + x % g->dots_across));
}

static void draw_line(Grid *g, int x0, int y0, int x1, int y1, int colour)
{
    int dx = abs(x1 - x0), dy = -abs(y1 - y0), error = dx + dy;
    int step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1;
    for (;;) {
        set_dot(g, x0, y0, colour);
        if (x0 == x1 && y0 == y1) return;
        int twice = 2 * error;
        if (twice >= dy) {
            error += dy;
            x0 += step_x;
        }
        if (twice <= dx) {
            error += dx;
            y0 += step_y;
        }
    }
}

/* The dot of a value between low and high, of n dots. */
static int place(double value, double low, double high, int n)
{
    int at = (int)lround((value - low) / (high - low) * (n - 1));
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

static void set_mark(Grid *g, int x, int y, char mark, int colour)
{
    int cell = cell_of(g, x, y);
    g->mark[cell] = mark;
    g->colour[cell] = (uint8_t)colour;
}

/* `number` of the series keeps the letters of lines apart that run side by side. */
static void draw_series(Grid *g, const PlotSeries *s, int number)
{
    enum { BETWEEN = 24, APART = 5 }; /* columns from letter to letter, and of two lines' letters */
    int width = g->n_columns * g->dots_across, height = g->n_rows * g->dots_down;
    int last_x = -1, last_y = -1;
    int next = (APART * (number + 1) % BETWEEN) * g->dots_across; /* the dot of the next letter */
    for (int64_t i = 0; i < s->n; i++) {
        if (!isfinite(s->x[i]) || !isfinite(s->y[i])) {
            last_x = -1;
            continue;
        }
        int x = place(s->x[i], g->x_min, g->x_max, width);
        int y = height - 1 - place(s->y[i], g->y_min, g->y_max, height);
        if (s->is_marks)
            set_mark(g, x, y, s->letter ? s->letter : 'o', s->colour);
        else
            draw_line(g, last_x < 0 ? x : last_x, last_x < 0 ? y : last_y, x, y, s->colour);
        if (!s->is_marks && s->letter && x >= next) {
            set_mark(g, x, y, s->letter, s->colour);
            next = x + BETWEEN * g->dots_across;
        }
        last_x = x;
        last_y = y;
    }
    if (!s->is_marks && s->letter && last_x >= 0) set_mark(g, last_x, last_y, s->letter, s->colour);
}

/* False when there is no finite point. A single value gets a range around it. */
static bool find_ranges(Grid *g, const PlotSeries *series, int n_series)
{
    g->x_min = g->y_min = INFINITY;
    g->x_max = g->y_max = -INFINITY;
    for (int s = 0; s < n_series; s++) {
        for (int64_t i = 0; i < series[s].n; i++) {
            double x = series[s].x[i], y = series[s].y[i];
            if (!isfinite(x) || !isfinite(y)) continue;
            g->x_min = fmin(g->x_min, x);
            g->x_max = fmax(g->x_max, x);
            g->y_min = fmin(g->y_min, y);
            g->y_max = fmax(g->y_max, y);
        }
    }
    if (g->x_min > g->x_max) return false;
    if (g->x_min == g->x_max) g->x_max = g->x_min + 1;
    if (g->y_min == g->y_max) {
        double margin = fmax(fabs(g->y_min) * 0.01, 1e-9);
        g->y_min -= margin;
        g->y_max += margin;
    }
    return true;
}

static void put_cell(const Grid *g, int cell, bool is_utf8, Text *out)
{
    /* braille numbers its dots column by column, with the fourth row added later */
    static const uint8_t braille[8] = { 0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80 };
    unsigned dots = g->dots[cell];
    int colour = dots || g->mark[cell] ? g->colour[cell] : 0;
    if (colour) text_printf(out, "\033[3%dm", colour);
    if (g->mark[cell]) {
        text_putc(out, g->mark[cell]);
    } else if (!dots) {
        text_putc(out, ' ');
    } else if (is_utf8) {
        uint32_t code = 0x2800;
        for (int i = 0; i < 8; i++)
            if (dots >> i & 1) code |= braille[i];
        char bytes[4];
        text_add(out, bytes, (size_t)utf8_encode(code, bytes));
    } else {
        text_putc(out, " '.:"[dots]);
    }
    if (colour) text_puts(out, "\033[m");
}

static void put_row(const Grid *g, int row, bool is_utf8, Text *out)
{
    char label[32] = "";
    double share = (double)(g->n_rows - 1 - row) / (g->n_rows - 1);
    bool is_labelled = row == 0 || row == g->n_rows - 1 || row == (g->n_rows - 1) / 2;
    if (is_labelled)
        snprintf(label, sizeof label, "%.4g", g->y_min + share * (g->y_max - g->y_min));
    const char *axis = is_utf8 ? is_labelled ? "┤" : "│" : "|";
    text_printf(out, "%*s %s", GUTTER - 2, label, axis);
    size_t start = out->len;
    for (int i = 0; i < g->n_columns; i++) put_cell(g, row * g->n_columns + i, is_utf8, out);
    while (out->len > start && out->ptr[out->len - 1] == ' ') out->ptr[--out->len] = 0;
    text_putc(out, '\n');
}

static void put_x_axis(const Grid *g, const PlotStyle *style, Text *out)
{
    text_printf(out, "%*s%s", GUTTER - 1, "", style->is_utf8 ? "└" : "+");
    for (int i = 0; i < g->n_columns; i++) text_puts(out, style->is_utf8 ? "─" : "-");
    char low[32], high[64];
    snprintf(low, sizeof low, "%.10g", g->x_min);
    snprintf(high, sizeof high, "%.10g %.20s", g->x_max, style->x_label);
    text_printf(out, "\n%*s%s%*s\n", GUTTER, "", low, g->n_columns - (int)strlen(low), high);
}

void plot_draw(const PlotStyle *style, const PlotSeries *series, int n_series, Text *out)
{
    CHECK(style->width >= 24 && style->height >= 5);
    Grid g = { .n_columns = style->width - GUTTER,
               .n_rows = style->height - 2,
               .dots_across = style->is_utf8 ? 2 : 1,
               .dots_down = style->is_utf8 ? 4 : 2 };
    if (!find_ranges(&g, series, n_series)) {
        text_puts(out, "(nothing to plot)\n");
        return;
    }
    Arena *a = arena_new();
    g.dots = NEW_N(a, uint8_t, g.n_columns * g.n_rows);
    g.mark = NEW_N(a, char, g.n_columns *g.n_rows);
    g.colour = NEW_N(a, uint8_t, g.n_columns * g.n_rows);
    if (style->y_top > g.y_min && style->y_top < g.y_max) g.y_max = style->y_top;
    for (int s = 0; s < n_series; s++) draw_series(&g, &series[s], s);
    for (int row = 0; row < g.n_rows; row++) put_row(&g, row, style->is_utf8, out);
    put_x_axis(&g, style, out);
    arena_free(a);
}
