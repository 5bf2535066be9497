/* number_from_data.c - number_conversion.* that look into a data file. */
#include "base/file.h"
#include "config/builder.h"
#include "data/datasets.h"
#include "data/index.h"
#include "data/pbin.h"

typedef struct Settings {
    const char *dataset_path, *raw_index_path, *sample_key;
    int64_t sequence_length, dp_degree, num_ranks, local_micro_batch_size,
        gradient_accumulation_steps;
    bool reuse_last_target;
} Settings;

/* clang-format off */
#define AT_LEAST_ONE(m, text) FIELD_INT(Settings, m, NULL, 1, INFINITY, text, .flags = FIELD_STRICT)
#define MICROBATCH    AT_LEAST_ONE(local_micro_batch_size, "samples of one rank in a forward pass")
#define ACCUMULATION  AT_LEAST_ONE(gradient_accumulation_steps, "forward passes of a step")
static const Field packed_fields[] = {
    FIELD_PATH(Settings, dataset_path, NULL, ".pbin file"),
    AT_LEAST_ONE(sequence_length, "tokens of a sample"),
    FIELD_INT(Settings, dp_degree, NULL, 1, INFINITY, "ranks that share the data", .flags = FIELD_STRICT, .alias = "num_ranks"),
    MICROBATCH, ACCUMULATION,
    FIELD_STRING(Settings, sample_key, "text", "name of the tokens in a sample", .no_effect = "only their number counts"),
    FIELD_BOOL(Settings, reuse_last_target, "true", "samples overlap by one token"),
    { 0 } };
static const Field index_fields[] = {
    FIELD_PATH(Settings, raw_index_path, NULL, ".idx file"),
    FIELD_INT(Settings, num_ranks, NULL, 1, INFINITY, "ranks that share the data", .flags = FIELD_STRICT, .alias = "dp_degree"),
    MICROBATCH, ACCUMULATION,
    { 0 } };
/* clang-format on */

/* Tokens of the whole steps that the file fills. */
static Error *tokens_from_packed(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *scratch = arena_new();
    Pbin file;
    Error *e = pbin_open(scratch, s->dataset_path, &file);
    int64_t n =
        e ? 0 : packed_continuous_count(file.n_tokens, s->sequence_length, s->reuse_last_target);
    arena_free(scratch);
    TRY(e);
    int64_t steps = n / s->dp_degree / s->local_micro_batch_size / s->gradient_accumulation_steps;
    /* No product can be larger than the number of tokens in the file. */
    int64_t samples =
        steps * s->dp_degree * s->local_micro_batch_size * s->gradient_accumulation_steps;
    return give_int(b, samples * s->sequence_length, out);
}

static Error *count_entries(Arena *a, Str bytes, const char *path, int64_t *out)
{
    IndexReader *r;
    TRY(index_open(a, bytes, path, 0, &r));
    *out = index_count(r);
    return NULL;
}

static Error *steps_from_index(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    FileMap map;
    int64_t n = 0;
    TRY(file_map(s->raw_index_path, &map));
    Arena *scratch = arena_new();
    Error *e = count_entries(scratch, (Str){ map.ptr, map.len }, s->raw_index_path, &n);
    arena_free(scratch);
    file_unmap(&map);
    TRY(e);
    return give_int(
        b, n / s->num_ranks / s->local_micro_batch_size / s->gradient_accumulation_steps, out);
}

const ComponentDef number_conversion_num_tokens_from_packed_mem_map_dataset_continuous = {
    .kind = "number_conversion",
    .variant = "num_tokens_from_packed_mem_map_dataset_continuous",
    .doc = "tokens of the whole steps that a .pbin file fills",
    .fields = packed_fields,
    .settings_size = sizeof(Settings),
    .build = tokens_from_packed,
    .gives = GIVES_INT,
    .is_light = true,
};

const ComponentDef number_conversion_num_steps_from_raw_dataset_index = {
    .kind = "number_conversion",
    .variant = "num_steps_from_raw_dataset_index",
    .doc = "steps that the lines of an .idx file fill",
    .fields = index_fields,
    .settings_size = sizeof(Settings),
    .build = steps_from_index,
    .gives = GIVES_INT,
    .is_light = true,
};
