/* waiting_read.c - reads from where somebody may still type or write. */
#include "base/waiting_read.h"
#include "base/signal.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

Error *waiting_read(int fd, const char *name, void *to, size_t most, size_t *n, bool *some)
{
    enum { MS = 100 };
    struct pollfd input = { .fd = fd, .events = POLLIN };
    const bool ready = poll(&input, 1, MS) > 0;
    *some = false;
    *n = 0;
    if (signal_stop_requested()) return error_stopped("%s: stopped by a signal", name);
    if (!ready) return NULL;
    const ssize_t got = read(fd, to, most);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return NULL;
    if (got < 0) return error_new("cannot read %s: %s", name, strerror(errno));
    *some = true;
    *n = (size_t)got;
    return NULL;
}
