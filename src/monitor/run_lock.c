/* run_lock.c - one process at a time trains in an experiment's folder. */
#include "base/file.h"
#include "base/log.h"
#include "monitor/run_record.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The system drops the lock of a process that dies, however it dies. */
Error *run_lock_take(Arena *a, const char *folder, int *lock)
{
    const char *path = path_join(a, folder, RUN_LOCK);
    *lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*lock < 0) return error_new("cannot open %s: %s", path, strerror(errno));
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0) return NULL;
    int why = errno;
    close(*lock);
    *lock = -1;
    if (why == EWOULDBLOCK)
        return error_new("another process trains in %s (it holds %s)", folder, path);
    log_info("%s cannot be locked (%s): see to it that only one process trains there", path,
             strerror(why));
    return NULL;
}

bool run_lock_is_held(Arena *a, const char *folder)
{
    int fd = open(path_join(a, folder, RUN_LOCK), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return is_held;
}
