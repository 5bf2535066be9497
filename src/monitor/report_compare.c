/* report_compare.c - several runs on one screen: curves over each other, a table, what differs. */
#include "monitor/config_differences.h"
#include "monitor/plot.h"
#include "monitor/report.h"
#include "monitor/run_results.h"
#include "monitor/summary.h"
#include "monitor/table.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CURVES = 8, N_COLOURS = 6 };

/* A run and what the table says of it; NaN: not known. */
typedef struct Compared {
    RunResults results;
    const Track *train, *validation; /* validation: the first evaluation loader's loss */
    double steps, last, validation_last;
    char letter; /* of its curve; ' ': it is not drawn */
} Compared;

static Error *read_run(Arena *a, const char *path, Compared *out)
{
    *out = (Compared){ .letter = ' ', .last = NAN, .validation_last = NAN };
    TRY(run_results_read(a, path, &out->results));
    const History *h = &out->results.history;
    Summary s;
    out->train = history_find(h, NULL, "train loss avg");
    for (int64_t i = 0; i < h->n && !out->validation; i++)
        if (is_evaluation_loss(h, &h->track[i])) out->validation = &h->track[i];
    if (summarise(out->train, &s)) {
        out->steps = s.last_step;
        out->last = s.last;
    }
    if (summarise(out->validation, &s)) out->validation_last = s.last;
    return NULL;
}

/* What a run is judged by: its validation loss, else its training loss. */
static double judged_by(const Compared *c)
{
    return isnan(c->validation_last) ? c->last : c->validation_last;
}

/* Among equals the one named first; a run without a loss is the worst. */
static bool is_better(const Compared *run, int64_t i, int64_t than)
{
    double x = judged_by(&run[i]), y = judged_by(&run[than]);
    if (isnan(x) || isnan(y)) return isnan(x) == isnan(y) ? i < than : isnan(y);
    return x == y ? i < than : x < y;
}

/* The best get letters, in the order in which they were named. */
static void choose_curves(Compared *run, int64_t n)
{
    int64_t n_chosen = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t n_better = 0;
        for (int64_t j = 0; j < n; j++) n_better += is_better(run, j, i);
        if (n_better < MOST_CURVES) run[i].letter = (char)('A' + n_chosen++);
    }
}

/* The first tenth of a training would take most of the picture, and nobody compares it. */
static double top_of(const Compared *run, int64_t n)
{
    double top = -INFINITY, longest = 0;
    for (int64_t i = 0; i < n; i++) longest = fmax(longest, run[i].steps);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; run[i].train && k < run[i].train->n; k++)
            if (run[i].letter != ' ' && run[i].train->step[k] >= 0.1 * longest)
                top = fmax(top, run[i].train->value[k]);
    return isfinite(top) ? top : 0;
}

static void put_curves(Arena *a, const Compared *run, int64_t n, const ReportStyle *style,
                       Text *out)
{
    PlotSeries *series = NEW_N(a, PlotSeries, 2 * n + 1);
    int n_series = 0;
    bool has_marks = false;
    for (int64_t i = 0; i < n; i++) {
        const Compared *c = &run[i];
        int colour = style->is_coloured ? (c->letter - 'A') % N_COLOURS + 1 : 0;
        if (c->letter == ' ') continue;
        if (c->train)
            series[n_series++] = (PlotSeries){ .n = c->train->n,
                                               .x = c->train->step,
                                               .y = c->train->value,
                                               .letter = c->letter,
                                               .colour = colour };
        if (!c->validation) continue;
        has_marks = true;
        series[n_series++] = (PlotSeries){ .n = c->validation->n,
                                           .x = c->validation->step,
                                           .y = c->validation->value,
                                           .is_marks = true,
                                           .letter = (char)(c->letter - 'A' + 'a'),
                                           .colour = colour };
    }
    text_printf(out, "loss: training as lines A, B ...%s\n",
                has_marks ? ", evaluation as a, b ..." : "");
    const PlotStyle plot = { .width = style->width,
                             .height = style->plot_height,
                             .is_utf8 = style->is_utf8,
                             .x_label = "steps",
                             .y_top = top_of(run, n) };
    plot_draw(&plot, series, n_series, out);
}

static const char *number(Arena *a, const char *fmt, double x)
{
    char text[32];
    snprintf(text, sizeof text, fmt, x);
    return isnan(x) ? "-" : arena_string(a, text);
}

