/* launch.c - from a Launch to a kernel on a stream. */
#include "device/cuda/cuda.h"
#include <string.h>

enum { ELEMENT_THREADS = 256, ELEMENTS_PER_THREAD = 16, BLOCKS_PER_PROCESSOR = 16 };

CudaStream *cuda_stream_of(const Stream *s)
{
    return s->handle;
}

int cuda_status(cudaError_t status)
{
    return status == cudaSuccess ? KERNEL_OK : KERNEL_OF_DEVICE + (int)status;
}

/* The pieces of a part lie one after the other: only the first index and the first one after the
 * jump need to be known. */
static CallPart part_of(const Tensor *t, int dim)
{
    const Part *p = t->part[dim];
    const int64_t n_inner = p->n_inner > 1 ? p->n_inner : 1;
    CallPart made = { .whole = p->whole, .size = t->size[dim] };
    made.outer = (p->whole + p->n_parts - 1) / p->n_parts;
    made.shift = p->inner * ((made.outer + n_inner - 1) / n_inner);
    made.chunk = p->layout == ZIGZAG ? p->whole / (2 * p->n_parts) : made.outer;
    made.first = p->index * made.chunk;
    made.second = p->layout == ZIGZAG ? (2 * p->n_parts - 1 - p->index) * made.chunk : 0;
    return made;
}

CallTensor cuda_call_tensor(Call *c, int *part, const Tensor *t)
{
    CallTensor made = { .data = t->data, .count = 1, .dtype = t->dtype, .n_dims = t->n_dims };
    for (int d = 0; d < t->n_dims; d++) {
        made.size[d] = t->size[d];
        made.count *= t->size[d];
        made.part[d] = -1;
        if (!t->part[d]) continue;
        const CallPart p = part_of(t, d);
        int at = 0;
        while (at < *part && memcmp(&c->part[at], &p, sizeof p)) at++;
        CHECK(at < CALL_PARTS);
        if (at == *part) c->part[(*part)++] = p;
        made.part[d] = (int8_t)at;
    }
    return made;
}

Call cuda_call(const Launch *l)
{
    const CudaStream *s = cuda_stream_of(l->stream);
    Call c = { .now = l->now,
               .scratch = l->scratch,
               .fault = s->fault,
               .launch = l,
               .n_in = l->n_in,
               .n_out = l->n_out };
    int n_parts = 0;
    CHECK(l->n_in <= CALL_IN && l->n_out <= CALL_OUT);
    for (int k = 0; k < l->n_in; k++) c.in[k] = cuda_call_tensor(&c, &n_parts, &l->in[k]);
    for (int k = 0; k < l->n_out; k++) {
        c.out[k] = cuda_call_tensor(&c, &n_parts, &l->out[k]);
        c.out[k].add = launch_adds(l, k);
    }
    return c;
}

static Error *find_kernel(Cuda *d, const char *name, cudaKernel_t *out)
{
    *out = map_get(d->kernel, str_of(name));
    for (int i = 0; !*out && i < d->n_libraries; i++)
        if (d->calls->cudaLibraryGetKernel(out, d->library[i], name) != cudaSuccess) *out = NULL;
    if (!*out) return error_new("there is no kernel %s", name);
    map_set(d->kernel, str_of(name), *out);
    return NULL;
}

/* More shared memory than every GPU has must be asked for. */
static cudaError_t allow_shared(const Cuda *d, cudaKernel_t kernel, size_t bytes)
{
    enum { EVERY_GPU_HAS = 48 << 10 };
    if (bytes <= EVERY_GPU_HAS) return cudaSuccess;
    return d->calls->cudaKernelSetAttributeForDevice(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes, d->number);
}

int cuda_start(const Launch *l, const char *kernel, const Call *c, int64_t blocks, int threads,
               size_t shared)
{
    CudaStream *s = cuda_stream_of(l->stream);
    cudaKernel_t found;
    if (blocks == 0) return KERNEL_OK;
    Error *e = find_kernel(s->cuda, kernel, &found);
    CHECK(!e);
    cudaError_t status = allow_shared(s->cuda, found, shared);
    if (status != cudaSuccess) return cuda_status(status);
    void *arg[] = { (void *)c };
    const cudaLaunchConfig_t config = { .gridDim = { (unsigned)blocks, 1, 1 },
                                        .blockDim = { (unsigned)threads, 1, 1 },
                                        .dynamicSmemBytes = shared,
                                        .stream = s->queue };
    return cuda_status(s->cuda->calls->cudaLaunchKernelExC(&config, (const void *)found, arg));
}

static void take_attrs(Call *c, const Launch *l, size_t bytes)
{
    CHECK(bytes <= sizeof c->attrs);
    if (bytes) memcpy(c->attrs, l->attrs, bytes);
}

int cuda_run(const Launch *l, const char *kernel, size_t attrs_bytes, int64_t blocks, int threads)
{
    Call c = cuda_call(l);
    take_attrs(&c, l, attrs_bytes);
    return cuda_start(l, kernel, &c, blocks, threads, 0);
}

int cuda_multiprocessors(const Launch *l)
{
    return cuda_stream_of(l->stream)->cuda->facts.multiProcessorCount;
}

int64_t cuda_blocks(const Launch *l, int64_t n, int threads)
{
    const int64_t wanted = (n + threads - 1) / threads,
                  most = (int64_t)BLOCKS_PER_PROCESSOR * cuda_multiprocessors(l);
    return wanted < most ? wanted : most;
}

int cuda_run_elements(const Launch *l, const char *kernel, size_t attrs_bytes)
{
    const int64_t per_block = ELEMENT_THREADS * ELEMENTS_PER_THREAD;
    const int64_t blocks = (tensor_count(&l->out[0]) + per_block - 1) / per_block;
    return cuda_run(l, kernel, attrs_bytes, blocks, ELEMENT_THREADS);
}

int cuda_upload(const Launch *l, void *to, const void *from, size_t bytes)
{
    const CudaStream *s = cuda_stream_of(l->stream);
    return cuda_status(
        s->cuda->calls->cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, s->queue));
}

int cuda_move(const Launch *l, void *to, const void *from, size_t bytes)
{
    const CudaStream *s = cuda_stream_of(l->stream);
    return cuda_status(
        s->cuda->calls->cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s->queue));
}

int cuda_fill(const Launch *l, void *to, int byte, size_t bytes)
{
    const CudaStream *s = cuda_stream_of(l->stream);
    return cuda_status(s->cuda->calls->cudaMemsetAsync(to, byte, bytes, s->queue));
}

int cuda_clear(const Launch *l, void *to, size_t bytes)
{
    return cuda_fill(l, to, 0, bytes);
}

static bool fits(const Tensor *t)
{
    return !dtype_is_float(t->dtype) || t->dtype == F32 || t->dtype == BF16 || t->dtype == F16;
}

bool cuda_floats_fit(const Launch *l)
{
    for (int k = 0; k < l->n_in; k++)
        if (!fits(&l->in[k])) return false;
    for (int k = 0; k < l->n_out; k++)
        if (!fits(&l->out[k])) return false;
    return true;
}
