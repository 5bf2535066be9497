/* tensor.c - sizes and global indices. */
#include "tensor/tensor.h"

int64_t tensor_volume(const Tensor *t, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) n *= t->size[d];
    return n;
}

int64_t tensor_count(const Tensor *t)
{
    return tensor_volume(t, 0, t->n_dims);
}
size_t tensor_bytes(const Tensor *t)
{
    return dtype_size(t->dtype) * (size_t)tensor_count(t);
}

int64_t global_index(const Tensor *t, int dim, int64_t i)
{
    const Part *p = t->part[dim];
    if (!p) return i;
    if (p->layout == CONTIGUOUS) return p->whole / p->n_parts * p->index + i;
    int64_t chunk = p->whole / (2 * p->n_parts);
    int64_t at = i < chunk ? p->index : 2 * p->n_parts - 1 - p->index;
    return at * chunk + i % chunk;
}

int64_t global_size(const Tensor *t, int dim)
{
    return t->part[dim] ? t->part[dim]->whole : t->size[dim];
}

int64_t local_index(const Tensor *t, int dim, int64_t i)
{
    const Part *p = t->part[dim];
    if (i < 0 || i >= global_size(t, dim)) return -1;
    if (!p) return i;
    int64_t chunk = p->layout == ZIGZAG ? p->whole / (2 * p->n_parts) : p->whole / p->n_parts;
    int64_t at = i / chunk;
    if (at == p->index) return i % chunk;
    if (p->layout == ZIGZAG && at == 2 * p->n_parts - 1 - p->index) return chunk + i % chunk;
    return -1;
}

int64_t global_element(const Tensor *t, int64_t i)
{
    int64_t element = 0, stride = 1;
    for (int d = t->n_dims - 1; d >= 0; d--) {
        element += global_index(t, d, i % t->size[d]) * stride;
        stride *= global_size(t, d);
        i /= t->size[d];
    }
    return element;
}
