/* plot.h - curves as text: braille dots where the terminal has them, ASCII elsewhere. */
#ifndef MONITOR_PLOT_H
#define MONITOR_PLOT_H
#include "base/str.h"
#include <stdint.h>

/* Points in the order of x. Non-finite values are left out and interrupt a line. */
typedef struct PlotSeries {
    int64_t n;
    const double *x, *y;
    bool is_marks; /* an "o" per point instead of a line */
} PlotSeries;

typedef struct PlotStyle {
    int width, height; /* columns and lines of the whole, axes included; at least 24 x 5 */
    bool is_utf8;
    const char *x_label; /* what x counts: "steps" */
} PlotStyle;

/* One frame for all series; a text of `height` lines. Says so when there is nothing to draw. */
void plot_draw(const PlotStyle *style, const PlotSeries *series, int n_series, Text *out);
#endif
