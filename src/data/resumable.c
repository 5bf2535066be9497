/* resumable.c - streams that grow in files, and the thread that makes parts of them durable.
 *
 * The working thread never waits for the disk: it hands over where it is, and goes on. While the
 * disk is busy with one part the next one grows; only when that is several parts long, the disk is
 * slower than the work and is waited for. */
#include "base/block_sum.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/signal.h"
#include "base/thread.h"
#include "data/progress.h"
#include "data/resumable_state.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A part is due after this time, or when it is large enough. */
static const double PART_S = 10;
enum { MOST_UNDURABLE_PARTS = 4 };

int64_t part_bytes(const FinishedPart *part, int n_streams)
{
    int64_t sum = 0;
    for (int i = 0; i < n_streams; i++) sum += part->end[i];
    return sum;
}

const char *resumable_output(const Resumable *r)
{
    return r->output;
}

int64_t resumable_parts(const Resumable *r)
{
    return r->found.n;
}

const int64_t *resumable_numbers(const Resumable *r)
{
    static const int64_t zeros[MOST_NUMBERS];
    return r->found.n ? r->found.part[r->found.n - 1].number : zeros;
}

int64_t resumable_bytes(const Resumable *r, int stream)
{
    return r->stream[stream].n_bytes;
}

/* ---- adding ---- */

Error *resumable_add(Resumable *r, int stream, const void *bytes, size_t n)
{
    return growing_add(&r->stream[stream], bytes, n);
}

int64_t resumable_reserve(Resumable *r, int stream, const void *bytes, size_t n)
{
    return growing_reserve(&r->stream[stream], bytes, n);
}

Error *resumable_write(const Resumable *r, int stream, const void *bytes, size_t n, int64_t at)
{
    return growing_write(&r->stream[stream], bytes, n, at);
}

int resumable_file(const Resumable *r, int stream, int64_t *header)
{
    *header = r->stream[stream].header;
    return r->stream[stream].fd;
}

void resumable_added(Resumable *r, int stream, size_t n, uint64_t sum)
{
    GrowingFile *s = &r->stream[stream];
    CHECK(!s->n_buffered);
    s->sum = block_sum_add(s->sum, sum);
    s->n_bytes += (int64_t)n;
}

/* ---- parts ---- */

/* First the data, then the line that vouches for it. */
static Error *make_durable(Resumable *r, const FinishedPart *part)
{
    for (int i = 0; i < r->n_streams; i++)
        TRY(sync_file(r->stream[i].fd, growing_name(&r->stream[i])));
    TRY(record_begin(r));
    Text line = { 0 };
    parts_add(&line, part, r->n_streams);
    Error *e = record_append(r, &line);
    text_free(&line);
    return e;
}

