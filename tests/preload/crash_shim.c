/* crash_shim.c - LD_PRELOAD: lets the N-th change to the file system kill the process or fail.
 *
 *   CRASH_AT=write:7      the 7th event of this kind: write, fsync, rename, remove, create, or any
 *   CRASH_MODE=kill       SIGKILL just before it (a write is done by half first); or the error it
 * fails with: EIO, EINVAL ... once; ENOSPC from then on, as a full disk does: all writes and
 * creations; EROFS from then on: everything; lost: a write that is told to have been done, once; or
 * slow: from then on such events take 0.2 s
 *   CRASH_PATH=text       count only what happens to paths that contain this
 *   CRASH_NO_SWAP=1       renameat2 cannot exchange, as on file systems that do not know how
 *   CRASH_LOG=file        appends a line "kind path" (rename: "rename path path") for every event
 *
 * stdio writes by internal calls that cannot be intercepted, so its own functions count as writes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, FSYNC = 2, RENAME = 4, REMOVE = 8, CREATE = 16 };
enum { SLOW = 100000, LOST }; /* no errno */

static const struct {
    const char *name;
    int value;
} kinds[] = {
    { "write", WRITE },   { "fsync", FSYNC },   { "rename", RENAME },
    { "remove", REMOVE }, { "create", CREATE }, { "any", WRITE | FSYNC | RENAME | REMOVE | CREATE },
}, failures[] = { { "kill", 0 },        { "ENOSPC", ENOSPC }, { "EIO", EIO },     { "EINVAL", EINVAL },
                  { "EACCES", EACCES }, { "EROFS", EROFS }, { "EDQUOT", EDQUOT }, { "EEXIST", EEXIST },
                  { "slow", SLOW }, { "lost", LOST } };

static struct {
    int kinds, failure, log;
    long at, seen;
    const char *path;
} plan;

static void stop(const char *what)
{
    fprintf(stderr, "crash_shim: bad %s\n", what);
    _exit(99);
}

__attribute__((constructor)) static void read_plan(void)
{
    const char *at = getenv("CRASH_AT"), *mode = getenv("CRASH_MODE"),
               *colon = at ? strchr(at, ':') : NULL;
    plan.path = getenv("CRASH_PATH") ? getenv("CRASH_PATH") : "";
    plan.log = -1;
    if (getenv("CRASH_LOG"))
        plan.log = (int)syscall(SYS_openat, AT_FDCWD, getenv("CRASH_LOG"),
                                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (!at) return;
    if (!colon || (plan.at = atol(colon + 1)) < 1) stop("CRASH_AT");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(at, kinds[i].name, (size_t)(colon - at)) && !kinds[i].name[colon - at])
            plan.kinds = kinds[i].value;
    if (!plan.kinds) stop("CRASH_AT");
    plan.failure = -1;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (!strcmp(mode ? mode : "kill", failures[i].name)) plan.failure = failures[i].value;
    if (plan.failure < 0) stop("CRASH_MODE");
}

typedef enum Verdict { PROCEED, FAIL, DIE, LOSE } Verdict;

static void log_event(int kind, const char *path, const char *other)
{
    char line[2 * PATH_MAX + 32];
    const char *name = "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].value == kind) name = kinds[i].name;
    int n = snprintf(line, sizeof line, "%s %s%s%s\n", name, path, *other ? " " : "", other);
    if (n > 0 && n < (int)sizeof line) syscall(SYS_write, plan.log, line, (size_t)n);
}

/* Counts one event; sets errno when it is to fail. */
static Verdict judge_both(int kind, const char *path, const char *other)
{
    if (!plan.path || (!strstr(path, plan.path) && !strstr(other, plan.path))) return PROCEED;
    if (plan.log >= 0) log_event(kind, path, other);
    bool is_full = plan.at && plan.seen >= plan.at &&
                   ((plan.failure == ENOSPC && kind & (WRITE | CREATE)) || plan.failure == EROFS);
    bool is_now =
        kind & plan.kinds && __atomic_add_fetch(&plan.seen, 1, __ATOMIC_RELAXED) == plan.at;
    if (plan.failure == SLOW && plan.seen >= plan.at && kind & plan.kinds) usleep(200 * 1000);
    if ((!is_now && !is_full) || plan.failure == SLOW) return PROCEED;
    if (plan.failure == 0) return DIE;
    if (plan.failure == LOST) return LOSE;
    errno = plan.failure;
    return FAIL;
}

