/* mem_map.c - dataset.mem_map_dataset: lines of JSON, tokenized when asked for. */
#include "config/builder.h"
#include "data/datasets.h"
#include "data/jsonl.h"
#include "data/line_reader.h"

typedef struct MemMapDataset {
    Dataset base;
    const char *sample_key;
    Jsonl source;
    IndexEntry *line;
    int64_t n;
    LineReaders *readers;
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

static Error *read_line(const MemMapDataset *d, LineReader *r, int64_t index, Arena *scratch,
                        Sample *out)
{
    Str line;
    int64_t column;
    TRY(jsonl_line(&d->source, d->line[index], &line));
    TRY(line_reader_run(r, line, &column));
    void *tokens = arena_copy(scratch, r->ids.id, sizeof *r->ids.id * (size_t)r->ids.n);
    Tensor t = { .data = tokens, .dtype = I32, .n_dims = 1, .size = { r->ids.n } };
    *out = (Sample){ .n = 1, .item = { { d->sample_key, t } } };
    return NULL;
}

static Error *get(const Dataset *self, int64_t index, Arena *scratch, Sample *out)
{
    const MemMapDataset *d = (const MemMapDataset *)self;
    CHECK(index >= 0 && index < d->n);
    LineReader *r;
    TRY(line_reader_take(d->readers, -1, &r));
    Error *e = read_line(d, r, index, scratch, out);
    line_reader_give_back(r);
    if (!e) return NULL;
    Text where = { 0 };
    describe(self, index, &where);
    e = error_wrap(e, "%s", where.ptr);
    text_free(&where);
    return e;
}

Error *mem_map_open(Arena *a, const MemMap *settings, Dataset **out)
{
    MemMapDataset *d = NEW(a, MemMapDataset);
    *d = (MemMapDataset){ .base = { .count = count, .get = get, .describe = describe },
                          .sample_key = arena_string(a, settings->sample_key) };
    TRY(jsonl_open(a, settings->raw_data_path, settings->index_path, &d->source));
    TRY(line_readers_new(a, settings->tokenizer, settings->jq_pattern, -1, settings->max_line_bytes,
                         &d->readers));
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
    FIELD_INT(MemMap, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is an error"),
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
