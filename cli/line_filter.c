/* line_filter.c - reads batches of lines, has threads work on groups of them, writes in order. */
#include "line_filter.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/signal.h"
#include "base/thread.h"
#include "base/waiting_read.h"
#include "data/bad_line.h"
#include "data/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BATCH_BYTES = 4 << 20, GROUP_BYTES = 64 << 10 };

/* Some lines of a batch, and what they give. */
typedef struct Group {
    Str lines;
    Text out;
    Error *error;
    Str bad_line;
    int64_t column;
} Group;

typedef struct Filter {
    const LineFilter *settings;
    const char *input_name;
    int in;
    FILE *out;
    Pool *pool;
    void **state; /* by thread, made when needed */
    Buffer batch, groups;
    int64_t n_groups, n_batch; /* bytes in the batch */
    int64_t n_kept;            /* bytes after the last whole line, which start the next batch */
    int64_t lines_before, bytes_before;
    bool at_end;
    CommandProgress progress;
} Filter;

static bool is_too_long(const Filter *f, int64_t n_bytes)
{
    return !f->settings->whole && n_bytes > f->settings->max_line_bytes;
}

/* All that is wanted, or less at the end. */
static Error *read_bytes(const Filter *f, char *to, size_t wanted, size_t *got)
{
    bool some = false;
    *got = 0;
    for (size_t n = 0; *got < wanted && !(some && !n); *got += n)
        TRY(waiting_read(f->in, f->input_name, to + *got, wanted - *got, &n, &some));
    return NULL;
}

/* Fills the batch with whole lines; a long line makes it grow. Of one that is too long the
 * beginning is enough, with which all ends. */
static Error *read_batch(Filter *f)
{
    char *bytes = buffer_grow(&f->batch, BATCH_BYTES);
    memmove(bytes, bytes + f->n_batch, (size_t)f->n_kept);
    int64_t n = f->n_kept;
    for (;;) {
        size_t wanted = (size_t)(n < BATCH_BYTES ? BATCH_BYTES - n : n);
        bytes = buffer_grow(&f->batch, (size_t)n + wanted);
        size_t got;
        TRY(read_bytes(f, bytes + n, wanted, &got));
        n += (int64_t)got;
        f->at_end = got < wanted;
        if (!f->at_end && is_too_long(f, n - 1) && !memchr(bytes, '\n', (size_t)n))
            f->at_end = true; /* '\r' at the end would not count */
        const char *last = f->at_end || f->settings->whole ? NULL : memrchr(bytes, '\n', (size_t)n);
        f->n_batch = f->at_end ? n : last ? last + 1 - bytes : 0;
        f->n_kept = n - f->n_batch;
        if (f->n_batch || f->at_end) return NULL;
    }
}

/* A line and the rest after it. */
static Str next_line(Str *rest, bool whole)
{
    const char *end = whole ? NULL : memchr(rest->ptr, '\n', rest->len);
    Str line = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };
    size_t used = line.len + (end != NULL);
    *rest = (Str){ rest->ptr + used, rest->len - used };
    if (!whole && line.len && line.ptr[line.len - 1] == '\r') line.len--;
    return line;
}

static void add_group(Filter *f, Str lines)
{
    Group *g = buffer_grow(&f->groups, (size_t)(f->n_groups + 1) * sizeof *g);
    g[f->n_groups++] = (Group){ .lines = lines, .column = -1 };
}

static void cut_groups(Filter *f)
{
    f->n_groups = 0;
    Str rest = { f->batch.ptr, (size_t)f->n_batch };
    while (rest.len) {
        Str lines = { rest.ptr, 0 };
        do next_line(&rest, f->settings->whole);
        while (rest.len && (size_t)(rest.ptr - lines.ptr) < GROUP_BYTES);
        lines.len = (size_t)(rest.ptr - lines.ptr);
        add_group(f, lines);
    }
}

