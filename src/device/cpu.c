/* cpu.c - the CPU as a device: huge-page memory that is touched once, a stream that the caller
 * works on with a pool of threads, and streams beside it (cpu_stream.h). */
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "device/cpu_stream.h"
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

static bool is_beside(const Stream *s)
{
    return s->handle != NULL;
}

static Error *cpu_copy(Device *d, void *to, const void *from, size_t bytes, Stream *s)
{
    (void)d;
    if (is_beside(s))
        cpu_stream_give(s, &(CpuWork){ .to = to, .from = from, .bytes = bytes });
    else
        memcpy(to, from, bytes);
    return NULL;
}

static Error *cpu_clear(Device *d, void *to, size_t bytes, Stream *s)
{
    (void)d;
    if (is_beside(s))
        cpu_stream_give(s, &(CpuWork){ .to = to, .bytes = bytes });
    else
        memset(to, 0, bytes);
    return NULL;
}

static int cpu_launch(Device *d, Kernel *kernel, const Launch *l)
{
    (void)d;
    if (!is_beside(l->stream)) return kernel(l);
    cpu_stream_give(l->stream, &(CpuWork){ .kernel = kernel, .launch = l });
    return KERNEL_OK;
}

static Error *cpu_stream_make(Device *d, bool beside, Stream **out)
{
    if (beside) return cpu_stream_new(out);
    Stream *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->pool = ((Cpu *)d)->pool;
    *out = s;
    return NULL;
}

static void cpu_stream_release(Device *d, Stream *s)
{
    (void)d;
    if (is_beside(s))
        cpu_stream_free(s);
    else
        free(s);
}

/* What the caller works on is done already. */
static Error *cpu_mark(Device *d, Stream *s, StreamMark *m)
{
    (void)d;
    *m = (StreamMark){ 0 };
    if (is_beside(s)) cpu_stream_mark(s, m);
    return NULL;
}

static Error *cpu_wait(Device *d, Stream *later, const StreamMark *m)
{
    (void)d;
    cpu_stream_wait(is_beside(later) ? later : NULL, m);
    return NULL;
}

static void cpu_mark_free(Device *d, StreamMark *m)
{
    (void)d;
    *m = (StreamMark){ 0 };
}

static Error *cpu_synchronize(Device *d, Stream *s)
{
    StreamMark end;
    TRY(cpu_mark(d, s, &end));
    cpu_stream_wait(NULL, &end);
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
        .reads_panels = true,
        .alloc = cpu_alloc,
        .release = cpu_release,
        .copy = cpu_copy,
        .clear = cpu_clear,
        .launch = cpu_launch,
        .stream_new = cpu_stream_make,
        .stream_free = cpu_stream_release,
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
