/* resumable_open.c - finds what an earlier run left, checks it, and goes on or begins anew. */
#include "base/clock.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "base/thread.h"
#include "data/progress.h"
#include "data/resumable_state.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A part is due when this much was written since the last one. */
enum { PART_BYTES = 128 << 20 };

/* ---- parts found ---- */

typedef struct Checking {
    const Resumable *r;
    bool *is_damaged; /* per part */
    Buffer *buffer;   /* per thread */
    int64_t first;
} Checking;

static void check_part(void *arg, int64_t task, int thread)
{
    Checking *c = arg;
    const Resumable *r = c->r;
    int64_t k = c->first + task;
    const FinishedPart *part = &r->found.part[k], none = { 0 }, *before = k ? part - 1 : &none;
    char *buffer = buffer_grow(&c->buffer[thread], STREAM_BLOCK);
    for (int i = 0; i < r->n_streams; i++)
        if (!growing_is_whole(&r->stream[i], before->end[i], part->end[i], part->sum[i], buffer))
            c->is_damaged[k] = true;
}

/* Leaves the parts before the first damaged one. */
static Error *check_found(Resumable *r)
{
    PartRecord *found = &r->found;
    if (!found->n) return NULL;
    Pool *pool = pool_new(0);
    int n_threads = pool_size(pool);
    Checking c = { .r = r,
                   .is_damaged = NEW_N(r->arena, bool, found->n),
                   .buffer = NEW_N(r->arena, Buffer, n_threads) };
    CommandProgress progress =
        progress_start("checking what is finished",
                       part_bytes(&found->part[found->n - 1], r->n_streams), PROGRESS_BYTES);
    bool is_stopped = false;
    while (c.first < found->n && !is_stopped) {
        int64_t left = found->n - c.first, n = left < n_threads ? left : n_threads;
        pool_run(pool, n, check_part, &c);
        c.first += n;
        progress_update(&progress, part_bytes(&found->part[c.first - 1], r->n_streams));
        is_stopped = signal_stop_requested();
    }
    progress_end(&progress);
    for (int i = 0; i < n_threads; i++) buffer_free(&c.buffer[i]);
    pool_free(pool);
    if (is_stopped) return error_stopped("stopped by a signal; nothing was changed");
    int64_t n_whole = 0;
    while (n_whole < found->n && !c.is_damaged[n_whole]) n_whole++;
    if (n_whole < found->n)
        log_warning("%s: part %lld of %lld of an interrupted run is damaged; it and what follows "
                    "are done again",
                    r->output, (long long)n_whole + 1, (long long)found->n);
    found->n = n_whole;
    return NULL;
}

static bool has_all_parts(const Resumable *r, int stream, int fd)
{
    GrowingFile there = r->stream[stream];
    Buffer buffer = { 0 };
    int64_t from = 0;
    bool is_all = true;
    there.fd = fd;
    buffer_grow(&buffer, STREAM_BLOCK);
    for (int64_t k = 0; is_all && k < r->found.n; from = r->found.part[k++].end[stream])
        is_all = growing_is_whole(&there, from, r->found.part[k].end[stream],
                                  r->found.part[k].sum[stream], buffer.ptr);
    buffer_free(&buffer);
    return is_all;
}

/* A run that was killed between two of its renames has some files in place, where the first one,
 * which comes last, is not: what the parts are about grows again. Another file stays. */
static Error *take_back(Resumable *r)
{
    struct stat st;
    for (int i = 1; r->found.n && i < r->n_streams; i++) {
        GrowingFile *s = &r->stream[i];
        bool is_empty = fstat(s->fd, &st) == 0 && st.st_size == 0;
        if (!s->path || !is_empty || !r->found.part[r->found.n - 1].end[i]) continue;
        int fd = open(s->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !has_all_parts(r, i, fd)) {
            close(fd);
            continue;
        }
        close(s->fd);
        s->fd = fd;
        if (rename(s->path, s->growing) != 0) return file_failed("rename", s->path);
    }
    return NULL;
}

/* ---- what is used of them ---- */

static Error *begin_anew(Resumable *r)
{
    r->is_placed = false;
    r->found = (PartRecord){ 0 };
    r->last = (FinishedPart){ 0 };
    TRY(record_mark(r)); /* in place of the one that describes what is cut */
    Error *e = NULL;
    for (int i = 0; !e && i < r->n_streams; i++) e = growing_cut(&r->stream[i], 0);
    if (!e) return NULL;
    for (int i = 0; i < r->n_streams; i++) unlink(r->stream[i].growing); /* nothing is in them */
    return error_join(e, record_remove(r));
}

static Error *go_on(Resumable *r)
{
    char amount[32];
    r->last = r->found.part[r->found.n - 1];
    format_bytes((double)part_bytes(&r->last, r->n_streams), amount);
    log_info("%s: going on after %lld finished part%s (%s) of an interrupted run", r->output,
             (long long)r->found.n, r->found.n == 1 ? "" : "s", amount);
    for (int i = 0; i < r->n_streams; i++) TRY(growing_cut(&r->stream[i], r->last.end[i]));
    return record_write(r);
}

