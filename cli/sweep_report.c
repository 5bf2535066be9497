/* sweep_report.c - `modalities sweep report`: what a sweep shows. */
#include "sweep/sweep_report.h"
#include "base/file.h"
#include "base/log.h"
#include "base/terminal.h"
#include "board/board.h"
#include "command.h"
#include "data/existing_file.h"
#include <stdio.h>

typedef struct Options {
    const char *folder, *csv, *html, *baseline;
    StringList seed;
    double confidence;
    int64_t plot_height;
    const int64_t *world_size;
} Options;

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, folder, NULL, "the sweep's folder", .flags = FIELD_ARGUMENT | FIELD_EXISTS_ANY),
    FIELD_PATH(Options, html, "null", "also as a page: tables, and curves as `board` shows them", .role = PATH_WRITTEN),
    FIELD_PATH(Options, csv, "null", "also a row per run as CSV", .role = PATH_WRITTEN),
    FIELD_STRING(Options, baseline, "null", "settings that the others are compared with, as the table names them: lr=0.001; by default the best"),
    FIELD_STRINGS(Options, seed, "[]", 0, 0, "a setting that only repeats; by default those called seed"),
    FIELD_FLOAT(Options, confidence, "0.95", 0, 1, "of the intervals", .flags = FIELD_OPEN_MIN | FIELD_OPEN_MAX),
    FIELD_INT(Options, world_size, "null", 1, INFINITY, "only runs on so many ranks"),
    FIELD_INT(Options, plot_height, "12", 5, 200, "lines of the curves"),
    { 0 },
};
/* clang-format on */

static ReportStyle style_of(const Options *o)
{
    enum { NARROW = 60, WIDE = 160 };
    int width = terminal_width(1);
    return (ReportStyle){ .width = width < NARROW ? NARROW
                                   : width > WIDE ? WIDE
                                                  : width,
                          .plot_height = (int)o->plot_height,
                          .is_utf8 = terminal_is_utf8(),
                          .is_coloured = terminal_has_colours(1) };
}

static Error *write_csv(const SweepTable *t, const char *path)
{
    Text csv = { 0 };
    sweep_report_csv(t, &csv);
    Error *e = file_write(path, csv.ptr, csv.len);
    text_free(&csv);
    return e;
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    if (o->csv) TRY(existing_report(o->csv, sweep_is_csv, "the rows of a sweep"));
    if (o->html) TRY(existing_report(o->html, board_is_page, "a page of a board or of a sweep"));
    SweepRuns all;
    SweepStore *store;
    SweepTable table;
    TRY(sweep_runs_find(a, o->folder, o->world_size ? *o->world_size : 0, &all));
    if (!all.n)
        return error_new("%s holds no configurations WORLD_SIZE/HASH_TIME/*.yaml", o->folder);
    const SweepRuns runs = sweep_runs_newest(a, &all);
    const TableQuestion question = { .baseline = o->baseline,
                                     .seeds = o->seed,
                                     .confidence = o->confidence };
    TRY(sweep_store_open(a, o->folder, &store));
    TRY(sweep_table_make(a, store, &runs, &question, &table));
    const ReportStyle style = style_of(o);
    Text t = { 0 };
    sweep_report_text(a, &table, o->confidence, &style, &t);
    fwrite(t.ptr, 1, t.len, stdout);
    text_free(&t);
    if (o->csv) TRY(write_csv(&table, o->csv));
    if (!o->html) return NULL;
    TRY(sweep_report_html(a, &table, path_name(path_absolute(a, o->folder)), o->confidence,
                          o->html));
    log_info("%s", o->html);
    return NULL;
}

const Command command_sweep_report = {
    .group = "sweep",
    .name = "report",
    .doc = "Tells what a sweep shows: groups, differences, which settings matter.",
    .details =
        "Runs that differ in their seed alone are a group. Of each group: the mean loss of those "
        "that are done, and its confidence interval by Student's t; the difference to the "
        "baseline, paired by seed. The loss is that of the first evaluation loader, or of training "
        "where nothing is evaluated, at the last step. Runs that are not finished are listed and "
        "left out. Results are kept in sweep.sqlite and read again only when they have changed.",
    .examples = "modalities sweep report sweeps/TIME_HASH\n"
                "modalities sweep report sweeps/TIME_HASH --baseline lr=0.001 --html report.html "
                "--csv runs.csv",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
