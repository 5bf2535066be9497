/* sweep_report.c - a sweep's table as text, CSV and HTML. */
#include "sweep/sweep_report.h"
#include "board/board.h"
#include "monitor/plot.h"
#include "monitor/table.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cells of the four tables, by which text and page are made. */
typedef struct Cells {
    Arena *arena;
    BoardTable table;
    const char **cell;
    int64_t cap;
} Cells;

static void add_cell(Cells *c, const char *text)
{
    int64_t n = c->table.n_rows; /* counts cells until the table is finished */
    c->cell = arena_grow(c->arena, c->cell, n, &c->cap, sizeof *c->cell);
    c->cell[c->table.n_rows++] = text;
}

static const char *number(Arena *a, double x, const char *form)
{
    if (isnan(x)) return "";
    return !strcmp(form, "%+.5g")  ? arena_printf(a, "%+.5g", x)
           : !strcmp(form, "%.1f") ? arena_printf(a, "%.1f", x)
           : !strcmp(form, "%.2g") ? arena_printf(a, "%.2g", x)
                                   : arena_printf(a, "%.6g", x);
}

static const char *interval(Arena *a, const Estimate *e)
{
    return isnan(e->low) ? "" : arena_printf(a, "%.6g .. %.6g", e->low, e->high);
}

static BoardTable finish(Cells *c)
{
    BoardTable t = c->table;
    t.cell = c->cell;
    t.n_rows = t.n_columns ? t.n_rows / t.n_columns : 0;
    return t;
}

static const char *percent(Arena *a, double confidence)
{
    return arena_printf(a, "%g %% interval", 100 * confidence);
}

static BoardTable table_of_groups(Arena *a, const SweepTable *t, double confidence)
{
    const char **column = NEW_N(a, const char *, 5);
    column[0] = "settings", column[1] = "runs", column[2] = "mean loss", column[3] = "std";
    column[4] = percent(a, confidence);
    Cells c = { .arena = a,
                .table = { .title = "Groups",
                           .note = arena_printf(a,
                                                "loss: %s at the last step; %lld of %lld runs "
                                                "are done and count",
                                                t->loss_name, (long long)t->n_counted,
                                                (long long)t->n_runs),
                           .column = column,
                           .n_columns = 5 } };
    for (int64_t g = 0; g < t->n_groups; g++) {
        const TableGroup *x = &t->group[g];
        add_cell(&c, x->label);
        add_cell(&c, arena_printf(a, "%" PRId64, x->loss.n));
        add_cell(&c, number(a, x->loss.mean, ""));
        add_cell(&c, number(a, x->loss.std, "%.2g"));
        add_cell(&c, interval(a, &x->loss));
    }
    return finish(&c);
}

static const char *note_of_pairs(Arena *a, const SweepTable *t)
{
    const char *names = "";
    for (int64_t k = 0; k < t->n_settings; k++)
        if (t->setting[k].is_seed)
            names = arena_printf(a, "%s%s%s", names, *names ? ", " : "", t->setting[k].name);
    return *names ? arena_printf(a, "paired by %s; an interval that holds 0 shows no difference",
                                 names)
                  : "no setting repeats (a seed, or --seed NAME): there are no intervals";
}

static BoardTable table_of_differences(Arena *a, const SweepTable *t, double confidence)
{
    const char **column = NEW_N(a, const char *, 5);
    column[0] = "settings", column[1] = "pairs", column[2] = "difference",
    column[3] = percent(a, confidence), column[4] = "p";
    Cells c = { .arena = a,
                .table = { .title = arena_printf(a, "Differences to %s",
                                                 t->n_groups ? t->group[t->baseline].label : ""),
                           .note = note_of_pairs(a, t),
                           .column = column,
                           .n_columns = 5 } };
    for (int64_t g = 0; g < t->n_groups; g++) {
        const Estimate *d = &t->group[g].difference;
        if (g == t->baseline || !d->n) continue;
        add_cell(&c, t->group[g].label);
        add_cell(&c, arena_printf(a, "%" PRId64, d->n));
        add_cell(&c, number(a, d->mean, "%+.5g"));
        add_cell(&c, interval(a, d));
        add_cell(&c, number(a, d->p, "%.2g"));
    }
    return finish(&c);
}

