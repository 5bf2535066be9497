/* plot.h - curves as text: braille dots where the terminal has them, ASCII elsewhere. */
#ifndef MONITOR_PLOT_H
#define MONITOR_PLOT_H
#include "base/str.h"
#include <stdint.h>

/* Points in the order of x. Non-finite values are left out and interrupt a line. */
typedef struct PlotSeries {
    int64_t n;
    const double *x, *y;
    bool is_marks; /* a mark per point instead of a line */
    char letter;   /* the mark, 0: 'o'; on a line now and then and at its end, 0: none */
    int colour;    /* of the terminal, 1 (red) to 6; 0: its own */
} PlotSeries;

typedef struct PlotStyle {
    int width, height; /* columns and lines of the whole, axes included; at least 24 x 5 */
    bool is_utf8;
    const char *x_label; /* what x counts: "steps" */
    double y_top;        /* 0: the highest value; else what is higher is drawn there */
} PlotStyle;

/* One frame for all series; a text of `height` lines. Says so when there is nothing to draw. */
void plot_draw(const PlotStyle *style, const PlotSeries *series, int n_series, Text *out);
#endif
