/* board_collect.c - gathers the runs below a folder, and the settings in which they differ. */
#include "board/board.h"
#include "monitor/config_differences.h"
#include "monitor/experiments_find.h"
#include "monitor/run_record.h"
#include "monitor/run_results.h"
#include <string.h>

/* A run that has just begun has no results, but a state; what cannot be read is passed over. */
static bool read_run(Arena *a, const FoundExperiment *f, const char *folder, BoardRun *out,
                     const Yaml **config)
{
    RunResults r;
    RunRecord record;
    size_t n = strlen(folder);
    bool is_below = !strncmp(f->path, folder, n) && f->path[n] == '/';
    *out = (BoardRun){ .name = is_below ? f->path + n + 1 : f->path, .state = "" };
    Error *e = run_results_read(a, f->path, &r);
    bool has_results = !e;
    error_free(e);
    if (has_results) out->history = r.history;
    *config = has_results ? r.config : NULL;
    board_read_pictures(a, f->path, out);
    if (!f->has_record) return has_results;
    e = run_record_read(a, f->path, &record);
    if (!e) {
        out->state = run_state_name(record.state);
        out->steps = record.steps;
        out->target_steps = record.target_steps;
    }
    bool has_record = !e;
    error_free(e);
    return has_results || has_record;
}

static void last_steps(BoardRun *r)
{
    for (int64_t i = 0; i < r->history.n; i++) {
        const Track *t = &r->history.track[i];
        if (t->n && (int64_t)t->step[t->n - 1] > r->steps) r->steps = (int64_t)t->step[t->n - 1];
    }
}

bool board_is_seed(const char *name)
{
    const char *dot = strrchr(name, '.');
    return !strcmp(dot ? dot + 1 : name, "seed");
}

static void put_settings(Arena *a, BoardRun *run, const Yaml *const *config, int64_t n)
{
    static const Yaml nothing = { .type = YAML_MAP };
    ConfigDifference *d;
    const Yaml **all = NEW_N(a, const Yaml *, n);
    for (int64_t i = 0; i < n; i++) all[i] = config[i] ? config[i] : &nothing;
    int64_t n_different = n > 1 ? config_differences(a, all, n, &d) : 0;
    for (int64_t i = 0; i < n; i++) {
        BoardSetting *s = NEW_N(a, BoardSetting, n_different);
        for (int64_t k = 0; k < n_different; k++)
            s[k] = (BoardSetting){ d[k].path, d[k].value[i], board_is_seed(d[k].path) };
        run[i].setting = s;
        run[i].n_settings = n_different;
    }
}

Error *board_collect(Arena *a, const char *folder, Board *out)
{
    FoundExperiments found;
    experiments_find(a, folder, &found);
    BoardRun *run = NEW_N(a, BoardRun, found.n);
    const Yaml **config = NEW_N(a, const Yaml *, found.n);
    int64_t n = 0;
    for (int64_t i = 0; i < found.n; i++) {
        if (!read_run(a, &found.item[i], folder, &run[n], &config[n])) continue;
        last_steps(&run[n]);
        n++;
    }
    put_settings(a, run, config, n);
    *out = (Board){ .title = folder, .run = run, .n_runs = n };
    return n ? NULL : error_new("there is no run below %s", folder);
}
