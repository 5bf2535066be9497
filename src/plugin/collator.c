/* collator.c - a plugin's collator: samples of token ids to a batch. */
#include "data/data.h"
#include "plugin/parts.h"

typedef struct PluginCollator {
    ComponentDef component;
    const ModalitiesCollator *from;
} PluginCollator;

typedef struct Made {
    Collator base;
    const ModalitiesCollator *from;
    const void *settings;
} Made;

struct ModalitiesSamples {
    const Sample *sample;
    int64_t n;
    Arena *scratch;
};

struct ModalitiesBatch {
    Batch *batch;
    const char *refused; /* the item that could not be added, or NULL */
};

const int32_t *modalities_sample(const ModalitiesSamples *samples, int64_t i, const char *name,
                                 int64_t *n)
{
    const Tensor *t = i >= 0 && i < samples->n ? sample_find(&samples->sample[i], name) : NULL;
    *n = t ? tensor_count(t) : 0;
    if (!t || dtype_is_float(t->dtype)) return NULL;
    if (t->dtype == I32) return t->data;
    int32_t *ids = NEW_N(samples->scratch, int32_t, *n + 1);
    dtype_convert(I32, ids, t->dtype, t->data, *n);
    return ids;
}

int32_t *modalities_batch(ModalitiesBatch *batch, const char *name, int64_t rows, int64_t columns)
{
    const int64_t size[] = { rows, columns };
    bool is_new = batch->batch->n < MAX_ITEMS && !batch_find(batch->batch, name);
    if (is_new && rows > 0 && columns > 0)
        return batch_item(batch->batch, name, I32, 2, size)->data;
    batch->refused = name;
    return NULL;
}

static Error *collate(const Collator *self, const Sample *sample, int64_t n, Batch *out)
{
    const Made *m = (const Made *)self;
    Arena *scratch = arena_new();
    const ModalitiesSamples samples = { sample, n, scratch };
    ModalitiesBatch batch = { out, NULL };
    const char *wrong = m->from->collate(m->settings, &samples, n, &batch);
    Error *e = NULL;
    if (wrong)
        e = error_new("collate_fn.%s: %s", m->from->variant, wrong);
    else if (batch.refused)
        e = error_new(
            "collate_fn.%s: no item \"%s\" could be added to the batch; allowed: %d items "
            "of different names that are not empty",
            m->from->variant, batch.refused, MAX_ITEMS);
    arena_free(scratch);
    return e;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    Made *m = NEW(builder_arena(b), Made);
    *m = (Made){ .base = { .collate = collate },
                 .from = ((const PluginCollator *)builder_self(b)->def)->from,
                 .settings = plugin_settings(settings) };
    *out = m;
    return NULL;
}

Error *plugin_collator(Arena *a, const ModalitiesCollator *from, const ComponentDef **out)
{
    if (!from->variant || !from->collate) return error_new("a collator needs variant and collate");
    PluginCollator *c = NEW(a, PluginCollator);
    const ComponentDef self = {
        .kind = "collate_fn", .variant = from->variant, .doc = from->doc, .build = build
    };
    TRY(plugin_component(a, self, from->settings, from->settings_size, &c->component));
    c->from = from;
    *out = &c->component;
    return NULL;
}
