/* report.c - a run on one screen. */
#include "monitor/report.h"
#include "monitor/plot.h"
#include "monitor/results.h"
#include "monitor/run_results.h"
#include "monitor/summary.h"
#include "monitor/table.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_EVALUATIONS = 8 };

static void put_plot(const History *h, const ReportStyle *style, Text *out)
{
    PlotSeries series[1 + MAX_EVALUATIONS];
    int n = 0;
    const Track *train = history_find(h, NULL, "train loss avg");
    if (train) series[n++] = (PlotSeries){ .n = train->n, .x = train->step, .y = train->value };
    for (int64_t i = 0; i < h->n && n <= MAX_EVALUATIONS; i++) {
        const Track *t = &h->track[i];
        if (is_evaluation_loss(h, t))
            series[n++] = (PlotSeries){ .n = t->n, .x = t->step, .y = t->value, .is_marks = true };
    }
    const PlotStyle plot = { .width = style->width,
                             .height = style->plot_height,
                             .is_utf8 = style->is_utf8,
                             .x_label = "steps" };
    text_printf(out, "loss: training as a line%s\n",
                n > (train ? 1 : 0) ? ", evaluation as o" : "");
    plot_draw(&plot, series, n, out);
}

/* A row "name first last lowest 4.202 at 590"; `is_loss`: the lowest counts, else the highest. */
static void add_row(Table *t, const char *name, const Track *track, const char *fmt, bool is_loss)
{
    Summary s;
    Arena *a = t->arena;
    if (!track) return;
    if (!summarise(track, &s)) {
        table_add(t, (const char *const[]){ name, "", "", "no finite value", "", "" });
        return;
    }
    const double value[] = { s.first, s.last, is_loss ? s.least : s.greatest };
    const char *text[3];
    for (int i = 0; i < 3; i++) {
        char number[32];
        snprintf(number, sizeof number, fmt, value[i]);
        text[i] = arena_string(a, number);
    }
    const char *at = arena_printf(a, "at %.0f", is_loss ? s.least_step : s.greatest_step);
    table_add(t, (const char *const[]){ name, text[0], text[1], is_loss ? "lowest" : "highest",
                                        text[2], at });
}

static void put_table(Arena *a, const History *h, int width, Text *out)
{
    Table t = { .arena = a, .n_columns = 6, .left = 1 | 1 << 3 | 1 << 5 };
    table_add(&t, (const char *const[]){ "", "first", "last", "", "", "" });
    add_row(&t, "train loss", history_find(h, NULL, "train loss avg"), "%.4f", true);
    for (int64_t i = 0; i < h->n; i++)
        if (is_evaluation_loss(h, &h->track[i]))
            add_row(&t, loss_name(a, h, &h->track[i]), &h->track[i], "%.4f", true);
    add_row(&t, "grad norm", history_find(h, NULL, "grad norm avg"), "%.4g", false);
    add_row(&t, "learning rate", history_find(h, NULL, "lr mean"), "%.3g", false);
    table_write(&t, width, out);
}

/* What follows on a line behind a comma or colon, or below, where the line has no room left. */
static void put_more(int width, char sign, const char *text, Text *out)
{
    size_t line = out->len;
    while (line && out->ptr[line - 1] != '\n') line--;
    bool fits = out->len - line + 2 + strlen(text) <= (size_t)width;
    text_printf(out, "%c%s%s", sign, fits ? " " : "\n  ", text);
}

static void put_speed(Arena *a, const RunResults *r, int width, Text *out)
{
    const History *h = &r->history;
    char text[32];
    Summary s;
    double rate = median(a, history_find(h, NULL, "train samples/s"));
    if (!isnan(rate)) {
        text_printf(out, "throughput (median): %.4g samples/s", rate);
        format_count(rate * (double)r->sequence_length, text);
        if (r->sequence_length) put_more(width, ',', arena_printf(a, "%s tokens/s", text), out);
        double share = median(a, history_find(h, NULL, "train mfu (16-bit)"));
        if (share > 0) put_more(width, ',', arena_printf(a, "MFU %.1f %%", 100 * share), out);
        share = median(a, history_find(h, NULL, MFU_OF_PRODUCTS));
        if (share > 0)
            put_more(width, ',', arena_printf(a, "%.1f %% of products", 100 * share), out);
        text_putc(out, '\n');
    }
    if (summarise(history_find(h, NULL, "peak memory rank 0 (MB)"), &s))
        text_printf(out, "peak memory: %.0f MB\n", s.greatest);
}

static void put_heading(const RunResults *r, int width, Text *out)
{
    const History *h = &r->history;
    Summary steps, tokens;
    Text size = { 0 };
    text_printf(out, "%s", r->file);
    if (summarise(history_find(h, NULL, "train loss avg"), &steps))
        text_printf(&size, "%.0f steps", steps.last_step);
    if (summarise(history_find(h, NULL, "consumed tokens"), &tokens)) {
        char count[32];
        format_count(tokens.last, count);
        text_printf(&size, "%s%s tokens", size.len ? ", " : "", count);
    }
    if (size.len) put_more(width, ':', size.ptr, out);
    text_free(&size);
    if (h->n_bad)
        text_printf(out, "\n(%" PRId64 " lines could not be read, the first is line %" PRId64 ")",
                    h->n_bad, h->first_bad);
    text_puts(out, "\n\n");
}

Error *report_write(Arena *a, const char *path, const ReportStyle *style, Text *out)
{
    RunResults r;
    TRY(run_results_read(a, path, &r));
    put_heading(&r, style->width, out);
    put_plot(&r.history, style, out);
    text_putc(out, '\n');
    put_table(a, &r.history, style->width, out);
    put_speed(a, &r, style->width, out);
    return NULL;
}
