/* mock.c - CUDA's calls without a GPU: kernels run in the emulator, products as plain loops.
 *
 * As on a GPU, work is queued on streams and done late, when somebody waits for it: whoever reads a
 * result too early, reuses memory too early or forgets an event gets wrong numbers every time.
 * Memory of the device lies in pages of its own that only queued work may touch; allocated memory
 * holds garbage. MODALITIES_MOCK_GPUS: how many GPUs there are (1). MODALITIES_MOCK_FAILS_AT: the
 * kernel, by its number, at whose launch the GPU fails. MODALITIES_MOCK_PINNED: copies to memory of
 * the host that is not pinned, for which CUDA would wait, are refused. MODALITIES_MOCK_GRAPHS: how
 * often each graph was launched, and how often while there was work before it, is told at its end;
 * none: nothing can be recorded, which is said when it ends; never: when it begins.
 * MODALITIES_MOCK_HANGS: graphs stop half way. MODALITIES_MOCK_NEIGHBOUR: MiB that another program
 * has. MODALITIES_MOCK_ALGORITHM: 2: products are made by another algorithm. The context, the
 * kernels and the libraries take memory, too. */
#include "mock.h"
#include "base/clock.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, GARBAGE = 0x7f, MOST_GARBAGE = 16 << 20 };
static const size_t ALL_BYTES = (size_t)8 << 30;

/* What another program has of the memory: MODALITIES_MOCK_NEIGHBOUR, in MiB. */
static size_t neighbour_bytes(void)
{
    const char *set = getenv("MODALITIES_MOCK_NEIGHBOUR");
    return set ? (size_t)atoll(set) << 20 : 0;
}

/* ---- memory ---- */

typedef struct Region {
    struct Region *next;
    char *at;
    size_t bytes;
    bool is_pinned;
} Region;

/* One lock for everything: ranks may be threads. It may be taken again by its owner. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static Region *regions;
static size_t taken;
static int depth; /* of work that is being done: the device's memory is open */

enum { CONTEXT_BYTES = 24 << 20, KERNEL_BYTES = 2 << 20 };

void mock_take(ptrdiff_t bytes)
{
    pthread_mutex_lock(&lock);
    taken += (size_t)bytes;
    pthread_mutex_unlock(&lock);
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void protect(int how)
{
    for (Region *r = regions; r; r = r->next)
        if (!r->is_pinned) mprotect(r->at, whole_pages(r->bytes), how);
}

static void open_memory(void)
{
    pthread_mutex_lock(&lock);
    if (depth++ == 0) protect(PROT_READ | PROT_WRITE);
}

static void close_memory(void)
{
    if (--depth == 0) protect(PROT_NONE);
    pthread_mutex_unlock(&lock);
}

static _Thread_local bool is_recording; /* a stream of this thread */
static void refuse(const char *what);
static bool is_hung; /* a stream is */

static cudaError_t allocate(void **out, size_t bytes, bool is_pinned)
{
    if (bytes == 0) bytes = 1;
    if (is_recording) refuse("memory is allocated while a stream is recorded");
    if (!is_pinned && taken + bytes + neighbour_bytes() > ALL_BYTES)
        return cudaErrorMemoryAllocation;
    Region *r = calloc(1, sizeof *r);
    char *at = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!r || at == MAP_FAILED) abort();
    if (bytes <= MOST_GARBAGE) memset(at, GARBAGE, bytes);
    pthread_mutex_lock(&lock);
    *r = (Region){ regions, at, bytes, is_pinned };
    regions = r;
    if (!is_pinned) {
        taken += bytes;
        if (depth == 0) mprotect(at, whole_pages(bytes), PROT_NONE);
    }
    pthread_mutex_unlock(&lock);
    *out = at;
    return cudaSuccess;
}

