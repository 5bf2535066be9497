/* resumable.c - streams that grow in files, and the thread that makes parts of them durable.
 *
 * The working thread never waits for the disk: it hands over where it is, and goes on. While the
 * disk is busy with one part the next one grows; only when that is several parts long, the disk is
 * slower than the work and is waited for. */
#include "data/resumable.h"
#include "base/block_sum.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "base/thread.h"
#include "data/parts.h"
#include "data/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A part is due when this much was written since the last one, or after this time. */
enum { PART_BYTES = 128 << 20, MOST_UNDURABLE_PARTS = 4 };
static const double PART_S = 10;

typedef struct Stream {
    const char *growing, *path; /* its name now; in the end, or NULL */
    int fd;                     /* -1: not open */
    int64_t header, n_bytes;    /* n_bytes counts those in the buffer */
    Buffer buffer;
    size_t n_buffered;
    uint64_t sum; /* of the part at hand, without what is in the buffer */
} Stream;

struct Resumable {
    Arena *arena;
    const char *output, *record_path, *new_record_path,
        *identity; /* identity NULL: not to be continued */
    Stream stream[MOST_STREAMS];
    int n_streams;
    PartRecord found;
    Part last;             /* handed over last, or found last */
    int64_t reached_bytes; /* of all streams, when the work was last at a place to go on from */
    int64_t reached_number[MOST_NUMBERS];
    bool is_reached, is_placed;
    int64_t part_bytes;
    double part_began;
    int record; /* file, or -1 */
    /* the thread, from the first part on */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_busy, is_ending;
    Part job;
    int64_t n_durable; /* parts of this run */
    Error *failure;
};

static Error *failed(const char *what, const char *path)
{
    Error *e = error_new("cannot %s %s: %s", what, path, strerror(errno));
    CHECK(e != NULL);
    return e;
}

/* ---- identity ---- */

