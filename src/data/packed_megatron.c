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
    int64_t *first, n, cap; /* first token of each sample */
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
    return NULL;
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
static void find_samples(Arena *a, Megatron *m, const IndexEntry *document, int64_t n)
{
    int64_t start = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = document[i].offset / m->file.token_bytes;
        int64_t length = document[i].length / m->file.token_bytes, end = begin + length;
        if (end - start < m->block) continue;
        m->first = arena_grow(a, m->first, m->n, &m->cap, sizeof *m->first);
        m->first[m->n++] = start;
        bool is_cut = end - start > m->block && length <= m->block;
        start = is_cut ? begin : end;
    }
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
    IndexEntry *document;
    int64_t n;
    Error *e = pbin_documents(scratch, &m->file, &document, &n);
    if (!e) find_samples(a, m, document, n);
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
