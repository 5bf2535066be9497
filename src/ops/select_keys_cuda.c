/* select_keys_cuda.c - starts the kernel of select_keys.cu. */
#include "device/cuda/cuda.h"
#include "ops/kernels.h"
#include "ops/select_keys.h"
#include <string.h>

enum { THREADS = 256, ROOM = 256 << 20 }; /* ROOM: bytes for scores at a time */

static int64_t all_queries(const Launch *l)
{
    return tensor_volume(&l->in[0], 0, 2);
}

static int64_t bytes_of_query(const Launch *l)
{
    return (int64_t)sizeof(uint32_t) * l->in[1].size[1];
}

static int64_t queries_at_once(const Launch *l)
{
    const int64_t most = ROOM / bytes_of_query(l), all = all_queries(l);
    return most < 1 ? 1 : most < all ? most : all;
}

static int run(const Launch *l)
{
    Call c = cuda_call(l);
    memcpy(c.attrs, l->attrs, sizeof(SelectKeys));
    const int64_t all = all_queries(l), n = queries_at_once(l);
    int status = KERNEL_OK;
    for (int64_t first = 0; first < all && !status; first += n) {
        c.number[0] = first;
        status =
            cuda_start(l, "select_keys_kernel", &c, all - first < n ? all - first : n, THREADS, 0);
    }
    return status;
}

static size_t scratch(const Launch *l, int n_threads)
{
    (void)n_threads;
    return (size_t)(queries_at_once(l) * bytes_of_query(l));
}

const KernelDef select_keys_cuda[] = {
    { "select_keys", "cuda", "any any any>i32", KERNEL_PLAIN, run, scratch, cuda_floats_fit },
    { "select_keys", "cuda", "any any any i32 i32>i32", KERNEL_PLAIN, run, scratch,
      cuda_floats_fit },
    { 0 },
};