static Error *identify_file(Text *t, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return failed("read", path);
    text_printf(t, "%s, %lld bytes, changed at %lld.%09ld", path, (long long)st.st_size,
                (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return NULL;
}

Error *identify_path(Text *identity, const char *what, const char *path)
{
    Arena *a = arena_new();
    PathList file = { 0 };
    const char *absolute = path_absolute(a, path);
    Error *e = is_directory(path) ? files_below(a, absolute, "", &file) : NULL;
    if (!is_directory(path)) file = (PathList){ .item = &absolute, .n = 1 };
    for (int64_t i = 0; !e && i < file.n; i++) {
        text_printf(identity, "%s: ", what);
        e = identify_file(identity, file.item[i]);
        text_putc(identity, '\n');
    }
    arena_free(a);
    return e;
}

/* The program comes first: another one may write other bytes. */
static Error *complete_identity(Resumable *r, const char *given)
{
    Text t = { 0 };
    Error *e = identify_path(&t, "program", "/proc/self/exe");
    text_puts(&t, given);
    r->identity = arena_string_n(r->arena, t.ptr, t.len);
    text_free(&t);
    return e;
}

/* ---- files ---- */

static const char *name_of(const Stream *s)
{
    return s->path ? s->path : s->growing;
}

static bool has_its_name(const Stream *s)
{
    struct stat mine, there;
    return fstat(s->fd, &mine) == 0 && stat(s->growing, &there) == 0 &&
           mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/* Opens the file and locks it against other runs. One that is put in place between the two steps is
 * not the growing file any more. */
static Error *open_stream(Stream *s)
{
    for (;;) {
        int fd = open(s->growing, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return failed("create", name_of(s));
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(fd);
            return error_new("%s: another run is writing this file just now", name_of(s));
        }
        s->fd = fd;
        if (has_its_name(s)) return NULL;
        close(fd);
        s->fd = -1;
    }
}

static Error *cut(Stream *s, int64_t n_bytes)
{
    s->n_bytes = n_bytes;
    s->n_buffered = 0;
    s->sum = 0;
    int64_t size = n_bytes || s->header ? s->header + n_bytes : 0;
    return ftruncate(s->fd, size) == 0 ? NULL : failed("write", name_of(s));
}

static Error *write_at(const Stream *s, const void *bytes, size_t n, int64_t at)
{
    for (const char *p = bytes; n;) {
        ssize_t done = pwrite(s->fd, p, n, at);
        if (done < 0 && errno == EINTR) continue;
        if (done == 0) errno = EIO;
        if (done <= 0) return failed("write", name_of(s));
        p += done;
        at += done;
        n -= (size_t)done;
    }
    return NULL;
}

/* Writes the buffer as a block. */
static Error *flush(Stream *s)
{
    if (!s->n_buffered) return NULL;
    size_t n = s->n_buffered;
    s->n_buffered = 0;
    s->sum = block_sum_add(s->sum, block_sum(s->buffer.ptr, n));
    return write_at(s, s->buffer.ptr, n, s->header + s->n_bytes - (int64_t)n);
}

static Error *sync_folder_of(const char *path)
{
    Arena *a = arena_new();
    Error *e = sync_directory(path_folder(a, path));
    arena_free(a);
    return e;
}

static Error *sync_file(int fd, const char *name)
{
    return fdatasync(fd) == 0 || errno == EINVAL ? NULL : failed("write", name);
}

/* ---- parts found ---- */

typedef struct Checking {
    const Resumable *r;
    bool *is_damaged; /* per part */
    Buffer *buffer;   /* per thread */
    int64_t first;
} Checking;

/* Whether stream i of a part has the bytes that were noted. */
static bool is_whole(const Stream *s, int64_t from, int64_t to, uint64_t expected, char *buffer)
{
    uint64_t sum = 0;
    for (int64_t at = from; at < to;) {
        size_t n = to - at < STREAM_BLOCK ? (size_t)(to - at) : STREAM_BLOCK;
        for (size_t k = 0; k < n;) {
            ssize_t got = pread(s->fd, buffer + k, n - k, s->header + at + (int64_t)k);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return false;
            k += (size_t)got;
        }
        sum = block_sum_add(sum, block_sum(buffer, n));
        at += (int64_t)n;
    }
    return sum == expected;
}

static void check_part(void *arg, int64_t task, int thread)
{
    Checking *c = arg;
    const Resumable *r = c->r;
    int64_t k = c->first + task;
    const Part *part = &r->found.part[k], none = { 0 }, *before = k ? part - 1 : &none;
    char *buffer = buffer_grow(&c->buffer[thread], STREAM_BLOCK);
    for (int i = 0; i < r->n_streams; i++)
        if (!is_whole(&r->stream[i], before->end[i], part->end[i], part->sum[i], buffer))
            c->is_damaged[k] = true;
}

static int64_t bytes_of(const Part *part, int n_streams)
{
    int64_t sum = 0;
    for (int i = 0; i < n_streams; i++) sum += part->end[i];
    return sum;
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
    Progress progress =
        progress_start("checking what is finished",
                       bytes_of(&found->part[found->n - 1], r->n_streams), PROGRESS_BYTES);
    bool is_stopped = false;
    while (c.first < found->n && !is_stopped) {
        int64_t left = found->n - c.first, n = left < n_threads ? left : n_threads;
        pool_run(pool, n, check_part, &c);
        c.first += n;
        progress_update(&progress, bytes_of(&found->part[c.first - 1], r->n_streams));
        is_stopped = signal_stop_requested();
    }
    progress_end(&progress);
    for (int i = 0; i < n_threads; i++) buffer_free(&c.buffer[i]);
    pool_free(pool);
    if (is_stopped) return error_new("stopped by a signal; nothing was changed");
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
    Stream there = r->stream[stream];
    Buffer buffer = { 0 };
    int64_t from = 0;
    bool is_all = true;
    there.fd = fd;
    buffer_grow(&buffer, STREAM_BLOCK);
    for (int64_t k = 0; is_all && k < r->found.n; from = r->found.part[k++].end[stream])
        is_all = is_whole(&there, from, r->found.part[k].end[stream], r->found.part[k].sum[stream],
                          buffer.ptr);
    buffer_free(&buffer);
    return is_all;
}

/* A run that was killed between two of its renames has some files in place, where the first one,
 * which comes last, is not: what the parts are about grows again. Another file stays. */
static Error *take_back(Resumable *r)
{
    struct stat st;
    for (int i = 1; r->found.n && i < r->n_streams; i++) {
        Stream *s = &r->stream[i];
        bool is_empty = fstat(s->fd, &st) == 0 && st.st_size == 0;
        if (!s->path || !is_empty || !r->found.part[r->found.n - 1].end[i]) continue;
        int fd = open(s->path, O_RDWR | O_CLOEXEC);
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !has_all_parts(r, i, fd)) {
            close(fd);
            continue;
        }
        close(s->fd);
        s->fd = fd;
        if (rename(s->path, s->growing) != 0) return failed("rename", s->path);
    }
    return NULL;
}

static Error *append_record(Resumable *r, const Text *lines)
{
    for (size_t at = 0; at < lines->len;) {
        ssize_t n = write(r->record, lines->ptr + at, lines->len - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed("write", r->record_path);
        at += (size_t)n;
    }
    return sync_file(r->record, r->record_path);
}

/* The record of what is used, without a torn end. Its file has no name of this process alone: what
 * a killed run left of it is replaced. */
static Error *write_record(Resumable *r)
{
    Text t = { 0 };
    parts_begin(&t, r->identity);
    for (int64_t i = 0; i < r->found.n; i++) parts_add(&t, &r->found.part[i], r->n_streams);
    for (int64_t i = 0; i < r->found.n_notes; i++) parts_add_note(&t, r->found.note[i]);
    if (r->record >= 0) close(r->record);
    r->record = open(r->new_record_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    Error *e = r->record < 0 ? failed("create", r->new_record_path) : append_record(r, &t);
    text_free(&t);
    if (e) return e;
    if (rename(r->new_record_path, r->record_path) != 0)
        return failed("rename into", r->record_path);
    return sync_folder_of(r->record_path);
}

static Error *remove_record(Resumable *r)
{
    return error_join(remove_tree(r->record_path), remove_tree(r->new_record_path));
}

static Error *begin_anew(Resumable *r)
{
    r->is_placed = false;
    r->found = (PartRecord){ 0 };
    r->last = (Part){ 0 };
    if (r->record >= 0) close(r->record);
    r->record = -1;
    TRY(remove_record(r)); /* before what it describes */
    for (int i = 0; i < r->n_streams; i++) TRY(cut(&r->stream[i], 0));
    return NULL;
}

static Error *go_on(Resumable *r)
{
    char amount[32];
    r->last = r->found.part[r->found.n - 1];
    format_bytes((double)bytes_of(&r->last, r->n_streams), amount);
    log_info("%s: going on behind %lld finished part%s (%s) of an interrupted run", r->output,
             (long long)r->found.n, r->found.n == 1 ? "" : "s", amount);
    for (int i = 0; i < r->n_streams; i++) TRY(cut(&r->stream[i], r->last.end[i]));
    return write_record(r);
}

static Error *use_found(Resumable *r)
{
    struct stat st;
    bool is_new = fstat(r->stream[0].fd, &st) == 0 && st.st_size == 0;
    if (!r->identity && !file_exists(r->record_path)) return begin_anew(r);
    if (!r->identity) return resumable_discard(r, "this run reads what cannot be read twice");
    TRY(parts_read(r->arena, r->record_path, r->identity, r->n_streams, &r->found));
    if (r->found.difference) return resumable_discard(r, r->found.difference);
    r->is_placed = r->found.n_notes > 0;
    if (r->is_placed) return write_record(r);
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

static void release(Resumable *r)
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

static void describe(Resumable *r, const OutputStream *stream, int n_streams)
{
    Arena *a = r->arena;
    r->n_streams = n_streams;
    for (int i = 0; i < n_streams; i++) {
        const OutputStream *s = &stream[i];
        const char *beside = s->path ? s->path : r->output, *suffix = s->path ? "" : s->suffix;
        r->stream[i] = (Stream){ .growing = arena_printf(a, "%s.partial%s", beside, suffix),
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
    for (int i = 0; i < r->n_streams; i++) TRY(open_stream(&r->stream[i]));
    if (identity) TRY(complete_identity(r, identity));
    return use_found(r);
}

/* After a failure to open all of them; what an earlier run left stays. */
static void remove_begun(Resumable *r)
{
    for (int i = 0; i < r->n_streams && !file_exists(r->record_path); i++)
        if (r->stream[i].fd >= 0) unlink(r->stream[i].growing);
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
    if (e) release(r);
    *out = e ? NULL : r;
    return e;
}

const char *resumable_recorded(Arena *a, const char *output, const char *what)
{
    return parts_find_identity(a, arena_printf(a, "%s.partial.parts", output),
                               arena_printf(a, ": %s: ", what));
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
    Stream *s = &r->stream[stream];
    char *buffer = buffer_grow(&s->buffer, STREAM_BLOCK);
    for (const char *p = bytes; n;) {
        size_t room = STREAM_BLOCK - s->n_buffered, k = n < room ? n : room;
        memcpy(buffer + s->n_buffered, p, k);
        s->n_buffered += k;
        s->n_bytes += (int64_t)k;
        p += k;
        n -= k;
        if (s->n_buffered == STREAM_BLOCK) TRY(flush(s));
    }
    return NULL;
}

int resumable_file(const Resumable *r, int stream, int64_t *header)
{
    *header = r->stream[stream].header;
    return r->stream[stream].fd;
}

void resumable_added(Resumable *r, int stream, size_t n, uint64_t sum)
{
    Stream *s = &r->stream[stream];
    CHECK(!s->n_buffered);
    s->sum = block_sum_add(s->sum, sum);
    s->n_bytes += (int64_t)n;
}

/* ---- parts ---- */

static Error *begin_record(Resumable *r)
{
    if (r->record >= 0) return NULL;
    TRY(write_record(r));
    for (int i = 0; i < r->n_streams; i++) TRY(sync_folder_of(r->stream[i].growing));
    return NULL;
}

/* First the data, then the line that vouches for it. */
static Error *make_durable(Resumable *r, const Part *part)
{
    for (int i = 0; i < r->n_streams; i++) TRY(sync_file(r->stream[i].fd, name_of(&r->stream[i])));
    TRY(begin_record(r));
    Text line = { 0 };
    parts_add(&line, part, r->n_streams);
    Error *e = append_record(r, &line);
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

/* Hands what is written to the thread, which is idle. */
static Error *end_part(Resumable *r)
{
    TRY(take_failure(r));
    for (int i = 0; i < r->n_streams; i++) {
        TRY(flush(&r->stream[i]));
        r->last.end[i] = r->stream[i].n_bytes;
        r->last.sum[i] = r->stream[i].sum;
        r->stream[i].sum = 0;
    }
    memcpy(r->last.number, r->reached_number, sizeof r->last.number);
    r->part_began = clock_seconds();
    if (!r->has_thread) {
        CHECK(pthread_create(&r->thread, NULL, make_parts, r) == 0);
        r->has_thread = true;
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

Error *resumable_reach(Resumable *r, const int64_t *number)
{
    if (!r->identity) return NULL;
    int64_t bytes = all_bytes(r), more = bytes - bytes_of(&r->last, r->n_streams);
    r->is_reached = true;
    r->reached_bytes = bytes;
    if (number) memcpy(r->reached_number, number, sizeof r->reached_number);
    bool is_due = more >= r->part_bytes || (more && clock_seconds() - r->part_began > PART_S);
    if (!is_due || !is_idle(r, more >= r->part_bytes * MOST_UNDURABLE_PARTS)) return NULL;
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
    Stream *s = &r->stream[stream];
    TRY(flush(s));
    *out = (Str){ "", 0 };
    if (!s->n_bytes) return NULL;
    size_t n = (size_t)(s->header + s->n_bytes);
    void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, s->fd, 0);
    if (p == MAP_FAILED) return failed("map", s->growing);
    FileMap *map = NEW(a, FileMap);
    *map = (FileMap){ p, n };
    arena_on_free(a, unmap, map);
    *out = (Str){ map->ptr + s->header, (size_t)s->n_bytes };
    return NULL;
}

Error *resumable_write_header(Resumable *r, int stream, const void *bytes, size_t n)
{
    const Stream *s = &r->stream[stream];
    CHECK((int64_t)n <= s->header);
    return write_at(s, bytes, n, 0);
}

Error *resumable_tail(Resumable *r, FILE **out)
{
    Stream *s = &r->stream[0];
    TRY(flush(s));
    int fd = dup(s->fd);
    *out = fd < 0 ? NULL : fdopen(fd, "r+b");
    if (*out && fseeko(*out, s->header + s->n_bytes, SEEK_SET) == 0) return NULL;
    return failed("write", name_of(s));
}

const char *resumable_find_note(const Resumable *r, const char *beginning)
{
    size_t n = strlen(beginning);
    for (int64_t i = r->found.n_notes - 1; i >= 0; i--)
        if (!strncmp(r->found.note[i], beginning, n)) return r->found.note[i] + n;
    return NULL;
}

static Error *describe_made(const char *path, Text *out)
{
    text_printf(out, "made: ");
    return identify_file(out, path);
}

Error *resumable_note_made(Resumable *r, const char *path)
{
    Text t = { 0 };
    Error *e = describe_made(path, &t);
    if (!e) e = resumable_note(r, t.ptr);
    text_free(&t);
    return e;
}

bool resumable_is_made(const Resumable *r, const char *path)
{
    Text t = { 0 };
    Error *e = describe_made(path, &t);
    bool is_made = !e && resumable_find_note(r, t.ptr);
    error_free(e);
    text_free(&t);
    return is_made;
}

/* The record has notes alone: its parts went away with the growing files. */
Error *resumable_note(Resumable *r, const char *note)
{
    PartRecord *found = &r->found;
    CHECK(r->identity && r->is_placed);
    found->n = 0;
    found->note =
        arena_grow(r->arena, found->note, found->n_notes, &found->note_cap, sizeof *found->note);
    found->note[found->n_notes++] = arena_string(r->arena, note);
    return write_record(r);
}

Error *resumable_place(Resumable *r)
{
    TRY(end_thread(r));
    for (int i = r->n_streams - 1; i >= 0; i--) {
        Stream *s = &r->stream[i];
        TRY(flush(s));
        if (!s->path) continue;
        if (fsync(s->fd) != 0) return failed("write", s->path);
        if (rename(s->growing, s->path) != 0) return failed("rename into", s->path);
        TRY(sync_folder_of(s->path));
    }
    r->is_placed = true;
    return NULL;
}

/* Removes what only served the work, but for files of another run that began meanwhile. */
static Error *remove_rest(Resumable *r)
{
    Error *e = remove_record(r);
    for (int i = r->n_streams - 1; i >= 0; i--)
        if (has_its_name(&r->stream[i])) e = error_join(e, remove_tree(r->stream[i].growing));
    return e;
}

Error *resumable_commit(Resumable *r)
{
    Error *e = r->is_placed ? NULL : resumable_place(r);
    if (e) return resumable_abandon(r, e);
    e = remove_rest(r);
    release(r);
    return e;
}

/* At a stop the part at hand ends, if all that was written belongs to it. */
static Error *end_last_part(Resumable *r)
{
    bool is_at_place = r->is_reached && all_bytes(r) == r->reached_bytes;
    bool is_more = all_bytes(r) > bytes_of(&r->last, r->n_streams);
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
        e = error_join(e, error_new("what is complete stays; the same command goes on behind it"));
    } else if (n && !r->is_placed) {
        format_bytes((double)bytes_of(&r->last, r->n_streams), amount);
        e = error_join(e, error_new("%lld finished part%s (%s) stay%s beside %s; the same command "
                                    "goes on behind %s",
                                    (long long)n, n == 1 ? "" : "s", amount, n == 1 ? "s" : "",
                                    r->output, n == 1 ? "it" : "them"));
    } else {
        e = error_join(e, remove_rest(r));
    }
    release(r);
    return e;
}
