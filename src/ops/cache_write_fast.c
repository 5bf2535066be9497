/* cache_write_fast.c - stores keys or values of new tokens; the cache is usually both input and
 * result, so only the new rows are touched. */
#include "ops/kernels.h"
#include <string.h>

static int write_rows(const Launch *l)
{
    const Tensor *cache = &l->in[0], *x = &l->in[1];
    char *to = l->out[0].data;
    size_t row = dtype_size(x->dtype) * (size_t)tensor_volume(x, 2, x->n_dims);
    int64_t n = x->size[1], capacity = cache->size[1];
    if (to != cache->data) memcpy(to, cache->data, tensor_bytes(cache));
    for (int64_t b = 0; b < x->size[0]; b++) {
        const int64_t at = row_position(l->now, b);
        if (at < 0 || at + n > capacity) return KERNEL_BAD_INDEX;
        memcpy(to + (size_t)(b * capacity + at) * row,
               (const char *)x->data + (size_t)(b * n) * row, (size_t)n * row);
    }
    return KERNEL_OK;
}

const KernelDef TABLE[] = {
    { "cache_write", "cpu", "f32 f32>f32", LEVEL, write_rows, NULL, NULL },
    { "cache_write", "cpu", "bf16 bf16>bf16", LEVEL, write_rows, NULL, NULL },
    { 0 },
};
