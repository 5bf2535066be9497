/* part_output.c - bytes of a new file, put together in memory and written past the page cache. */
#include "checkpoint/part_output.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of disks, in memory and in the file; what is short enough goes through the page cache. */
enum { BLOCK = 4096, LEAST_ROOM = 2 << 20, MOST_ROOM = 8 << 20, DIRECT_FROM = 1 << 20 };

static size_t aligned(size_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

/* In huge pages, which the kernel finds at once when it writes past the page cache. A large file
 * has more, as each writing of it wakes a thread; but little beside it. */
void part_output_reserve(Arena *a, int64_t bytes, PartOutput *o)
{
    const int64_t share = bytes / 128 / LEAST_ROOM * LEAST_ROOM,
                  most = share < LEAST_ROOM  ? LEAST_ROOM
                         : share > MOST_ROOM ? MOST_ROOM
                                             : share;
    const size_t room = bytes < most ? aligned((size_t)bytes + 1) : (size_t)most;
    *o = (PartOutput){ .memory = memory_untouched(room), .room = room };
    arena_on_free(a, free, o->memory);
}

/* Not every file system knows it. */
static void set_direct(PartOutput *o, bool is_direct)
{
    const int fd = fileno(o->file->stream), flags = fcntl(fd, F_GETFL);
    const int wanted = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
    o->is_direct = flags >= 0 && fcntl(fd, F_SETFL, wanted) == 0 && is_direct;
}

void part_output_open(PartOutput *o, NewFile *to)
{
    o->file = to;
    if (o->room >= DIRECT_FROM && (uintptr_t)o->memory % BLOCK == 0) set_direct(o, true);
}

/* Whole blocks first; the end of the file, and what a file system does not take so, is written
 * through the page cache. */
static Error *write_out(PartOutput *o)
{
    for (size_t done = 0, now; done < o->n;) {
        now = o->n - done;
        if (o->is_direct && now >= BLOCK) now = now / BLOCK * BLOCK;
        if (o->is_direct && now < BLOCK) set_direct(o, false);
        const ssize_t n = write(fileno(o->file->stream), o->memory + done, now);
        if (n < 0 && errno == EINVAL && o->is_direct)
            set_direct(o, false);
        else if (n < 0 && errno != EINTR)
            return error_new("cannot write %s: %s", o->file->path, strerror(errno));
        if (n > 0) done += (size_t)n;
    }
    o->n = 0;
    return NULL;
}

char *part_output_room(const PartOutput *o, size_t *n)
{
    *n = o->room - o->n;
    return o->memory + o->n;
}

Error *part_output_add(PartOutput *o, size_t n)
{
    o->n += n;
    CHECK(o->n <= o->room);
    return o->n == o->room ? write_out(o) : NULL;
}

Error *part_output_put(PartOutput *o, const void *bytes, size_t n)
{
    const char *from = bytes;
    for (size_t now; n; n -= now, from += now) {
        char *to = part_output_room(o, &now);
        if (n < now) now = n;
        CHECK(now > 0);
        memcpy(to, from, now);
        TRY(part_output_add(o, now));
    }
    return NULL;
}

Error *part_output_end(PartOutput *o)
{
    return write_out(o);
}
