/* cuda_device.c - a GPU as a Device: memory, copies, streams, marks. */
#include "base/environment.h"
#include "device/cuda/cuda.h"
#include "device/cuda/cuda_ranges.h"
#include "device/cuda/matmul.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Cuda *cuda_of(const Device *d)
{
    return (Cuda *)d;
}

Error *cuda_error(const CudaCalls *c, cudaError_t status, const char *what)
{
    if (status == cudaSuccess) return NULL;
    const char *advice = cuda_advice(status);
    return error_new("%s: %s (CUDA error %d)%s%s", what, c->cudaGetErrorString(status), (int)status,
                     *advice ? "; " : "", advice);
}

/* Ranks may be threads of one process: each call says which GPU it means. */
static Error *use(const Cuda *d)
{
    return cuda_error(d->calls, d->calls->cudaSetDevice(d->number), "choosing the GPU");
}

static Error *cuda_alloc(Device *device, size_t bytes, void **out)
{
    const Cuda *d = cuda_of(device);
    const CudaCalls *c = d->calls;
    char wanted[32], there[32];
    TRY(use(d));
    const cudaError_t status = c->cudaMalloc(out, bytes ? bytes : 1);
    if (status == cudaErrorMemoryAllocation) {
        format_bytes((double)bytes, wanted);
        format_bytes((double)device->free_bytes(device), there);
        return error_new("cannot get %s of the GPU's memory: %s are free", wanted, there);
    }
    TRY(cuda_error(c, status, "allocating memory"));
    TRY(cuda_error(c, c->cudaMemsetAsync(*out, 0, bytes, NULL), "clearing memory"));
    return cuda_error(c, c->cudaStreamSynchronize(NULL), "clearing memory");
}

static void cuda_release(Device *device, void *p, size_t bytes)
{
    const Cuda *d = cuda_of(device);
    (void)bytes;
    if (d->is_lost) return;
    error_free(use(d));
    if (p) d->calls->cudaFree(p);
}

static Error *cuda_copy(Device *device, void *to, const void *from, size_t bytes, Stream *s)
{
    const Cuda *d = cuda_of(device);
    TRY(use(d));
    return cuda_error(
        d->calls,
        d->calls->cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_stream_of(s)->queue),
        "copying");
}

static Error *cuda_clear_memory(Device *device, void *to, size_t bytes, Stream *s)
{
    const Cuda *d = cuda_of(device);
    TRY(use(d));
    return cuda_error(d->calls, d->calls->cudaMemsetAsync(to, 0, bytes, cuda_stream_of(s)->queue),
                      "clearing memory");
}

static int cuda_launch(Device *device, Kernel *kernel, const Launch *l)
{
    const Cuda *d = cuda_of(device);
    const cudaError_t status = d->calls->cudaSetDevice(d->number);
    if (status != cudaSuccess) return cuda_status(status);
    cuda_range_begin(d, l);
    const int done = kernel(l);
    cuda_range_end();
    return done;
}

static void cuda_stream_free(Device *device, Stream *s)
{
    Cuda *d = cuda_of(device);
    CudaStream *x = cuda_stream_of(s);
    if (d->is_lost) return;
    error_free(use(d));
    if (x->queue) d->calls->cudaStreamDestroy(x->queue);
    if (x->fault) d->calls->cudaFree(x->fault);
    if (x->seen) d->calls->cudaFreeHost(x->seen);
    if (x->workspace) {
        d->calls->cudaFree(x->workspace);
        d->workspace_bytes -= CUDA_WORKSPACE;
    }
    free(x);
}

static Error *make_stream(Cuda *d, bool beside, CudaStream *x)
{
    const CudaCalls *c = d->calls;
    void *fault, *seen;
    TRY(use(d));
    TRY(cuda_error(
        c, c->cudaStreamCreateWithPriority(&x->queue, cudaStreamNonBlocking, beside ? -1 : 0),
        "making a stream"));
    TRY(cuda_error(c, c->cudaMalloc(&fault, sizeof *x->fault), "making a stream"));
    x->fault = fault;
    TRY(cuda_error(c, c->cudaMallocHost(&seen, sizeof *x->seen), "making a stream"));
    x->seen = seen;
    return cuda_error(c, c->cudaMemsetAsync(x->fault, 0, sizeof *x->fault, x->queue),
                      "making a stream");
}

