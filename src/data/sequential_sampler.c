/* sequential_sampler.c - every sample in order, the same on all ranks. */
#include "config/builder.h"
#include "data/sampler.h"

typedef struct Sequential {
    Sampler base;
    int64_t n;
} Sequential;

static int64_t count(const Sampler *self)
{
    return ((const Sequential *)self)->n;
}

static int64_t index_at(const Sampler *self, int64_t position)
{
    (void)self;
    return position;
}

Sampler *sequential_sampler_new(Arena *a, int64_t n)
{
    Sequential *s = NEW(a, Sequential);
    *s = (Sequential){ .base = { .count = count, .index = index_at }, .n = n };
    return &s->base;
}

typedef struct Settings {
    Dataset *data_source;
} Settings;

static const Field fields[] = {
    FIELD_COMPONENT(Settings, data_source, Dataset, "dataset", NULL, "the samples"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    *out = sequential_sampler_new(builder_arena(b), s->data_source->count(s->data_source));
    return NULL;
}

const ComponentDef sampler_sequential_sampler = {
    .kind = "sampler",
    .variant = "sequential_sampler",
    .doc = "all samples in order, the same on every rank",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