static void *make_parts(void *arg)
{
    Resumable *r = arg;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        while (!r->is_busy && !r->is_ending) pthread_cond_wait(&r->changed, &r->lock);
        if (!r->is_busy) break;
        pthread_mutex_unlock(&r->lock);
        Error *e = make_durable(r, &r->job);
        pthread_mutex_lock(&r->lock);
        r->failure = e;
        r->n_durable += !e;
        r->is_busy = false;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* Waits for the part under way, if `wait`; false while there is one. */
static bool is_idle(Resumable *r, bool wait)
{
    pthread_mutex_lock(&r->lock);
    while (wait && r->is_busy) pthread_cond_wait(&r->changed, &r->lock);
    bool idle = !r->is_busy;
    pthread_mutex_unlock(&r->lock);
    return idle;
}

static Error *take_failure(Resumable *r)
{
    Error *e = r->failure;
    r->failure = NULL;
    return e;
}

/* Hands what is written to the thread, which is idle. Where there can be none, the work waits for
 * the disk. */
static Error *end_part(Resumable *r)
{
    TRY(take_failure(r));
    for (int i = 0; i < r->n_streams; i++) {
        TRY(growing_flush(&r->stream[i]));
        r->last.end[i] = r->stream[i].n_bytes;
        r->last.sum[i] = r->stream[i].sum;
        r->stream[i].sum = 0;
    }
    memcpy(r->last.number, r->reached_number, sizeof r->last.number);
    r->part_began = clock_seconds();
    if (!r->has_thread) r->has_thread = thread_start(&r->thread, make_parts, r);
    if (!r->has_thread) {
        TRY(make_durable(r, &r->last));
        r->n_durable++;
        return NULL;
    }
    pthread_mutex_lock(&r->lock);
    r->job = r->last;
    r->is_busy = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static int64_t all_bytes(const Resumable *r)
{
    int64_t sum = 0;
    for (int i = 0; i < r->n_streams; i++) sum += r->stream[i].n_bytes;
    return sum;
}

/* Bytes since the last part. */
static int64_t more_bytes(const Resumable *r)
{
    return all_bytes(r) - part_bytes(&r->last, r->n_streams);
}

/* While a part is on its way to the disk, the next one grows; up to a limit. */
bool resumable_is_due(Resumable *r)
{
    int64_t more = r->identity ? more_bytes(r) : 0;
    bool is_enough = more >= r->part_bytes || (more && clock_seconds() - r->part_began > PART_S);
    return is_enough && (more >= r->part_bytes * MOST_UNDURABLE_PARTS || is_idle(r, false));
}

Error *resumable_reach(Resumable *r, const int64_t *number)
{
    if (!r->identity) return NULL;
    r->is_reached = true;
    r->reached_bytes = all_bytes(r);
    if (number) memcpy(r->reached_number, number, sizeof r->reached_number);
    if (!resumable_is_due(r)) return NULL;
    is_idle(r, true);
    return end_part(r);
}

/* Ends the thread; what it failed with. */
static Error *end_thread(Resumable *r)
{
    if (r->has_thread) {
        pthread_mutex_lock(&r->lock);
        r->is_ending = true;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
        r->has_thread = false;
    }
    return take_failure(r);
}

/* ---- the end ---- */

static void unmap(void *map)
{
    file_unmap(map);
}

Error *resumable_view(Resumable *r, int stream, Arena *a, Str *out)
{
    GrowingFile *s = &r->stream[stream];
    TRY(growing_flush(s));
    *out = (Str){ "", 0 };
    if (!s->n_bytes) return NULL;
    size_t n = (size_t)(s->header + s->n_bytes);
    void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, s->fd, 0);
    if (p == MAP_FAILED) return file_failed("map", s->growing);
    FileMap *map = NEW(a, FileMap);
    *map = (FileMap){ p, n };
    arena_on_free(a, unmap, map);
    *out = (Str){ map->ptr + s->header, (size_t)s->n_bytes };
    return NULL;
}

Error *resumable_write_header(Resumable *r, int stream, const void *bytes, size_t n)
{
    const GrowingFile *s = &r->stream[stream];
    CHECK((int64_t)n <= s->header);
    return growing_write(s, bytes, n, 0);
}

Error *resumable_tail(Resumable *r, FILE **out)
{
    GrowingFile *s = &r->stream[0];
    TRY(growing_flush(s));
    int fd = dup(s->fd);
    *out = fd < 0 ? NULL : fdopen(fd, "r+b");
    if (*out && fseeko(*out, s->header + s->n_bytes, SEEK_SET) == 0) return NULL;
    return file_failed("write", growing_name(s));
}

Error *resumable_place(Resumable *r)
{
    TRY(end_thread(r));
    for (int i = r->n_streams - 1; i >= 0; i--) {
        GrowingFile *s = &r->stream[i];
        TRY(growing_flush(s));
        if (!s->path) continue;
        if (fsync(s->fd) != 0) return file_failed("write", s->path);
        if (rename(s->growing, s->path) != 0) return file_failed("rename into", s->path);
        TRY(sync_folder_of(s->path));
    }
    r->is_placed = true;
    return NULL;
}

void resumable_release(Resumable *r)
{
    for (int i = 0; i < r->n_streams; i++) {
        if (r->stream[i].fd >= 0) close(r->stream[i].fd);
        buffer_free(&r->stream[i].buffer);
    }
    if (r->record >= 0) close(r->record);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    error_free(r->failure);
    arena_free(r->arena);
}

/* Removes what only served the work, but for files of another run that began meanwhile. The record
 * goes last, as it tells whose the others are. */
static Error *remove_rest(Resumable *r)
{
    Error *e = NULL;
    for (int i = r->n_streams - 1; i >= 0; i--)
        if (growing_has_its_name(&r->stream[i]))
            e = error_join(e, remove_tree(r->stream[i].growing));
    return error_join(e, record_remove(r));
}

Error *resumable_commit(Resumable *r)
{
    Error *e = r->is_placed ? NULL : resumable_place(r);
    if (e) return resumable_abandon(r, e);
    e = remove_rest(r);
    resumable_release(r);
    return e;
}

/* At a stop the part at hand ends, if all that was written belongs to it. */
static Error *end_last_part(Resumable *r)
{
    bool is_at_place = r->is_reached && all_bytes(r) == r->reached_bytes;
    bool is_more = all_bytes(r) > part_bytes(&r->last, r->n_streams);
    if (!r->identity || !signal_stop_requested() || !is_at_place || !is_more) return NULL;
    is_idle(r, true);
    return end_part(r);
}

Error *resumable_abandon(Resumable *r, Error *e)
{
    char amount[32];
    if (!r) return e;
    e = error_join(e, end_last_part(r));
    e = error_join(e, end_thread(r));
    int64_t n = r->found.n + r->n_durable;
    if (r->is_placed && r->found.n_notes) {
        e = error_join(e, error_new("what is complete stays; the same command goes on after it"));
    } else if (n && !r->is_placed) {
        format_bytes((double)part_bytes(&r->last, r->n_streams), amount);
        e = error_join(e, error_new("%lld finished part%s (%s) stay%s beside %s; the same command "
                                    "goes on after %s",
                                    (long long)n, n == 1 ? "" : "s", amount, n == 1 ? "s" : "",
                                    r->output, n == 1 ? "it" : "them"));
    } else {
        e = error_join(e, remove_rest(r));
    }
    resumable_release(r);
    return e;
}
