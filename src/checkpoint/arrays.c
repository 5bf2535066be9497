/* arrays.c - dataset.safetensors: samples of arrays, as images and their texts, in one file. */
#include "checkpoint/safetensors.h"
#include "config/builder.h"
#include "data/data.h"
#include <inttypes.h>
#include <string.h>

typedef struct Arrays {
    Dataset base;
    const char *path;
    const NamedTensor *array[MAX_ITEMS];
    int n;
} Arrays;

static int64_t count(const Dataset *self)
{
    return ((const Arrays *)self)->array[0]->tensor.size[0];
}

/* What a sample holds: floats of any format are F32, tokens as their datasets have them. */
static Dtype sample_dtype(Dtype t)
{
    if (dtype_is_float(t)) return F32;
    return t == U8 || t == U16 ? t : I32;
}

static Error *get(const Dataset *self, int64_t index, Arena *scratch, Sample *out)
{
    const Arrays *d = (const Arrays *)self;
    CHECK(index >= 0 && index < count(self));
    out->n = d->n;
    for (int i = 0; i < d->n; i++) {
        const Tensor *all = &d->array[i]->tensor;
        Tensor t = { .dtype = sample_dtype(all->dtype), .n_dims = all->n_dims - 1 };
        memcpy(t.size, all->size + 1, sizeof *t.size * (size_t)t.n_dims);
        const int64_t n = tensor_count(&t);
        t.data = (char *)all->data + (size_t)(index * n) * dtype_size(all->dtype);
        if (t.dtype != all->dtype) {
            const void *from = t.data;
            t.data = arena_alloc(scratch, tensor_bytes(&t));
            for (int64_t k = 0; k < n; k++) {
                const double x = dtype_get(all->dtype, from, k);
                if (t.dtype == I32 && !(x >= INT32_MIN && x <= INT32_MAX))
                    return error_new("%s: '%s' of sample %" PRId64 " has %.17g, which is no id",
                                     d->path, d->array[i]->name, index, x);
                dtype_set(t.dtype, t.data, k, x);
            }
        }
        out->item[i] = (Item){ d->array[i]->name, t };
    }
    return NULL;
}

static void describe(const Dataset *self, int64_t index, Text *out)
{
    text_printf(out, "%s: sample %" PRId64, ((const Arrays *)self)->path, index);
}

static Error *add(Arrays *d, const NamedTensor *array)
{
    const Tensor *x = &array->tensor;
    if (d->n == MAX_ITEMS)
        return error_new("%s: more than %d arrays; sample_keys chooses among them", d->path,
                         MAX_ITEMS);
    if (!x->n_dims) return error_new("%s: '%s' is one number, no array", d->path, array->name);
    if (d->n && x->size[0] != d->array[0]->tensor.size[0])
        return error_new("%s: '%s' has %" PRId64 " samples, '%s' %" PRId64, d->path,
                         d->array[0]->name, d->array[0]->tensor.size[0], array->name, x->size[0]);
    d->array[d->n++] = array;
    return NULL;
}

typedef struct Settings {
    const char *raw_data_path;
    StringList sample_keys;
} Settings;

static const NamedTensor *find(const Safetensors *f, const char *name)
{
    for (int64_t i = 0; i < f->n; i++)
        if (!strcmp(f->tensor[i].name, name)) return &f->tensor[i];
    return NULL;
}

static Error *choose(Arrays *d, const Safetensors *f, const StringList *keys)
{
    for (int64_t i = 0; !keys->n && i < f->n; i++) TRY(add(d, &f->tensor[i]));
    for (int64_t i = 0; i < keys->n; i++) {
        const NamedTensor *array = find(f, keys->item[i]);
        if (!array) return error_new("%s has no '%s'", d->path, keys->item[i]);
        TRY(add(d, array));
    }
    return d->n ? NULL : error_new("%s has no arrays", d->path);
}

static const Field fields[] = {
    FIELD_PATH(Settings, raw_data_path, NULL,
               "file of arrays, whose first sizes are the number of samples",
               .flags = FIELD_EXISTS),
    FIELD_STRINGS(Settings, sample_keys, "[]", 0, 0, "those that a sample has; []: all"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    Arena *a = builder_arena(b);
    const Settings *s = settings;
    Safetensors *f;
    Arrays *d = NEW(a, Arrays);
    TRY(safetensors_open(a, s->raw_data_path, &f));
    *d = (Arrays){ .base = { .count = count, .get = get, .describe = describe }, .path = f->path };
    TRY(choose(d, f, &s->sample_keys));
    *out = &d->base;
    return NULL;
}

const ComponentDef dataset_safetensors = {
    .kind = "dataset",
    .variant = "safetensors",
    .doc = "arrays of a safetensors file, as images and their texts",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
