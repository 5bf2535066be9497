/* lock_shim.c - LD_PRELOAD: a file system that knows no locks. */
#include <errno.h>
#include <sys/file.h>

int flock(int fd, int operation)
{
    (void)fd, (void)operation;
    errno = ENOLCK;
    return -1;
}
