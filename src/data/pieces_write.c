/* pieces_write.c - copies pieces of mapped files into one new file, with all cores.
 *
 * The output is cut into tasks of equal size, whatever the sizes of the pieces. A thread collects
 * the pieces of its task in a buffer that stays in its cache and writes it at the task's place; a
 * task inside one large piece is written straight from the mapping. */
#include "base/block_sum.h"
#include "base/buffer.h"
#include "base/signal.h"
#include "base/thread.h"
#include "data/pieces.h"
#include "data/progress.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TASK_BYTES = STREAM_BLOCK, TASKS_PER_THREAD = 8 };

/* The bytes [at, at + n_bytes) of all pieces, which begin `skip` bytes into `piece`. */
typedef struct Task {
    const Str *piece;
    size_t skip, n_bytes;
    int64_t at;
    uint64_t sum; /* of its bytes */
    int failure;  /* errno, or 0 */
} Task;

typedef struct Writing {
    int fd;
    int64_t header; /* bytes of the file before the pieces */
    size_t page;
    Task *task;
    Buffer *buffer; /* per thread */
} Writing;

/* The part of the piece that belongs to the task, which has `left` bytes to go. */
static Str part_of(const Task *t, const Str *piece, size_t left)
{
    size_t skip = piece == t->piece ? t->skip : 0, len = piece->len - skip;
    return (Str){ piece->ptr + skip, len < left ? len : left };
}

static char *page_of(const Writing *w, Str part)
{
    return (char *)((uintptr_t)part.ptr & ~(uintptr_t)(w->page - 1));
}

/* A guess from a few pieces. What is no mapping of a file counts as at hand. */
static bool is_in_memory(const Writing *w, const Task *t)
{
    enum { SAMPLES = 4 };
    size_t left = t->n_bytes;
    const Str *piece = t->piece;
    for (int i = 0; left && i < SAMPLES; i++, piece++) {
        Str part = part_of(t, piece, left);
        unsigned char resident = 1;
        if (part.len && mincore(page_of(w, part), 1, &resident) == 0 && !(resident & 1))
            return false;
        left -= part.len;
    }
    return true;
}

/* Starts reading all pieces, so that the disk sees many requests at once; pages that arrive one
 * fault at a time are what makes shuffling slow. Advice may fail. */
static void ask_for(const Writing *w, const Task *t)
{
    size_t left = t->n_bytes;
    for (const Str *piece = t->piece; left; piece++) {
        Str part = part_of(t, piece, left);
        char *from = page_of(w, part);
        if (part.len) madvise(from, (size_t)(part.ptr - from) + part.len, MADV_WILLNEED);
        left -= part.len;
    }
}

/* The task's bytes: in place where they are in one piece, else collected in the buffer. */
static const char *collect(const Task *t, Buffer *buffer)
{
    if (t->piece->len - t->skip >= t->n_bytes) return t->piece->ptr + t->skip;
    char *to = buffer_grow(buffer, TASK_BYTES);
    size_t left = t->n_bytes;
    for (const Str *piece = t->piece; left; piece++) {
        Str part = part_of(t, piece, left);
        if (part.len) memcpy(to, part.ptr, part.len);
        to += part.len;
        left -= part.len;
    }
    return to - t->n_bytes;
}

static int write_at(int fd, const char *bytes, size_t n, int64_t at)
{
    while (n) {
        ssize_t done = pwrite(fd, bytes, n, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done ? errno : EIO;
        bytes += done;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

static void run_task(void *arg, int64_t i, int thread)
{
    const Writing *w = arg;
    Task *t = &w->task[i];
    if (!is_in_memory(w, t)) ask_for(w, t);
    const char *bytes = collect(t, &w->buffer[thread]);
    t->sum = block_sum(bytes, t->n_bytes); /* brings them into the cache, too */
    t->failure = write_at(w->fd, bytes, t->n_bytes, w->header + t->at);
}

/* Where the next task begins. */
typedef struct Cursor {
    const Str *piece, *end;
    size_t skip;
    int64_t at;
} Cursor;

static Task next_task(Cursor *c)
{
    Task t = { .piece = c->piece, .skip = c->skip, .at = c->at };
    while (c->piece < c->end && t.n_bytes < TASK_BYTES) {
        size_t rest = c->piece->len - c->skip, room = TASK_BYTES - t.n_bytes;
        t.n_bytes += rest < room ? rest : room;
        if (rest > room) {
            c->skip += room;
        } else {
            c->piece++;
            c->skip = 0;
        }
    }
    c->at += (int64_t)t.n_bytes;
    return t;
}

/* Moves on to byte n of all pieces. */
static void skip(Cursor *c, int64_t n)
{
    for (; c->piece < c->end && n - c->at >= (int64_t)c->piece->len; c->piece++)
        c->at += (int64_t)c->piece->len;
    c->skip = (size_t)(n - c->at);
    c->at = n;
}

static Error *run_round(const Writing *w, Pool *pool, Cursor *c, Resumable *to)
{
    int64_t n = 0, most = (int64_t)pool_size(pool) * TASKS_PER_THREAD;
    while (n < most && c->piece < c->end) w->task[n++] = next_task(c);
    pool_run(pool, n, run_task, (void *)w);
    for (int64_t i = 0; i < n; i++) {
        if (w->task[i].failure)
            return error_new("cannot write %s: %s", resumable_output(to),
                             strerror(w->task[i].failure));
        resumable_added(to, 0, w->task[i].n_bytes, w->task[i].sum);
    }
    return resumable_reach(to, NULL);
}

static Error *run_all(const Writing *w, Pool *pool, Cursor *c, Resumable *to, const char *what,
                      int64_t total)
{
    CommandProgress progress = progress_start(what, total, PROGRESS_BYTES);
    progress.found = resumable_bytes(to, 0);
    skip(c, progress.found);
    while (c->piece < c->end) {
        TRY(run_round(w, pool, c, to));
        if (signal_stop_requested())
            return error_stopped("stopped by a signal; %s was not written", resumable_output(to));
        progress_update(&progress, c->at);
    }
    progress_end(&progress);
    return NULL;
}

Error *pieces_write(const Pieces *p, Resumable *to, const char *what)
{
    Arena *a = arena_new();
    Pool *pool = pool_new(0);
    int n = pool_size(pool);
    Writing w = { .page = (size_t)sysconf(_SC_PAGESIZE),
                  .task = NEW_N(a, Task, n * TASKS_PER_THREAD),
                  .buffer = NEW_N(a, Buffer, n) };
    w.fd = resumable_file(to, 0, &w.header);
    Cursor c = { .piece = p->item, .end = p->item + p->n };
    Error *e = run_all(&w, pool, &c, to, what, pieces_bytes(p));
    for (int i = 0; i < n; i++) buffer_free(&w.buffer[i]);
    pool_free(pool);
    arena_free(a);
    return e;
}
