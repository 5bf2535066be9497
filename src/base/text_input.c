/* text_input.c - lists inputs, and makes a mapped text of each. */
#include "base/text_input.h"
#include "base/decompress.h"
#include "base/thread.h"
#include "base/waiting_read.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which files ---- */

static bool is_standard_input(const char *given)
{
    return !strcmp(given, "-");
}

static bool is_fifo(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

bool text_input_is_plain_file(const char *given)
{
    struct stat st;
    return !is_standard_input(given) && stat(given, &st) == 0 && S_ISREG(st.st_mode) &&
           compression_of(given) == NOT_COMPRESSED;
}

bool text_input_exists(const char *given)
{
    glob_t g;
    if (is_standard_input(given) || file_exists(given)) return true;
    bool some = glob(given, 0, NULL, &g) == 0;
    globfree(&g);
    return some;
}

static Error *refuse_parquet(const char *path)
{
    size_t stem = strlen(path) - strlen(".parquet");
    return error_new("%s: Parquet is not read; convert it first:  duckdb -c \"COPY (FROM '%s') TO "
                     "'%.*s.jsonl' (FORMAT json)\"",
                     path, path, (int)stem, path);
}

static Error *add_file(Arena *a, const char *path, PathList *out)
{
    if (str_ends(str_of(path), ".parquet")) return refuse_parquet(path);
    out->item = arena_grow(a, out->item, out->n, &out->cap, sizeof *out->item);
    out->item[out->n++] = arena_string(a, path);
    return NULL;
}

bool text_input_is_text_name(const char *path)
{
    return str_ends(str_of(path), ".jsonl") || str_ends(str_of(path), ".jsonl.gz") ||
           str_ends(str_of(path), ".jsonl.zst");
}

static Error *add_folder(Arena *a, const char *folder, PathList *out)
{
    PathList all = { 0 };
    int64_t before = out->n;
    const char *parquet = NULL;
    TRY(files_below(a, folder, "", &all));
    for (int64_t i = 0; i < all.n; i++) {
        if (text_input_is_text_name(all.item[i])) TRY(add_file(a, all.item[i], out));
        if (str_ends(str_of(all.item[i]), ".parquet") && !parquet) parquet = all.item[i];
    }
    if (out->n > before) return NULL;
    if (parquet) return refuse_parquet(parquet);
    return error_new("%s: no *.jsonl, *.jsonl.gz or *.jsonl.zst below this folder", folder);
}

static Error *add_pattern(Arena *a, const char *pattern, PathList *out)
{
    glob_t g;
    Error *e = NULL;
    if (glob(pattern, 0, NULL, &g) != 0)
        e = error_new("cannot open %s: there is no such file, and as a pattern it matches none",
                      pattern);
    for (size_t i = 0; !e && i < g.gl_pathc; i++)
        e = is_directory(g.gl_pathv[i]) ? add_folder(a, g.gl_pathv[i], out)
                                        : add_file(a, g.gl_pathv[i], out);
    globfree(&g);
    return e;
}

Error *text_inputs_list(Arena *a, const char *const *given, int64_t n, PathList *out)
{
    for (int64_t i = 0; i < n; i++) {
        if (is_directory(given[i]))
            TRY(add_folder(a, given[i], out));
        else if (is_standard_input(given[i]) || file_exists(given[i]))
            TRY(add_file(a, given[i], out));
        else
            TRY(add_pattern(a, given[i], out));
    }
    return NULL;
}

/* ---- their texts ---- */

static Error *copy_pipe(int fd, const char *name, FILE *to)
{
    char buffer[1 << 16];
    bool some;
    for (size_t n;;) {
        TRY(waiting_read(fd, name, buffer, sizeof buffer, &n, &some));
        if (some && !n) return NULL;
        if (fwrite(buffer, 1, n, to) != n)
            return error_new("cannot keep %s: %s", name, strerror(errno));
    }
}

/* A fifo, or a process substitution of the shell. */
static Error *copy_fifo(const char *path, FILE *to)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return error_new("cannot open %s: %s", path, strerror(errno));
    Error *e = copy_pipe(fd, path, to);
    close(fd);
    return e;
}

static void unmap(void *map)
{
    file_unmap(map);
}

/* Maps what was written to the stream. */
static Error *map_stream(Arena *a, FILE *f, const char *name, Str *out)
{
    struct stat st;
    FileMap *map = NEW(a, FileMap);
    *map = (FileMap){ "", 0 };
    if (fflush(f) != 0 || fstat(fileno(f), &st) != 0)
        return error_new("cannot keep the content of %s: %s", name, strerror(errno));
    if (st.st_size) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
        if (p == MAP_FAILED)
            return error_new("cannot map the content of %s: %s", name, strerror(errno));
        *map = (FileMap){ p, (size_t)st.st_size };
    }
    arena_on_free(a, unmap, map);
    *out = (Str){ map->ptr, map->len };
    return NULL;
}

