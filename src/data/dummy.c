/* dummy.c - dataset.dummy_dataset: random numbers in place of data. */
#include "base/map.h"
#include "base/rng.h"
#include "config/builder.h"
#include "data/datasets.h"
#include <string.h>

enum { INTEGERS_BELOW = 512 };

typedef struct Dummy {
    Dataset base;
    int64_t n;
    const DummyItem *item;
    int64_t n_items;
} Dummy;

static int64_t count(const Dataset *self)
{
    return ((const Dummy *)self)->n;
}

static Tensor random_tensor(Arena *scratch, const DummyItem *item, uint64_t key)
{
    Tensor t = { .dtype = item->type == DUMMY_FLOAT ? F32 : I32, .n_dims = (int)item->n_dims };
    memcpy(t.size, item->size, sizeof *item->size * (size_t)item->n_dims);
    t.data = arena_alloc(scratch, tensor_bytes(&t));
    int64_t n = tensor_count(&t);
    for (int64_t i = 0; i < n; i++) {
        if (t.dtype == F32)
            ((float *)t.data)[i] = (float)rng_normal(key, (uint64_t)i);
        else
            ((int32_t *)t.data)[i] = (int32_t)(rng_bits(key, (uint64_t)i) % INTEGERS_BELOW);
    }
    return t;
}

static Error *get(const Dataset *self, int64_t index, Arena *scratch, Sample *out)
{
    const Dummy *d = (const Dummy *)self;
    CHECK(index >= 0 && index < d->n);
    out->n = (int)d->n_items;
    for (int i = 0; i < out->n; i++) {
        const char *name = d->item[i].sample_key;
        uint64_t key = rng_key(0, RNG_DATA, (uint64_t)index, hash_bytes(name, strlen(name)));
        out->item[i] = (Item){ name, random_tensor(scratch, &d->item[i], key) };
    }
    return NULL;
}

static void describe(const Dataset *self, int64_t index, Text *out)
{
    (void)self;
    text_printf(out, "dummy dataset, sample %lld", (long long)index);
}

static Error *check_items(const DummyItem *item, int64_t n)
{
    if (n < 1 || n > MAX_ITEMS)
        return error_new("%lld entries of sample_definition, allowed are 1 to %d", (long long)n,
                         MAX_ITEMS);
    for (int64_t i = 0; i < n; i++) {
        if (item[i].n_dims > MAX_DIMS - 1)
            return error_new("sample_shape of '%s' has %lld dimensions, at most %d are allowed",
                             item[i].sample_key, (long long)item[i].n_dims, MAX_DIMS - 1);
        for (int64_t d = 0; d < item[i].n_dims; d++)
            if (item[i].size[d] < 1)
                return error_new("sample_shape of '%s' has a size of %lld, must be at least 1",
                                 item[i].sample_key, (long long)item[i].size[d]);
        for (int64_t k = 0; k < i; k++)
            if (!strcmp(item[i].sample_key, item[k].sample_key))
                return error_new("sample_key '%s' is given twice", item[i].sample_key);
    }
    return NULL;
}

Error *dummy_new(Arena *a, int64_t num_samples, const DummyItem *item, int64_t n_items,
                 Dataset **out)
{
    TRY(check_items(item, n_items));
    Dummy *d = NEW(a, Dummy);
    *d = (Dummy){ .base = { .count = count, .get = get, .describe = describe },
                  .n = num_samples,
                  .item = arena_copy(a, item, sizeof *item * (size_t)n_items),
                  .n_items = n_items };
    *out = &d->base;
    return NULL;
}

typedef struct ItemSettings {
    const char *sample_key;
    IntList sample_shape;
    int sample_type;
} ItemSettings;

typedef struct ItemList {
    ItemSettings *item;
    int64_t n;
} ItemList;

typedef struct Settings {
    int64_t num_samples;
    ItemList sample_definition;
} Settings;

static const char *const type_names[] = { "float", "int", NULL }; /* in the order of DummyType */

static const Field item_fields[] = {
    FIELD_STRING(ItemSettings, sample_key, NULL, "name of the array in a sample"),
    FIELD_INTS(ItemSettings, sample_shape, NULL, 0, 0, "its sizes"),
    FIELD_CHOICE(ItemSettings, sample_type, NULL, type_names,
                 "normally distributed floats, or integers below 512"),
    { 0 },
};

static const Field fields[] = {
    FIELD_INT(Settings, num_samples, NULL, 0, 0, "number of samples"),
    FIELD_STRUCTS(Settings, sample_definition, ItemList, item_fields, NULL, 0, 0,
                  "the arrays of a sample"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    int64_t n = s->sample_definition.n;
    if (s->num_samples < 0) return error_new("num_samples is %lld", (long long)s->num_samples);
    DummyItem *item = NEW_N(builder_arena(b), DummyItem, n);
    for (int64_t i = 0; i < n; i++) {
        const ItemSettings *from = &s->sample_definition.item[i];
        item[i] = (DummyItem){ .sample_key = from->sample_key,
                               .size = from->sample_shape.item,
                               .n_dims = from->sample_shape.n,
                               .type = (DummyType)from->sample_type };
    }
    return dummy_new(builder_arena(b), s->num_samples, item, n, (Dataset **)out);
}

const ComponentDef dataset_dummy_dataset = {
    .kind = "dataset",
    .variant = "dummy_dataset",
    .doc = "random numbers in place of data",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