static Error *cuda_stream_new(Device *device, bool beside, Stream **out)
{
    Cuda *d = cuda_of(device);
    CudaStream *x = calloc(1, sizeof *x);
    CHECK(x != NULL);
    *x =
        (CudaStream){ .stream = { .pool = d->pool, .handle = x, .moves = &cuda_moves }, .cuda = d };
    Error *e = make_stream(d, beside, x);
    *out = &x->stream;
    if (e) cuda_stream_free(device, &x->stream);
    return e;
}

Error *cuda_workspace(CudaStream *s, void **out)
{
    Cuda *d = s->cuda;
    if (!s->workspace) {
        TRY(cuda_error(d->calls, d->calls->cudaMalloc(&s->workspace, CUDA_WORKSPACE),
                       "workspace of products"));
        d->workspace_bytes += CUDA_WORKSPACE;
    }
    *out = s->workspace;
    return NULL;
}

static Error *cuda_mark(Device *device, Stream *s, StreamMark *m)
{
    const Cuda *d = cuda_of(device);
    const CudaCalls *c = d->calls;
    cudaEvent_t event = m->handle;
    TRY(use(d));
    if (!event)
        TRY(cuda_error(c, c->cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                       "making an event"));
    m->handle = event;
    m->number++;
    return cuda_error(c, c->cudaEventRecord(event, cuda_stream_of(s)->queue), "recording an event");
}

static Error *cuda_wait(Device *device, Stream *later, const StreamMark *m)
{
    const Cuda *d = cuda_of(device);
    if (!m->handle) return NULL;
    TRY(use(d));
    return cuda_error(d->calls,
                      d->calls->cudaStreamWaitEvent(cuda_stream_of(later)->queue, m->handle, 0),
                      "waiting for an event");
}

static void cuda_mark_free(Device *device, StreamMark *m)
{
    const Cuda *d = cuda_of(device);
    if (d->is_lost) return;
    error_free(use(d));
    if (m->handle) d->calls->cudaEventDestroy(m->handle);
    *m = (StreamMark){ 0 };
}

/* Kernels that find an id out of range say so in the stream's memory, and go on. */
static Error *cuda_synchronize(Device *device, Stream *s)
{
    const Cuda *d = cuda_of(device);
    const CudaCalls *c = d->calls;
    CudaStream *x = cuda_stream_of(s);
    TRY(use(d));
    TRY(cuda_error(
        c, c->cudaMemcpyAsync(x->seen, x->fault, sizeof *x->seen, cudaMemcpyDeviceToHost, x->queue),
        "waiting for the GPU"));
    TRY(cuda_wait_for(x));
    if (x->seen->status == KERNEL_OK) return NULL;
    s->failed = x->seen->launch;
    s->status = x->seen->status;
    s->knows_when = true;
    s->step_failed = x->seen->step_failed;
    s->microbatch_failed = x->seen->microbatch_failed;
    return cuda_error(c, c->cudaMemsetAsync(x->fault, 0, sizeof *x->fault, x->queue),
                      "waiting for the GPU");
}

static Error *cuda_reach(Device *device, Stream *s, const StreamMark *m)
{
    TRY(use(cuda_of(device)));
    return m->handle ? cuda_wait_until(cuda_stream_of(s), m->handle) : NULL;
}

static Error *cuda_host_alloc(Device *device, size_t bytes, void **out)
{
    const Cuda *d = cuda_of(device);
    TRY(use(d));
    TRY(cuda_error(d->calls, d->calls->cudaMallocHost(out, bytes ? bytes : 1),
                   "pinning memory of the host"));
    memset(*out, 0, bytes);
    return NULL;
}

static void cuda_host_release(Device *device, void *p)
{
    const Cuda *d = cuda_of(device);
    if (d->is_lost) return;
    error_free(use(d));
    d->calls->cudaFreeHost(p);
}

/* One block: the numbers are few. */
static Error *cuda_gate(Device *device, RunTime *now, void *verdict, const Tensor *list, int n,
                        Stream *s)
{
    const Cuda *d = cuda_of(device);
    const Launch l = { .now = now, .stream = s, .n_in = n, .in = list };
    CHECK(n <= CALL_NUMBERS);
    TRY(use(d));
    Call c = cuda_call(&l);
    for (int k = 0; k < n; k++) c.number[k] = list[k].size[0];
    c.out[0].data = &now->is_left_out;
    c.out[1].data = verdict;
    const int status = cuda_start(&l, "gate_kernel", &c, 1, 256, 0);
    return status ? error_new("looking at the step's numbers: %s", device->describe(device, status))
                  : NULL;
}

