/* report.c - a run on one screen. */
#include "monitor/report.h"
#include "base/file.h"
#include "config/yaml.h"
#include "monitor/history.h"
#include "monitor/plot.h"
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVALUATIONS = 8 };

static Error *find_results(Arena *a, const char *path, const char **out)
{
    static const char *const names[] = { "evaluation_results.jsonl", "history.jsonl", NULL };
    *out = path;
    if (!is_directory(path)) return NULL;
    for (int i = 0; names[i]; i++) {
        *out = path_join(a, path, names[i]);
        if (file_exists(*out)) return NULL;
    }
    return error_new(
        "%s holds neither %s (results_subscriber.to_disc) nor %s (wandb); give the path of a "
        "JSONL file of results",
        path, names[0], names[1]);
}

/* Tokens of a sample from <config>.yaml.resolved beside the results; 0 when it cannot be told. */
static int64_t sequence_length(Arena *a, const char *results)
{
    const char *folder = path_folder(a, results), *found = NULL;
    DIR *d = opendir(folder);
    if (!d) return 0;
    for (const struct dirent *entry; (entry = readdir(d));) {
        size_t len = strlen(entry->d_name);
        if (len > 9 && !strcmp(entry->d_name + len - 9, ".resolved"))
            found = path_join(a, folder, entry->d_name);
    }
    closedir(d);
    Yaml *config = NULL;
    if (found) error_free(yaml_read(a, found, &config));
    const Yaml *length = config ? yaml_find(config, "settings.step_profile.sequence_length") : NULL;
    return length && length->type == YAML_INT ? length->integer : 0;
}

/* The last finite value of a track, its least one and where that was; false when there is none. */
typedef struct Summary {
    double first, last, least, least_step, greatest, greatest_step, last_step;
} Summary;

static bool summarise(const Track *t, Summary *s)
{
    *s = (Summary){ .first = NAN, .least = INFINITY, .greatest = -INFINITY };
    for (int64_t i = 0; t && i < t->n; i++) {
        double v = t->value[i];
        if (isnan(v)) continue;
        if (isnan(s->first)) s->first = v;
        s->last = v;
        s->last_step = t->step[i];
        if (v < s->least) {
            s->least = v;
            s->least_step = t->step[i];
        }
        if (v > s->greatest) {
            s->greatest = v;
            s->greatest_step = t->step[i];
        }
    }
    return !isnan(s->first);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Of the finite values; NaN when there is none. */
static double median(Arena *a, const Track *t)
{
    int64_t n = 0;
    double *v = NEW_N(a, double, t ? t->n + 1 : 1);
    for (int64_t i = 0; t && i < t->n; i++)
        if (!isnan(t->value[i])) v[n++] = t->value[i];
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n ? v[n / 2] : NAN;
}

static bool is_evaluation(const History *h, const Track *t)
{
    return t->is_loss && history_find(h, t->tag, "evaluation_num_samples_per_second");
}

static void put_name(const char *tag, const char *key, Text *out)
{
    Text name = { 0 };
    text_printf(&name, "%s%s%s", tag, *tag ? " " : "", key);
    text_printf(out, "%-27s ", name.ptr);
    text_free(&name);
}

static void put_loss(const char *tag, const Track *t, Text *out)
{
    Summary s;
    put_name(tag, t->key, out);
    if (!summarise(t, &s)) {
        text_puts(out, "no finite value\n");
        return;
    }
    text_printf(out, "first %-9.5g last %-9.5g best %.5g at step %.0f\n", s.first, s.last, s.least,
                s.least_step);
}

static void put_plot(const History *h, const ReportStyle *style, Text *out)
{
    PlotSeries series[1 + MAX_EVALUATIONS];
    int n = 0;
    const Track *train = history_find(h, NULL, "train loss avg");
    if (train) series[n++] = (PlotSeries){ .n = train->n, .x = train->step, .y = train->value };
    for (int64_t i = 0; i < h->n && n <= MAX_EVALUATIONS; i++) {
        const Track *t = &h->track[i];
        if (is_evaluation(h, t))
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

static void put_numbers(Arena *a, const History *h, int64_t tokens_per_sample, Text *out)
{
    Summary s;
    char text[32];
    if (summarise(history_find(h, NULL, "grad norm avg"), &s)) {
        put_name("", "grad norm avg", out);
        text_printf(out, "first %-9.5g last %-9.5g highest %.5g at step %.0f\n", s.first, s.last,
                    s.greatest, s.greatest_step);
    }
    if (summarise(history_find(h, NULL, "lr mean"), &s)) {
        put_name("", "lr mean", out);
        text_printf(out, "first %-9.4g last %-9.4g highest %.4g at step %.0f\n", s.first, s.last,
                    s.greatest, s.greatest_step);
    }
    double rate = median(a, history_find(h, NULL, "train samples/s"));
    if (!isnan(rate)) {
        put_name("", "throughput (median)", out);
        text_printf(out, "%.4g samples/s", rate);
        format_count(rate * (double)tokens_per_sample, text);
        if (tokens_per_sample) text_printf(out, ", %s tokens/s", text);
        double share = median(a, history_find(h, NULL, "train mfu (16-bit)"));
        if (share > 0) text_printf(out, ", MFU %.1f %%", 100 * share);
        text_putc(out, '\n');
    }
    if (summarise(history_find(h, NULL, "peak memory rank 0 (MB)"), &s)) {
        put_name("", "peak memory of rank 0", out);
        text_printf(out, "%.0f MB\n", s.greatest);
    }
}

Error *report_write(Arena *a, const char *path, const ReportStyle *style, Text *out)
{
    const char *file;
    History h;
    TRY(find_results(a, path, &file));
    TRY(history_read(a, file, &h));
    if (!h.n_rows) return error_new("%s holds no results", file);
    Summary steps, tokens;
    const Track *train = history_find(&h, NULL, "train loss avg");
    text_printf(out, "%s", file);
    if (summarise(train, &steps)) text_printf(out, ": %.0f steps", steps.last_step);
    if (summarise(history_find(&h, NULL, "consumed tokens"), &tokens)) {
        char count[32];
        format_count(tokens.last, count);
        text_printf(out, ", %s tokens", count);
    }
    if (h.n_bad)
        text_printf(out, "\n(%" PRId64 " lines could not be read, the first is line %" PRId64 ")",
                    h.n_bad, h.first_bad);
    text_puts(out, "\n\n");
    put_plot(&h, style, out);
    text_putc(out, '\n');
    if (train) put_loss("", train, out);
    for (int64_t i = 0; i < h.n; i++)
        if (is_evaluation(&h, &h.track[i])) put_loss(h.track[i].tag, &h.track[i], out);
    put_numbers(a, &h, sequence_length(a, file), out);
    return NULL;
}
