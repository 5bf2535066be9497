/* average_fast.c - averages in one pass over memory. */
#include "ops/average.h"
#include "ops/kernels.h"
#include "ops/vector/chunks.h"

static void average_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const double decay = l->now->updates ? ((const AverageDecay *)l->attrs)->decay : 0;
    const Vec keep = vec_set((float)decay), rest = vec_set((float)(1 - decay));
    const Range r = chunk(tensor_count(&l->in[0]), CHUNK, i);
    for (int64_t k = r.from; k < r.to; k += LANES) {
        const int64_t n = r.to - k < LANES ? r.to - k : LANES;
        const Vec x = vec_get(F32, l->in[0].data, k, n), old = vec_get(F32, l->in[1].data, k, n);
        vec_put(F32, l->out[0].data, k, n, vec_fma(old, keep, x * rest));
    }
}

static int run_average(const Launch *l)
{
    const int64_t n = chunk_count(tensor_count(&l->in[0]), CHUNK);
    pool_run(l->stream->pool, n, average_task, (void *)l);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "average", "cpu", "f32 f32>f32", LEVEL, run_average, NULL, NULL },
    { 0 },
};
