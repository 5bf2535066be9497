/* algorithm_cache.c - a line of text, its checksum, and below it a line per algorithm as in a run's
 * record.
 *
 * A file is replaced as a whole, by one process at a time: what others have saved by then stays.
 * Without locks (some network file systems) the last one's choices stay, and those that are lost
 * are found again. */
#include "device/cuda/algorithm_cache.h"
#include "base/file.h"
#include "base/map.h"
#include "device/cuda/algorithm_record.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { SAVED_TOGETHER = 16, MOST_ALGORITHMS = 8192 };
static const char title[] = "algorithms of products on GPUs, 1, ";

struct AlgorithmCache {
    Arena *arena;
    const char *path;
    void (*tell)(const char *text);
    Map *hex; /* by origin and key */
    int64_t n_new;
    bool is_closed; /* it cannot be written */
};

static const char *origin_key(Arena *a, AlgorithmOrigin o, const char *key)
{
    return arena_printf(a, "%s: %s", o == ALGORITHM_TRIED ? "tried" : "first", key);
}

static const char *title_of(Arena *a, Str body)
{
    return arena_printf(a, "%s%016" PRIx64 "\n", title,
                        hash_bytes(body.ptr ? body.ptr : "", (size_t)body.len));
}

static void take_lines(Map *m, const char *at)
{
    for (const char *end; (end = strchr(at, '\n')); at = end + 1) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        if (tab)
            map_set(m, (Str){ at, tab - at },
                    arena_string_n(m->arena, tab + 1, (size_t)(end - tab - 1)));
    }
}

/* Whether there is no file, or one that could be read; else nothing is taken. */
static bool take_file(AlgorithmCache *c)
{
    Str text;
    bool is_right = true;
    if (!file_exists(c->path)) return true;
    Arena *a = arena_new();
    Error *e = file_read(a, c->path, &text);
    const char *body = e ? NULL : strchr(text.ptr, '\n');
    if (!e && body) {
        body++;
        const char *wanted = title_of(a, (Str){ body, text.len - (body - text.ptr) });
        is_right = !strncmp(text.ptr, wanted, strlen(wanted));
    }
    is_right &= body != NULL;
    if (is_right) take_lines(c->hex, body);
    error_free(e);
    arena_free(a);
    return is_right;
}

AlgorithmCache *algorithm_cache_open(Arena *a, const char *path, void (*tell)(const char *text))
{
    AlgorithmCache *c = NEW(a, AlgorithmCache);
    *c = (AlgorithmCache){
        .arena = a, .path = arena_string(a, path), .tell = tell, .hex = map_new(a)
    };
    if (take_file(c)) return c;
    c->n_new = 1; /* so that it is replaced */
    tell(arena_printf(a,
                      "%s is damaged, or no file of algorithms: it is left out, and "
                      "made anew",
                      path));
    return c;
}

bool algorithm_cache_find(const AlgorithmCache *c, AlgorithmOrigin o, const char *key, void *out,
                          size_t bytes)
{
    Arena *a = arena_new();
    const char *hex = map_get(c->hex, str_of(origin_key(a, o, key)));
    arena_free(a);
    return hex && algorithm_bytes(hex, out, bytes);
}

void algorithm_cache_add(AlgorithmCache *c, AlgorithmOrigin o, const char *key, const void *data,
                         size_t bytes)
{
    if (c->hex->n >= MOST_ALGORITHMS) return;
    char *hex = arena_alloc(c->arena, 2 * bytes + 1);
    algorithm_hex(data, bytes, hex);
    map_set(c->hex, str_of(origin_key(c->arena, o, key)), hex);
    if (++c->n_new >= SAVED_TOGETHER) algorithm_cache_save(c);
}

static Error *write_all(const AlgorithmCache *c, Arena *a)
{
    Text text = { 0 };
    for (int64_t i = 0; i < c->hex->n; i++) {
        const MapEntry *x = &c->hex->entry[i];
        text_printf(&text, "%.*s\t%s\n", (int)x->key.len, x->key.ptr, (const char *)x->value);
    }
    const char *first = title_of(a, (Str){ text.ptr, (int64_t)text.len });
    NewFile f;
    Error *e = file_create(c->path, &f);
    if (!e) {
        f.skip_sync = true;
        fputs(first, f.stream);
        if (text.len) fwrite(text.ptr, 1, text.len, f.stream);
        e = file_commit(&f);
    }
    text_free(&text);
    return e;
}

static Error *save(AlgorithmCache *c, Arena *a)
{
    TRY(make_directories(path_folder(a, c->path)));
    const int lock = open(arena_printf(a, "%s.lock", c->path), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0) return error_new("%s.lock: %s", c->path, strerror(errno));
    if (flock(lock, LOCK_EX)) errno = 0; /* see above */
    const Map *own = c->hex;
    c->hex = map_new(c->arena);
    take_file(c);
    for (int64_t i = 0; i < own->n && c->hex->n < MOST_ALGORITHMS; i++)
        if (!map_has(c->hex, own->entry[i].key))
            map_set(c->hex, own->entry[i].key, own->entry[i].value);
    Error *e = write_all(c, a);
    close(lock);
    return e;
}

void algorithm_cache_save(AlgorithmCache *c)
{
    if (!c || !c->n_new || c->is_closed) return;
    Arena *a = arena_new();
    Error *e = save(c, a);
    c->n_new = 0;
    c->is_closed = e != NULL;
    if (e)
        c->tell(arena_printf(a, "algorithms of products cannot be kept for later runs: %s",
                             error_text(e)));
    error_free(e);
    arena_free(a);
}