/* What the first product will take is not free. */
static size_t cuda_free_bytes(const Device *device)
{
    const Cuda *d = cuda_of(device);
    size_t there = 0, all = 0;
    error_free(use(d));
    if (d->calls->cudaMemGetInfo(&there, &all) != cudaSuccess) return 0;
    const size_t later = d->workspace_bytes ? 0 : CUDA_WORKSPACE;
    return there > later ? there - later : 1;
}

/* Line `i` of those that have bytes. */
static size_t cuda_own_bytes(const Device *device, int i, const char **name)
{
    static const char *const what[] = { [TAKEN_CONTEXT] = "context of the GPU",
                                        [TAKEN_KERNELS] = "kernels of this program",
                                        [TAKEN_PRODUCTS] = "cuBLASLt",
                                        [TAKEN_ATTENTION] = "cuDNN",
                                        [TAKEN_OTHERS] = "other programs" };
    const Cuda *d = cuda_of(device);
    if (i == 0) {
        *name = "workspace of cuBLASLt";
        return d->workspace_bytes ? d->workspace_bytes : CUDA_WORKSPACE;
    }
    const CudaBefore *b = d->before;
    if (i <= b->n_neighbours) {
        *name = b->neighbour[i - 1].name;
        return b->neighbour[i - 1].bytes;
    }
    i -= b->n_neighbours;
    for (int k = 0; k < N_TAKEN; k++) {
        if (!d->taken[k] || --i > 0) continue;
        *name =
            k == TAKEN_CONTEXT && !b->free_bytes ? "context of the GPU, other programs" : what[k];
        return d->taken[k];
    }
    return 0;
}

/* Free bytes; 0 where they cannot be told. */
static size_t there(const Cuda *d)
{
    size_t there = 0, all;
    return d->calls->cudaMemGetInfo(&there, &all) == cudaSuccess ? there : 0;
}

static void note_taken(Cuda *d, Taken what, size_t before)
{
    const size_t after = there(d);
    d->taken[what] = before > after ? before - after : 0;
}

static void stop_cudnn(void *arg)
{
    const CudnnTarget *t = arg;
    t->calls->cudnnDestroy(t->handle);
}

/* Its libraries are large, so they are opened only where attention asks for them. */
const CudnnTarget *cuda_cudnn(Cuda *d)
{
    const char *asked = environment_get("MODALITIES_CUDNN");
    if (d->is_cudnn_sought) return d->cudnn.handle ? &d->cudnn : NULL;
    d->is_cudnn_sought = true;
    d->cudnn.calls = d->calls;
    if ((asked && !strcmp(asked, "off")) || !d->calls->cudnnCreate) return NULL;
    error_free(use(d));
    const size_t before = there(d);
    if (d->calls->cudnnCreate(&d->cudnn.handle)) {
        d->cudnn.handle = NULL;
        return NULL;
    }
    note_taken(d, TAKEN_ATTENTION, before);
    arena_on_free(d->arena, stop_cudnn, &d->cudnn);
    return &d->cudnn;
}

/* After those of the runtime and of cuBLASLt. */
enum { STATUS_OF_CUDNN = 200000 };

int cuda_cudnn_status(cudnnStatus_t status)
{
    return status ? KERNEL_OF_DEVICE + STATUS_OF_CUDNN + (int)status : KERNEL_OK;
}

static const char *cuda_describe(const Device *device, int status)
{
    Cuda *d = cuda_of(device);
    const CudaCalls *c = d->calls;
    const int of_cudnn = status - KERNEL_OF_DEVICE - STATUS_OF_CUDNN;
    if (of_cudnn > 0) return c->cudnnGetErrorString((cudnnStatus_t)of_cudnn);
    const char *text = matmul_describe(c, status);
    if (text) return text;
    const cudaError_t of_runtime = (cudaError_t)(status - KERNEL_OF_DEVICE);
    const char *advice = cuda_advice(of_runtime);
    snprintf(d->described, sizeof d->described, "%s%s%s", c->cudaGetErrorString(of_runtime),
             *advice ? "; " : "", advice);
    return d->described;
}

static void cuda_free(Device *device)
{
    Cuda *d = cuda_of(device);
    if (d->is_lost) return; /* it goes with the process */
    error_free(use(d));
    if (d->free_groups) d->free_groups(d);
    matmuls_free(d->matmuls);
    if (d->aside) d->calls->cudaStreamDestroy(d->aside);
    for (int i = 0; i < d->n_libraries; i++) d->calls->cudaLibraryUnload(d->library[i]);
    if (d->release_pool) d->release_pool(d->pool);
    arena_free(d->arena);
}

