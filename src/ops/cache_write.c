/* cache_write.c - stores keys or values of new tokens after those of earlier ones. */
#include "ops/cache_write.h"
#include <string.h>

static const OpDef op_cache_write, op_cache_write_windows;

static const Field windows_attrs[] = {
    FIELD_INT(CacheWindows, rate, NULL, 0, 0, "tokens of a window"),
    { 0 },
};

Value *cache_write(Graph *g, Value *cache, Value *x)
{
    Value *in[] = { cache, x };
    graph_add_into(g, &op_cache_write, op_cache_write.dims, NULL, NULL, 2, in, 1, &cache);
    return cache;
}

Value *cache_write_windows(Graph *g, Value *cache, Value *x, int64_t rate)
{
    Value *in[] = { cache, x };
    graph_add_into(g, &op_cache_write_windows, op_cache_write.dims, NULL, &(CacheWindows){ rate },
                   2, in, 1, &cache);
    return cache;
}

static int windows_reference(const Launch *l)
{
    const Tensor *cache = &l->in[0], *x = &l->in[1];
    const int64_t row = tensor_volume(x, 2, x->n_dims), n = x->size[1], cap = cache->size[1],
                  rate = ((const CacheWindows *)l->attrs)->rate;
    double *to = l->out[0].data;
    if (to != cache->data) memcpy(to, cache->data, tensor_bytes(cache));
    for (int64_t b = 0; b < x->size[0]; b++) {
        const int64_t at = row_position(l->now, b) / rate, kept = at + n < cap ? n : cap - at;
        if (at < 0 || at >= cap) return KERNEL_BAD_INDEX;
        memcpy(to + (b * cap + at) * row, (const double *)x->data + b * n * row,
               sizeof *to * (size_t)(kept * row));
    }
    return KERNEL_OK;
}

/* The cache is input and result, which may or may not share memory. */
static int reference(const Launch *l)
{
    const Tensor *cache = &l->in[0], *x = &l->in[1];
    double *to = l->out[0].data;
    int64_t row = tensor_volume(x, 2, x->n_dims), n = x->size[1], cap = cache->size[1];
    if (to != cache->data) memcpy(to, cache->data, tensor_bytes(cache));
    for (int64_t b = 0; b < x->size[0]; b++) {
        const int64_t at = row_position(l->now, b);
        if (at < 0 || at + n > cap) return KERNEL_BAD_INDEX;
        memcpy(to + (b * cap + at) * row, (const double *)x->data + b * n * row,
               sizeof *to * (size_t)(n * row));
    }
    return KERNEL_OK;
}

static const OpDef op_cache_write = {
    .name = "cache_write",
    .doc = "writes x into rows of a cache, from RunTime.position on",
    .dims = "bt!*,bs!*->bt*",
    .reference = reference,
};

static const OpDef op_cache_write_windows = {
    .name = "cache_write_windows",
    .doc = "writes windows of tokens into rows of a cache, from that of RunTime.position on",
    .dims = "bt!*,bs!*->bt*",
    .attrs = windows_attrs,
    .attrs_size = sizeof(CacheWindows),
    .reference = windows_reference,
};

const OpDef *const cache_write_ops[] = { &op_cache_write, &op_cache_write_windows, NULL };
