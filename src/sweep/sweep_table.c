/* sweep_table.c - from the runs of a sweep to its statistics. */
#include "sweep/sweep_table.h"
#include "board/board.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t setting_of(SweepTable *t, const char *name)
{
    for (int64_t i = 0; i < t->n_settings; i++)
        if (!strcmp(t->setting[i].name, name)) return i;
    return -1;
}

/* "seed", "model.seed"; or one of those that were named. */
static bool is_seed(const char *name, const StringList *seeds)
{
    for (int64_t i = 0; i < seeds->n; i++)
        if (!strcmp(seeds->item[i], name)) return true;
    return !seeds->n && board_is_seed(name);
}

/* Runs of one combination on different numbers of ranks are not repetitions of each other. */
static void add_world_size(Arena *a, const SweepRun *r, SweepSettings *to)
{
    to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
    to->item[to->n++] =
        (SweepSetting){ "world_size", arena_printf(a, "%lld", (long long)r->world_size) };
}

static Error *read_settings(Arena *a, const SweepRuns *runs, const TableQuestion *q, SweepTable *t)
{
    SweepSettings *of_run = NEW_N(a, SweepSettings, runs->n);
    int64_t cap = 0;
    bool same_size = true;
    for (int64_t i = 1; i < runs->n; i++)
        same_size &= runs->item[i].world_size == runs->item[0].world_size;
    for (int64_t i = 0; i < runs->n; i++) {
        TRY(sweep_settings_read(a, &runs->item[i], &of_run[i]));
        if (!same_size) add_world_size(a, &runs->item[i], &of_run[i]);
        for (int64_t k = 0; k < of_run[i].n; k++) {
            const char *name = of_run[i].item[k].name;
            if (setting_of(t, name) >= 0) continue;
            t->setting = arena_grow(a, t->setting, t->n_settings, &cap, sizeof *t->setting);
            t->setting[t->n_settings++] =
                (TableSetting){ name, is_seed(name, &q->seeds), NAN, NULL };
        }
    }
    for (int64_t i = 0; i < runs->n; i++) {
        TableRun *r = &t->run[i];
        r->value = NEW_N(a, const char *, t->n_settings + 1);
        for (int64_t k = 0; k < t->n_settings; k++) r->value[k] = "";
        for (int64_t k = 0; k < of_run[i].n; k++)
            r->value[setting_of(t, of_run[i].item[k].name)] = of_run[i].item[k].value;
    }
    return NULL;
}

/* "lr=0.001 width=64": without settings that are the same everywhere, and without the seeds if so
 * asked. */
static const char *label_of(Arena *a, const SweepTable *t, const TableRun *r, bool with_seeds)
{
    const char *label = "";
    for (int64_t k = 0; k < t->n_settings; k++) {
        bool differs = false;
        for (int64_t i = 0; i < t->n_runs && !differs; i++)
            differs = strcmp(t->run[i].value[k], r->value[k]) != 0;
        if (!differs || (t->setting[k].is_seed && !with_seeds)) continue;
        label =
            arena_printf(a, "%s%s%s=%s", label, *label ? " " : "", t->setting[k].name, r->value[k]);
    }
    return *label ? label : "all";
}

static Error *read_results(Arena *a, SweepStore *store, SweepTable *t)
{
    for (int64_t i = 0; i < t->n_runs; i++) {
        TableRun *r = &t->run[i];
        TRY(sweep_store_status(store, a, r->run, &r->status));
        TRY(sweep_store_history(store, a, r->run, &r->history));
        const Track *loss = sweep_loss(&r->history);
        r->loss = loss ? loss->value[loss->n - 1] : NAN;
        r->steps = loss ? loss->step[loss->n - 1] : 0;
        if (loss && !*t->loss_name) t->loss_name = arena_printf(a, "%s %s", loss->tag, loss->key);
        r->counts = r->status.state == SWEEP_DONE && isfinite(r->loss);
        t->n_counted += r->counts;
    }
    return NULL;
}

static int by_label(const void *a, const void *b)
{
    return strcmp(((const TableRun *)a)->label, ((const TableRun *)b)->label);
}

static void make_groups(Arena *a, SweepTable *t)
{
    t->group = NEW_N(a, TableGroup, t->n_runs + 1);
    for (int64_t i = 0; i < t->n_runs; i++) t->run[i].label = label_of(a, t, &t->run[i], true);
    qsort(t->run, (size_t)t->n_runs, sizeof *t->run, by_label);
    for (int64_t i = 0; i < t->n_runs; i++) {
        const char *label = label_of(a, t, &t->run[i], false);
        int64_t g = 0;
        while (g < t->n_groups && strcmp(t->group[g].label, label) != 0) g++;
        if (g == t->n_groups) t->group[t->n_groups++].label = label;
        t->run[i].group = g;
    }
}

static void estimate_groups(Arena *a, SweepTable *t, double confidence)
{
    double *loss = NEW_N(a, double, t->n_runs + 1);
    for (int64_t g = 0; g < t->n_groups; g++) {
        int64_t n = 0;
        for (int64_t i = 0; i < t->n_runs; i++)
            if (t->run[i].group == g && t->run[i].counts) loss[n++] = t->run[i].loss;
        t->group[g].loss = estimate_mean(loss, n, confidence);
    }
}

static bool is_better(const TableGroup *x, const TableGroup *y)
{
    if (isnan(x->loss.mean) || isnan(y->loss.mean)) return !isnan(x->loss.mean);
    return x->loss.mean < y->loss.mean;
}

