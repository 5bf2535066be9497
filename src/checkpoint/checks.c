/* checks.c - whether a checkpoint and a state have the same tensors; whether it is damaged. */
#include "checkpoint/checkpoint.h"
#include <inttypes.h>
#include <string.h>

static void put_sizes(Text *to, int n_dims, const int64_t *size)
{
    text_putc(to, '[');
    for (int d = 0; d < n_dims; d++) text_printf(to, "%s%" PRId64, d ? ", " : "", size[d]);
    text_putc(to, ']');
}

static Error *check_entry(const CheckpointEntry *e, const StateTensor *t)
{
    bool is_same = e->n_dims == t->part.n_dims;
    for (int d = 0; is_same && d < e->n_dims; d++) is_same = e->size[d] == t->whole[d];
    if (!is_same) {
        Text sizes = { 0 };
        put_sizes(&sizes, e->n_dims, e->size);
        text_puts(&sizes, " in the checkpoint, ");
        put_sizes(&sizes, t->part.n_dims, t->whole);
        Error *why = error_new("%s: %s here", t->name, sizes.ptr);
        text_free(&sizes);
        return why;
    }
    if (e->dtype == t->part.dtype || (dtype_is_float(e->dtype) && dtype_is_float(t->part.dtype)))
        return NULL;
    return error_new("%s: %s in the checkpoint, %s here", t->name, dtype_name(e->dtype),
                     dtype_name(t->part.dtype));
}

/* Errors of many tensors in one, of which the first ones are shown. */
typedef struct Mistakes {
    Error *all;
    int64_t n;
} Mistakes;

enum { SHOWN = 10 };

static void add_mistake(Mistakes *m, Error *e)
{
    if (!e) return;
    if (++m->n <= SHOWN)
        m->all = error_join(m->all, e);
    else
        error_free(e);
}

static Error *end_mistakes(Mistakes *m)
{
    if (m->n <= SHOWN) return m->all;
    return error_join(m->all, error_new("... and %" PRId64 " more", m->n - SHOWN));
}

/* Names that the checkpoint alone has. */
typedef struct Extras {
    int64_t *entry, n;
} Extras;

static Extras find_extras(Arena *a, const CheckpointReader *r, const StateTensor *state, int64_t n,
                          bool (*must_fit)(const void *ctx, const char *name), const void *ctx)
{
    Map *known = map_new(a);
    Extras x = { .entry = NEW_N(a, int64_t, r->n_entries) };
    for (int64_t i = 0; i < n; i++) map_set(known, str_of(state[i].name), known);
    for (int64_t i = 0; must_fit && i < r->n_entries; i++) {
        const char *name = r->entry[i].name;
        if (must_fit(ctx, name) && !map_has(known, str_of(name))) x.entry[x.n++] = i;
    }
    return x;
}

/* Row by row, as a whole tensor may be large. */
static Error *compare(CheckpointReader *r, int64_t i, int64_t k, bool *is_same)
{
    enum { AT_ONCE = 1 << 20 };
    const CheckpointEntry *e = &r->entry[i];
    Box rows = box_whole(e->n_dims, e->size);
    int64_t n_rows = e->n_dims ? e->size[0] : 1, per_row = n_rows ? box_count(&rows) / n_rows : 0;
    int64_t step = per_row && per_row < AT_ONCE ? AT_ONCE / per_row : 1;
    if (step > n_rows) step = n_rows;
    size_t row_bytes = (size_t)per_row * dtype_size(e->dtype);
    Arena *a = arena_new();
    char *mine = arena_alloc(a, row_bytes * (size_t)step),
         *other = arena_alloc(a, row_bytes * (size_t)step);
    Error *error = NULL;
    *is_same = true;
    for (int64_t at = 0; !error && *is_same && at < n_rows; at += step) {
        int64_t now = n_rows - at < step ? n_rows - at : step;
        if (e->n_dims) rows.start[0] = at, rows.size[0] = now;
        error = r->get(r, i, &rows, mine);
        if (!error) error = r->get(r, k, &rows, other);
        if (!error) *is_same = !memcmp(mine, other, row_bytes * (size_t)now);
    }
    arena_free(a);
    return error;
}

/* Whether entry i has the numbers of one that the state takes, as tied weights have that are kept
 * under both their names. */
static Error *is_copy(CheckpointReader *r, int64_t i, const StateTensor *state, int64_t n,
                      bool *out)
{
    const CheckpointEntry *e = &r->entry[i];
    *out = false;
    for (int64_t k = 0; k < n && !*out; k++) {
        int64_t at = checkpoint_find(r, state[k].name);
        const CheckpointEntry *other = at < 0 ? NULL : &r->entry[at];
        if (!other || other->dtype != e->dtype || other->n_dims != e->n_dims ||
            memcmp(other->size, e->size, sizeof *e->size * (size_t)e->n_dims) != 0)
            continue;
        TRY(compare(r, i, at, out));
    }
    return NULL;
}

/* Drops them if each is a copy: one that is none means another model, whose names are all told. */
static Error *allow_copies(CheckpointReader *r, Extras *x, const StateTensor *state, int64_t n)
{
    for (int64_t i = 0; i < x->n; i++) {
        bool copies;
        TRY(is_copy(r, x->entry[i], state, n, &copies));
        if (!copies) return NULL;
    }
    x->n = 0;
    return NULL;
}

static Error *check(Arena *a, CheckpointReader *r, const StateTensor *state, int64_t n,
                    bool (*must_fit)(const void *ctx, const char *name), const void *ctx)
{
    Mistakes m = { 0 };
    for (int64_t i = 0; i < n; i++) {
        int64_t at = checkpoint_find(r, state[i].name);
        add_mistake(&m, at < 0 ? error_new("%s: not in the checkpoint", state[i].name)
                               : check_entry(&r->entry[at], &state[i]));
    }
    Extras extras = find_extras(a, r, state, n, must_fit, ctx);
    if (!m.n) TRY(allow_copies(r, &extras, state, n));
    for (int64_t i = 0; i < extras.n; i++)
        add_mistake(&m, error_new("%s: only in the checkpoint", r->entry[extras.entry[i]].name));
    return error_wrap(end_mistakes(&m), "%s does not fit (%" PRId64 " of %" PRId64 " tensors)",
                      r->path, m.n, n + extras.n);
}

Error *checkpoint_check(CheckpointReader *r, const StateTensor *state, int64_t n,
                        bool (*must_fit)(const void *ctx, const char *name), const void *ctx)
{
    Arena *a = arena_new();
    Error *e = check(a, r, state, n, must_fit, ctx);
    arena_free(a);
    return e;
}

Error *checkpoint_verify(CheckpointReader *r)
{
    Mistakes m = { 0 };
    for (int64_t i = 0; r->verify && i < r->n_entries; i++) add_mistake(&m, r->verify(r, i));
    const CheckpointObject *object;
    int64_t n;
    if (!m.n && r->verify_files) TRY(r->verify_files(r));
    if (!m.n && r->objects) TRY(r->objects(r, &object, &n));
    return error_wrap(end_mistakes(&m), "%s: %" PRId64 " of %" PRId64 " tensors are damaged",
                      r->path, m.n, r->n_entries);
}
