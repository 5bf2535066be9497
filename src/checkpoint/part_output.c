/* part_output.c - bytes of a new file, written past the page cache. */
#include "checkpoint/part_output.h"
#include "base/clock.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is short enough goes through the page cache. */
enum {
    BLOCK = PART_PAGE, /* of disks, in memory and in the file */
    LEAST_ROOM = 2 << 20,
    MOST_ROOM = 8 << 20,
    DIRECT_FROM = 1 << 20,
    LEAST_AT_ONCE = 2 << 20,
    MOST_AT_ONCE = 128 << 20
};

/* Each writing wakes a thread, which takes the core and its cache from others: so they are large,
 * but short enough for whoever waits until numbers may change. */
static const double seconds_at_once = 0.03;

static size_t aligned(size_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

/* In huge pages, which the kernel finds at once when it writes past the page cache. */
void part_output_reserve(Arena *a, int64_t bytes, PartOutput *o)
{
    const int64_t share = bytes / 128 / LEAST_ROOM * LEAST_ROOM,
                  most = share < LEAST_ROOM  ? LEAST_ROOM
                         : share > MOST_ROOM ? MOST_ROOM
                                             : share;
    const size_t room = bytes < most ? aligned((size_t)bytes + 1) : (size_t)most;
    *o = (PartOutput){ .memory = memory_untouched(room), .room = room, .most = MOST_ROOM };
    arena_on_free(a, free, o->memory);
}

/* Not every file system knows it. */
static void set_direct(PartOutput *o, bool is_direct)
{
    const int fd = fileno(o->file->stream), flags = fcntl(fd, F_GETFL);
    const int wanted = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
    o->is_direct = flags >= 0 && fcntl(fd, F_SETFL, wanted) == 0 && is_direct;
}

/* Of blocks, where the system does not tell. */
static size_t alignment_of(const NewFile *f)
{
    size_t told = 0;
#ifdef STATX_DIOALIGN
    struct statx s;
    if (statx(fileno(f->stream), "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) == 0 &&
        s.stx_mask & STATX_DIOALIGN)
        told = s.stx_dio_mem_align;
#endif
    return told ? told : BLOCK;
}

void part_output_open(PartOutput *o, NewFile *to)
{
    o->file = to;
    o->alignment = alignment_of(to);
    if (o->room >= DIRECT_FROM && (uintptr_t)o->memory % BLOCK == 0) set_direct(o, true);
}

/* Leaves in the list what is after the first `bytes` bytes of it. */
static void drop(PartOutput *o, size_t bytes)
{
    int first = 0;
    o->waits -= bytes;
    while (bytes && bytes >= o->waiting[first].iov_len) bytes -= o->waiting[first++].iov_len;
    o->n_waiting -= first;
    memmove(o->waiting, o->waiting + first, sizeof *o->waiting * (size_t)o->n_waiting);
    if (!bytes) return;
    o->waiting->iov_base = (char *)o->waiting->iov_base + bytes;
    o->waiting->iov_len -= bytes;
}

/* One call of the system. Of whole blocks, if more than one waits: the end of the file is written
 * through the page cache, as is what a file system does not take otherwise. */
static Error *write_some(PartOutput *o)
{
    struct iovec *last = &o->waiting[o->n_waiting - 1];
    const size_t rest = o->is_direct ? o->waits % BLOCK : 0;
    if (rest == o->waits) set_direct(o, false);
    if (o->is_direct) last->iov_len -= rest;
    const ssize_t n = writev(fileno(o->file->stream), o->waiting, o->n_waiting);
    const int why = errno;
    if (o->is_direct) last->iov_len += rest;
    if (n >= 0)
        drop(o, (size_t)n);
    else if (why == EINVAL && o->is_direct)
        set_direct(o, false);
    else if (why != EINTR)
        return error_new("cannot write %s: %s", o->file->path, strerror(why));
    return NULL;
}

static void list(PartOutput *o, const void *bytes, size_t n)
{
    o->waiting[o->n_waiting++] = (struct iovec){ .iov_base = (void *)bytes, .iov_len = n };
    o->waits += n;
}

/* What was put together since the list has grown. */
static void list_memory(PartOutput *o)
{
    if (o->n > o->listed) list(o, o->memory + o->listed, o->n - o->listed);
    o->listed = o->n;
}

/* Leaves what was put together since. */
static Error *write_list(PartOutput *o)
{
    const double begin = clock_seconds(), bytes = (double)o->waits;
    while (o->waits) TRY(write_some(o));
    const double seconds = clock_seconds() - begin, most = bytes / seconds * seconds_at_once;
    if (bytes >= LEAST_AT_ONCE)
        o->most = most < LEAST_AT_ONCE  ? LEAST_AT_ONCE
                  : most > MOST_AT_ONCE ? MOST_AT_ONCE
                                        : (size_t)most;
    o->n_straight = 0;
    return NULL;
}

static Error *write_out(PartOutput *o)
{
    list_memory(o);
    TRY(write_list(o));
    o->n = o->listed = 0;
    return NULL;
}

/* How many of n bytes can be written from where they lie. */
static size_t straight_bytes(const PartOutput *o, const void *bytes, size_t n)
{
    const size_t most = o->most > o->waits + PART_LARGE ? o->most - o->waits : PART_LARGE;
    if (n < PART_LARGE) return 0;
    if (n > most) n = most;
    if (!o->is_direct) return n;
    return o->at % BLOCK || (uintptr_t)bytes % o->alignment ? 0 : n / BLOCK * BLOCK;
}

Error *part_output_straight(PartOutput *o, const void *bytes, size_t *n)
{
    *n = straight_bytes(o, bytes, *n);
    if (!*n) return NULL;
    list_memory(o);
    list(o, bytes, *n);
    o->at += *n;
    o->n_straight++;
    const bool is_full = o->n_waiting + 2 > PART_MOST_WAITING;
    return is_full || o->waits >= o->most ? write_out(o) : NULL;
}

bool part_output_holds(const PartOutput *o)
{
    return o->n_straight > 0;
}

Error *part_output_settle(PartOutput *o)
{
    return o->n_straight ? write_list(o) : NULL;
}

char *part_output_room(const PartOutput *o, size_t *n)
{
    *n = o->room - o->n;
    return o->memory + o->n;
}

Error *part_output_add(PartOutput *o, size_t n)
{
    o->n += n;
    o->at += n;
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