static BoardTable table_of_settings(Arena *a, const SweepTable *t)
{
    static const char *const column[] = { "setting", "share of the variance (%)" };
    Cells c = { .arena = a,
                .table = { .title = "Which settings matter",
                           .note = "what the values of a setting explain alone; the rest is how "
                                   "settings act together, and chance",
                           .column = column,
                           .n_columns = 2 } };
    if (isnan(t->rest)) return finish(&c);
    for (int64_t k = 0; k < t->n_settings; k++) {
        add_cell(&c, t->setting[k].name);
        const char *only = t->setting[k].only;
        add_cell(&c, only ? arena_printf(a, "only %s is done", only)
                          : number(a, 100 * t->setting[k].share, "%.1f"));
    }
    add_cell(&c, "(rest)");
    add_cell(&c, number(a, 100 * t->rest, "%.1f"));
    return finish(&c);
}

static BoardTable table_of_the_others(Arena *a, const SweepTable *t, bool with_why)
{
    static const char *const column[] = { "run", "state", "steps", "why" };
    Cells c = { .arena = a,
                .table = { .title = "Left out: not finished",
                           .note = "",
                           .column = column,
                           .n_columns = 3 + with_why } };
    for (int64_t i = 0; i < t->n_runs; i++) {
        const TableRun *r = &t->run[i];
        if (r->counts) continue;
        add_cell(&c, r->label);
        add_cell(&c, r->status.state == SWEEP_DONE ? "done, but without a finite loss"
                                                   : sweep_state_name(r->status.state));
        add_cell(&c,
                 arena_printf(a, "%" PRId64 "/%" PRId64, r->status.steps, r->status.target_steps));
        if (with_why) add_cell(&c, r->status.state == SWEEP_FAILED ? r->status.why : "");
    }
    return finish(&c);
}

enum { N_TABLES = 4 };

/* With why runs failed: sentences, for which the table of a terminal has no room. */
static void make_tables(Arena *a, const SweepTable *t, double confidence, bool with_why,
                        BoardTable *out)
{
    out[0] = table_of_groups(a, t, confidence);
    out[1] = table_of_differences(a, t, confidence);
    out[2] = table_of_settings(a, t);
    out[3] = table_of_the_others(a, t, with_why);
}

/* ---- text ---- */

/* A group's curve: the mean over its runs that are done, at the steps of the first of them. */
static PlotSeries curve_of(Arena *a, const SweepTable *t, int64_t g, int place)
{
    PlotSeries s = { .letter = (char)('a' + place), .colour = place + 1 };
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_runs; i++) {
        const Track *k = history_find(&t->run[i].history, NULL, "train loss avg");
        if (t->run[i].group != g || !t->run[i].counts || !k) continue;
        if (!n++) {
            s.n = k->n;
            s.x = k->step;
            s.y = arena_copy(a, k->value, sizeof(double) * (size_t)k->n);
            continue;
        }
        if (k->n < s.n) s.n = k->n;
        for (int64_t j = 0; j < s.n; j++) ((double *)s.y)[j] += k->value[j];
    }
    for (int64_t j = 0; j < s.n; j++) ((double *)s.y)[j] /= (double)n;
    return s;
}

static void put_curves(Arena *a, const SweepTable *t, const ReportStyle *style, Text *out)
{
    enum { MOST = 6 };
    PlotSeries series[MOST];
    int n = 0;
    const PlotStyle p = { .width = style->width,
                          .height = style->plot_height,
                          .is_utf8 = style->is_utf8,
                          .x_label = "steps" };
    for (int64_t g = 0; g < t->n_groups && n < MOST; g++) {
        series[n] = curve_of(a, t, g, n);
        if (!series[n].n) continue;
        if (!style->is_coloured) series[n].colour = 0;
        text_printf(out, "%c  %s\n", series[n].letter, t->group[g].label);
        n++;
    }
    if (!n) return;
    text_puts(out, "training loss, mean over seeds\n");
    plot_draw(&p, series, n, out);
    text_putc(out, '\n');
}

static bool failed_like(const TableRun *r, const char *why)
{
    return !r->counts && r->status.state == SWEEP_FAILED && !strcmp(r->status.why, why);
}

