/* coca_collator.c - collate_fn.coca_collator: stacks arrays, and makes inputs and targets of a text
 * among them. */
#include "config/builder.h"
#include "data/collate.h"
#include <string.h>

typedef struct Settings {
    StringList sample_keys, target_keys;
    const char *text_sample_key, *text_target_key;
} Settings;

typedef struct CocaCollator {
    Collator base;
    const Settings *settings;
} CocaCollator;

static Error *collate(const Collator *self, const Sample *sample, int64_t n, Batch *out)
{
    const Settings *s = ((const CocaCollator *)self)->settings;
    for (int64_t i = 0; i < s->sample_keys.n; i++) {
        const char *key = s->sample_keys.item[i];
        bool is_text = !strcmp(key, s->text_sample_key);
        TRY(collate_stack(sample, n, key, key, 0, is_text, out));
    }
    for (int64_t i = 0; i < s->target_keys.n; i++) {
        const char *key = s->target_keys.item[i];
        TRY(collate_stack(sample, n, key, key, 0, 0, out));
    }
    return collate_stack(sample, n, s->text_sample_key, s->text_target_key, 1, 0, out);
}

static const Field fields[] = {
    FIELD_STRINGS(Settings, sample_keys, NULL, 0, 0, "arrays of a sample that are inputs"),
    FIELD_STRINGS(Settings, target_keys, NULL, 0, 0, "arrays of a sample that are targets"),
    FIELD_STRING(Settings, text_sample_key, NULL, "the tokens among the inputs"),
    FIELD_STRING(Settings, text_target_key, NULL, "their targets in a batch"),
    { 0 },
};

/* Adds a name of the batch; one that is there twice is an error. */
static Error *add_name(const char **name, int *n, const char *key)
{
    for (int i = 0; i < *n; i++)
        if (!strcmp(name[i], key))
            return error_new("'%s' would be in a batch twice; inputs and targets need names of "
                             "their own",
                             key);
    if (*n == MAX_ITEMS) return error_new("a batch has at most %d arrays", MAX_ITEMS);
    name[(*n)++] = key;
    return NULL;
}

static Error *check(const void *settings)
{
    const Settings *s = settings;
    const char *name[MAX_ITEMS];
    int n = 0;
    bool has_text = false;
    for (int64_t i = 0; i < s->sample_keys.n; i++) {
        TRY(add_name(name, &n, s->sample_keys.item[i]));
        has_text |= !strcmp(s->sample_keys.item[i], s->text_sample_key);
    }
    for (int64_t i = 0; i < s->target_keys.n; i++) TRY(add_name(name, &n, s->target_keys.item[i]));
    TRY(add_name(name, &n, s->text_target_key));
    return has_text
               ? NULL
               : error_new("text_sample_key '%s' is not among sample_keys", s->text_sample_key);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    CocaCollator *c = NEW(builder_arena(b), CocaCollator);
    *c = (CocaCollator){ .base = { .collate = collate }, .settings = settings };
    *out = c;
    return NULL;
}

const ComponentDef collate_fn_coca_collator = {
    .kind = "collate_fn",
    .variant = "coca_collator",
    .doc =
        "stacks arrays; of one text, inputs are all tokens but the last, targets all but the first",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
