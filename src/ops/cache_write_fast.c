/* cache_write_fast.c - stores keys or values of new tokens; the cache is usually both input and
 * result, so only the new rows are touched. */
#include "base/thread.h"
#include "ops/cache_write.h"
#include "ops/kernels.h"
#include <string.h>

typedef struct Rows {
    const Launch *l;
    size_t row; /* bytes */
    int64_t n, capacity;
    int64_t rate; /* tokens of a row */
} Rows;

/* How many rows of a text fit from row `at` on. */
static int64_t rows_that_fit(const Rows *r, int64_t at)
{
    return at + r->n < r->capacity ? r->n : r->capacity - at;
}

static void write_batch(void *arg, int64_t b, int thread)
{
    (void)thread;
    const Rows *r = arg;
    const int64_t at = row_position(r->l->now, b) / r->rate;
    memcpy((char *)r->l->out[0].data + (size_t)(b * r->capacity + at) * r->row,
           (const char *)r->l->in[1].data + (size_t)(b * r->n) * r->row,
           (size_t)rows_that_fit(r, at) * r->row);
}

static int write_at(const Launch *l, int64_t rate)
{
    const Tensor *cache = &l->in[0], *x = &l->in[1];
    Rows r = { l, dtype_size(x->dtype) * (size_t)tensor_volume(x, 2, x->n_dims), x->size[1],
               cache->size[1], rate };
    if (l->out[0].data != cache->data) memcpy(l->out[0].data, cache->data, tensor_bytes(cache));
    for (int64_t b = 0; b < x->size[0]; b++) {
        const int64_t at = row_position(l->now, b) / rate, least = rate > 1 ? 1 : r.n;
        if (at < 0 || at + least > r.capacity) return KERNEL_BAD_INDEX;
    }
    pool_run(l->stream->pool, x->size[0], write_batch, &r);
    return KERNEL_OK;
}

static int write_rows(const Launch *l)
{
    return write_at(l, 1);
}

static int write_windows(const Launch *l)
{
    return write_at(l, ((const CacheWindows *)l->attrs)->rate);
}

const KernelDef TABLE[] = {
    { "cache_write_windows", "cpu", "f32 f32>f32", LEVEL, write_windows, NULL, NULL },
    { "cache_write_windows", "cpu", "bf16 bf16>bf16", LEVEL, write_windows, NULL, NULL },
    { "cache_write", "cpu", "f32 f32>f32", LEVEL, write_rows, NULL, NULL },
    { "cache_write", "cpu", "bf16 bf16>bf16", LEVEL, write_rows, NULL, NULL },
    { 0 },
};