static Verdict judge(int kind, const char *path)
{
    return judge_both(kind, path, "");
}

static const char *path_of(int fd, char buffer[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, buffer, PATH_MAX - 1);
    buffer[n > 0 ? n : 0] = 0;
    return buffer;
}

static Verdict judge_fd(int kind, int fd)
{
    char buffer[PATH_MAX];
    int kept = errno;
    const char *path = path_of(fd, buffer);
    errno = kept;
    return judge(kind, path);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static Verdict judge_or_die(int kind, const char *path)
{
    Verdict v = judge(kind, path);
    if (v == DIE) die();
    return v;
}

/* The function after the one that is intercepted; a union because C has no conversion between the
 * two. */
#define NEXT(name, type)                                                                           \
    static union {                                                                                 \
        void *object;                                                                              \
        type *function;                                                                            \
    } next;                                                                                        \
    if (!next.object && !(next.object = dlsym(RTLD_NEXT, name))) stop(name)

/* ---- writes ---- */

typedef ssize_t Write(int, const void *, size_t);
ssize_t write(int fd, const void *bytes, size_t n)
{
    NEXT("write", Write);
    Verdict v = judge_fd(WRITE, fd);
    if (v == FAIL) return -1;
    if (v == LOSE) return (ssize_t)n;
    if (v == DIE && next.function(fd, bytes, n / 2) >= -1) die();
    return next.function(fd, bytes, n);
}

typedef ssize_t Pwrite(int, const void *, size_t, off_t);
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    NEXT("pwrite", Pwrite);
    Verdict v = judge_fd(WRITE, fd);
    if (v == FAIL) return -1;
    if (v == DIE && next.function(fd, bytes, n / 2, at) >= -1) die();
    return next.function(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    return pwrite(fd, bytes, n, at);
}

static ssize_t bytes_of(const struct iovec *pieces, int n)
{
    ssize_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += (ssize_t)pieces[i].iov_len;
    return bytes;
}

typedef ssize_t Writev(int, const struct iovec *, int);
ssize_t writev(int fd, const struct iovec *pieces, int n)
{
    NEXT("writev", Writev);
    Verdict v = judge_fd(WRITE, fd);
    if (v == FAIL) return -1;
    if (v == LOSE) return bytes_of(pieces, n);
    const struct iovec half = { pieces->iov_base, pieces->iov_len / 2 };
    if (v == DIE && (n > 1 ? next.function(fd, pieces, n / 2) : next.function(fd, &half, 1)) >= -1)
        die();
    return next.function(fd, pieces, n);
}

typedef int Truncate(int, off_t);
int ftruncate(int fd, off_t size)
{
    NEXT("ftruncate", Truncate);
    Verdict v = judge_fd(WRITE, fd);
    if (v == DIE) die();
    return v == FAIL ? -1 : next.function(fd, size);
}

/* A stream remembers that it failed, as one whose write really failed does. */
static int fail_stream(FILE *f)
{
    f->_flags |= _IO_ERR_SEEN;
    return EOF;
}

typedef int Flush(FILE *);
static int real_flush(FILE *f)
{
    NEXT("fflush", Flush);
    return next.function(f);
}

int fflush(FILE *f)
{
    Verdict v = f ? judge_fd(WRITE, fileno(f)) : PROCEED;
    if (v == DIE) die();
    return v == FAIL ? fail_stream(f) : real_flush(f);
}

typedef size_t Fwrite(const void *, size_t, size_t, FILE *);
size_t fwrite(const void *bytes, size_t size, size_t n, FILE *f)
{
    NEXT("fwrite", Fwrite);
    Verdict v = judge_fd(WRITE, fileno(f));
    if (v == DIE) {
        next.function(bytes, 1, size * n / 2, f);
        real_flush(f);
        die();
    }
    if (v == LOSE) return n;
    if (v == PROCEED) return next.function(bytes, size, n, f);
    fail_stream(f);
    return 0;
}

typedef int Fputs(const char *, FILE *);
int fputs(const char *text, FILE *f)
{
    NEXT("fputs", Fputs);
    Verdict v = judge_fd(WRITE, fileno(f));
    if (v == DIE) die();
    return v == FAIL ? fail_stream(f) : next.function(text, f);
}

typedef int Fputc(int, FILE *);
int fputc(int c, FILE *f)
{
    NEXT("fputc", Fputc);
    Verdict v = judge_fd(WRITE, fileno(f));
    if (v == DIE) die();
    return v == FAIL ? fail_stream(f) : next.function(c, f);
}

typedef int Vfprintf(FILE *, const char *, va_list);
int vfprintf(FILE *f, const char *form, va_list args)
{
    NEXT("vfprintf", Vfprintf);
    Verdict v = judge_fd(WRITE, fileno(f));
    if (v == DIE) die();
    return v == FAIL ? fail_stream(f) : next.function(f, form, args);
}

int fprintf(FILE *f, const char *form, ...)
{
    va_list args;
    va_start(args, form);
    int n = vfprintf(f, form, args);
    va_end(args);
    return n;
}

typedef int Fclose(FILE *);
int fclose(FILE *f)
{
    NEXT("fclose", Fclose);
    Verdict v = judge_fd(WRITE, fileno(f));
    if (v == DIE) die();
    int result = next.function(f); /* closes even when it fails */
    if (v == FAIL) errno = plan.failure;
    return v == FAIL ? EOF : result;
}

/* ---- fsync ---- */

typedef int Fsync(int);
int fsync(int fd)
{
    NEXT("fsync", Fsync);
    Verdict v = judge_fd(FSYNC, fd);
    if (v == DIE) die();
    return v == FAIL ? -1 : next.function(fd);
}

int fdatasync(int fd)
{
    NEXT("fdatasync", Fsync);
    Verdict v = judge_fd(FSYNC, fd);
    if (v == DIE) die();
    return v == FAIL ? -1 : next.function(fd);
}

/* ---- rename ---- */

static Verdict judge_pair(const char *from, const char *to)
{
    Verdict v = judge_both(RENAME, from, to);
    if (v == DIE) die();
    return v;
}

typedef int Rename(const char *, const char *);
int rename(const char *from, const char *to)
{
    NEXT("rename", Rename);
    return judge_pair(from, to) == FAIL ? -1 : next.function(from, to);
}

typedef int Renameat2(int, const char *, int, const char *, unsigned);
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    NEXT("renameat2", Renameat2);
    if (judge_pair(from, to) == FAIL) return -1;
    if (flags & RENAME_EXCHANGE && getenv("CRASH_NO_SWAP")) return errno = EINVAL, -1;
    return next.function(from_fd, from, to_fd, to, flags);
}

