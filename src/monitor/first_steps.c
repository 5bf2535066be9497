/* first_steps.c - first_steps.jsonl: loss and gradient norm of a run's first steps, to the last
 * bit. */
#include "base/json.h"
#include "config/yaml.h"
#include "monitor/provenance.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *path_of(Arena *a, const char *folder)
{
    return path_join(a, folder, FIRST_STEPS);
}

/* 17 digits are enough for every bit of a double. */
static void put_number(Text *out, double x)
{
    if (isfinite(x))
        text_printf(out, "%.17g", x);
    else
        text_printf(out, "\"%.17g\"", x);
}

static void put_record(const StepRecord *r, Text *out)
{
    text_printf(out, "{\"step\": %" PRId64 ", \"loss\": [", r->step);
    for (int64_t i = 0; i < r->n; i++) {
        if (i) text_puts(out, ", ");
        put_number(out, r->loss[i]);
    }
    text_puts(out, "], \"grad_norm\": ");
    put_number(out, r->grad_norm);
    text_puts(out, "}\n");
}

static double number_of(const Yaml *y)
{
    return y ? strtod(y->text, NULL) : NAN;
}

static Error *read_line(Arena *a, Str line, const char *path, StepRecord *out)
{
    Yaml *y;
    TRY(yaml_parse(a, line, path, &y));
    const Yaml *loss = yaml_get(y, "loss"), *step = yaml_get(y, "step"),
               *norm = yaml_get(y, "grad_norm");
    if (!loss || loss->type != YAML_LIST || !step || step->type != YAML_INT || !norm)
        return error_new("%s: a line is no record of a step", path);
    double *x = NEW_N(a, double, loss->n + 1);
    for (int64_t i = 0; i < loss->n; i++) x[i] = number_of(loss->item[i]);
    *out = (StepRecord){ step->integer, number_of(norm), x, loss->n };
    return NULL;
}

Error *first_steps_read(Arena *a, const char *folder, StepRecord **out, int64_t *n)
{
    Str text;
    int64_t cap = 0;
    const char *path = path_of(a, folder);
    *out = NULL;
    *n = 0;
    TRY(file_read(a, path, &text));
    for (const char *p = text.ptr, *end; (end = strchr(p, '\n')); p = end + 1) {
        *out = arena_grow(a, *out, *n, &cap, sizeof **out);
        TRY(read_line(a, (Str){ p, (size_t)(end - p) }, path, &(*out)[*n]));
        ++*n;
    }
    return NULL;
}

static Error *begin(Arena *a, const char *folder, int64_t last)
{
    StepRecord *record = NULL;
    int64_t n = 0;
    Text t = { 0 };
    if (last > 0 && file_exists(path_of(a, folder))) TRY(first_steps_read(a, folder, &record, &n));
    for (int64_t i = 0; i < n && record[i].step <= last; i++) put_record(&record[i], &t);
    Error *e = file_write_unsynced(path_of(a, folder), t.ptr ? t.ptr : "", t.len);
    text_free(&t);
    return e;
}

Error *first_steps_begin(const char *folder, int64_t last)
{
    Arena *a = arena_new();
    Error *e = begin(a, folder, last);
    arena_free(a);
    return e;
}

Error *first_steps_add(const char *folder, const StepRecord *r)
{
    Arena *a = arena_new();
    Text t = { 0 };
    put_record(r, &t);
    Error *e = file_append(path_of(a, folder), t.ptr, t.len);
    text_free(&t);
    arena_free(a);
    return e;
}

static bool is_same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

bool step_records_equal(const StepRecord *x, const StepRecord *y)
{
    bool same = x->step == y->step && x->n == y->n && is_same(x->grad_norm, y->grad_norm);
    for (int64_t i = 0; same && i < x->n; i++) same = is_same(x->loss[i], y->loss[i]);
    return same;
}
