/* compress_cuda.c - starts the kernels of compress.cu. */
#include "device/cuda/cuda.h"
#include "ops/compress.h"
#include "ops/kernels.h"
#include <string.h>

static Call call_of(const Launch *l)
{
    Call c = cuda_call(l);
    memcpy(c.attrs, l->attrs, sizeof(Compress));
    return c;
}

static int start(const Launch *l, Call *c, const char *kernel, int64_t n)
{
    return cuda_start(l, kernel, c, cuda_blocks(l, n, 256), 256, 0);
}

static int run_forward(const Launch *l)
{
    Call c = call_of(l);
    return start(l, &c, "compress_kernel", tensor_count(&l->out[0]));
}

static int run_grad(const Launch *l)
{
    Call c = call_of(l);
    const int status = start(l, &c, "compress_grad_kernel", tensor_count(&l->in[3]));
    return status ? status : start(l, &c, "compress_bias_kernel", tensor_count(&l->out[2]));
}

static int run_cached(const Launch *l)
{
    Call c = call_of(l);
    const int status = start(l, &c, "compress_cached_kernel", tensor_count(&l->out[2]));
    const int64_t columns = 2 * l->in[0].size[0] * l->in[2].size[2];
    return status ? status : start(l, &c, "compress_tail_kernel", columns);
}

static int run_ended(const Launch *l)
{
    return cuda_run(l, "ended_windows_kernel", sizeof(EndedWindows),
                    cuda_blocks(l, tensor_count(&l->out[0]), 256), 256);
}

const KernelDef compress_cuda[] = {
    { "compress", "cuda", "any any any>any", CPU_SCALAR, run_forward, NULL, cuda_floats_fit },
    { "compress_grad", "cuda", "any any any any>any any any", CPU_SCALAR, run_grad, NULL,
      cuda_floats_fit },
    { "compress_cached", "cuda", "any any any any any>any any any", CPU_SCALAR, run_cached, NULL,
      cuda_floats_fit },
    { "ended_windows", "cuda", "any any>i32", CPU_SCALAR, run_ended, NULL, cuda_floats_fit },
    { 0 },
};
