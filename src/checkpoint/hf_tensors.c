/* hf_tensors.c - the way of hf_weights.c back: rows of parameters into the tensors that hold them.
 */
#include "checkpoint/hf_tensors.h"
#include <string.h>

typedef struct Made {
    Arena *arena;
    Map *by_name; /* to index + 1 */
    NamedTensor *item;
    int64_t n, cap;
} Made;

static Tensor *tensor_named(Made *m, const char *name, const HfSource *s, Dtype dtype)
{
    intptr_t i = (intptr_t)map_get(m->by_name, str_of(name));
    if (i) return &m->item[i - 1].tensor;
    Tensor t = { .dtype = dtype, .n_dims = s->n_dims };
    memcpy(t.size, s->size, sizeof t.size);
    t.data = arena_alloc(m->arena, tensor_bytes(&t));
    m->item = arena_grow(m->arena, m->item, m->n, &m->cap, sizeof *m->item);
    m->item[m->n++] = (NamedTensor){ name, t };
    map_set(m->by_name, str_of(name), (void *)(intptr_t)m->n);
    return &m->item[m->n - 1].tensor;
}

/* Part e of the parameter, an expert or the rows of a head, into its place. */
static void put(const Tensor *from, int64_t e, const HfSource *s, Tensor *to)
{
    const int last = from->n_dims - 1;
    const int64_t columns = last > 0 ? from->size[last] : 1,
                  rows = s->part_rows ? s->part_rows : from->size[last > 0 ? last - 1 : 0];
    const size_t each = dtype_size(from->dtype);
    const char *in = (const char *)from->data + (size_t)(e * rows * columns) * each;
    for (int64_t r = 0; r < rows; r++, in += (size_t)columns * each) {
        char *at = (char *)to->data + (size_t)(e * s->part_stride + hf_source_row(s, r)) * each;
        const bool in_order = s->column_stride == 1 && !s->of_columns;
        for (int64_t c = 0; !in_order && c < columns; c++)
            memcpy(at + (size_t)hf_source_column(s, c) * each, in + (size_t)c * each, each);
        if (in_order) memcpy(at, in, (size_t)columns * each);
    }
}

static const NamedTensor *made(const Made *m, const char *name)
{
    const intptr_t i = (intptr_t)map_get(m->by_name, str_of(name));
    return i ? &m->item[i - 1] : NULL;
}

/* Embedding and head again, for each block that predicts a later token. */
static void share_ahead(Made *m, const HfFamily *f, const Decoder *d)
{
    const char *why;
    const int64_t n = hf_takes_ahead(f, d, &why) ? d->multi_token->depth : 0;
    for (int64_t i = d->n_layer; i < d->n_layer + n; i++) {
        const char *block = arena_printf(m->arena, "model.layers.%lld", (long long)i);
        if (!made(m, arena_printf(m->arena, "%s.eh_proj.weight", block))) continue;
        for (const HfShared *s = hf_shared; s->copy; s++) {
            const NamedTensor *own = made(m, d->is_tied ? hf_shared->tensor : s->tensor);
            const char *name = arena_printf(m->arena, "%s.%s", block, s->copy);
            if (!own) continue;
            const Tensor t = own->tensor;
            m->item = arena_grow(m->arena, m->item, m->n, &m->cap, sizeof *m->item);
            m->item[m->n++] = (NamedTensor){ name, t };
        }
    }
}

Error *hf_tensors(Arena *a, const HfFamily *f, const Decoder *d, const NamedTensor *param,
                  int64_t n, NamedTensor **out, int64_t *n_out)
{
    Made m = { .arena = a, .by_name = map_new(a) };
    for (int64_t i = 0; i < n; i++) {
        const Tensor *t = &param[i].tensor;
        HfSource s;
        TRY(hf_source(a, f, d, param[i].name, t->n_dims, t->size, &s));
        const int64_t n_parts = t->n_dims > 2 ? t->size[0] : s.n_tensors;
        for (int64_t e = 0; e < n_parts; e++)
            put(t, e, &s, tensor_named(&m, s.tensor[s.part_stride ? 0 : e], &s, t->dtype));
        for (int64_t e = s.n_tensors; e < s.n_tensors + s.n_zeros; e++)
            tensor_named(&m, s.tensor[e], &s, t->dtype);
    }
    for (const HfConstant *c = hf_constants(f, d); n && c->name; c++)
        for (int64_t i = 0; i < d->n_layer; i++) {
            const HfSource scalar = { .n_dims = 0 };
            Tensor *t = tensor_named(&m, hf_constant_name(a, c, i), &scalar, param[0].tensor.dtype);
            dtype_set(t->dtype, t->data, 0, c->value);
        }
    share_ahead(&m, f, d);
    *out = m.item;
    *n_out = m.n;
    return NULL;
}