/* A run marks its files before it writes to them; what is there without a mark is somebody else's.
 */
static Error *check_ours(const Resumable *r)
{
    struct stat st;
    if (file_exists(r->record_path)) return NULL;
    for (int i = 0; i < r->n_streams; i++)
        if (fstat(r->stream[i].fd, &st) == 0 && st.st_size)
            return error_new("%s is in the way of the file in the making, and no run of this "
                             "program left it; remove or rename it",
                             r->stream[i].growing);
    return NULL;
}

static bool is_stream(const Resumable *r, const char *growing)
{
    for (int i = 0; i < r->n_streams; i++)
        if (!strcmp(r->stream[i].growing, growing)) return true;
    return false;
}

/* Growing files of the earlier run that this one has not, unless somebody writes them just now. */
static void sweep_others(const Resumable *r)
{
    for (int64_t i = 0; i < r->found.n_files; i++) {
        GrowingFile other = { .growing = r->found.file[i] };
        if (is_stream(r, other.growing) || !file_exists(other.growing)) continue;
        other.fd = open(other.growing, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (other.fd < 0) continue;
        if (flock(other.fd, LOCK_EX | LOCK_NB) == 0 && growing_has_its_name(&other))
            unlink(other.growing);
        close(other.fd);
    }
}

static Error *use_found(Resumable *r)
{
    struct stat st;
    TRY(check_ours(r));
    bool is_new = fstat(r->stream[0].fd, &st) == 0 && st.st_size == 0;
    if (!r->identity && !file_exists(r->record_path)) return begin_anew(r);
    TRY(parts_read(r->arena, r->record_path, r->identity ? r->identity : "", r->n_streams,
                   &r->found));
    sweep_others(r);
    if (!r->identity) return resumable_discard(r, "this run reads what cannot be read twice");
    if (r->found.difference) return resumable_discard(r, r->found.difference);
    r->is_placed = r->found.n_notes > 0;
    if (r->is_placed) return record_write(r);
    if (r->found.n && is_new) return resumable_discard(r, "its output is in place already");
    TRY(take_back(r));
    TRY(check_found(r));
    if (r->found.n) return go_on(r);
    return is_new ? begin_anew(r) : resumable_discard(r, "no part of it was finished");
}

Error *resumable_discard(Resumable *r, const char *why)
{
    log_warning("%s: what an interrupted run left is not used and removed: %s", r->output, why);
    return begin_anew(r);
}

/* ---- opening ---- */

static void describe(Resumable *r, const OutputStream *stream, int n_streams)
{
    Arena *a = r->arena;
    r->n_streams = n_streams;
    for (int i = 0; i < n_streams; i++) {
        const OutputStream *s = &stream[i];
        const char *beside = s->path ? s->path : r->output, *suffix = s->path ? "" : s->suffix;
        r->stream[i] = (GrowingFile){ .growing = arena_printf(a, "%s.partial%s", beside, suffix),
                                      .path = s->path ? arena_string(a, s->path) : NULL,
                                      .fd = -1,
                                      .header = s->header };
    }
}

static int64_t bytes_per_part(void)
{
    const char *set = environment_get("MODALITIES_PART_BYTES");
    return set && atoll(set) > 0 ? atoll(set) : PART_BYTES;
}

static Error *open_all(Resumable *r, const char *identity)
{
    for (int i = 0; i < r->n_streams; i++) TRY(growing_open(&r->stream[i]));
    if (identity) TRY(record_identify(r, identity));
    return use_found(r);
}

/* After a failure to open all of them; what an earlier run left stays. */
static void remove_begun(Resumable *r)
{
    struct stat st;
    for (int i = 0; i < r->n_streams && !file_exists(r->record_path); i++)
        if (r->stream[i].fd >= 0 && fstat(r->stream[i].fd, &st) == 0 && !st.st_size)
            unlink(r->stream[i].growing);
}

Error *resumable_open(const char *output, const char *identity, const OutputStream *stream,
                      int n_streams, Resumable **out)
{
    CHECK(n_streams > 0 && n_streams <= MOST_STREAMS);
    Arena *a = arena_new();
    Resumable *r = NEW(a, Resumable);
    *r = (Resumable){ .arena = a,
                      .output = arena_string(a, output),
                      .record_path = arena_printf(a, "%s.partial.parts", output),
                      .new_record_path = arena_printf(a, "%s.partial.parts.new", output),
                      .record = -1,
                      .part_bytes = bytes_per_part(),
                      .part_began = clock_seconds() };
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    describe(r, stream, n_streams);
    Error *e = open_all(r, identity);
    if (e) remove_begun(r);
    if (e) resumable_release(r);
    *out = e ? NULL : r;
    return e;
}
