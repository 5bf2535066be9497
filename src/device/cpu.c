/* cpu.c - the CPU as a device: huge-page memory that is touched once, and a thread pool as stream.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "device/device.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct Cpu {
    Device device;
    Pool *pool;
} Cpu;

enum { HUGE = 2 << 20 };

static size_t whole_pages(size_t bytes)
{
    return (bytes + HUGE - 1) / HUGE * HUGE + HUGE;
}

typedef struct Touch {
    char *ptr;
    size_t bytes;
} Touch;

static void touch_piece(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Touch *t = arg;
    size_t from = (size_t)i * HUGE, to = from + HUGE < t->bytes ? from + HUGE : t->bytes;
    for (size_t at = from; at < to; at += 4096) ((volatile char *)t->ptr)[at] = 0;
}

/* Page faults cost far more than the work on a page, so they are all taken here, by all threads. */
static Error *cpu_alloc(Device *d, size_t bytes, void **out)
{
    size_t mapped = whole_pages(bytes);
    void *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return error_new("cannot get %zu bytes of memory: %s", bytes, strerror(errno));
    madvise(p, mapped, MADV_HUGEPAGE);
    Touch t = { p, bytes };
    pool_run(((Cpu *)d)->pool, (int64_t)((bytes + HUGE - 1) / HUGE), touch_piece, &t);
    *out = p;
    return NULL;
}

static void cpu_release(Device *d, void *p, size_t bytes)
{
    (void)d;
    if (p) munmap(p, whole_pages(bytes));
}

static Error *cpu_copy(Device *d, void *to, const void *from, size_t bytes, Stream *s)
{
    (void)d, (void)s;
    memcpy(to, from, bytes);
    return NULL;
}

static Error *cpu_clear(Device *d, void *to, size_t bytes, Stream *s)
{
    (void)d, (void)s;
    memset(to, 0, bytes);
    return NULL;
}

static int cpu_launch(Device *d, Kernel *kernel, const Launch *l)
{
    (void)d;
    return kernel(l);
}

static Error *cpu_stream_new(Device *d, Stream **out)
{
    Stream *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->pool = ((Cpu *)d)->pool;
    *out = s;
    return NULL;
}

static void cpu_stream_free(Device *d, Stream *s)
{
    (void)d;
    free(s);
}

static Error *cpu_mark(Device *d, Stream *s, StreamMark *e)
{
    (void)d, (void)s, (void)e;
    return NULL;
}

static Error *cpu_wait(Device *d, Stream *later, const StreamMark *e)
{
    (void)d, (void)later, (void)e;
    return NULL;
}

static void cpu_mark_free(Device *d, StreamMark *e)
{
    (void)d, (void)e;
}

static Error *cpu_synchronize(Device *d, Stream *s)
{
    (void)d, (void)s;
    return NULL;
}

static size_t cpu_free_bytes(const Device *d)
{
    (void)d;
    return memory_available();
}

static void cpu_free(Device *d)
{
    pool_free(((Cpu *)d)->pool);
    free(d);
}

Device *cpu_device_new(int n_threads)
{
    Cpu *c = calloc(1, sizeof *c);
    CHECK(c != NULL);
    c->device = (Device){
        .name = "cpu",
        .kernels = "cpu",
        .is_host = true,
        .alloc = cpu_alloc,
        .release = cpu_release,
        .copy = cpu_copy,
        .clear = cpu_clear,
        .launch = cpu_launch,
        .stream_new = cpu_stream_new,
        .stream_free = cpu_stream_free,
        .mark = cpu_mark,
        .wait = cpu_wait,
        .mark_free = cpu_mark_free,
        .synchronize = cpu_synchronize,
        .free_bytes = cpu_free_bytes,
        .free = cpu_free,
    };
    c->pool = pool_new(n_threads);
    return &c->device;
}
