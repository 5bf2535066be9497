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

static int64_t inner_parts(const Part *p)
{
    return p->n_inner > 1 ? p->n_inner : 1;
}

/* The sizes, padding included, of each outer part, and of each part of those. */
static int64_t outer_size(const Part *p)
{
    return (p->whole + p->n_parts - 1) / p->n_parts;
}

static int64_t inner_size(const Part *p)
{
    return (outer_size(p) + inner_parts(p) - 1) / inner_parts(p);
}

/* A zig-zag part is two chunks one after the other, from both ends; inner parts cut through them.
 */
int64_t global_index(const Tensor *t, int dim, int64_t i)
{
    const Part *p = t->part[dim];
    if (!p) return i;
    int64_t outer = outer_size(p), at = p->inner * inner_size(p) + i;
    if (at >= outer) return p->whole; /* padding of an inner part */
    if (p->layout == CONTIGUOUS) return p->index * outer + at;
    int64_t chunk = p->whole / (2 * p->n_parts);
    int64_t place = at < chunk ? p->index : 2 * p->n_parts - 1 - p->index;
    return place * chunk + at % chunk;
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
    int64_t outer = outer_size(p), size = inner_size(p), at = i - p->index * outer;
    if (p->layout == ZIGZAG) {
        int64_t chunk = p->whole / (2 * p->n_parts), place = i / chunk;
        bool is_first = place == p->index, is_second = place == 2 * p->n_parts - 1 - p->index;
        at = is_first ? i % chunk : is_second ? chunk + i % chunk : -1;
    }
    if (at < 0 || at >= outer) return -1;
    at -= p->inner * size;
    return at >= 0 && at < size ? at : -1;
}

int64_t global_element(const Tensor *t, int64_t i)
{
    int64_t element = 0, stride = 1;
    for (int d = t->n_dims - 1; d >= 0; d--) {
        int64_t at = global_index(t, d, i % t->size[d]);
        if (at >= global_size(t, d)) return -1;
        element += at * stride;
        stride *= global_size(t, d);
        i /= t->size[d];
    }
    return element;
}
