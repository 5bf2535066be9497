/* combined.c - dataset.combined: several datasets, one after the other. */
#include "config/builder.h"
#include "data/datasets.h"

typedef struct Combined {
    Dataset base;
    Dataset **dataset;
    int64_t *end; /* of each dataset in the common numbering */
    int64_t n;
} Combined;

static int64_t count(const Dataset *self)
{
    const Combined *c = (const Combined *)self;
    return c->n ? c->end[c->n - 1] : 0;
}

/* The dataset that holds sample `index`, which becomes its number there. */
static const Dataset *member(const Combined *c, int64_t *index)
{
    CHECK(*index >= 0 && *index < count(&c->base));
    int64_t low = 0, high = c->n - 1; /* the first whose end lies after it */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (c->end[middle] > *index)
            high = middle;
        else
            low = middle + 1;
    }
    if (low > 0) *index -= c->end[low - 1];
    return c->dataset[low];
}

static Error *get(const Dataset *self, int64_t index, Arena *scratch, Sample *out)
{
    const Dataset *d = member((const Combined *)self, &index);
    return d->get(d, index, scratch, out);
}

static void describe(const Dataset *self, int64_t index, Text *out)
{
    const Dataset *d = member((const Combined *)self, &index);
    d->describe(d, index, out);
}

static SamplePlace locate(const Dataset *self, int64_t index)
{
    const Dataset *d = member((const Combined *)self, &index);
    return d->locate ? d->locate(d, index) : (SamplePlace){ 0 };
}

Dataset *combined_new(Arena *a, Dataset *const *dataset, int64_t n)
{
    Combined *c = NEW(a, Combined);
    *c = (Combined){ .base = { .count = count, .get = get, .describe = describe, .locate = locate },
                     .dataset = NEW_N(a, Dataset *, n),
                     .end = NEW_N(a, int64_t, n),
                     .n = n };
    for (int64_t i = 0, end = 0; i < n; i++) {
        c->dataset[i] = dataset[i];
        c->end[i] = end += dataset[i]->count(dataset[i]);
    }
    return &c->base;
}

typedef struct Settings {
    ComponentList datasets;
} Settings;

static const Field fields[] = {
    FIELD_COMPONENTS(Settings, datasets, "dataset", NULL, 1, INFINITY,
                     "in the order of their samples"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    *out = combined_new(builder_arena(b), (Dataset *const *)s->datasets.item, s->datasets.n);
    return NULL;
}

const ComponentDef dataset_combined = {
    .kind = "dataset",
    .variant = "combined",
    .doc = "the samples of several datasets, one dataset after the other",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
