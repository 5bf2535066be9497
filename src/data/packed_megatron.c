/* packed_megatron.c - dataset.packed_mem_map_dataset_megatron: blocks that begin with a document.
 */
#include "config/builder.h"
#include "data/datasets.h"
#include "data/token_view.h"

typedef struct Megatron {
    Dataset base;
    Pbin file;
    const char *sample_key;
    int64_t block;
    int64_t *first, n; /* first token of each sample; their number */
} Megatron;

static int64_t count(const Dataset *self)
{
    return ((const Megatron *)self)->n;
}

static Error *get(const Dataset *self, int64_t index, Arena *scratch, Sample *out)
{
    (void)scratch;
    const Megatron *m = (const Megatron *)self;
    CHECK(index >= 0 && index < m->n);
    *out = token_view(&m->file, m->sample_key, m->first[index], m->block);
    return pbin_check_length(&m->file);
}

static void describe(const Dataset *self, int64_t index, Text *out)
{
    const Megatron *m = (const Megatron *)self;
    token_view_describe(&m->file, index, m->first[index], m->block, out);
}

static SamplePlace locate(const Dataset *self, int64_t index)
{
    const Megatron *m = (const Megatron *)self;
    return (SamplePlace){ &m->file, m->first[index], m->block };
}

/* Documents are collected from `start` until they fill a block. */
int64_t *megatron_starts(Arena *a, const int64_t *first, int64_t n_documents, int64_t block,
                         int64_t *n)
{
    int64_t start = 0, cap = 0, *out = NULL;
    *n = 0;
    for (int64_t i = 0; i < n_documents; i++) {
        int64_t begin = first[i], end = first[i + 1], length = end - begin;
        if (end - start < block) continue;
        out = arena_grow(a, out, *n, &cap, sizeof *out);
        out[(*n)++] = start;
        bool is_cut = end - start > block && length <= block;
        start = is_cut ? begin : end;
    }
    return out;
}

static Error *find_samples(Arena *a, Arena *scratch, Megatron *m)
{
    IndexEntry *document;
    int64_t n;
    TRY(pbin_documents(scratch, &m->file, &document, &n));
    int64_t *first = NEW_N(scratch, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++)
        first[i + 1] = (document[i].offset + document[i].length) / m->file.token_bytes;
    m->first = megatron_starts(a, first, n, m->block, &m->n);
    return NULL;
}

Error *packed_megatron_open(Arena *a, const char *raw_data_path, const char *sample_key,
                            int64_t block_size, Dataset **out)
{
    Megatron *m = NEW(a, Megatron);
    *m = (Megatron){ .base = { .count = count, .get = get, .describe = describe, .locate = locate },
                     .sample_key = arena_string(a, sample_key),
                     .block = block_size };
    TRY(pbin_open(a, raw_data_path, &m->file));
    Arena *scratch = arena_new();
    Error *e = find_samples(a, scratch, m);
    arena_free(scratch);
    *out = &m->base;
    return e;
}

typedef struct Settings {
    const char *raw_data_path, *sample_key;
    const int64_t *block_size, *sequence_length;
} Settings;

static const Field fields[] = {
    FIELD_PATH(Settings, raw_data_path, NULL, ".pbin file of packed tokens"),
    FIELD_INT(Settings, block_size, "null", 2, INFINITY, "tokens of a sample",
              .flags = FIELD_STRICT),
    FIELD_INT(Settings, sequence_length, "null", 2, INFINITY,
              "tokens of a sample less one: the inputs", .flags = FIELD_STRICT),
    FIELD_STRING(Settings, sample_key, NULL, "name of the tokens in a sample"),
    { 0 },
};

static Error *check(const void *settings)
{
    const Settings *s = settings;
    return !s->block_size == !s->sequence_length
               ? error_new("give either block_size or sequence_length (= block_size - 1)")
               : NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    int64_t block = s->block_size ? *s->block_size : *s->sequence_length + 1;
    TRY(packed_megatron_open(builder_arena(b), s->raw_data_path, s->sample_key, block,
                             (Dataset **)out));
    if ((*(Dataset **)out)->count(*out) == 0)
        return error_new("%s: its documents do not fill one sample of %lld tokens",
                         s->raw_data_path, (long long)block);
    return NULL;
}

const ComponentDef dataset_packed_mem_map_dataset_megatron = {
    .kind = "dataset",
    .variant = "packed_mem_map_dataset_megatron",
    .doc = "blocks of packed tokens that begin where a document begins",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
