/* checkpoint_norms.c - `checkpoint norms`: the L2 norm of every parameter of some checkpoints. */
#include "base/file.h"
#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "command.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct Options {
    StringList checkpoints;
    const char *json_output_path;
} Options;

static const char PREFIX[] = "app.model.";
static const Field path_item = { .type = FIELD_PATH, .flags = FIELD_EXISTS_ANY };

static const Field options[] = {
    FIELD_LIST(Options, checkpoints, StringList, &path_item, NULL, 1, INFINITY,
               "checkpoints of any format", .flags = FIELD_ARGUMENT),
    FIELD_PATH(Options, json_output_path, "null", "file for the norms as JSON",
               .role = PATH_WRITTEN),
    { 0 },
};

/* The numbers of one parameter in the checkpoints; NaN: it is not in one. */
typedef struct Row {
    const char *name;
    double *norm;
} Row;

typedef struct Norms {
    Arena *arena;
    int64_t n_checkpoints;
    Row *row;
    int64_t n, cap;
} Norms;

static Row *row_of(Norms *m, const char *name)
{
    for (int64_t i = 0; i < m->n; i++)
        if (!strcmp(m->row[i].name, name)) return &m->row[i];
    m->row = arena_grow(m->arena, m->row, m->n, &m->cap, sizeof *m->row);
    Row *r = &m->row[m->n++];
    *r = (Row){ arena_string(m->arena, name), NEW_N(m->arena, double, m->n_checkpoints) };
    for (int64_t i = 0; i < m->n_checkpoints; i++) r->norm[i] = NAN;
    return r;
}

static Error *norm_of(CheckpointReader *r, int64_t i, double *out)
{
    const CheckpointEntry *e = &r->entry[i];
    Arena *a = arena_new();
    const Box all = box_whole(e->n_dims, e->size);
    const int64_t n = box_count(&all);
    void *numbers = arena_alloc(a, dtype_size(e->dtype) * (size_t)n + 1);
    double sum = 0;
    Error *error = r->get(r, i, &all, numbers);
    for (int64_t k = 0; !error && k < n; k++) {
        double x = dtype_get(e->dtype, numbers, k);
        sum += x * x;
    }
    *out = sqrt(sum);
    arena_free(a);
    return error;
}

static Error *read_norms(Norms *m, const char *path, int64_t number)
{
    Arena *a = arena_new();
    CheckpointReader *r = NULL;
    Error *e = checkpoint_open(a, path, &r);
    for (int64_t i = 0; !e && i < r->n_entries; i++) {
        const CheckpointEntry *x = &r->entry[i];
        if (strncmp(x->name, PREFIX, sizeof PREFIX - 1) != 0 || !dtype_is_float(x->dtype)) continue;
        e = norm_of(r, i, &row_of(m, x->name + sizeof PREFIX - 1)->norm[number]);
    }
    arena_free(a);
    return e;
}

static void print(const Norms *m, const Options *o)
{
    for (int64_t c = 0; c < o->checkpoints.n; c++)
        printf("%" PRId64 ": %s\n", c + 1, o->checkpoints.item[c]);
    for (int64_t i = 0; i < m->n; i++) {
        printf("%s:", m->row[i].name);
        for (int64_t c = 0; c < m->n_checkpoints; c++)
            if (isnan(m->row[i].norm[c]))
                printf(" -");
            else
                printf(" %.6f", m->row[i].norm[c]);
        putchar('\n');
    }
}

static const char FIRST[] = "[\n  {\"checkpoint\": ";

static bool is_list(Str text)
{
    const size_t n = sizeof FIRST - 1;
    return text.len >= n && !memcmp(text.ptr, FIRST, n);
}

/* A list with an object for each checkpoint. */
static Error *write_json(const Norms *m, const Options *o)
{
    Text t = { 0 };
    for (int64_t c = 0; c < m->n_checkpoints; c++) {
        text_puts(&t, c ? ",\n  {\"checkpoint\": " : FIRST);
        text_json_path(&t, o->checkpoints.item[c]);
        text_puts(&t, ", \"parameter_norms\": {");
        int n = 0;
        for (int64_t i = 0; i < m->n; i++) {
            if (isnan(m->row[i].norm[c])) continue;
            text_puts(&t, n++ ? ",\n    " : "\n    ");
            text_json_string(&t, str_of(m->row[i].name));
            text_puts(&t, ": ");
            text_json_double(&t, m->row[i].norm[c]);
        }
        text_puts(&t, "}}");
    }
    text_puts(&t, "\n]\n");
    Error *e = file_write(o->json_output_path, t.ptr, t.len);
    text_free(&t);
    return e;
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    Norms m = { .arena = a, .n_checkpoints = o->checkpoints.n };
    if (o->json_output_path) TRY(existing_report(o->json_output_path, is_list, "a list of norms"));
    for (int64_t c = 0; c < o->checkpoints.n; c++)
        TRY(error_wrap(read_norms(&m, o->checkpoints.item[c], c), "%s", o->checkpoints.item[c]));
    if (!m.n) return error_new("%s holds no parameters", o->checkpoints.item[0]);
    print(&m, o);
    return o->json_output_path ? write_json(&m, o) : NULL;
}

const Command command_checkpoint_norms = {
    .group = "checkpoint",
    .name = "norms",
    .doc = "Prints the L2 norm of every parameter of one or more checkpoints.",
    .details =
        "A line for each parameter, a number for each checkpoint in their order. Sums are made "
        "in double precision; what is read is checked against its sums.",
    .examples = "modalities checkpoint norms run/checkpoints/last_checkpoint_info.json\n"
                "modalities checkpoint norms run/checkpoints/*/ --json_output_path norms.json",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
