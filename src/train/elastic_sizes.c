/* elastic_sizes.c - on how many ranks a training gives the same steps. */
#include "train/elastic_sizes.h"
#include "config/config.h"
#include "train/settings.h"
#include <inttypes.h>

static Error *read_settings(Arena *a, const Registry *registry, const char *path, const char *root,
                            StringList overrides, int64_t n, TrainingConfig *out)
{
    static const char *const names[] = { "settings", "device_mesh" };
    Rank *rank = NEW(a, Rank);
    *rank = (Rank){ .world_size = n, .local_world_size = n, .launcher = LAUNCHER_THREADS };
    const ResolverContext context = { .rank = rank,
                                      .config_file_path = path,
                                      .experiments_root_path = root,
                                      .experiment_id = "elastic" };
    Yaml *tree;
    TRY(config_load(a, path, overrides, &context, &tree));
    TRY(training_config_complete(a, tree, rank, root));
    Builder *b = builder_new(a, registry, tree, rank);
    builder_allow_absent(b);
    TRY(builder_try(b, training_fields_named(a, names, 2), out));
    if (out->device_mesh && out->device_mesh->world_size != n)
        return error_new("the device_mesh has %" PRId64 " ranks", out->device_mesh->world_size);
    return NULL;
}

/* The last sentence says it. */
static const char *reason(Arena *a, Error *e)
{
    Text line = { 0 };
    for (const char *c = error_text(e); *c; c++) text_putc(&line, *c == '\n' ? ' ' : *c);
    const char *text = arena_string(a, line.ptr ? line.ptr : "");
    text_free(&line);
    error_free(e);
    return text;
}

static void fit(Arena *a, const TrainingConfig *c, int64_t samples, ElasticSize *s)
{
    const StepProfile *p = &c->settings.step_profile;
    const int64_t of_one = p->local_train_micro_batch_size * p->dp_degree;
    s->accumulation = samples / of_one;
    if (samples % of_one || !s->accumulation)
        s->why = arena_printf(a,
                              "%" PRId64 " samples per step are no multiple of %" PRId64
                              " (micro batch) x %" PRId64 " (data-parallel ranks)",
                              samples, p->local_train_micro_batch_size, p->dp_degree);
}

Error *elastic_sizes(Arena *a, const Registry *r, const char *config_file_path,
                     const char *experiments_root_path, StringList overrides, int64_t n,
                     ElasticSizes *out)
{
    TrainingConfig whole = { 0 };
    TRY(read_settings(a, r, config_file_path, experiments_root_path, overrides, n, &whole));
    *out = (ElasticSizes){ .item = NEW_N(a, ElasticSize, n),
                           .n = n,
                           .samples_per_step = samples_per_step(&whole.settings.step_profile) };
    for (int64_t i = 0; i < n; i++) {
        ElasticSize *s = &out->item[i];
        TrainingConfig c = { 0 };
        s->ranks = i + 1;
        Error *e =
            read_settings(a, r, config_file_path, experiments_root_path, overrides, s->ranks, &c);
        if (e)
            s->why = reason(a, e);
        else
            fit(a, &c, out->samples_per_step, s);
    }
    return NULL;
}

const ElasticSize *elastic_largest(const ElasticSizes *s, int64_t most)
{
    for (int64_t i = most < s->n ? most : s->n; i-- > 0;)
        if (!s->item[i].why) return &s->item[i];
    return NULL;
}

void elastic_describe(const ElasticSizes *s, Text *out)
{
    int n = 0;
    for (int64_t i = s->n; i-- > 0;)
        if (!s->item[i].why)
            text_printf(out, "%s%" PRId64 " (accumulation %" PRId64 ")", n++ ? ", " : "",
                        s->item[i].ranks, s->item[i].accumulation);
    for (int64_t i = s->n; i-- > 0;)
        if (s->item[i].why)
            text_printf(out, "; not %" PRId64 ": %s", s->item[i].ranks, s->item[i].why);
}
