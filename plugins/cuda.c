/* cuda.c - what brings GPUs to the program: a library that it opens when it runs.
 *
 * Exports one table (device/cuda_library.h); everything else in here stays its own. */
#include "device/cuda/cuda.h"
#include "comm/cuda/nccl.h"
#include "device/cuda/matmul.h"
#include "device/cuda_library.h"
#include "graph/op.h"
#include "ops/kernels.h"
#include <cublasLt.h>
#include <stdio.h>
#include <string.h>

/* Images of the kernels in *.cu, which the build puts together; end with NULL. */
extern const void *const cuda_images[];
extern const KernelDef *const all_cuda_kernels[];

static void say(char *to, size_t size, Error *e)
{
    if (e) snprintf(to, size, "%s", error_text(e));
    error_free(e);
}

static void describe_gpu(const CudaCalls *c, int number, Gpu *out)
{
    struct cudaDeviceProp facts;
    Error *e = cuda_error(c, c->cudaGetDeviceProperties(&facts, number), "looking at it");
    if (!e) {
        snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, facts.name);
        out->major = facts.major;
        out->minor = facts.minor;
        out->n_multiprocessors = facts.multiProcessorCount;
        if (facts.major < 8)
            e = error_new("compute capability %d.%d; 8.0 is needed", facts.major, facts.minor);
    }
    if (!e) cuda_before(c, number, &facts);
    if (!e) e = cuda_error(c, c->cudaSetDevice(number), "using it");
    if (!e) e = cuda_error(c, c->cudaMemGetInfo(&out->free_bytes, &out->bytes), "using it");
    say(out->problem, sizeof out->problem, e);
}

static void describe_nccl(GpuReport *out)
{
    const CudaCalls *c;
    int nccl = 0;
    const size_t n = strlen(out->versions);
    Error *e = nccl_calls_get(&c);
    if (!e && c->ncclGetVersion && c->ncclGetVersion(&nccl) == ncclSuccess)
        snprintf(out->versions + n, sizeof out->versions - n, ", NCCL %d.%d.%d", nccl / 10000,
                 nccl / 100 % 100, nccl % 100);
    error_free(e);
}

static void describe_versions(const CudaCalls *c, GpuReport *out)
{
    int driver = 0, runtime = 0;
    const size_t products = c->cublasLtGetVersion();
    c->cudaDriverGetVersion(&driver);
    c->cudaRuntimeGetVersion(&runtime);
    const char *const text = driver ? "driver for CUDA %d.%d, " : "no driver, ";
    size_t n = (size_t)snprintf(out->versions, sizeof out->versions, text, driver / 1000,
                                driver % 1000 / 10);
    snprintf(out->versions + n, sizeof out->versions - n, "runtime %d.%d, cuBLASLt %zu.%zu.%zu",
             runtime / 1000, runtime % 1000 / 10, products / 10000, products / 100 % 100,
             products % 100);
    n = strlen(out->versions);
    const size_t cudnn = c->cudnnGetVersion ? c->cudnnGetVersion() : 0;
    if (cudnn)
        snprintf(out->versions + n, sizeof out->versions - n, ", cuDNN %zu.%zu.%zu", cudnn / 10000,
                 cudnn / 100 % 100, cudnn % 100);
    if (out->is_full) describe_nccl(out);
}

static Error *count_gpus(const CudaCalls *c, int *out)
{
    *out = 0;
    TRY(cuda_error(c, c->cudaGetDeviceCount(out), "looking for GPUs"));
    return *out ? NULL : error_new("there is no GPU that CUDA_VISIBLE_DEVICES shows");
}

static void report(GpuReport *out)
{
    const CudaCalls *c;
    *out = (GpuReport){ .is_full = out->is_full };
    Error *e = cuda_calls_get(&c);
    if (!e) {
        describe_versions(c, out);
        e = count_gpus(c, &out->n);
    }
    if (out->n > MAX_GPUS) out->n = MAX_GPUS;
    for (int i = 0; i < out->n; i++) describe_gpu(c, i, &out->gpu[i]);
    say(out->problem, sizeof out->problem, e);
}

static const char *op_name(const Launch *l)
{
    return l->op->name;
}

static Error *open_gpu(int number, const GpuFreedom *freedom, struct Pool *pool,
                       void (*release)(struct Pool *pool), Device **out)
{
    const CudaCalls *c;
    int n;
    Cuda *made;
    TRY(cuda_calls_get(&c));
    TRY(count_gpus(c, &n));
    if (number >= n)
        return error_usage("there %s %d GPU%s, the first of which is number 0, and number %d is "
                           "asked for",
                           n == 1 ? "is" : "are", n, n == 1 ? "" : "s", number);
    TRY(cuda_device_new(c, number, cuda_images, all_cuda_kernels, &made));
    made->pool = pool;
    made->any_order = freedom->any_order;
    made->tf32 = freedom->tf32;
    made->longest = freedom->longest;
    made->release_pool = release;
    made->op_name = op_name;
    nccl_offer(made);
    if (freedom->cache) matmuls_use_cache(made->matmuls, freedom->cache, freedom->tell);
    Error *e = freedom->record ? matmuls_keep_record(made->matmuls, freedom->record) : NULL;
    if (!e) *out = &made->device;
    if (!e) return NULL;
    made->release_pool = NULL; /* it stays the caller's */
    made->device.free(&made->device);
    return e;
}

__attribute__((visibility("default"))) extern const CudaLibrary modalities_cuda;
const CudaLibrary modalities_cuda = {
    .version = CUDA_LIBRARY_VERSION,
    .device_bytes = sizeof(Device),
    .launch_bytes = sizeof(Launch),
    .report = report,
    .open = open_gpu,
};
