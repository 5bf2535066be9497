/* report.c - `modalities report`: a run, or several, on one screen. */
#include "monitor/report.h"
#include "base/file.h"
#include "base/terminal.h"
#include "command.h"
#include "monitor/experiments_find.h"
#include "monitor/experiments_list.h"
#include "monitor/run_results.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Options {
    StringList runs;
    int64_t plot_height;
} Options;

static const Field options[] = {
    FIELD_STRINGS(Options, runs, "[]", 0, 0,
                  "folders of experiments, folders of such folders, or JSONL files of results; "
                  "none: lists the experiments below this folder",
                  .flags = FIELD_ARGUMENT),
    FIELD_INT(Options, plot_height, "12", 5, 200, "lines of the loss curve"),
    { 0 },
};

typedef struct Paths {
    Arena *arena;
    const char **item;
    int64_t n, cap;
} Paths;

static void add_path(Paths *p, const char *path)
{
    p->item = arena_grow(p->arena, p->item, p->n, &p->cap, sizeof *p->item);
    p->item[p->n++] = path;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* A run that has just begun has nothing to compare yet. */
static bool has_results(Arena *a, const char *path)
{
    struct stat s;
    const char *file = is_directory(path) ? results_file(a, path) : NULL;
    return file && stat(file, &s) == 0 && s.st_size > 0;
}

/* The runs in a folder, by name. */
static void add_runs_in(Paths *p, const char *folder)
{
    int64_t first = p->n;
    DIR *d = opendir(folder);
    for (const struct dirent *entry; d && (entry = readdir(d));) {
        const char *path = path_join(p->arena, folder, entry->d_name);
        if (entry->d_name[0] != '.' && has_results(p->arena, path)) add_path(p, path);
    }
    if (d) closedir(d);
    if (p->n > first) qsort(p->item + first, (size_t)(p->n - first), sizeof *p->item, by_name);
}

/* A folder that holds no results stands for the runs in it. */
static Error *find_runs(Paths *p, const StringList *given)
{
    for (int64_t i = 0; i < given->n; i++) {
        const char *path = given->item[i];
        if (!file_exists(path)) return error_usage("%s: there is no such file or folder", path);
        int64_t before = p->n;
        if (!results_file(p->arena, path)) add_runs_in(p, path);
        if (p->n == before) add_path(p, path);
    }
    return NULL;
}

/* One folder without results, nor runs that have some; experiments lie deeper, or have only begun.
 */
static bool holds_experiments(Arena *a, const Paths *p)
{
    FoundExperiments found;
    if (p->n != 1 || !is_directory(p->item[0]) || results_file(a, p->item[0])) return false;
    experiments_find(a, p->item[0], &found);
    return found.n > 0;
}

static ReportStyle style_of(const Options *o)
{
    int width = terminal_width(1);
    return (ReportStyle){ .width = width < 40    ? 40
                                   : width > 120 ? 120
                                                 : width,
                          .plot_height = (int)o->plot_height,
                          .is_utf8 = terminal_is_utf8(),
                          .is_coloured = terminal_has_colours(1) };
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    const ReportStyle style = style_of(o);
    Paths paths = { .arena = a };
    Text t = { 0 };
    TRY(find_runs(&paths, &o->runs));
    Error *e = paths.n == 0                   ? experiments_list(a, ".", style.width, &t)
               : holds_experiments(a, &paths) ? experiments_list(a, paths.item[0], style.width, &t)
               : paths.n == 1                 ? report_write(a, paths.item[0], &style, &t)
                                              : report_compare(a, paths.item, paths.n, &style, &t);
    if (!e) fwrite(t.ptr, 1, t.len, stdout);
    text_free(&t);
    return e;
}

const Command command_report = {
    .name = "report",
    .doc = "Shows a run, or several over each other, on one screen; lists experiments.",
    .details = "Reads evaluation_results.jsonl (results_subscriber.to_disc) or history.jsonl "
               "(wandb) of each folder, or the files given. Of several runs: loss curves over each "
               "other, a table of losses, and the settings that differ; a folder without results "
               "stands for the runs in it, and where there are none, for a list of the experiments "
               "below. Without any folder: the experiments below this one, "
               "whether they run, were stopped, are done or failed, and how to go on. Tokens per "
               "second and settings need the resolved YAML "
               "beside the results.",
    .examples = "modalities report\n"
                "modalities report experiments/2026-01-31__12-00-00_0123456789abcdef\n"
                "modalities report experiments/a experiments/b\n"
                "modalities report experiments\n"
                "modalities report evaluation_results.jsonl --plot_height 20",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
