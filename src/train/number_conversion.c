/* number_conversion.c - number_conversion.*: samples, tokens and steps from one another.
 *
 * Divisions round down at each step, in the order of the original, so the results are equal to its
 * own. */
#include "comm/mesh.h"
#include "config/builder.h"

/* All variants read into one struct; each table names what its formula uses. */
typedef struct Settings {
    Mesh *device_mesh;
    struct AxisList {
        int *item;
        int64_t n;
    } parallelism_methods;
    int64_t num_ranks, dp_degree, local_micro_batch_size, gradient_accumulation_steps,
        sequence_length;
    int64_t global_num_samples, global_num_tokens, num_tokens, num_steps;
} Settings;

/* clang-format off */
#define AT_LEAST(m, lo, text, ...) FIELD_INT(Settings, m, NULL, lo, INFINITY, text, .flags = FIELD_STRICT, __VA_ARGS__)
/* Older files say num_ranks everywhere, and one table of the original says it where its function takes dp_degree. */
#define RANKS         AT_LEAST(num_ranks, 1, "ranks that share the data", .alias = "dp_degree")
#define DP_DEGREE     AT_LEAST(dp_degree, 1, "ranks that share the data", .alias = "num_ranks")
#define MICROBATCH    AT_LEAST(local_micro_batch_size, 1, "samples of one rank in a forward pass")
#define ACCUMULATION  AT_LEAST(gradient_accumulation_steps, 1, "forward passes of a step")
#define LENGTH        AT_LEAST(sequence_length, 1, "tokens of a sample")
#define ALL_SAMPLES   AT_LEAST(global_num_samples, 0, "samples on all ranks together")
#define ALL_TOKENS    AT_LEAST(global_num_tokens, 0, "tokens on all ranks together")
static const Field axis_item = { .type = FIELD_CHOICE, .choices = mesh_axis_names };
static const Field parallel_degree_fields[] = {
    FIELD_COMPONENT(Settings, device_mesh, Mesh, "device_mesh", NULL, "the ranks"),
    FIELD_LIST(Settings, parallelism_methods, struct AxisList, &axis_item, NULL, 0, 0, "axes whose sizes are multiplied", .no_effect = "one rank has size 1 along each"),
    { 0 } };
static const Field batches_from_samples_fields[] = { RANKS, ALL_SAMPLES, MICROBATCH, { 0 } };
static const Field batches_from_tokens_fields[] = { RANKS, ALL_TOKENS, LENGTH, MICROBATCH, { 0 } };
static const Field samples_from_tokens_fields[] = { AT_LEAST(num_tokens, 0, "tokens to fill"), LENGTH, { 0 } };
static const Field steps_from_samples_fields[] = { RANKS, MICROBATCH, ALL_SAMPLES, ACCUMULATION, { 0 } };
static const Field steps_from_tokens_fields[] = { DP_DEGREE, MICROBATCH, ALL_TOKENS, LENGTH, ACCUMULATION, { 0 } };
static const Field tokens_from_steps_fields[] = {
    AT_LEAST(num_steps, 0, "optimizer steps"), DP_DEGREE, MICROBATCH, LENGTH, ACCUMULATION, { 0 } };
/* clang-format on */

static Error *parallel_degree(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    int64_t product = 1;
    for (int64_t i = 0; i < s->parallelism_methods.n; i++)
        product *= mesh_degree(s->device_mesh, (MeshAxis)(s->parallelism_methods.item[i] + 1));
    return give_int(b, product, out);
}

static Error *batches_from_samples(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    return give_int(b, s->global_num_samples / s->num_ranks / s->local_micro_batch_size, out);
}

static Error *batches_from_tokens(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    int64_t samples = s->global_num_tokens / s->sequence_length;
    return give_int(b, samples / s->num_ranks / s->local_micro_batch_size, out);
}

static Error *samples_from_tokens(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    return give_int(b, s->num_tokens / s->sequence_length, out);
}

static Error *steps_from_samples(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    int64_t batches = s->global_num_samples / s->num_ranks / s->local_micro_batch_size;
    return give_int(b, batches / s->gradient_accumulation_steps, out);
}

static Error *steps_from_tokens(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    int64_t samples = s->global_num_tokens / s->sequence_length;
    int64_t batches = samples / s->dp_degree / s->local_micro_batch_size;
    return give_int(b, batches / s->gradient_accumulation_steps, out);
}

static Error *tokens_from_steps(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    const int64_t factor[] = { s->dp_degree, s->local_micro_batch_size, s->sequence_length,
                               s->gradient_accumulation_steps };
    int64_t tokens = s->num_steps;
    for (int i = 0; i < 4; i++)
        if (__builtin_mul_overflow(tokens, factor[i], &tokens))
            return error_new("the number of tokens is beyond 64 bits");
    return give_int(b, tokens, out);
}

/* clang-format off */
#define OF_ALL .kind = "number_conversion", .settings_size = sizeof(Settings), .gives = GIVES_INT, .is_light = true
const ComponentDef number_conversion_parallel_degree = {
    OF_ALL, .variant = "parallel_degree", .fields = parallel_degree_fields, .build = parallel_degree,
    .doc = "product of the sizes of some axes of the mesh" };
const ComponentDef number_conversion_local_num_batches_from_num_samples = {
    OF_ALL, .variant = "local_num_batches_from_num_samples", .fields = batches_from_samples_fields, .build = batches_from_samples,
    .doc = "samples // ranks // batch size" };
const ComponentDef number_conversion_local_num_batches_from_num_tokens = {
    OF_ALL, .variant = "local_num_batches_from_num_tokens", .fields = batches_from_tokens_fields, .build = batches_from_tokens,
    .doc = "tokens // sequence length // ranks // batch size" };
const ComponentDef number_conversion_num_samples_from_num_tokens = {
    OF_ALL, .variant = "num_samples_from_num_tokens", .fields = samples_from_tokens_fields, .build = samples_from_tokens,
    .doc = "tokens // sequence length" };
const ComponentDef number_conversion_num_steps_from_num_samples = {
    OF_ALL, .variant = "num_steps_from_num_samples", .fields = steps_from_samples_fields, .build = steps_from_samples,
    .doc = "samples // ranks // batch size // accumulation" };
const ComponentDef number_conversion_num_steps_from_num_tokens = {
    OF_ALL, .variant = "num_steps_from_num_tokens", .fields = steps_from_tokens_fields, .build = steps_from_tokens,
    .doc = "tokens // sequence length // ranks // batch size // accumulation" };
const ComponentDef number_conversion_num_tokens_from_num_steps = {
    OF_ALL, .variant = "num_tokens_from_num_steps", .fields = tokens_from_steps_fields, .build = tokens_from_steps,
    .doc = "steps * ranks * batch size * sequence length * accumulation" };
/* clang-format on */
