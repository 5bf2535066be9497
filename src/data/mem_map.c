/* mem_map.c - dataset.mem_map_dataset: lines of JSON, tokenized when asked for. */
#include "config/builder.h"
#include "data/datasets.h"
#include "data/jsonl.h"
#include "data/text_query.h"
#include <string.h>

/* What one access needs; freed with the arena. */
typedef struct MemMapDataset {
    Dataset base;
    MemMap settings;
    Jsonl source;
    IndexEntry *line;
    int64_t n;
    TextQuery *query;
    Encoder *encoder;
    Text *text;
} MemMapDataset;

static int64_t count(const Dataset *self)
{
    return ((const MemMapDataset *)self)->n;
}

static void describe(const Dataset *self, int64_t index, Text *out)
{
    const MemMapDataset *d = (const MemMapDataset *)self;
    text_printf(out, "%s, sample %lld (byte %lld)", d->source.path, (long long)index,
                (long long)d->line[index].offset);
}

static Error *encode(const MemMapDataset *d, int64_t index, Ids *ids)
{
    Str line;
    int64_t column;
    TRY(jsonl_line(&d->source, d->line[index], &line));
    TRY(text_query_run(d->query, line, d->text, &column));
    return d->settings.tokenizer->encode(
        d->encoder, (Str){ d->text->len ? d->text->ptr : "", d->text->len }, true, ids);
}

static Error *get(const Dataset *self, int64_t index, Arena *scratch, Sample *out)
{
    const MemMapDataset *d = (const MemMapDataset *)self;
    CHECK(index >= 0 && index < d->n);
    Ids ids = { 0 };
    Error *e = encode(d, index, &ids);
    if (e) {
        Text where = { 0 };
        describe(self, index, &where);
        e = error_wrap(e, "%s", where.ptr);
        text_free(&where);
    } else {
        void *tokens = arena_copy(scratch, ids.id, sizeof *ids.id * (size_t)ids.n);
        Tensor t = { .data = tokens, .dtype = I32, .n_dims = 1, .size = { ids.n } };
        *out = (Sample){ .n = 1, .item = { { d->settings.sample_key, t } } };
    }
    ids_free(&ids);
    return e;
}

static void release(void *dataset)
{
    MemMapDataset *d = dataset;
    text_query_free(d->query);
    if (d->encoder) d->settings.tokenizer->encoder_free(d->encoder);
    text_free(d->text);
}

Error *mem_map_open(Arena *a, const MemMap *settings, Dataset **out)
{
    MemMapDataset *d = NEW(a, MemMapDataset);
    *d = (MemMapDataset){ .base = { .count = count, .get = get, .describe = describe },
                          .settings = *settings,
                          .text = NEW(a, Text) };
    arena_on_free(a, release, d);
    TRY(jsonl_open(a, settings->raw_data_path, settings->index_path, &d->source));
    TRY(text_query_new(settings->jq_pattern, &d->query));
    d->encoder = settings->tokenizer->encoder_new(settings->tokenizer);
    d->n = index_count(d->source.index);
    d->line = index_read_all(a, d->source.index);
    *out = &d->base;
    return NULL;
}

static const Field fields[] = {
    FIELD_PATH(MemMap, raw_data_path, NULL, "file of JSON lines", .flags = FIELD_EXISTS),
    FIELD_PATH(MemMap, index_path, "null", "its index; null: beside it, with the suffix .idx",
               .flags = FIELD_EXISTS),
    FIELD_COMPONENT(MemMap, tokenizer, Tokenizer, "tokenizer", NULL, "makes the tokens"),
    FIELD_STRING(MemMap, jq_pattern, NULL, "finds the text in a line"),
    FIELD_STRING(MemMap, sample_key, NULL, "name of the tokens in a sample"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    return mem_map_open(builder_arena(b), settings, (Dataset **)out);
}

const ComponentDef dataset_mem_map_dataset = {
    .kind = "dataset",
    .variant = "mem_map_dataset",
    .doc = "lines of JSON, tokenized when asked for",
    .fields = fields,
    .settings_size = sizeof(MemMap),
    .build = build,
};
