/* distributed_sampler.c - deals the samples of one order out to the ranks.
 *
 * The two components are one thing: torch's DistributedSampler is the resumable one at epoch 0 with
 * nothing skipped. */
#include "config/builder.h"
#include "data/sampler.h"

typedef struct Distributed {
    Sampler base;
    DistributedOrder settings;
    Order *order;
    int64_t n_local;
} Distributed;

static int64_t count(const Sampler *self)
{
    return ((const Distributed *)self)->n_local;
}

static int64_t index_at(const Sampler *self, int64_t position)
{
    const Distributed *d = (const Distributed *)self;
    const DistributedOrder *s = &d->settings;
    int64_t place = s->skip_num_global_samples + s->rank + s->num_replicas * position;
    /* After the end, the places that fill up: the whole order again from its beginning. */
    return order_at(d->order, place % s->n);
}

static Error *check_order(const DistributedOrder *s)
{
    if (s->num_replicas < 1)
        return error_new("num_replicas is %lld, must be at least 1", (long long)s->num_replicas);
    if (s->rank < 0 || s->rank >= s->num_replicas)
        return error_new("rank %lld of num_replicas %lld, allowed are 0 to %lld",
                         (long long)s->rank, (long long)s->num_replicas,
                         (long long)s->num_replicas - 1);
    if (s->skip_num_global_samples < 0 || s->skip_num_global_samples > s->n)
        return error_new("skip_num_global_samples is %lld, but the dataset has %lld samples",
                         (long long)s->skip_num_global_samples, (long long)s->n);
    return NULL;
}

Error *distributed_sampler_new(Arena *a, const DistributedOrder *s, Sampler **out)
{
    TRY(check_order(s));
    Distributed *d = NEW(a, Distributed);
    int64_t n_left = s->n - s->skip_num_global_samples, n_even = n_left / s->num_replicas;
    bool has_rest = n_left % s->num_replicas != 0;
    *d = (Distributed){
        .base = { .count = count, .index = index_at, .rank = s->rank, .n_ranks = s->num_replicas },
        .settings = *s,
        .order = order_new(a, s->n, s->kind, (uint64_t)s->seed, s->is_shared),
        .n_local = s->drop_last ? n_even : n_even + has_rest
    };
    *out = &d->base;
    return NULL;
}

Error *sampler_check_shuffle(const Dataset *d, bool shuffle)
{
    return shuffle && d->is_ordered
               ? error_new("shuffle: true would undo the shares of dataset.weighted_mix and the "
                           "places where they change; shuffle: true of that dataset shuffles what "
                           "it mixes")
               : NULL;
}

static int64_t dataset_count(const Dataset *d)
{
    return d->count(d);
}

/* ---- sampler.resumable_distributed_sampler ---- */

typedef struct ResumableSettings {
    Dataset *dataset;
    int64_t rank, num_replicas, epoch, skip_num_global_samples;
    const bool *shuffle; /* NULL: null, as false */
    const int64_t *seed; /* NULL: null, as 0 */
    bool drop_last;
    int shuffle_method; /* OrderKind less one */
} ResumableSettings;

static const char *const only_true[] = { "true", NULL };

static const Field resumable_fields[] = {
    FIELD_COMPONENT(ResumableSettings, dataset, Dataset, "dataset", NULL, "the samples"),
    FIELD_INT(ResumableSettings, rank, NULL, 0, INFINITY,
              "this rank's number among those that share the samples", .flags = FIELD_STRICT),
    FIELD_INT(ResumableSettings, num_replicas, NULL, 0, INFINITY,
              "number of ranks that share the samples", .flags = FIELD_STRICT),
    FIELD_INT(ResumableSettings, epoch, "0", 0, INFINITY, "added to the seed",
              .flags = FIELD_STRICT),
    FIELD_BOOL(ResumableSettings, shuffle, "false", "random order"),
    FIELD_INT(ResumableSettings, seed, "0", 0, 0, "of the random order"),
    FIELD_BOOL(ResumableSettings, drop_last, "true", "a rest that does not go round is left out",
               .choices = only_true),
    FIELD_INT(ResumableSettings, skip_num_global_samples, "0", 0, INFINITY,
              "samples already seen, on all ranks together", .flags = FIELD_STRICT),
    FIELD_CHOICE(ResumableSettings, shuffle_method, "torch", shuffle_methods,
                 "the random order: torch.randperm, or one that needs no memory"),
    { 0 },
};

static Error *build_resumable(Builder *b, const void *settings, void **out)
{
    const ResumableSettings *s = settings;
    TRY(sampler_check_shuffle(s->dataset, s->shuffle && *s->shuffle));
    DistributedOrder order = { .n = dataset_count(s->dataset),
                               .rank = s->rank,
                               .num_replicas = s->num_replicas,
                               .kind = order_kind(s->shuffle && *s->shuffle, s->shuffle_method),
                               .seed = (s->seed ? *s->seed : 0) + s->epoch,
                               .drop_last = s->drop_last,
                               .skip_num_global_samples = s->skip_num_global_samples,
                               .is_shared = s->num_replicas > 1 };
    return distributed_sampler_new(builder_arena(b), &order, (Sampler **)out);
}

const ComponentDef sampler_resumable_distributed_sampler = {
    .kind = "sampler",
    .variant = "resumable_distributed_sampler",
    .doc = "deals the samples out to the ranks, after those already seen",
    .fields = resumable_fields,
    .settings_size = sizeof(ResumableSettings),
    .build = build_resumable,
};

/* ---- sampler.distributed_sampler ---- */

typedef struct DistributedSettings {
    int64_t rank, num_replicas;
    bool shuffle, drop_last;
    Dataset *dataset;
    const int64_t *seed; /* NULL: null, as 0 */
} DistributedSettings;

static const Field distributed_fields[] = {
    FIELD_INT(DistributedSettings, rank, NULL, 0, INFINITY,
              "this rank's number among those that share the samples", .flags = FIELD_STRICT),
    FIELD_INT(DistributedSettings, num_replicas, NULL, 0, INFINITY,
              "number of ranks that share the samples", .flags = FIELD_STRICT),
    FIELD_BOOL(DistributedSettings, shuffle, NULL, "random order (torch.randperm)"),
    FIELD_COMPONENT(DistributedSettings, dataset, Dataset, "dataset", NULL, "the samples"),
    FIELD_INT(DistributedSettings, seed, "0", 0, 0, "of the random order"),
    FIELD_BOOL(DistributedSettings, drop_last, "true", "a rest that does not go round is left out",
               .choices = only_true),
    { 0 },
};

static Error *build_distributed(Builder *b, const void *settings, void **out)
{
    const DistributedSettings *s = settings;
    TRY(sampler_check_shuffle(s->dataset, s->shuffle));
    DistributedOrder order = { .n = dataset_count(s->dataset),
                               .rank = s->rank,
                               .num_replicas = s->num_replicas,
                               .kind = s->shuffle ? ORDER_TORCH : ORDER_RISING,
                               .seed = s->seed ? *s->seed : 0,
                               .drop_last = s->drop_last,
                               .is_shared = s->num_replicas > 1 };
    return distributed_sampler_new(builder_arena(b), &order, (Sampler **)out);
}

const ComponentDef sampler_distributed_sampler = {
    .kind = "sampler",
    .variant = "distributed_sampler",
    .doc = "deals the samples out to the ranks",
    .fields = distributed_fields,
    .settings_size = sizeof(DistributedSettings),
    .build = build_distributed,
};
