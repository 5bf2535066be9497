/* fenced.c - a device for tests: the CPU behind the seam of a GPU.
 *
 * Its pointers lead to pages that nobody may touch; the bytes lie elsewhere, and only kernels and
 * the device's own copies are told where. Work that is queued is done late, by another thread, when
 * somebody synchronizes: who reads a result too early, or reuses a buffer too early, gets wrong
 * numbers every time. */
#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "device/device.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

/* Memory as the rest of the program sees it, and where it is. */
typedef struct Fence {
    struct Fence *next;
    char *shown, *real;
    size_t bytes;
} Fence;

typedef enum Work { COPY, CLEAR, KERNEL, MARK, WAIT } Work;

typedef struct Job {
    Work work;
    void *to;
    const void *from;
    size_t bytes;
    Kernel *kernel;
    const Launch *launch;
    struct Queued *other; /* WAIT: for the job `number` of that queue */
    int64_t number;
} Job;

/* What a stream was given and has not done yet. */
typedef struct Queued {
    Stream stream;
    Arena *arena;
    Job *job;
    int64_t n, cap, done; /* jobs of `job`; done since they were last dropped */
    int64_t before;       /* jobs that were dropped */
} Queued;

typedef struct Fenced {
    Device device;
    Pool *pool;
    Fence *fence;
} Fenced;

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
}

static Error *fenced_alloc(Device *d, size_t bytes, void **out)
{
    Fenced *f = (Fenced *)d;
    Fence *made = calloc(1, sizeof *made);
    CHECK(made != NULL);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    *made = (Fence){ .next = f->fence, .bytes = bytes };
    made->shown = mmap(NULL, whole_pages(bytes), PROT_NONE, flags | MAP_NORESERVE, -1, 0);
    made->real = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (made->shown == MAP_FAILED || made->real == MAP_FAILED) {
        Error *e = error_new("cannot get %zu bytes of memory: %s", bytes, strerror(errno));
        if (made->shown != MAP_FAILED) munmap(made->shown, whole_pages(bytes));
        free(made);
        return e;
    }
    f->fence = made;
    *out = made->shown;
    return NULL;
}

static void fenced_release(Device *d, void *p, size_t bytes)
{
    (void)bytes;
    for (Fence **at = &((Fenced *)d)->fence; *at; at = &(*at)->next) {
        Fence *f = *at;
        if (f->shown != p) continue;
        munmap(f->shown, whole_pages(f->bytes));
        munmap(f->real, whole_pages(f->bytes));
        *at = f->next;
        free(f);
        return;
    }
    CHECK(!"memory of this device");
}

/* Where the bytes are; memory of the host is where it says. */
static void *real_of(const Fenced *f, const void *p)
{
    for (const Fence *x = f->fence; x; x = x->next)
        if ((const char *)p >= x->shown && (const char *)p < x->shown + x->bytes)
            return x->real + ((const char *)p - x->shown);
    return (void *)p;
}

static bool is_fenced(const Fenced *f, const void *p)
{
    return real_of(f, p) != p;
}

static Tensor *real_tensors(const Fenced *f, Arena *a, const Tensor *t, int n)
{
    Tensor *real = NEW_N(a, Tensor, n);
    for (int i = 0; i < n; i++) {
        real[i] = t[i];
        CHECK(!t[i].data || is_fenced(f, t[i].data));
        real[i].data = real_of(f, t[i].data);
    }
    return real;
}

static int run_kernel(const Fenced *f, const Job *j)
{
    Arena *a = arena_new();
    Launch l = *j->launch;
    l.in = real_tensors(f, a, l.in, l.n_in);
    l.out = real_tensors(f, a, l.out, l.n_out);
    l.scratch = l.scratch ? real_of(f, l.scratch) : NULL;
    l.now = real_of(f, l.now);
    int status = j->kernel(&l);
    arena_free(a);
    return status;
}

static void run_until(Fenced *f, Queued *q, int64_t number);

static void run_job(Fenced *f, Queued *q, const Job *j)
{
    switch (j->work) {
    case COPY:
        memcpy(real_of(f, j->to), real_of(f, j->from), j->bytes);
        break;
    case CLEAR:
        memset(real_of(f, j->to), 0, j->bytes);
        break;
    case KERNEL:
        q->stream.status = run_kernel(f, j);
        if (q->stream.status) q->stream.failed = j->launch;
        break;
    case MARK:
        break;
    case WAIT:
        run_until(f, j->other, j->number);
        break;
    }
}

