/* temporary_file.c - locked files under random names, and removing those of dead writers. */
#include "base/temporary_file.h"
#include "base/file.h"
#include "base/str.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char MARK[] = ".tmp.";
enum { N_DIGITS = 12, MOST_ATTEMPTS = 100 };

/* ---- which files are ours ---- */

static bool is_temporary_name(const char *path)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = strlen(path), m = strlen(MARK) + N_DIGITS;
    const char *end = path + n - N_DIGITS;
    return n > m && !memcmp(path + n - m, MARK, strlen(MARK)) && strspn(end, digits) == N_DIGITS;
}

/* Why an open file is none of ours, or NULL. */
static const char *fault_of(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return strerror(errno);
    if (!S_ISREG(st.st_mode)) return "it is no regular file";
    if (st.st_uid != geteuid()) return "it belongs to another user";
    return st.st_nlink > 1 ? "it has another name, too" : NULL;
}

static bool has_name(int fd, const char *name)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && lstat(name, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

/* ---- sweeping ---- */

void temporary_remove_dead(const char *name)
{
    if (!is_temporary_name(name)) return;
    int fd = open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    /* its writer may have given it its final name meanwhile */
    if (!fault_of(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, name)) unlink(name);
    close(fd);
}

static void sweep(Arena *a, const char *path)
{
    const char *folder = path_folder(a, path), *mine = path_name(path);
    size_t n = strlen(mine);
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        const char *name = entry->d_name;
        if (strncmp(name, mine, n) != 0 || strlen(name) != n + strlen(MARK) + N_DIGITS) continue;
        temporary_remove_dead(path_join(a, folder, name));
    }
    if (d) closedir(d);
}

/* ---- creating ---- */

static uint64_t draw(void)
{
    uint64_t x = 0;
    if (getrandom(&x, sizeof x, GRND_NONBLOCK) == (ssize_t)sizeof x) return x;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() << 32;
}

/* Between its creation and its lock a sweep of another process may take the file. */
static bool is_kept(int fd, const char *name)
{
    bool is_busy = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    return !is_busy && has_name(fd, name);
}

Error *temporary_create(Arena *a, const char *path, unsigned mode, char **name, int *fd)
{
    sweep(a, path);
    for (int i = 0; i < MOST_ATTEMPTS; i++) {
        *name = arena_printf(a, "%s%s%012" PRIx64, path, MARK, draw() >> 16);
        *fd = open(*name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (*fd >= 0 && is_kept(*fd, *name)) return NULL;
        if (*fd >= 0)
            close(*fd);
        else if (errno != EEXIST)
            break;
    }
    *fd = -1;
    return error_new("cannot create %s: %s", path, strerror(errno));
}

Error *open_own_file(const char *path, int *fd)
{
    *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    const char *fault = *fd >= 0         ? fault_of(*fd)
                        : errno == ELOOP ? "it is a symbolic link"
                        : errno == ENXIO ? "it is no regular file"
                                         : NULL;
    if (*fd < 0 && !fault) return error_new("cannot create %s: %s", path, strerror(errno));
    if (!fault) return NULL;
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return error_new("%s is in the way of the file in the making: %s; remove or rename it", path,
                     fault);
}