/* Stable: groups without results keep their order after the others. */
static void sort_groups(Arena *a, SweepTable *t)
{
    int64_t *place = NEW_N(a, int64_t, t->n_groups + 1);
    TableGroup *sorted = NEW_N(a, TableGroup, t->n_groups + 1);
    for (int64_t g = 0; g < t->n_groups; g++) {
        place[g] = 0;
        for (int64_t k = 0; k < t->n_groups; k++)
            place[g] += k != g && (is_better(&t->group[k], &t->group[g])
                                       ? !is_better(&t->group[g], &t->group[k]) || k < g
                                       : !is_better(&t->group[g], &t->group[k]) && k < g);
        sorted[place[g]] = t->group[g];
    }
    for (int64_t i = 0; i < t->n_runs; i++) t->run[i].group = place[t->run[i].group];
    t->group = sorted;
}

static bool same_seeds(const SweepTable *t, const TableRun *x, const TableRun *y)
{
    for (int64_t k = 0; k < t->n_settings; k++)
        if (t->setting[k].is_seed && strcmp(x->value[k], y->value[k]) != 0) return false;
    return true;
}

/* Each run against the one of the baseline with the same seeds. */
static void compare_groups(Arena *a, SweepTable *t, double confidence)
{
    double *d = NEW_N(a, double, t->n_runs + 1);
    for (int64_t g = 0; g < t->n_groups; g++) {
        int64_t n = 0;
        for (int64_t i = 0; i < t->n_runs; i++)
            for (int64_t k = 0; k < t->n_runs; k++) {
                const TableRun *x = &t->run[i], *y = &t->run[k];
                if (x->group != g || y->group != t->baseline || !x->counts || !y->counts) continue;
                if (same_seeds(t, x, y)) d[n++] = x->loss - y->loss;
            }
        t->group[g].difference = estimate_mean(d, n, confidence);
    }
}

/* The sum of squares between the values of one setting. */
static double between(const SweepTable *t, int64_t setting, double mean)
{
    double sum = 0;
    for (int64_t i = 0; i < t->n_runs; i++) {
        double of_value = 0;
        int64_t n = 0, is_first = 1;
        if (!t->run[i].counts) continue;
        for (int64_t k = 0; k < t->n_runs; k++) {
            if (!t->run[k].counts ||
                strcmp(t->run[k].value[setting], t->run[i].value[setting]) != 0)
                continue;
            if (k < i) is_first = 0;
            of_value += t->run[k].loss;
            n++;
        }
        if (is_first) sum += (double)n * pow(of_value / (double)n - mean, 2);
    }
    return sum;
}

/* The value that all runs which count have; NULL: there are several, or none. */
static const char *only_value(const SweepTable *t, int64_t setting)
{
    const char *only = NULL;
    for (int64_t i = 0; i < t->n_runs; i++) {
        const char *value = t->run[i].value[setting];
        if (!t->run[i].counts) continue;
        if (only && strcmp(only, value) != 0) return NULL;
        only = value;
    }
    return only;
}

/* Shares of the variance by one-way analysis for each setting: exact parts of the whole where all
 * combinations are there. */
static void weigh_settings(SweepTable *t)
{
    double mean = 0, all = 0;
    t->rest = NAN;
    if (t->n_counted < 3) return;
    for (int64_t i = 0; i < t->n_runs; i++)
        if (t->run[i].counts) mean += t->run[i].loss / (double)t->n_counted;
    for (int64_t i = 0; i < t->n_runs; i++)
        if (t->run[i].counts) all += pow(t->run[i].loss - mean, 2);
    if (!(all > 0)) return;
    t->rest = 1;
    for (int64_t k = 0; k < t->n_settings; k++) {
        t->setting[k].only = only_value(t, k);
        if (t->setting[k].only) continue;
        t->setting[k].share = between(t, k, mean) / all;
        t->rest -= t->setting[k].share;
    }
    if (t->rest < 0) t->rest = 0;
}

static Error *find_baseline(Arena *a, SweepTable *t, const char *label)
{
    t->baseline = 0;
    for (int64_t g = 0; label && g < t->n_groups; g++)
        if (!strcmp(t->group[g].label, label)) {
            t->baseline = g;
            return NULL;
        }
    if (!label) return NULL;
    const char *names = "";
    for (int64_t g = 0; g < t->n_groups; g++)
        names = arena_printf(a, "%s%s\"%s\"", names, g ? ", " : "", t->group[g].label);
    return error_usage("--baseline \"%s\": there is no such group; allowed are %s", label, names);
}

Error *sweep_table_make(Arena *a, SweepStore *store, const SweepRuns *runs,
                        const TableQuestion *question, SweepTable *out)
{
    *out =
        (SweepTable){ .run = NEW_N(a, TableRun, runs->n + 1), .n_runs = runs->n, .loss_name = "" };
    for (int64_t i = 0; i < runs->n; i++) out->run[i].run = &runs->item[i];
    TRY(read_settings(a, runs, question, out));
    for (int64_t i = 0; i < question->seeds.n; i++)
        if (setting_of(out, question->seeds.item[i]) < 0)
            return error_usage("--seed %s: the sweep has no such setting", question->seeds.item[i]);
    TRY(read_results(a, store, out));
    make_groups(a, out);
    estimate_groups(a, out, question->confidence);
    sort_groups(a, out);
    TRY(find_baseline(a, out, question->baseline));
    compare_groups(a, out, question->confidence);
    weigh_settings(out);
    return NULL;
}