/* After a failure nothing more is done. */
static void run_until(Fenced *f, Queued *q, int64_t number)
{
    while (q->before + q->done < number) {
        const Job j = q->job[q->done++];
        if (!q->stream.failed || j.work == WAIT) run_job(f, q, &j);
    }
}

static void drop_done(Queued *q)
{
    q->before += q->done;
    q->n -= q->done;
    if (q->n) memmove(q->job, q->job + q->done, sizeof *q->job * (size_t)q->n);
    q->done = 0;
}

static Error *give(Stream *s, Job j)
{
    Queued *q = s->handle;
    q->job = arena_grow(q->arena, q->job, q->n, &q->cap, sizeof *q->job);
    q->job[q->n++] = j;
    return NULL;
}

static Error *fenced_copy(Device *d, void *to, const void *from, size_t bytes, Stream *s)
{
    (void)d;
    return give(s, (Job){ .work = COPY, .to = to, .from = from, .bytes = bytes });
}

static Error *fenced_clear(Device *d, void *to, size_t bytes, Stream *s)
{
    CHECK(is_fenced((Fenced *)d, to));
    return give(s, (Job){ .work = CLEAR, .to = to, .bytes = bytes });
}

static int fenced_launch(Device *d, Kernel *kernel, const Launch *l)
{
    (void)d;
    error_free(give(l->stream, (Job){ .work = KERNEL, .kernel = kernel, .launch = l }));
    return KERNEL_OK;
}

static Error *fenced_stream_new(Device *d, bool beside, Stream **out)
{
    (void)beside;
    Arena *a = arena_new();
    Queued *q = NEW(a, Queued);
    *q = (Queued){ .stream = { .pool = ((Fenced *)d)->pool, .handle = q }, .arena = a };
    *out = &q->stream;
    return NULL;
}

static void fenced_stream_free(Device *d, Stream *s)
{
    (void)d;
    arena_free(((Queued *)s->handle)->arena);
}

static Error *fenced_mark(Device *d, Stream *s, StreamMark *m)
{
    (void)d;
    TRY(give(s, (Job){ .work = MARK }));
    Queued *q = s->handle;
    *m = (StreamMark){ .handle = q, .number = q->before + q->n };
    return NULL;
}

static Error *fenced_wait(Device *d, Stream *later, const StreamMark *m)
{
    (void)d;
    return m->handle ? give(later, (Job){ .work = WAIT, .other = m->handle, .number = m->number })
                     : NULL;
}

static void fenced_mark_free(Device *d, StreamMark *m)
{
    (void)d;
    *m = (StreamMark){ 0 };
}

typedef struct Drain {
    Fenced *device;
    Queued *queue;
} Drain;

static void *drain(void *arg)
{
    const Drain *x = arg;
    run_until(x->device, x->queue, x->queue->before + x->queue->n);
    return NULL;
}

static Error *fenced_synchronize(Device *d, Stream *s)
{
    Drain x = { (Fenced *)d, s->handle };
    pthread_t thread;
    if (thread_start(&thread, drain, &x))
        pthread_join(thread, NULL);
    else
        drain(&x);
    drop_done(x.queue);
    return NULL;
}

static size_t fenced_free_bytes(const Device *d)
{
    (void)d;
    return memory_available();
}

static void fenced_free(Device *d)
{
    Fenced *f = (Fenced *)d;
    while (f->fence) fenced_release(d, f->fence->shown, f->fence->bytes);
    pool_free(f->pool);
    free(f);
}

Device *fenced_device_new(int n_threads)
{
    Fenced *f = calloc(1, sizeof *f);
    CHECK(f != NULL);
    f->device = (Device){
        .name = "fenced",
        .kernels = "cpu",
        .alloc = fenced_alloc,
        .release = fenced_release,
        .copy = fenced_copy,
        .clear = fenced_clear,
        .launch = fenced_launch,
        .stream_new = fenced_stream_new,
        .stream_free = fenced_stream_free,
        .mark = fenced_mark,
        .wait = fenced_wait,
        .mark_free = fenced_mark_free,
        .synchronize = fenced_synchronize,
        .free_bytes = fenced_free_bytes,
        .free = fenced_free,
    };
    f->pool = pool_new(n_threads);
    return &f->device;
}