static void run_group(void *arg, int64_t i, int thread)
{
    Filter *f = arg;
    Group *g = (Group *)f->groups.ptr + i;
    if (!f->state[thread]) f->state[thread] = f->settings->state_new(f->settings->settings);
    Str rest = g->lines;
    while (rest.len && !g->error) {
        g->bad_line = next_line(&rest, f->settings->whole);
        if (is_too_long(f, (int64_t)g->bad_line.len))
            g->error = line_too_long((int64_t)g->bad_line.len, f->settings->max_line_bytes);
        else
            g->error = f->settings->line(f->state[thread], g->bad_line, &g->out, &g->column);
    }
}

static Error *line_error(Filter *f, const Group *g)
{
    const char *batch = f->batch.ptr;
    LineCounter counter = { .text = { batch, (size_t)f->n_batch }, .line = 1 };
    int64_t offset = g->bad_line.ptr - batch;
    int64_t number = f->lines_before + line_at(&counter, offset);
    return bad_line_error(f->input_name, number, f->bytes_before + offset, g->bad_line, g->column,
                          g->error);
}

static Error *write_group(Filter *f, Group *g)
{
    if (g->error) return line_error(f, g);
    if (g->out.len && fwrite(g->out.ptr, 1, g->out.len, f->out) != g->out.len) {
        return error_new("cannot write %s: %s",
                         f->settings->output_path ? f->settings->output_path : "standard output",
                         strerror(errno));
    }
    return NULL;
}

/* Writes what came before the first error; the later groups are dropped. */
static Error *write_batch(Filter *f)
{
    Error *e = NULL;
    Group *g = f->groups.ptr;
    for (int64_t i = 0; i < f->n_groups; i++) {
        if (e)
            error_free(g[i].error);
        else
            e = write_group(f, &g[i]);
        text_free(&g[i].out);
    }
    return e;
}

static int64_t count_lines(const Filter *f)
{
    int64_t n = 0;
    const char *p = f->batch.ptr, *end = p + f->n_batch;
    for (; (p = memchr(p, '\n', (size_t)(end - p))); p++) n++;
    return n;
}

static Error *filter_all(Filter *f)
{
    while (!f->at_end) {
        TRY(read_batch(f));
        cut_groups(f);
        pool_run(f->pool, f->n_groups, run_group, f);
        TRY(write_batch(f));
        if (signal_stop_requested()) return error_stopped("stopped by a signal");
        f->lines_before += count_lines(f);
        f->bytes_before += f->n_batch;
        progress_update(&f->progress, f->bytes_before);
    }
    return NULL;
}

static Error *filter_to(Filter *f)
{
    f->pool = pool_new(f->settings->n_threads);
    int n = pool_size(f->pool);
    Arena *a = arena_new();
    f->state = NEW_N(a, void *, n);
    Error *e = filter_all(f);
    for (int t = 0; t < n; t++) {
        if (f->state[t]) f->settings->state_free(f->state[t]);
    }
    progress_end(&f->progress);
    buffer_free(&f->batch);
    buffer_free(&f->groups);
    pool_free(f->pool);
    arena_free(a);
    return e;
}

static Error *filter_to_file(Filter *f, const char *path)
{
    NewFile file;
    TRY(file_create(path, &file));
    f->out = file.stream;
    Error *e = filter_to(f);
    if (!e) return file_commit(&file);
    file_abandon(&file);
    return e;
}

Error *line_filter_run(const LineFilter *settings)
{
    Filter f = {
        .settings = settings, .input_name = settings->input_path, .in = STDIN_FILENO, .out = stdout
    };
    int64_t bytes = 0;
    if (settings->input_path) {
        TRY(file_size(settings->input_path, &bytes));
        f.in = open(settings->input_path, O_RDONLY | O_CLOEXEC);
        if (f.in < 0) return error_new("cannot open %s: %s", settings->input_path, strerror(errno));
    } else {
        f.input_name = "standard input";
    }
    signal_catch_while_printing();
    f.progress = progress_start(settings->what, bytes, PROGRESS_BYTES);
    Error *e = settings->output_path ? filter_to_file(&f, settings->output_path) : filter_to(&f);
    if (settings->input_path) close(f.in);
    return e;
}
