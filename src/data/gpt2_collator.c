/* gpt2_collator.c - collate_fn.gpt_2_llm_collator: each token's target is the next one. */
#include "config/builder.h"
#include "data/collate.h"
#include "data/collators.h"
#include <string.h>

typedef struct Gpt2Collator {
    Collator base;
    const char *sample_key, *target_key;
} Gpt2Collator;

static Error *collate(const Collator *self, const Sample *sample, int64_t n, Batch *out)
{
    const Gpt2Collator *c = (const Gpt2Collator *)self;
    TRY(collate_stack(sample, n, c->sample_key, c->sample_key, 0, 1, out));
    return collate_stack(sample, n, c->sample_key, c->target_key, 1, 0, out);
}

Collator *gpt2_collator_new(Arena *a, const char *sample_key, const char *target_key)
{
    Gpt2Collator *c = NEW(a, Gpt2Collator);
    *c = (Gpt2Collator){ .base = { .collate = collate },
                         .sample_key = arena_string(a, sample_key),
                         .target_key = arena_string(a, target_key) };
    return &c->base;
}

typedef struct Settings {
    const char *sample_key, *target_key;
} Settings;

static const Field fields[] = {
    FIELD_STRING(Settings, sample_key, NULL, "the tokens in a sample, and the inputs in a batch"),
    FIELD_STRING(Settings, target_key, NULL, "the targets in a batch"),
    { 0 },
};

static Error *check(const void *settings)
{
    const Settings *s = settings;
    return strcmp(s->sample_key, s->target_key)
               ? NULL
               : error_new(
                     "sample_key and target_key are both '%s'; inputs and targets need two names",
                     s->sample_key);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    *out = gpt2_collator_new(builder_arena(b), s->sample_key, s->target_key);
    return NULL;
}

const ComponentDef collate_fn_gpt_2_llm_collator = {
    .kind = "collate_fn",
    .variant = "gpt_2_llm_collator",
    .doc = "inputs are all tokens but the last, targets all but the first",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
