/* diff.c - what differs between two checkpoints of any formats. */
#include "checkpoint/convert.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct Diff {
    CheckpointReader *side[2];
    Text *out;
    int64_t n;
} Diff;

enum { AT_ONCE = 1 << 20 }; /* elements compared at a time */

static void put_shape(const CheckpointEntry *e, Text *out)
{
    text_printf(out, "%s[", dtype_name(e->dtype));
    for (int d = 0; d < e->n_dims; d++) text_printf(out, "%s%" PRId64, d ? ", " : "", e->size[d]);
    text_putc(out, ']');
}

static void only_in(Diff *d, const char *name, int side)
{
    d->n++;
    text_printf(d->out, "%s: only in %s\n", name, d->side[side]->path);
}

/* Numbers with equal bits are equal, NaN too. */
static void compare_numbers(Dtype t, const char *x, const char *y, int64_t n, int64_t *n_other,
                            double *most)
{
    size_t size = dtype_size(t);
    for (int64_t i = 0; i < n; i++) {
        if (!memcmp(x + (size_t)i * size, y + (size_t)i * size, size)) continue;
        double by = fabs(dtype_get(t, x, i) - dtype_get(t, y, i));
        *n_other += 1;
        if (!(by <= *most)) *most = by;
    }
}

/* Some rows at a time. */
static Error *compare_tensor(Diff *d, int64_t i, int64_t k)
{
    const CheckpointEntry *e = &d->side[0]->entry[i];
    Box rows = box_whole(e->n_dims, e->size);
    int64_t n_rows = e->n_dims ? e->size[0] : 1, count = box_count(&rows), n_other = 0;
    int64_t per_row = n_rows ? count / n_rows : 0;
    int64_t step = per_row && per_row < AT_ONCE ? AT_ONCE / per_row : 1;
    if (step > n_rows) step = n_rows;
    double most = 0;
    Arena *a = arena_new();
    size_t bytes = (size_t)(per_row * step) * dtype_size(e->dtype);
    char *x = arena_alloc(a, bytes), *y = arena_alloc(a, bytes);
    Error *error = NULL;
    for (int64_t at = 0; !error && count && at < n_rows; at += step) {
        if (e->n_dims) {
            rows.start[0] = at;
            rows.size[0] = n_rows - at < step ? n_rows - at : step;
        }
        error = d->side[0]->get(d->side[0], i, &rows, x);
        if (!error) error = d->side[1]->get(d->side[1], k, &rows, y);
        if (!error) compare_numbers(e->dtype, x, y, box_count(&rows), &n_other, &most);
    }
    arena_free(a);
    if (error || !n_other) return error;
    d->n++;
    text_printf(d->out, "%s: %" PRId64 " of %" PRId64 " numbers differ, by up to %.6g\n", e->name,
                n_other, count, most);
    return NULL;
}

static Error *compare_entry(Diff *d, int64_t i)
{
    const CheckpointEntry *x = &d->side[0]->entry[i];
    int64_t k = checkpoint_find(d->side[1], x->name);
    if (k < 0) {
        only_in(d, x->name, 0);
        return NULL;
    }
    const CheckpointEntry *y = &d->side[1]->entry[k];
    bool is_same = x->dtype == y->dtype && x->n_dims == y->n_dims &&
                   !memcmp(x->size, y->size, sizeof *x->size * (size_t)x->n_dims);
    if (is_same) return compare_tensor(d, i, k);
    d->n++;
    text_printf(d->out, "%s: ", x->name);
    put_shape(x, d->out);
    text_puts(d->out, " and ");
    put_shape(y, d->out);
    text_putc(d->out, '\n');
    return NULL;
}

static Error *values_of(Arena *a, CheckpointReader *r, Map **out)
{
    const CheckpointObject *object = NULL;
    int64_t n = 0;
    *out = map_new(a);
    if (r->objects) TRY(r->objects(r, &object, &n));
    for (int64_t i = 0; i < n; i++) {
        Text t = { 0 };
        Error *e = pickle_json(object[i].value, &t);
        if (!e) map_set(*out, str_of(object[i].name), arena_string(a, t.ptr));
        text_free(&t);
        if (e) return e;
    }
    return NULL;
}

static Error *compare_values(Diff *d, Arena *a)
{
    Map *x = NULL, *y = NULL;
    TRY(values_of(a, d->side[0], &x));
    TRY(values_of(a, d->side[1], &y));
    for (int64_t i = 0; i < x->n; i++) {
        const char *mine = x->entry[i].value, *other = map_get(y, x->entry[i].key);
        if (!other) only_in(d, x->entry[i].key.ptr, 0);
        if (!other || !strcmp(mine, other)) continue;
        d->n++;
        text_printf(d->out, "%s: %s and %s\n", x->entry[i].key.ptr, mine, other);
    }
    for (int64_t i = 0; i < y->n; i++)
        if (!map_has(x, y->entry[i].key)) only_in(d, y->entry[i].key.ptr, 1);
    return NULL;
}

Error *checkpoint_diff(CheckpointReader *a, CheckpointReader *b, Text *out, int64_t *n)
{
    Diff d = { .side = { a, b }, .out = out };
    for (int64_t i = 0; i < a->n_entries; i++) TRY(compare_entry(&d, i));
    for (int64_t i = 0; i < b->n_entries; i++)
        if (checkpoint_find(a, b->entry[i].name) < 0) only_in(&d, b->entry[i].name, 1);
    Arena *scratch = arena_new();
    Error *e = compare_values(&d, scratch);
    arena_free(scratch);
    *n = d.n;
    return e;
}
