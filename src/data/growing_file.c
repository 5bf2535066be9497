/* growing_file.c - one file that grows, after a buffer. */
#include "data/growing_file.h"
#include "base/file.h"
#include "base/temporary_file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

Error *file_failed(const char *what, const char *path)
{
    Error *e = error_new("cannot %s %s: %s", what, path, strerror(errno));
    CHECK(e != NULL);
    return e;
}

const char *growing_name(const GrowingFile *s)
{
    return s->path ? s->path : s->growing;
}

bool growing_has_its_name(const GrowingFile *s)
{
    struct stat mine, there;
    return fstat(s->fd, &mine) == 0 && lstat(s->growing, &there) == 0 &&
           mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/* One that is put in place between the two steps is
 * not the growing file any more. */
Error *growing_open(GrowingFile *s)
{
    for (;;) {
        int fd;
        TRY(open_own_file(s->growing, &fd));
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(fd);
            return error_new("%s: another run is writing this file just now", growing_name(s));
        }
        s->fd = fd;
        if (growing_has_its_name(s)) return NULL;
        close(fd);
        s->fd = -1;
    }
}

Error *growing_cut(GrowingFile *s, int64_t n_bytes)
{
    s->n_bytes = n_bytes;
    s->n_buffered = 0;
    s->sum = 0;
    s->block.n = 0;
    int64_t size = n_bytes || s->header ? s->header + n_bytes : 0;
    return ftruncate(s->fd, size) == 0 ? NULL : file_failed("write", growing_name(s));
}

Error *growing_write(const GrowingFile *s, const void *bytes, size_t n, int64_t at)
{
    for (const char *p = bytes; n;) {
        ssize_t done = pwrite(s->fd, p, n, at);
        if (done < 0 && errno == EINTR) continue;
        if (done == 0) errno = EIO;
        if (done <= 0) return file_failed("write", growing_name(s));
        p += done;
        at += done;
        n -= (size_t)done;
    }
    return NULL;
}

Error *growing_add(GrowingFile *s, const void *bytes, size_t n)
{
    char *buffer = buffer_grow(&s->buffer, STREAM_BLOCK);
    for (const char *p = bytes; n;) {
        size_t room = STREAM_BLOCK - s->n_buffered, k = n < room ? n : room;
        memcpy(buffer + s->n_buffered, p, k);
        s->n_buffered += k;
        s->n_bytes += (int64_t)k;
        p += k;
        n -= k;
        if (s->n_buffered == STREAM_BLOCK) TRY(growing_flush(s));
    }
    return NULL;
}

int64_t growing_reserve(GrowingFile *s, const void *bytes, size_t n)
{
    int64_t at = s->header + s->n_bytes;
    CHECK(!s->n_buffered);
    s->n_bytes += (int64_t)n;
    for (const char *p = bytes; n;) {
        size_t room = STREAM_BLOCK - s->block.n, k = n < room ? n : room;
        block_sum_take(&s->block, p, k);
        if (s->block.n == STREAM_BLOCK) s->sum = block_sum_add(s->sum, block_sum_end(&s->block));
        p += k;
        n -= k;
    }
    return at;
}

Error *growing_flush(GrowingFile *s)
{
    if (s->block.n) s->sum = block_sum_add(s->sum, block_sum_end(&s->block));
    if (!s->n_buffered) return NULL;
    size_t n = s->n_buffered;
    s->n_buffered = 0;
    s->sum = block_sum_add(s->sum, block_sum(s->buffer.ptr, n));
    return growing_write(s, s->buffer.ptr, n, s->header + s->n_bytes - (int64_t)n);
}

Error *sync_folder_of(const char *path)
{
    Arena *a = arena_new();
    Error *e = sync_directory(path_folder(a, path));
    arena_free(a);
    return e;
}

Error *sync_file(int fd, const char *name)
{
    return fdatasync(fd) == 0 || errno == EINVAL ? NULL : file_failed("write", name);
}

bool growing_is_whole(const GrowingFile *s, int64_t from, int64_t to, uint64_t expected,
                      char *buffer)
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
