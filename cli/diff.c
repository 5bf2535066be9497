/* diff.c - `modalities diff`: two configurations or two runs against each other. */
#include "base/file.h"
#include "command.h"
#include "config/config.h"
#include "monitor/config_differences.h"
#include "monitor/run_record.h"
#include "monitor/run_results.h"
#include "monitor/table.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Options {
    const char *first, *second;
    double tolerance;
} Options;

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, first, NULL, "a configuration, resolved or not, or the folder of a run", .flags = FIELD_ARGUMENT | FIELD_EXISTS_ANY),
    FIELD_PATH(Options, second, NULL, "the other one", .flags = FIELD_ARGUMENT | FIELD_EXISTS_ANY),
    FIELD_FLOAT(Options, tolerance, "0", 0, INFINITY, "relative difference up to which losses are the same"),
    { 0 },
};
/* clang-format on */

typedef struct Side {
    const char *path;
    const Yaml *config;
    RunResults results;
    bool has_results;
} Side;

static Error *read_config(Arena *a, const char *path, const Yaml **out)
{
    const char *name = path_name(path);
    size_t n = strlen(name), m = strlen(".resolved");
    Rank rank;
    Yaml *root;
    if (n > m && !strcmp(name + n - m, ".resolved")) {
        TRY(yaml_read(a, path, &root));
    } else {
        const ResolverContext c = { .rank = &rank,
                                    .config_file_path = path,
                                    .experiments_root_path = "experiments",
                                    .experiment_id = "experiment_id" };
        TRY(rank_of_process(&rank));
        TRY(config_load(a, path, (StringList){ 0 }, &c, &root));
    }
    *out = root;
    return NULL;
}

static Error *read_side(Arena *a, const char *path, Side *out)
{
    *out = (Side){ .path = path };
    if (!is_directory(path)) return read_config(a, path, &out->config);
    TRY(run_results_read(a, path, &out->results));
    out->has_results = true;
    out->config = out->results.config;
    if (!out->config)
        return error_new("%s holds no resolved configuration (*.yaml.resolved)", path);
    return NULL;
}

static bool differ(const Yaml *x, const Yaml *y)
{
    return !x || !y || !yaml_equal(x, y);
}

static int64_t put_settings(Arena *a, const Side side[2], Text *out)
{
    enum { WIDTH = 160 };
    ConfigDifference *d;
    Table t = { .arena = a, .n_columns = 3, .left = 7 };
    int64_t n =
        config_differences(a, (const Yaml *const[]){ side[0].config, side[1].config }, 2, &d);
    if (!n) {
        text_puts(out, "settings: no difference\n");
        return 0;
    }
    table_add(&t,
              (const char *const[]){ "setting", path_name(side[0].path), path_name(side[1].path) });
    for (int64_t i = 0; i < n; i++) {
        const char *more = d[i].n_alike ? arena_printf(a, " (and %lld that follow from it)",
                                                       (long long)d[i].n_alike)
                                        : "";
        table_add(&t, (const char *const[]){ arena_printf(a, "%s%s", d[i].path, more),
                                             d[i].value[0], d[i].value[1] });
    }
    table_write(&t, WIDTH, out);
    return n;
}

/* Files that the configurations name at the same key, of which sizes or contents differ. */
static void put_data(const Yaml *x, const Yaml *y, Arena *a, Text *out)
{
    if (!x || !y || x->type != y->type) return;
    for (int64_t i = 0; i < x->n && (x->type == YAML_MAP || x->type == YAML_LIST); i++)
        put_data(x->item[i],
                 x->type == YAML_MAP ? yaml_get(y, x->key[i]->text)
                 : i < y->n          ? y->item[i]
                                     : NULL,
                 a, out);
    struct stat s, r;
    if (x->type != YAML_STRING || !differ(x, y)) return;
    bool are_files =
        !stat(x->text, &s) && !stat(y->text, &r) && S_ISREG(s.st_mode) && S_ISREG(r.st_mode);
    if (are_files)
        text_printf(out, "data: %s: %s (%lld bytes), %s (%lld bytes)\n", yaml_path(a, x), x->text,
                    (long long)s.st_size, y->text, (long long)r.st_size);
}

static bool same(double x, double y, double tolerance)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
}

/* The first step that both have with another loss. */
static void put_losses(const Side side[2], double tolerance, Text *out)
{
    const History *x = &side[0].results.history, *y = &side[1].results.history;
    for (int64_t k = 0; k < x->n; k++) {
        const Track *p = &x->track[k], *q = history_find(y, p->tag, p->key);
        int64_t n_same = 0, j = 0, i = 0;
        if (!p->is_loss || !q) continue;
        while (i < p->n && j < q->n) {
            if (p->step[i] != q->step[j]) {
                p->step[i] < q->step[j] ? i++ : j++;
                continue;
            }
            if (!same(p->value[i], q->value[j], tolerance)) break;
            n_same++, i++, j++;
        }
        if (i < p->n && j < q->n)
            text_printf(out, "%s %s: the same at %lld steps, then step %.0f: %.9g, %.9g\n", p->tag,
                        p->key, (long long)n_same, p->step[i], p->value[i], q->value[j]);
        else
            text_printf(out, "%s %s: the same at all %lld steps that both have\n", p->tag, p->key,
                        (long long)n_same);
    }
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    Side side[2];
    Text t = { 0 };
    TRY(read_side(a, o->first, &side[0]));
    TRY(read_side(a, o->second, &side[1]));
    put_settings(a, side, &t);
    put_data(side[0].config, side[1].config, a, &t);
    if (side[0].has_results && side[1].has_results) put_losses(side, o->tolerance, &t);
    fwrite(t.ptr, 1, t.len, stdout);
    text_free(&t);
    return NULL;
}

const Command command_top_diff = {
    .name = "diff",
    .doc = "Tells in which settings two configurations or runs differ, and where losses part.",
    .details = "Configurations are resolved first. Of two runs: the settings that differ, data "
               "files that differ, and of each loss the first step with another value.",
    .examples = "modalities diff small.yaml large.yaml\n"
                "modalities diff experiments/a experiments/b",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
