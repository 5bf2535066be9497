/* batch.c - named arrays of samples and batches, and the memory of batches. */
#include "data/data.h"
#include <string.h>

static const Tensor *find(const Item *item, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(item[i].name, name)) return &item[i].tensor;
    return NULL;
}

const Tensor *sample_find(const Sample *s, const char *name)
{
    return find(s->item, s->n, name);
}
const Tensor *batch_find(const Batch *b, const char *name)
{
    return find(b->item, b->n, name);
}

void batch_clear(Batch *b)
{
    b->n = 0;
}

Tensor *batch_item(Batch *b, const char *name, Dtype dtype, int n_dims, const int64_t *size)
{
    CHECK(b->n < MAX_ITEMS && n_dims <= MAX_DIMS && !batch_find(b, name));
    Tensor *t = &b->item[b->n].tensor;
    void *memory = t->data;
    *t = (Tensor){ .dtype = dtype, .n_dims = n_dims };
    memcpy(t->size, size, sizeof *size * (size_t)n_dims);
    if (tensor_bytes(t) > b->n_bytes[b->n]) {
        /* Twice the old size at least: lengths that creep up must not fill the arena. */
        size_t least = 2 * b->n_bytes[b->n], needed = tensor_bytes(t);
        b->n_bytes[b->n] = needed > least ? needed : least;
        memory = arena_alloc(b->arena, b->n_bytes[b->n]);
    }
    t->data = memory;
    b->item[b->n++].name = name;
    return t;
}
