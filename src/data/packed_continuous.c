/* packed_continuous.c - dataset.packed_mem_map_dataset_continuous: blocks of equal distance. */
#include "config/builder.h"
#include "data/datasets.h"
#include "data/token_view.h"

typedef struct Continuous {
    Dataset base;
    Pbin file;
    const char *sample_key;
    int64_t block, stride,
        n; /* tokens of a sample, tokens between the beginnings of two, samples */
} Continuous;

static int64_t count(const Dataset *self)
{
    return ((const Continuous *)self)->n;
}

static Error *get(const Dataset *self, int64_t index, Arena *scratch, Sample *out)
{
    (void)scratch;
    const Continuous *c = (const Continuous *)self;
    CHECK(index >= 0 && index < c->n);
    *out = token_view(&c->file, c->sample_key, index * c->stride, c->block);
    return pbin_check_length(&c->file);
}

static void describe(const Dataset *self, int64_t index, Text *out)
{
    const Continuous *c = (const Continuous *)self;
    token_view_describe(&c->file, index, index * c->stride, c->block, out);
}

static SamplePlace locate(const Dataset *self, int64_t index)
{
    const Continuous *c = (const Continuous *)self;
    return (SamplePlace){ &c->file, index * c->stride, c->block };
}

int64_t packed_continuous_count(int64_t n_tokens, int64_t sequence_length, bool reuse_last_target)
{
    int64_t block = sequence_length + reuse_last_target;
    return n_tokens < block ? 0 : (n_tokens - block) / sequence_length + 1;
}

Error *packed_continuous_open(Arena *a, const PackedContinuous *s, Dataset **out)
{
    Continuous *c = NEW(a, Continuous);
    *c = (Continuous){
        .base = { .count = count, .get = get, .describe = describe, .locate = locate },
        .sample_key = arena_string(a, s->sample_key),
        .block = s->sequence_length + s->reuse_last_target,
        .stride = s->sequence_length
    };
    if (c->block < 2)
        return error_new("a sample of %lld tokens; it needs at least 2", (long long)c->block);
    TRY(pbin_open(a, s->raw_data_path, &c->file));
    TRY(pbin_check_index(&c->file));
    c->n = packed_continuous_count(c->file.n_tokens, s->sequence_length, s->reuse_last_target);
    if (!c->n)
        return error_new(
            "%s: %lld tokens are fewer than the %lld of one sample (sequence_length %lld%s)",
            s->raw_data_path, (long long)c->file.n_tokens, (long long)c->block,
            (long long)s->sequence_length, s->reuse_last_target ? " and the last target" : "");
    *out = &c->base;
    return NULL;
}

static const Field fields[] = {
    FIELD_PATH(PackedContinuous, raw_data_path, NULL, ".pbin file of packed tokens"),
    FIELD_INT(PackedContinuous, sequence_length, NULL, 2, INFINITY, "inputs of a sample",
              .flags = FIELD_STRICT),
    FIELD_STRING(PackedContinuous, sample_key, NULL, "name of the tokens in a sample"),
    FIELD_BOOL(
        PackedContinuous, reuse_last_target, "true",
        "the last token of a sample is also the first of the next, so that each is a target once"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    return packed_continuous_open(builder_arena(b), settings, (Dataset **)out);
}

const ComponentDef dataset_packed_mem_map_dataset_continuous = {
    .kind = "dataset",
    .variant = "packed_mem_map_dataset_continuous",
    .doc = "blocks of equal length of packed tokens, documents ignored",
    .fields = fields,
    .settings_size = sizeof(PackedContinuous),
    .build = build,
};
