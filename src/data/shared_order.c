/* shared_order.c - a file in memory that one process fills and all map.
 *
 * NAME.making becomes NAME when it is full. Who fills it holds an exclusive lock, who waits for it
 * or uses it a shared one; the system drops the locks of a process that ends in whatever way. So a
 * file without locks is nobody's: the last user removes it, and what killed processes left is
 * removed by the next process that makes an order. A lock counts only if the file still has the
 * name that it was opened by. */
#include "data/shared_order.h"
#include "base/file.h"
#include "base/log.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char shared_order_folder[] = "/dev/shm";

/* Names change with it, so that programs that would make another order never meet. */
enum { VERSION = 1 };

typedef struct Header {
    char magic[8];
    int64_t n, entry_bytes;
    uint64_t seed;
    char rest[32]; /* entries begin at a multiple of 64 */
} Header;

static const char magic[8] = "order\r\n";

/* One process's part in a file. */
typedef struct Use {
    const char *path;
    int fd;
    Header *file;
    size_t n_bytes;
} Use;

static Error *failed(const char *what, const char *path)
{
    Error *e = error_new("cannot %s %s: %s", what, path, strerror(errno));
    CHECK(e != NULL); /* so that static analysis sees what callers rely on */
    return e;
}

static bool lock(int fd, int kind)
{
    int status;
    do status = flock(fd, kind);
    while (status != 0 && errno == EINTR);
    return status == 0;
}

static bool has_name(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* Removes a file that nobody uses; drops the lock of `fd`. */
static void remove_unused(int fd, const char *path)
{
    if (lock(fd, LOCK_EX | LOCK_NB) && has_name(fd, path)) unlink(path);
}

static const char *prefix_of(Arena *a)
{
    return arena_printf(a, "modalities-order-v%d-%u-", VERSION, (unsigned)geteuid());
}

static void remove_left_over(const char *folder)
{
    Arena *a = arena_new();
    const char *prefix = prefix_of(a);
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
        const char *path = path_join(a, folder, entry->d_name);
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        remove_unused(fd, path);
        close(fd);
    }
    if (d) closedir(d);
    arena_free(a);
}

/* ---- using a file ---- */

static bool is_right(const Header *h, const SharedOrder *o)
{
    return !memcmp(h->magic, magic, sizeof magic) && h->n == o->n && h->seed == o->seed &&
           h->entry_bytes == o->entry_bytes;
}

static Error *map_file(Use *u, int protection)
{
    void *p = mmap(NULL, u->n_bytes, protection, MAP_SHARED | MAP_POPULATE, u->fd, 0);
    if (p == MAP_FAILED) return failed("map", u->path);
    u->file = p;
    return NULL;
}

static void unmap_file(Use *u)
{
    munmap(u->file, u->n_bytes);
    u->file = NULL;
}

static void release(void *arg)
{
    Use *u = arg;
    unmap_file(u);
    remove_unused(u->fd, u->path);
    close(u->fd);
}

/* Maps the open file if it is what its name says; what is not is removed. */
static Error *map_if_right(const SharedOrder *o, Use *u)
{
    struct stat st;
    if (!lock(u->fd, LOCK_SH) || fstat(u->fd, &st) != 0) return failed("lock", u->path);
    if (st.st_uid != geteuid()) return error_new("%s is another user's", u->path);
    if (!has_name(u->fd, u->path)) return NULL;
    if ((size_t)st.st_size == u->n_bytes) {
        TRY(map_file(u, PROT_READ));
        if (is_right(u->file, o)) return NULL;
        unmap_file(u);
    }
    return unlink(u->path) == 0 ? NULL : failed("remove", u->path);
}

/* Sets u->file if the file is there; else it stays NULL. */
static Error *use(const SharedOrder *o, Use *u)
{
    u->fd = open(u->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (u->fd < 0) return errno == ENOENT ? NULL : failed("open", u->path);
    Error *e = map_if_right(o, u);
    if (!u->file) close(u->fd);
    return e;
}

/* ---- making one ---- */

/* Fills the file that is open and locked, and gives it its name. */
static Error *make(const SharedOrder *o, const char *making, Use *u)
{
    if (ftruncate(u->fd, 0) != 0) return failed("empty", making);
    /* Reserved now: without room, writing would be a signal. */
    errno = posix_fallocate(u->fd, 0, (off_t)u->n_bytes);
    if (errno) return failed("reserve memory in", making);
    TRY(map_file(u, PROT_READ | PROT_WRITE));
    o->make(o->seed, o->n, o->entry_bytes, u->file + 1);
    *u->file = (Header){ .n = o->n, .entry_bytes = o->entry_bytes, .seed = o->seed };
    memcpy(u->file->magic, magic, sizeof magic);
    if (mprotect(u->file, u->n_bytes, PROT_READ) == 0 && rename(making, u->path) == 0 &&
        lock(u->fd, LOCK_SH))
        return NULL;
    Error *e = failed("finish", u->path);
    unmap_file(u);
    return e;
}

/* Makes the file, or waits until the process that does has ended; then u->file stays NULL. */
static Error *make_or_wait(const SharedOrder *o, const char *making, Use *u)
{
    u->fd = open(making, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (u->fd < 0) return failed("create", making);
    Error *e = NULL;
    if (!lock(u->fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK || !lock(u->fd, LOCK_SH)) e = failed("lock", making);
    } else if (has_name(u->fd, making)) {
        if (!file_exists(u->path)) {
            remove_left_over(o->folder);
            e = make(o, making, u);
        }
        if (!u->file) unlink(making);
    }
    if (!u->file) close(u->fd);
    return e;
}

Error *shared_order_open(Arena *a, const SharedOrder *o, const void **out)
{
    Use *u = NEW(a, Use);
    const char *name =
        arena_printf(a, "%s%lld-%llx", prefix_of(a), (long long)o->n, (unsigned long long)o->seed);
    *u = (Use){ .path = path_join(a, o->folder, name),
                .n_bytes = sizeof(Header) + (size_t)(o->n * o->entry_bytes) };
    const char *making = arena_printf(a, "%s.making", u->path);
    while (!u->file) {
        TRY(use(o, u));
        if (!u->file) TRY(make_or_wait(o, making, u));
    }
    arena_on_free(a, release, u);
    *out = u->file + 1;
    return NULL;
}