/* Runs that failed alike are told together. */
static void put_reasons(const SweepTable *t, Text *out)
{
    for (int64_t i = 0; i < t->n_runs; i++) {
        const TableRun *r = &t->run[i];
        int64_t n_earlier = 0, n = 0;
        if (!failed_like(r, r->status.why) || !*r->status.why) continue;
        for (int64_t k = 0; k < t->n_runs; k++) {
            n += failed_like(&t->run[k], r->status.why);
            n_earlier += k < i && failed_like(&t->run[k], r->status.why);
        }
        if (n_earlier) continue;
        text_printf(out, "%s", r->label);
        if (n > 1) text_printf(out, " and %" PRId64 " more", n - 1);
        text_printf(out, " failed: %s\n", r->status.why);
    }
}

static void put_table(Arena *a, const BoardTable *b, int width, Text *out)
{
    Table t = { .arena = a, .n_columns = b->n_columns, .left = 1 };
    if (!b->n_rows) return;
    table_add(&t, b->column);
    for (int64_t i = 0; i < b->n_rows; i++) table_add(&t, b->cell + i * b->n_columns);
    text_printf(out, "%s\n", b->title);
    table_write(&t, width, out);
    text_printf(out, "%s%s\n", b->note, *b->note ? "\n" : "");
}

void sweep_report_text(Arena *a, const SweepTable *t, double confidence, const ReportStyle *style,
                       Text *out)
{
    BoardTable table[N_TABLES];
    make_tables(a, t, confidence, false, table);
    put_curves(a, t, style, out);
    for (int i = 0; i < N_TABLES; i++) put_table(a, &table[i], style->width, out);
    put_reasons(t, out);
}

/* ---- CSV ---- */

/* RFC 4180: quotes where the text needs them. */
static void put_field(Text *out, const char *s, const char *end)
{
    if (!strpbrk(s, ",\"\n\r")) {
        text_printf(out, "%s%s", s, end);
        return;
    }
    text_putc(out, '"');
    for (; *s; s++) {
        if (*s == '"') text_putc(out, '"');
        text_putc(out, *s);
    }
    text_printf(out, "\"%s", end);
}

/* How the first line ends, after the settings of the sweep. */
#define CSV_ENDS "state,steps,loss,folder"

bool sweep_is_csv(Str content)
{
    const size_t n = strlen(CSV_ENDS);
    const char *end = content.len ? memchr(content.ptr, '\n', content.len) : NULL;
    return end && (size_t)(end - content.ptr) >= n && !memcmp(end - n, CSV_ENDS, n);
}

void sweep_report_csv(const SweepTable *t, Text *out)
{
    char number_text[32];
    for (int64_t k = 0; k < t->n_settings; k++) put_field(out, t->setting[k].name, ",");
    text_puts(out, CSV_ENDS "\n");
    for (int64_t i = 0; i < t->n_runs; i++) {
        const TableRun *r = &t->run[i];
        for (int64_t k = 0; k < t->n_settings; k++) put_field(out, r->value[k], ",");
        text_printf(out, "%s,%.0f,", sweep_state_name(r->status.state), r->steps);
        if (!isnan(r->loss)) {
            format_double(r->loss, number_text);
            text_puts(out, number_text);
        }
        text_putc(out, ',');
        put_field(out, r->run->folder, "\n");
    }
}

/* ---- HTML ---- */

Error *sweep_report_html(Arena *a, const SweepTable *t, const char *title, double confidence,
                         const char *path)
{
    BoardTable table[N_TABLES];
    BoardRun *run = NEW_N(a, BoardRun, t->n_runs);
    int n_tables = 0;
    make_tables(a, t, confidence, true, table);
    for (int i = 0; i < N_TABLES; i++)
        if (table[i].n_rows) table[n_tables++] = table[i];
    for (int64_t i = 0; i < t->n_runs; i++) {
        const TableRun *r = &t->run[i];
        BoardSetting *s = NEW_N(a, BoardSetting, t->n_settings);
        for (int64_t k = 0; k < t->n_settings; k++)
            s[k] = (BoardSetting){ t->setting[k].name, r->value[k], t->setting[k].is_seed };
        run[i] = (BoardRun){ .name = r->label,
                             .state = sweep_state_name(r->status.state),
                             .steps = r->status.steps,
                             .target_steps = r->status.target_steps,
                             .history = r->history,
                             .setting = s,
                             .n_settings = t->n_settings };
        board_read_pictures(a, r->run->folder, &run[i]);
    }
    const Board b = {
        .title = title, .run = run, .n_runs = t->n_runs, .table = table, .n_tables = n_tables
    };
    return board_write(&b, path);
}
