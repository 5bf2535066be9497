/* qk_clip_fast.c - rows of weights times their factors, in one pass over memory. */
#include "ops/kernels.h"
#include "ops/qk_clip.h"
#include "ops/vector/chunks.h"

enum { ROWS = 16 }; /* of a task */

static void scale_task(void *arg, int64_t i, int thread)
{
    (void)thread;
    const Launch *l = arg;
    const int64_t n_rows = l->in[1].size[0], width = tensor_count(&l->in[0]) / n_rows;
    const float *factor = l->in[1].data;
    const Range r = chunk(n_rows, ROWS, i);
    for (int64_t row = r.from; row < r.to; row++)
        for (int64_t k = 0; k < width; k += LANES) {
            const int64_t n = width - k < LANES ? width - k : LANES, at = row * width + k;
            vec_put(F32, l->out[0].data, at, n,
                    vec_get(F32, l->in[0].data, at, n) * vec_set(factor[row]));
        }
}

static int run_scale(const Launch *l)
{
    pool_run(l->stream->pool, chunk_count(l->in[1].size[0], ROWS), scale_task, (void *)l);
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "scale_param_rows", "cpu", "f32 f32>f32", LEVEL, run_scale, NULL, NULL },
    { 0 },
};
