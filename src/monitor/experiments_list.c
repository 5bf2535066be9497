/* experiments_list.c - the experiments below a folder, and how to go on with them. */
#include "monitor/experiments_list.h"
#include "monitor/experiments_find.h"
#include "monitor/run_record.h"
#include "monitor/run_results.h"
#include "monitor/summary.h"
#include "monitor/table.h"
#include <inttypes.h>
#include <string.h>

typedef struct Found {
    const char *path;
    RunRecord record;
    bool has_record;     /* false: results only, of another program or an earlier version */
    const char *problem; /* why its record cannot be read; NULL: it can */
} Found;

typedef struct Search {
    Arena *arena;
    Found *item;
    int64_t n;
} Search;

static const char *last_of(Arena *a, const Track *t)
{
    Summary s;
    return summarise(t, &s) ? arena_printf(a, "%.4f", s.last) : "";
}

/* One that cannot be read shall not hide the others. */
static void read_record(Arena *a, Found *f)
{
    if (!f->has_record) return;
    Error *e = run_record_read(a, f->path, &f->record);
    if (!e) return;
    f->has_record = false;
    f->problem = arena_string(a, error_text(e));
    error_free(e);
}

/* Results know more than the record of a process that was killed or still runs. */
static void add_row(Table *t, const Found *f)
{
    Arena *a = t->arena;
    RunResults r;
    Error *e = run_results_read(a, f->path, &r);
    const History none = { 0 }, *h = e ? &none : &r.history;
    const Track *train = history_find(h, NULL, "train loss avg"), *validation = NULL;
    for (int64_t i = 0; i < h->n && !validation; i++)
        if (is_evaluation_loss(h, &h->track[i])) validation = &h->track[i];
    Summary s;
    double steps = (double)f->record.steps;
    if (summarise(train, &s) && s.last_step > steps) steps = s.last_step;
    const char *of =
        f->record.target_steps ? arena_printf(a, "/%" PRId64, f->record.target_steps) : "";
    table_add(t,
              (const char *const[]){ f->path, f->has_record ? run_state_name(f->record.state) : "-",
                                     arena_printf(a, "%.0f%s", steps, of), last_of(a, train),
                                     last_of(a, validation) });
    error_free(e);
}

static void put_reasons(const Search *s, Text *out)
{
    for (int64_t i = 0; i < s->n; i++) {
        const Found *f = &s->item[i];
        if (f->problem) text_printf(out, "\n%s\n", f->problem);
        if (f->has_record && f->record.state == RUN_FAILED)
            text_printf(out, "\n%s failed: %s\n", f->path, f->record.why);
    }
}

static void put_commands(const Search *s, Text *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const Found *f = &s->item[i];
        bool is_open =
            f->has_record && f->record.state != RUN_RUNNING && f->record.state != RUN_DONE;
        if (!is_open) continue;
        text_printf(out, "%s  %s\n", n++ ? "" : "\nTo go on:\n", resume_command(s->arena, f->path));
    }
}

Error *experiments_list(Arena *a, const char *folder, int width, Text *out)
{
    FoundExperiments found;
    experiments_find(a, folder, &found);
    if (!found.n) {
        text_puts(out, "There is no experiment below this folder.\n");
        return NULL;
    }
    Search s = { .arena = a, .item = NEW_N(a, Found, found.n), .n = found.n };
    for (int64_t i = 0; i < s.n; i++)
        s.item[i] = (Found){ .path = found.item[i].path, .has_record = found.item[i].has_record };
    enum { VALIDATION = 4 };
    bool has_validation = false;
    Table t = { .arena = a, .n_columns = 5, .left = 1 | 1 << 1 };
    table_add(&t,
              (const char *const[]){ "experiment", "state", "steps", "train loss", "validation" });
    for (int64_t i = 0; i < s.n; i++) {
        read_record(a, &s.item[i]);
        add_row(&t, &s.item[i]);
        has_validation |= *t.row[t.n - 1][VALIDATION] != 0;
    }
    if (!has_validation) t.row[0][VALIDATION] = "";
    table_write(&t, width, out);
    put_reasons(&s, out);
    put_commands(&s, out);
    return NULL;
}
