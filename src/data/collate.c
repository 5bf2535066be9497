/* collate.c - stacks the arrays of samples. */
#include "data/collate.h"
#include <string.h>

/* What the elements become in a batch: tokens of any size are I32. */
static Dtype batch_dtype(Dtype t)
{
    return t == U8 || t == U16 ? I32 : t;
}

static bool same_shape(const Tensor *x, const Tensor *y)
{
    return batch_dtype(x->dtype) == batch_dtype(y->dtype) && x->n_dims == y->n_dims &&
           !memcmp(x->size, y->size, sizeof x->size[0] * (size_t)x->n_dims);
}

static void add_shape(Text *t, const Tensor *x)
{
    text_printf(t, "%s [", dtype_name(x->dtype));
    for (int d = 0; d < x->n_dims; d++)
        text_printf(t, d ? ", %lld" : "%lld", (long long)x->size[d]);
    text_putc(t, ']');
}

static Error *differs(const char *name, int64_t i, const Tensor *first, const Tensor *other)
{
    Text t = { 0 };
    add_shape(&t, first);
    text_puts(&t, " and ");
    add_shape(&t, other);
    Error *e = error_new("'%s' of samples 0 and %lld of a batch differ in shape: %s", name,
                         (long long)i, t.ptr);
    text_free(&t);
    return e;
}

static Error *lacks(const Sample *s, const char *name)
{
    Text t = { 0 };
    for (int i = 0; i < s->n; i++) text_printf(&t, i ? ", '%s'" : "'%s'", s->item[i].name);
    Error *e = error_new("the samples have no '%s', only %s", name, t.len ? t.ptr : "nothing");
    text_free(&t);
    return e;
}

/* Copies n elements from place `from`; tokens of any size become I32. */
static void copy_elements(const Tensor *x, int64_t from, int64_t n, Tensor *to, int64_t at)
{
    int32_t *out = (int32_t *)to->data + at;
    const uint8_t *u8 = x->data;
    const uint16_t *u16 = x->data;
    switch (x->dtype) {
    case U8:
        for (int64_t i = 0; i < n; i++) out[i] = u8[from + i];
        break;
    case U16:
        for (int64_t i = 0; i < n; i++) out[i] = u16[from + i];
        break;
    default: {
        size_t bytes = dtype_size(x->dtype);
        memcpy((char *)to->data + (size_t)at * bytes, (const char *)x->data + (size_t)from * bytes,
               (size_t)n * bytes);
    }
    }
}

Error *collate_stack(const Sample *sample, int64_t n, const char *from_name, const char *to_name,
                     int64_t skip, int64_t drop, Batch *out)
{
    const Tensor *first = sample_find(&sample[0], from_name);
    if (!first) return lacks(&sample[0], from_name);
    if (first->n_dims >= MAX_DIMS) return error_new("'%s' has too many dimensions", from_name);
    if (skip + drop && (first->n_dims != 1 || first->size[0] <= skip + drop))
        return error_new("'%s' must be a list of at least %lld tokens", from_name,
                         (long long)skip + drop + 1);
    int64_t size[MAX_DIMS] = { n };
    memcpy(size + 1, first->size, sizeof *size * (size_t)first->n_dims);
    size[1] -= skip + drop;
    Tensor *to = batch_item(out, to_name, batch_dtype(first->dtype), first->n_dims + 1, size);
    int64_t n_each = tensor_count(to) / n;
    for (int64_t i = 0; i < n; i++) {
        const Tensor *x = sample_find(&sample[i], from_name);
        if (!x) return lacks(&sample[i], from_name);
        if (!same_shape(first, x)) return differs(from_name, i, first, x);
        copy_elements(x, skip, n_each, to, i * n_each);
    }
    return NULL;
}

static Error *stack_all(const Collator *self, const Sample *sample, int64_t n, Batch *out)
{
    (void)self;
    for (int i = 0; i < sample[0].n; i++) {
        const char *name = sample[0].item[i].name;
        TRY(collate_stack(sample, n, name, name, 0, 0, out));
    }
    return NULL;
}

const Collator collate_all = { .collate = stack_all };