static const char *tokens_per_second(Arena *a, const Compared *c)
{
    double rate = median(a, history_find(&c->results.history, NULL, "train samples/s"));
    char text[32];
    if (isnan(rate) || !c->results.sequence_length) return "";
    format_count(rate * (double)c->results.sequence_length, text);
    return arena_string(a, text);
}

/* The last step that all have reached; 0 when all stand at the same one. */
static double common_step(const Compared *run, int64_t n)
{
    double least = INFINITY, greatest = 0;
    for (int64_t i = 0; i < n; i++) {
        least = fmin(least, run[i].steps);
        greatest = fmax(greatest, run[i].steps);
    }
    return least < greatest ? least : 0;
}

static void put_table(Arena *a, const Compared *run, int64_t n, int width, Text *out)
{
    double common = common_step(run, n);
    Table t = { .arena = a, .n_columns = 8, .left = 1 | 1 << 1, .elastic = 1 };
    const char *at = common ? arena_printf(a, "at %.0f", common) : "";
    bool has_validation = false, has_rates = false;
    for (int64_t i = 0; i < n; i++) {
        has_validation |= run[i].validation != NULL;
        has_rates |= *tokens_per_second(a, &run[i]) != 0;
    }
    table_add(&t, (const char *const[]){
                      "", "run", "steps", "train loss", at, has_validation ? "validation" : "",
                      has_validation && common ? at : "", has_rates ? "tokens/s" : "" });
    for (int64_t i = 0; i < n; i++) {
        const Compared *c = &run[i];
        table_add(
            &t,
            (const char *const[]){
                arena_printf(a, "%c", c->letter), c->results.name,
                arena_printf(a, "%.0f", c->steps), number(a, "%.4f", c->last),
                common ? number(a, "%.4f", track_at(c->train, common)) : "",
                has_validation ? number(a, "%.4f", c->validation_last) : "",
                has_validation && common ? number(a, "%.4f", track_at(c->validation, common)) : "",
                tokens_per_second(a, c) });
    }
    table_write(&t, width, out);
}

static void put_differences(Arena *a, const Compared *run, int64_t n, int width, Text *out)
{
    enum { MOST_ROWS = 12 };
    const Yaml **config = NEW_N(a, const Yaml *, n);
    int64_t n_drawn = 0;
    const char *heading[MAX_COLUMNS] = { "settings that differ" };
    for (int64_t i = 0; i < n && n_drawn + 1 < MAX_COLUMNS; i++) {
        if (run[i].letter == ' ' || !run[i].results.config) continue;
        config[n_drawn++] = run[i].results.config;
        heading[n_drawn] = arena_printf(a, "%c", run[i].letter);
    }
    if (n_drawn < 2) return;
    ConfigDifference *d;
    int64_t n_found = config_differences(a, config, n_drawn, &d);
    Table t = { .arena = a, .n_columns = (int)n_drawn + 1, .left = 1 };
    table_add(&t, heading);
    for (int64_t i = 0; i < n_found && i < MOST_ROWS; i++) {
        const char *cell[MAX_COLUMNS] = { d[i].path };
        if (d[i].n_alike)
            cell[0] = arena_printf(a, "%s and %" PRId64 " more", d[i].path, d[i].n_alike);
        for (int64_t k = 0; k < n_drawn; k++) cell[k + 1] = d[i].value[k];
        table_add(&t, cell);
    }
    text_putc(out, '\n');
    if (n_found)
        table_write(&t, width, out);
    else
        text_puts(out, "no setting differs\n");
    if (n_found > MOST_ROWS) text_printf(out, "and %" PRId64 " more\n", n_found - MOST_ROWS);
}

Error *report_compare(Arena *a, const char *const *path, int64_t n, const ReportStyle *style,
                      Text *out)
{
    Compared *run = NEW_N(a, Compared, n);
    Error *e = NULL;
    for (int64_t i = 0; i < n; i++) e = error_join(e, read_run(a, path[i], &run[i]));
    if (e) return e;
    choose_curves(run, n);
    put_curves(a, run, n, style, out);
    text_putc(out, '\n');
    put_table(a, run, n, style->width, out);
    if (n > MOST_CURVES)
        text_printf(out, "the curves are those of the %d best\n", (int)MOST_CURVES);
    put_differences(a, run, n, style->width, out);
    return NULL;
}