/* ---- remove and create ---- */

typedef int OnePath(const char *);
int unlink(const char *path)
{
    NEXT("unlink", OnePath);
    return judge_or_die(REMOVE, path) == FAIL ? -1 : next.function(path);
}

int rmdir(const char *path)
{
    NEXT("rmdir", OnePath);
    return judge_or_die(REMOVE, path) == FAIL ? -1 : next.function(path);
}

typedef int Mkdir(const char *, mode_t);
int mkdir(const char *path, mode_t mode)
{
    NEXT("mkdir", Mkdir);
    struct stat st; /* one that is there already is no event */
    if (stat(path, &st) != 0 && judge_or_die(CREATE, path) == FAIL) return -1;
    return next.function(path, mode);
}

typedef FILE *Fopen(const char *, const char *);
FILE *fopen(const char *path, const char *mode)
{
    NEXT("fopen", Fopen);
    if (mode[0] != 'r' && judge_or_die(CREATE, path) == FAIL) return NULL;
    return next.function(path, mode);
}

typedef int Mkostemp(char *, int);
int mkostemp(char *path, int flags)
{
    NEXT("mkostemp", Mkostemp);
    return judge_or_die(CREATE, path) == FAIL ? -1 : next.function(path, flags);
}

typedef int Open(const char *, int, ...);
int open(const char *path, int flags, ...)
{
    NEXT("open", Open);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (flags & O_CREAT && judge_or_die(CREATE, path) == FAIL) return -1;
    return next.function(path, flags, mode);
}