/* Now, and not when each is started first: memory of theirs is known, and no step waits. */
static Error *load_kernels(const Cuda *d, cudaLibrary_t library)
{
    const CudaCalls *c = d->calls;
    unsigned n = 0;
    TRY(cuda_error(c, c->cudaLibraryGetKernelCount(&n, library), "loading kernels"));
    cudaKernel_t *kernel = NEW_N(d->arena, cudaKernel_t, n);
    if (n)
        TRY(cuda_error(c, c->cudaLibraryEnumerateKernels(kernel, n, library), "loading kernels"));
    for (unsigned i = 0; i < n; i++) {
        struct cudaFuncAttributes facts;
        TRY(cuda_error(c, c->cudaFuncGetAttributes(&facts, (const void *)kernel[i]),
                       "loading kernels"));
    }
    return NULL;
}

static Error *load_images(Cuda *d, const void *const *images)
{
    int n = 0;
    while (images[n]) n++;
    d->library = NEW_N(d->arena, cudaLibrary_t, n);
    for (; d->n_libraries < n; d->n_libraries++) {
        TRY(cuda_error(d->calls,
                       d->calls->cudaLibraryLoadData(&d->library[d->n_libraries],
                                                     images[d->n_libraries], NULL, NULL, 0, NULL,
                                                     NULL, 0),
                       "loading kernels"));
        TRY(load_kernels(d, d->library[d->n_libraries]));
    }
    return NULL;
}

/* What is not free any more is the context's, but for what others had. */
static Error *start_context(Cuda *d)
{
    size_t there, all, named = 0;
    TRY(use(d));
    TRY(cuda_error(d->calls, d->calls->cudaMemGetInfo(&there, &all), "looking at the GPU"));
    const size_t before = d->before->free_bytes ? d->before->free_bytes : all;
    for (int k = 0; k < d->before->n_neighbours; k++) named += d->before->neighbour[k].bytes;
    d->taken[TAKEN_CONTEXT] = before > there ? before - there : 0;
    d->taken[TAKEN_OTHERS] = all > before + named ? all - before - named : 0;
    return NULL;
}

static Error *open_device(Cuda *d, const void *const *images)
{
    const CudaCalls *c = d->calls;
    TRY(cuda_error(c, c->cudaGetDeviceProperties(&d->facts, d->number), "looking at the GPU"));
    if (d->facts.major < 8)
        return error_new("%s has compute capability %d.%d; 8.0 is needed", d->facts.name,
                         d->facts.major, d->facts.minor);
    d->before = cuda_before(c, d->number, &d->facts);
    TRY(start_context(d));
    size_t before = there(d);
    TRY(load_images(d, images));
    note_taken(d, TAKEN_KERNELS, before);
    before = there(d);
    TRY(cuda_error(c, c->cudaStreamCreateWithPriority(&d->aside, cudaStreamNonBlocking, 0),
                   "making a stream"));
    TRY(matmuls_new(d, &d->matmuls));
    note_taken(d, TAKEN_PRODUCTS, before);
    return NULL;
}

Error *cuda_device_new(const CudaCalls *calls, int number, const void *const *images,
                       const struct KernelDef *const *tables, Cuda **out)
{
    Arena *a = arena_new();
    Cuda *d = NEW(a, Cuda);
    *d = (Cuda){
        .calls = calls, .arena = a, .number = number, .kernel = map_new(a), .kept = map_new(a)
    };
    d->device = (Device){
        .name = "cuda",
        .kernels = "cuda",
        .tables = tables,
        .has_epilogues = true,
        .alloc = cuda_alloc,
        .release = cuda_release,
        .copy = cuda_copy,
        .clear = cuda_clear_memory,
        .launch = cuda_launch,
        .stream_new = cuda_stream_new,
        .stream_free = cuda_stream_free,
        .mark = cuda_mark,
        .wait = cuda_wait,
        .mark_free = cuda_mark_free,
        .synchronize = cuda_synchronize,
        .reach = cuda_reach,
        .gate = cuda_gate,
        .record = cuda_record,
        .record_end = cuda_record_end,
        .replay = cuda_replay,
        .recording_free = cuda_recording_free,
        .host_alloc = cuda_host_alloc,
        .host_release = cuda_host_release,
        .free_bytes = cuda_free_bytes,
        .own_bytes = cuda_own_bytes,
        .stamp = cuda_stamp,
        .elapsed = cuda_elapsed,
        .peak_flops = cuda_peak_flops,
        .peak_bytes = cuda_peak_bytes,
        .describe = cuda_describe,
        .free = cuda_free,
    };
    Error *e = open_device(d, images);
    if (e) cuda_free(&d->device);
    *out = d;
    return e;
}
