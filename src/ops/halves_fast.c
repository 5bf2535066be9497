/* halves_fast.c - f32 numbers as bf16 and what these lack, and back. */
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

static void high_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Range r = chunk(tensor_count(&l->out[0]), CHUNK, i);
    for (int64_t n, k = r.from; k < r.to; k += n) {
        n = r.to - k < LANES ? r.to - k : LANES;
        const Vec x = vec_get(F32, l->in[0].data, k, n);
        vec_put_i16((int16_t *)l->out[0].data + k, n, vec_high_half(x));
    }
}

static void join_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const Range r = chunk(tensor_count(&l->out[0]), CHUNK, i);
    for (int64_t n, k = r.from; k < r.to; k += n) {
        n = r.to - k < LANES ? r.to - k : LANES;
        vec_put(F32, l->out[0].data, k, n, vec_joined(l->in[0].data, l->in[1].data, k, n));
    }
}

static int run_high(const Launch *l)
{
    pool_run(l->stream->pool, chunk_count(tensor_count(&l->out[0]), CHUNK), high_task, (void *)l);
    return KERNEL_OK;
}

static int run_join(const Launch *l)
{
    pool_run(l->stream->pool, chunk_count(tensor_count(&l->out[0]), CHUNK), join_task, (void *)l);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "high_half", "cpu", "f32>bf16", LEVEL, run_high, NULL, NULL },
    { "join_halves", "cpu", "bf16 i16>f32", LEVEL, run_join, NULL, NULL },
    { 0 },
};