static Error *fill(Arena *a, const char *path, FILE *to)
{
    Str bytes;
    if (is_standard_input(path)) return copy_pipe(STDIN_FILENO, "standard input", to);
    if (is_fifo(path)) return copy_fifo(path, to);
    TRY(file_view_forward(a, path, &bytes));
    return decompress_to_stream(compression_of(path), bytes, path, to);
}

Error *text_input_open(Arena *a, const char *path, const char *beside, TextInput *out)
{
    FILE *f;
    *out = (TextInput){ .path = path };
    if (!is_standard_input(path) && !is_fifo(path)) {
        TRY(file_size(path, &out->stored_bytes));
        if (compression_of(path) == NOT_COMPRESSED) return file_view_forward(a, path, &out->text);
    }
    TRY(file_temporary(beside, &f));
    Error *e = fill(a, path, f);
    if (!e) e = map_stream(a, f, path, &out->text);
    fclose(f);
    return e;
}

typedef struct Opened {
    Arena *arena;
    TextInput input;
    Error *error;
} Opened;

struct TextInputs {
    PathList files;
    const char *beside;
    Pool *pool;
    Opened *opened;          /* one per thread */
    int64_t from, n, at;     /* files [from, from + n) are opened, `at` is next */
    int64_t most_line_bytes; /* of streams; 0: there are none */
    Arena *arena;
};

TextInputs *text_inputs_open(const PathList *files, const char *beside, int n_threads)
{
    Arena *a = arena_new();
    TextInputs *t = NEW(a, TextInputs);
    *t = (TextInputs){
        .files = *files, .beside = arena_string(a, beside), .pool = pool_new(n_threads), .arena = a
    };
    t->opened = NEW_N(a, Opened, pool_size(t->pool));
    return t;
}

void text_inputs_stream(TextInputs *t, int64_t most_line_bytes)
{
    t->most_line_bytes = most_line_bytes;
}

static void close_opened(TextInputs *t)
{
    for (int64_t i = 0; i < t->n; i++) {
        text_stream_close(t->opened[i].input.stream);
        error_free(t->opened[i].error);
        arena_free(t->opened[i].arena);
    }
    t->from += t->n;
    t->n = 0;
}

static void open_one(void *arg, int64_t i, int thread)
{
    (void)thread;
    TextInputs *t = arg;
    Opened *o = &t->opened[i];
    *o = (Opened){ .arena = arena_new() };
    o->error = text_input_open(o->arena, t->files.item[t->from + i], t->beside, &o->input);
}

static Error *open_stream(const char *path, int64_t most_line_bytes, TextInput *out)
{
    *out = (TextInput){ .path = path };
    if (!is_standard_input(path)) TRY(file_size(path, &out->stored_bytes));
    return text_stream_open(path, most_line_bytes, &out->stream);
}

/* The next files: one at a time while they are plain. */
static void open_round(TextInputs *t)
{
    close_opened(t);
    int64_t left = t->files.n - t->from, most = pool_size(t->pool);
    while (t->n < left && t->n < most && compression_of(t->files.item[t->from + t->n])) t->n++;
    if (!t->n && left) t->n = 1;
    const char *first = left ? t->files.item[t->from] : "";
    Opened *o = &t->opened[0];
    if (t->n == 1 && t->most_line_bytes && (is_standard_input(first) || compression_of(first))) {
        *o = (Opened){ .arena = arena_new() };
        o->error = open_stream(first, t->most_line_bytes, &o->input);
    } else {
        pool_run(t->pool, t->n, open_one, t);
    }
}

Error *text_inputs_next(TextInputs *t, TextInput *out, bool *some)
{
    if (t->at == t->from + t->n) open_round(t);
    *some = t->at < t->from + t->n;
    if (!*some) return NULL;
    Opened *o = &t->opened[t->at++ - t->from];
    Error *e = o->error;
    o->error = NULL;
    *out = o->input;
    return e;
}

int64_t text_inputs_bytes(const PathList *files)
{
    int64_t sum = 0, bytes;
    for (int64_t i = 0; i < files->n; i++) {
        if (is_standard_input(files->item[i])) continue;
        Error *e = file_size(files->item[i], &bytes); /* opening it will report that */
        if (!e) sum += bytes;
        error_free(e);
    }
    return sum;
}

void text_inputs_close(TextInputs *t)
{
    if (!t) return;
    close_opened(t);
    pool_free(t->pool);
    arena_free(t->arena);
}
