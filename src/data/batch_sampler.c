/* batch_sampler.c - batch_sampler.default: how many samples make a batch. */
#include "config/builder.h"
#include "data/data.h"

typedef struct Settings {
    Sampler *sampler;
    int64_t batch_size;
    bool drop_last;
} Settings;

static const char *const only_true[] = { "true", NULL };

static const Field fields[] = {
    FIELD_COMPONENT(Settings, sampler, Sampler, "sampler", NULL, "the order of samples"),
    FIELD_INT(Settings, batch_size, NULL, 1, INFINITY, "samples per batch on this rank",
              .flags = FIELD_STRICT),
    FIELD_BOOL(Settings, drop_last, "true", "a rest that does not fill a batch is left out",
               .choices = only_true),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    BatchSampler *made = NEW(builder_arena(b), BatchSampler);
    *made = (BatchSampler){ .sampler = s->sampler, .batch_size = s->batch_size };
    *out = made;
    return NULL;
}

const ComponentDef batch_sampler_default = {
    .kind = "batch_sampler",
    .variant = "default",
    .doc = "groups consecutive samples of a sampler",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
