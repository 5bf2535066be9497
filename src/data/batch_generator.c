/* batch_generator.c - dataset_batch_generator.random: random numbers in place of a loader. */
#include "data/batch_generator.h"
#include "base/map.h"
#include "base/rng.h"
#include "config/builder.h"
#include <string.h>

static void fill(const BatchGenerator *g, Tensor *t, const char *name)
{
    uint64_t key = rng_key(0, RNG_DATA, (uint64_t)g->n_made, hash_bytes(name, strlen(name)));
    double range = (double)(g->max - g->min);
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
        double x = (double)g->min + rng_uniform(key, (uint64_t)i) * range;
        dtype_set(t->dtype, t->data, i, dtype_is_float(t->dtype) ? x : floor(x));
    }
}

void batch_generator_next(BatchGenerator *g, Batch *out)
{
    static const char *const names[] = { "input_ids", "target_ids" };
    int64_t size[MAX_DIMS] = { 0 };
    for (int64_t d = 0; d < g->dims.n; d++) size[d] = g->dims.item[d].value;
    batch_clear(out);
    out->n_samples = size[0];
    for (int i = 0; i < 2; i++)
        fill(g, batch_item(out, names[i], g->dtype, (int)g->dims.n, size), names[i]);
    g->n_made++;
}

typedef struct Settings {
    IntMap dims;
    int data_type;
    int64_t min_val, max_val;
} Settings;

static Error *check(const void *settings)
{
    const Settings *s = settings;
    if (s->dims.n < 1 || s->dims.n > MAX_DIMS)
        return error_new("dims has %lld entries; allowed are 1 to %d", (long long)s->dims.n,
                         MAX_DIMS);
    for (int64_t d = 0; d < s->dims.n; d++)
        if (s->dims.item[d].value < 1)
            return error_new("dims.%s is %lld; must be at least 1", s->dims.item[d].key,
                             (long long)s->dims.item[d].value);
    if (s->max_val <= s->min_val)
        return error_new("max_val %lld must be above min_val %lld", (long long)s->max_val,
                         (long long)s->min_val);
    return NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    static const Dtype dtypes[] = { F32, BF16, I32 };
    const Settings *s = settings;
    BatchGenerator *g = NEW(builder_arena(b), BatchGenerator);
    *g = (BatchGenerator){
        .dims = s->dims, .dtype = dtypes[s->data_type], .min = s->min_val, .max = s->max_val
    };
    *out = g;
    return NULL;
}

static const char *const type_names[] = { "float32", "bfloat16", "int64", NULL };
/* clang-format off */
static const Field fields[] = {
    FIELD_MAP(Settings, dims, IntMap, &field_int_entry, NULL, "names and sizes, the batch first"),
    FIELD_CHOICE(Settings, data_type, NULL, type_names, "type of the numbers"),
    FIELD_INT(Settings, min_val, NULL, 0, 0, "the least number"),
    FIELD_INT(Settings, max_val, NULL, 0, 0, "above all numbers"),
    { 0 },
};
/* clang-format on */

const ComponentDef dataset_batch_generator_random = {
    .kind = "dataset_batch_generator",
    .variant = "random",
    .doc = "batches of random numbers: items input_ids and target_ids",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