static cudaError_t release(void *p)
{
    cudaError_t status = cudaErrorInvalidValue;
    pthread_mutex_lock(&lock);
    for (Region **at = &regions; *at; at = &(*at)->next) {
        Region *r = *at;
        if (r->at != p) continue;
        munmap(r->at, whole_pages(r->bytes));
        if (!r->is_pinned) taken -= r->bytes;
        *at = r->next;
        free(r);
        status = cudaSuccess;
        break;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* NULL: memory of the host that CUDA does not know. */
static const Region *region_of(const void *p)
{
    const Region *r = regions;
    while (r && !((const char *)p >= r->at && (const char *)p < r->at + r->bytes)) r = r->next;
    return r;
}

static bool fits(const void *p, size_t bytes)
{
    const Region *r = region_of(p);
    return !r || (const char *)p + bytes <= r->at + r->bytes;
}

static cudaError_t mock_malloc(void **out, size_t bytes)
{
    return allocate(out, bytes, false);
}

static cudaError_t mock_malloc_host(void **out, size_t bytes)
{
    return allocate(out, bytes, true);
}

static cudaError_t mock_free(void *p)
{
    if (is_hung) refuse("memory of a GPU that hangs is freed");
    return p ? release(p) : cudaSuccess;
}

static cudaError_t mock_memory(size_t *there, size_t *all)
{
    *there = ALL_BYTES - neighbour_bytes() - taken;
    *all = ALL_BYTES;
    return cudaSuccess;
}

/* ---- streams ---- */

static MockStream first_stream; /* for NULL */
static MockStream *streams;     /* all that ever were */

/* The GPU has failed: from then on every call that waits says so, as CUDA's do. */
static bool is_broken;
static int64_t n_launches;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* work was given, or done */

void mock_lock(void)
{
    pthread_mutex_lock(&lock);
}

void mock_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

MockStream *mock_stream(cudaStream_t s)
{
    return s ? (MockStream *)(void *)s : &first_stream;
}

static void copy_rows(const MockWork *w)
{
    for (int64_t i = 0; i < (w->n_rows ? w->n_rows : 1); i++)
        memcpy((char *)w->to + (size_t)i * w->to_step,
               (const char *)w->from + (size_t)i * w->from_step, w->bytes);
}

static void do_work(const MockWork *w)
{
    switch (w->kind) {
    case WORK_COPY:
        copy_rows(w);
        break;
    case WORK_CLEAR:
        memset(w->to, w->value, w->bytes);
        break;
    case WORK_KERNEL:
        emulator_run(w->kernel, &w->call, w->blocks, w->threads);
        break;
    case WORK_PRODUCT:
        mock_multiply(&w->product);
        break;
    case WORK_WAIT:
    case WORK_NCCL:
        break;
    case WORK_CALL:
        w->call_host(w->kept);
        break;
    }
}

/* Whether nothing else has to come first. */
static bool is_ready(const MockWork *w)
{
    if (w->kind == WORK_NCCL) return mock_nccl_ready(w);
    return w->kind != WORK_WAIT || mock_run_until(w->other, w->number);
}

static void free_kept(const MockWork *w)
{
    if (w->free_kept)
        w->free_kept(w->kept);
    else
        free(w->kept);
    free(w->parts);
}

bool mock_run_until(MockStream *s, int64_t number)
{
    const int64_t most = s->is_hung && s->most < number ? s->most : number;
    if (s->n_done >= number || s->is_running) return s->n_done >= number;
    s->is_running = true;
    while (s->n_done < most && is_ready(s->first)) {
        MockWork *w = s->first;
        s->first = w->next;
        if (!s->first) s->last = NULL;
        s->n_done++;
        do_work(w);
        if (!w->is_recorded) free_kept(w);
        free(w);
    }
    s->is_running = false;
    return s->n_done >= number;
}

/* A failure of the mock's own: what the host did is an error on a GPU, too. */
static void refuse(const char *what)
{
    fprintf(stderr, "mock of CUDA: %s\n", what);
    abort();
}

typedef struct MockGraph {
    MockWork *work;
    int64_t n, n_launched, n_ahead;
    MockStream *first; /* where recording began; others came to it by waiting */
} MockGraph;

/* In the order in which work was given, which is one that all waits allow. */
static cudaError_t record_work(MockStream *s, const MockWork *w)
{
    MockGraph *g = s->recorded;
    s->is_forked = s != g->first;
    if (w->kind == WORK_WAIT || w->kind == WORK_NCCL) refuse("a recorded stream waits for another");
    g->work = realloc(g->work, sizeof *w * (size_t)(g->n + 1));
    if (!g->work) abort();
    g->work[g->n] = *w;
    g->work[g->n++].is_recorded = true;
    return cudaSuccess;
}

cudaError_t mock_give(cudaStream_t stream, const MockWork *given)
{
    MockStream *s = mock_stream(stream);
    if (s->recorded) return record_work(s, given);
    MockWork *w = malloc(sizeof *w);
    if (!w) abort();
    *w = *given;
    w->next = NULL;
    pthread_mutex_lock(&lock);
    if (s->last)
        s->last->next = w;
    else
        s->first = w;
    s->last = w;
    s->n_given++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

/* Small copies from memory that is not pinned are taken at once, as CUDA does. */
static cudaError_t mock_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                             cudaStream_t stream)
{
    enum { TAKEN_AT_ONCE = 64 << 10 };
    MockWork w = { .kind = WORK_COPY, .to = to, .from = from, .bytes = bytes };
    (void)kind;
    pthread_mutex_lock(&lock);
    if (!fits(to, bytes) || !fits(from, bytes)) refuse("a copy leaves its memory");
    const bool is_pageable = !region_of(from), waits = !region_of(to);
    pthread_mutex_unlock(&lock);
    if (mock_stream(stream)->recorded && (is_pageable || waits))
        refuse("a copy of memory that is not pinned is recorded");
    if (waits && getenv("MODALITIES_MOCK_PINNED")) refuse("a copy to memory that is not pinned");
    if (is_pageable && bytes <= TAKEN_AT_ONCE) {
        w.kept = malloc(bytes ? bytes : 1);
        if (!w.kept) abort();
        memcpy(w.kept, from, bytes);
        w.from = w.kept;
    }
    return mock_give(stream, &w);
}

static cudaError_t mock_copy_rows(void *to, size_t to_step, const void *from, size_t from_step,
                                  size_t bytes, size_t n, enum cudaMemcpyKind kind,
                                  cudaStream_t stream)
{
    (void)kind;
    if (n == 0 || bytes == 0) return cudaSuccess;
    pthread_mutex_lock(&lock);
    if (!fits(to, to_step * (n - 1) + bytes) || !fits(from, from_step * (n - 1) + bytes))
        refuse("a copy leaves its memory");
    pthread_mutex_unlock(&lock);
    return mock_give(stream, &(MockWork){ .kind = WORK_COPY,
                                          .to = to,
                                          .from = from,
                                          .bytes = bytes,
                                          .to_step = to_step,
                                          .from_step = from_step,
                                          .n_rows = (int64_t)n });
}

static cudaError_t mock_set(void *to, int value, size_t bytes, cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    if (!fits(to, bytes)) refuse("what is cleared leaves its memory");
    pthread_mutex_unlock(&lock);
    return mock_give(stream,
                     &(MockWork){ .kind = WORK_CLEAR, .to = to, .value = value, .bytes = bytes });
}

static cudaError_t mock_stream_new(cudaStream_t *out, unsigned flags, int priority)
{
    (void)flags, (void)priority;
    MockStream *s = calloc(1, sizeof *s);
    if (!s) abort();
    pthread_mutex_lock(&lock);
    s->other = streams;
    streams = s;
    pthread_mutex_unlock(&lock);
    *out = (cudaStream_t)(void *)s;
    return cudaSuccess;
}

/* As far as other ranks have given work. */
static cudaError_t run_to(MockStream *s, int64_t number)
{
    open_memory();
    const int64_t before = s->n_done;
    const bool is_done = mock_run_until(s, number);
    if (s->n_done != before) pthread_cond_broadcast(&changed);
    close_memory();
    return is_done ? cudaSuccess : cudaErrorNotReady;
}

static cudaError_t mock_query(cudaStream_t stream)
{
    if (mock_stream(stream)->recorded) return cudaErrorStreamCaptureUnsupported;
    if (is_broken) return cudaErrorIllegalAddress;
    return run_to(mock_stream(stream), mock_stream(stream)->n_given);
}

static cudaError_t mock_synchronize(cudaStream_t stream)
{
    cudaError_t status;
    if (is_hung) refuse("what waits for a GPU that hangs never ends");
    pthread_mutex_lock(&lock);
    while ((status = mock_query(stream)) == cudaErrorNotReady) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return status;
}

static cudaError_t mock_stream_free(cudaStream_t stream)
{
    mock_query(stream); /* what waits for a rank that is gone is dropped; events may still ask */
    return cudaSuccess;
}

/* ---- graphs ---- */

static cudaError_t mock_begin_capture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    const char *how = getenv("MODALITIES_MOCK_GRAPHS");
    (void)mode;
    if (how && !strcmp(how, "never")) return cudaErrorNotSupported;
    MockGraph *g = calloc(1, sizeof *g);
    if (!g) abort();
    g->first = mock_stream(stream);
    g->first->recorded = g;
    is_recording = true;
    return cudaSuccess;
}

static cudaError_t mock_free_graph(MockGraph *g)
{
    if (getenv("MODALITIES_MOCK_GRAPHS"))
        fprintf(stderr, "mock of CUDA: a graph was launched %lld times, %lld ahead\n",
                (long long)g->n_launched, (long long)g->n_ahead);
    for (int64_t i = 0; i < g->n; i++) free_kept(&g->work[i]);
    free(g->work);
    free(g);
    return cudaSuccess;
}

static cudaError_t mock_end_capture(cudaStream_t stream, cudaGraph_t *out)
{
    const char *how = getenv("MODALITIES_MOCK_GRAPHS");
    MockStream *s = mock_stream(stream);
    MockGraph *g = s->recorded;
    for (MockStream *x = streams; x; x = x->other) {
        if (x->recorded != g) continue;
        if (x->is_forked) refuse("a recorded stream was not waited for");
        x->recorded = NULL;
    }
    is_recording = false;
    *out = NULL;
    if (how && !strcmp(how, "none")) {
        mock_free_graph(g);
        return cudaErrorStreamCaptureInvalidated;
    }
    *out = (cudaGraph_t)(void *)g;
    return cudaSuccess;
}

/* The same thing; it is freed as the second. */
static cudaError_t mock_instantiate(cudaGraphExec_t *out, cudaGraph_t graph,
                                    unsigned long long flags)
{
    (void)flags;
    *out = (cudaGraphExec_t)(void *)graph;
    return cudaSuccess;
}

static cudaError_t mock_graph_free(cudaGraph_t graph)
{
    (void)graph;
    return cudaSuccess;
}

static cudaError_t mock_exec_free(cudaGraphExec_t exec)
{
    return mock_free_graph((MockGraph *)(void *)exec);
}

static cudaError_t mock_graph_launch(cudaGraphExec_t exec, cudaStream_t stream)
{
    MockGraph *g = (MockGraph *)(void *)exec;
    if (is_broken) return cudaErrorIllegalAddress;
    MockStream *s = mock_stream(stream);
    g->n_launched++;
    g->n_ahead += s->n_done < s->n_given;
    if (getenv("MODALITIES_MOCK_HANGS")) {
        is_hung = s->is_hung = true;
        s->most = s->n_given + g->n / 2;
    }
    for (int64_t i = 0; i < g->n; i++) mock_give(stream, &g->work[i]);
    return cudaSuccess;
}

/* ---- events ---- */

typedef struct MockEvent {
    double reached; /* when its place was, of one that keeps times */
    bool keeps_time;
    MockStream *stream; /* NULL: never recorded */
    MockGraph *graph;   /* of which it is a part; NULL: none */
    int64_t number;
} MockEvent;

static cudaError_t mock_event_new(cudaEvent_t *out, unsigned flags)
{
    MockEvent *e = calloc(1, sizeof *e);
    if (!e) abort();
    e->keeps_time = !(flags & cudaEventDisableTiming);
    *out = (cudaEvent_t)(void *)e;
    return cudaSuccess;
}

static cudaError_t mock_event_free(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

static double lost; /* seconds */

void mock_lose(double seconds)
{
    lost += seconds;
}

static void note_time(void *event)
{
    ((MockEvent *)event)->reached = clock_seconds() + lost;
}

static void keep(void *event)
{
    (void)event;
}

static cudaError_t mock_elapsed(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    const MockEvent *a = (const MockEvent *)(const void *)from,
                    *b = (const MockEvent *)(const void *)to;
    if (!a->keeps_time || !b->keeps_time || !a->stream || !b->stream)
        return cudaErrorInvalidResourceHandle;
    if (a->stream->n_done < a->number || b->stream->n_done < b->number) return cudaErrorNotReady;
    *milliseconds = (float)((b->reached - a->reached) * 1e3);
    return cudaSuccess;
}

static cudaError_t mock_record(cudaEvent_t event, cudaStream_t stream)
{
    MockEvent *e = (MockEvent *)(void *)event;
    if (e->keeps_time)
        mock_give(
            stream,
            &(MockWork){ .kind = WORK_CALL, .kept = e, .call_host = note_time, .free_kept = keep });
    e->stream = mock_stream(stream);
    e->number = e->stream->n_given;
    e->graph = e->stream->recorded;
    return cudaSuccess;
}

static cudaError_t mock_event_query(cudaEvent_t event)
{
    const MockEvent *e = (const MockEvent *)(const void *)event;
    return e->stream ? run_to(e->stream, e->number) : cudaSuccess;
}

static cudaError_t mock_wait(cudaStream_t later, cudaEvent_t event, unsigned flags)
{
    const MockEvent *e = (const MockEvent *)(const void *)event;
    (void)flags;
    if (!e->stream) return cudaSuccess;
    MockStream *s = mock_stream(later);
    if (e->graph != s->recorded && (s->recorded || e->graph != e->stream->recorded))
        refuse("a recorded stream waits for what is not recorded with it");
    if (e->graph) {
        s->recorded = e->graph;
        if (s == e->graph->first) e->stream->is_forked = false;
        return cudaSuccess;
    }
    return mock_give(later,
                     &(MockWork){ .kind = WORK_WAIT, .other = e->stream, .number = e->number });
}

/* ---- kernels ---- */

static cudaError_t mock_load(cudaLibrary_t *out, const void *image, enum cudaJitOption *jit,
                             void **jit_values, unsigned n_jit, enum cudaLibraryOption *options,
                             void **values, unsigned n)
{
    (void)image, (void)jit, (void)jit_values, (void)n_jit, (void)options, (void)values, (void)n;
    *out = (cudaLibrary_t)(void *)&first_stream;
    return cudaSuccess;
}

static cudaError_t mock_unload(cudaLibrary_t library)
{
    (void)library;
    mock_take(-(ptrdiff_t)KERNEL_BYTES);
    return cudaSuccess;
}

/* Kernels are functions of the library that this is part of. */
static cudaError_t mock_count_kernels(unsigned *out, cudaLibrary_t library)
{
    (void)library;
    *out = 1;
    return cudaSuccess;
}

static cudaError_t mock_list_kernels(cudaKernel_t *out, unsigned n, cudaLibrary_t library)
{
    (void)library;
    if (n) *out = (cudaKernel_t)(void *)&first_stream;
    return cudaSuccess;
}

static cudaError_t mock_kernel_facts(struct cudaFuncAttributes *out, const void *kernel)
{
    (void)kernel;
    *out = (struct cudaFuncAttributes){ 0 };
    mock_take(KERNEL_BYTES);
    return cudaSuccess;
}

static cudaError_t mock_find(cudaKernel_t *out, cudaLibrary_t library, const char *name)
{
    Dl_info own;
    (void)library;
    if (!dladdr((void *)mock_find, &own)) return cudaErrorUnknown;
    void *self = dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *out = self ? dlsym(self, name) : NULL;
    if (self) dlclose(self);
    return *out ? cudaSuccess : cudaErrorSymbolNotFound;
}

static cudaError_t mock_set_attribute(cudaKernel_t kernel, enum cudaFuncAttribute name, int value,
                                      int device)
{
    (void)kernel, (void)name, (void)value, (void)device;
    return cudaSuccess;
}

/* An error of a kernel before is told by the launches after it. */
static bool fails_now(void)
{
    const char *at = getenv("MODALITIES_MOCK_FAILS_AT");
    pthread_mutex_lock(&lock);
    is_broken |= at && ++n_launches >= atoll(at);
    const bool fails = is_broken;
    pthread_mutex_unlock(&lock);
    return fails;
}

static cudaError_t mock_launch(const cudaLaunchConfig_t *config, const void *kernel, void **arg)
{
    if (fails_now()) return cudaErrorIllegalAddress;
    MockWork w = { .kind = WORK_KERNEL,
                   .blocks = config->gridDim.x,
                   .threads = (int)config->blockDim.x };
    memcpy(&w.kernel, &kernel, sizeof kernel);
    memcpy(&w.call, arg[0], sizeof w.call);
    if (config->gridDim.x == 0 || config->blockDim.x == 0 || config->blockDim.x > 1024)
        return cudaErrorInvalidConfiguration;
    return mock_give(config->stream, &w);
}

/* ---- the device ---- */

static int n_gpus(void)
{
    const char *set = getenv("MODALITIES_MOCK_GPUS");
    return set ? atoi(set) : 1;
}

static cudaError_t mock_version(int *out)
{
    *out = 13000;
    return cudaSuccess;
}

static const char *mock_text(cudaError_t status)
{
    return status == cudaErrorMemoryAllocation ? "out of memory"
           : status == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
                                               : "an error of the mock";
}

static cudaError_t mock_count(int *out)
{
    *out = n_gpus();
    return *out ? cudaSuccess : cudaErrorNoDevice;
}

static cudaError_t mock_properties(struct cudaDeviceProp *out, int device)
{
    if (device >= n_gpus()) return cudaErrorInvalidDevice;
    *out = (struct cudaDeviceProp){ .name = "mock of a GPU",
                                    .major = 9,
                                    .multiProcessorCount = 2,
                                    .totalGlobalMem = ALL_BYTES,
                                    .sharedMemPerBlockOptin = 48 << 10,
                                    .sharedMemPerMultiprocessor = 100 << 10 };
    return cudaSuccess;
}

/* Memory of 2 GHz and 4096 lines. */
static cudaError_t mock_attribute(int *out, enum cudaDeviceAttr name, int device)
{
    *out = name == cudaDevAttrMemoryClockRate        ? 2000000
           : name == cudaDevAttrGlobalMemoryBusWidth ? 4096
                                                     : 0;
    return device < n_gpus() && *out ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- the driver's view of other programs ---- */

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *out)
{
    *out = NULL;
    return strcmp(bus, "00000000:00:00.0") != 0;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory *out)
{
    (void)device;
    pthread_mutex_lock(&lock);
    *out = (nvmlMemory){ .total = ALL_BYTES, .free = ALL_BYTES - neighbour_bytes() - taken };
    pthread_mutex_unlock(&lock);
    return 0;
}

/* Process 1 is there everywhere; the second one's memory is not known. */
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *n, nvmlProcessInfo *out)
{
    (void)device;
    if (*n < 2) return 1;
    out[0] = (nvmlProcessInfo){ .pid = 1, .usedGpuMemory = neighbour_bytes() };
    out[1] = (nvmlProcessInfo){ .pid = 2, .usedGpuMemory = ~0ULL };
    *n = neighbour_bytes() ? 2 : 0;
    return 0;
}

static _Thread_local int chosen;

int mock_gpu(void)
{
    return chosen;
}

static cudaError_t mock_choose(int device)
{
    static bool has_context;
    chosen = device;
    pthread_mutex_lock(&lock);
    if (!has_context) mock_take(CONTEXT_BYTES);
    has_context = true;
    pthread_mutex_unlock(&lock);
    return device < n_gpus() ? cudaSuccess : cudaErrorInvalidDevice;
}

static const CudaCalls calls = {
    .cudaDriverGetVersion = mock_version,
    .cudaRuntimeGetVersion = mock_version,
    .cudaGetErrorString = mock_text,
    .cudaGetDeviceCount = mock_count,
    .cudaGetDeviceProperties = mock_properties,
    .cudaSetDevice = mock_choose,
    .cudaMemGetInfo = mock_memory,
    .cudaMalloc = mock_malloc,
    .cudaFree = mock_free,
    .cudaMallocHost = mock_malloc_host,
    .cudaFreeHost = mock_free,
    .cudaMemcpyAsync = mock_copy,
    .cudaMemcpy2DAsync = mock_copy_rows,
    .cudaMemsetAsync = mock_set,
    .cudaStreamCreateWithPriority = mock_stream_new,
    .cudaStreamDestroy = mock_stream_free,
    .cudaStreamSynchronize = mock_synchronize,
    .cudaStreamQuery = mock_query,
    .cudaStreamWaitEvent = mock_wait,
    .cudaEventCreateWithFlags = mock_event_new,
    .cudaEventDestroy = mock_event_free,
    .cudaEventRecord = mock_record,
    .cudaEventQuery = mock_event_query,
    .cudaEventElapsedTime = mock_elapsed,
    .cudaDeviceGetAttribute = mock_attribute,
    .cudaStreamBeginCapture = mock_begin_capture,
    .cudaStreamEndCapture = mock_end_capture,
    .cudaGraphInstantiate = mock_instantiate,
    .cudaGraphLaunch = mock_graph_launch,
    .cudaGraphExecDestroy = mock_exec_free,
    .cudaGraphDestroy = mock_graph_free,
    .cudaLibraryLoadData = mock_load,
    .cudaLibraryUnload = mock_unload,
    .cudaLibraryGetKernel = mock_find,
    .cudaLibraryGetKernelCount = mock_count_kernels,
    .cudaLibraryEnumerateKernels = mock_list_kernels,
    .cudaFuncGetAttributes = mock_kernel_facts,
    .cudaKernelSetAttributeForDevice = mock_set_attribute,
    .cudaLaunchKernelExC = mock_launch,
    .nvmlInit_v2 = nvmlInit_v2,
    .nvmlShutdown = nvmlShutdown,
    .nvmlDeviceGetHandleByPciBusId_v2 = nvmlDeviceGetHandleByPciBusId_v2,
    .nvmlDeviceGetMemoryInfo = nvmlDeviceGetMemoryInfo,
    .nvmlDeviceGetComputeRunningProcesses_v3 = nvmlDeviceGetComputeRunningProcesses_v3,
    MOCK_PRODUCTS,
    MOCK_GRAPHS,
};

static CudaCalls with_nccl;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
    with_nccl = calls;
    mock_nccl_fill(&with_nccl);
}

Error *cuda_calls_get(const CudaCalls **out)
{
    pthread_once(&once, fill);
    *out = &with_nccl;
    return NULL;
}

Error *nccl_calls_get(const CudaCalls **out)
{
    return cuda_calls_get(out);
}

/* The kernels are part of this library. */
static const char nothing;
const void *const cuda_images[] = { &nothing, NULL };
