/* weighted_mix.c - dataset.weighted_mix: samples of several datasets in given shares.
 *
 * Which sample of which dataset comes at a place is a function of the place, so the state of a mix
 * is the loader's position, and weights change at a place of the order. A phase is what lies
 * between two changes; it goes on in each dataset where the phase before left off. */
#include "base/rng.h"
#include "config/builder.h"
#include "data/datasets.h"
#include "data/mix_period.h"
#include "data/order.h"

typedef struct Phase {
    int64_t start;  /* its first sample */
    int64_t *taken; /* of each dataset, before it */
    MixPeriod period;
} Phase;

typedef struct Source {
    const Dataset *dataset;
    int64_t n;
} Source;

typedef struct Mix {
    Dataset base;
    Source *source;
    int64_t n_sources;
    Phase *phase;
    int64_t n_phases, n;
    bool shuffle;
    uint64_t seed;
} Mix;

/* One sample of the mix: which of which dataset. */
typedef struct Place {
    const Dataset *dataset;
    int64_t index;
} Place;

static int64_t count(const Dataset *self)
{
    return ((const Mix *)self)->n;
}

static const Phase *phase_of(const Mix *m, int64_t index)
{
    int64_t i = m->n_phases - 1;
    while (m->phase[i].start > index) i--;
    return &m->phase[i];
}

static Place place_of(const Mix *m, int64_t index)
{
    const Phase *p = phase_of(m, index);
    int64_t turn = index - p->start, at = turn % p->period.n, k = p->period.source[at];
    const Source *s = &m->source[k];
    int64_t nth = p->taken[k] + turn / p->period.n * p->period.share[k] + p->period.rank[at];
    int64_t place = nth % s->n;
    if (m->shuffle) /* each time through a dataset has an order of its own */
        place = feistel_at(s->n, rng_key(m->seed, RNG_DATA, (uint64_t)(nth / s->n), (uint64_t)k),
                           place);
    return (Place){ s->dataset, place };
}

static Error *get(const Dataset *self, int64_t index, Arena *scratch, Sample *out)
{
    const Mix *m = (const Mix *)self;
    CHECK(index >= 0 && index < m->n);
    Place p = place_of(m, index);
    return p.dataset->get(p.dataset, p.index, scratch, out);
}

static void describe(const Dataset *self, int64_t index, Text *out)
{
    Place p = place_of((const Mix *)self, index);
    p.dataset->describe(p.dataset, p.index, out);
}

static SamplePlace locate(const Dataset *self, int64_t index)
{
    Place p = place_of((const Mix *)self, index);
    return p.dataset->locate ? p.dataset->locate(p.dataset, p.index) : (SamplePlace){ 0 };
}

/* ---- making a mix ---- */

/* Samples of dataset k among the first `n` of the mix. */
static int64_t taken_by(const Mix *m, int64_t n, int64_t k)
{
    if (!n) return 0;
    const Phase *p = phase_of(m, n - 1);
    return p->taken[k] + mix_period_count(&p->period, n - p->start, k);
}

static Error *add_phase(Arena *a, Mix *m, int64_t start, const int64_t *weight)
{
    Phase p = { .start = start, .taken = NEW_N(a, int64_t, m->n_sources) };
    for (int64_t k = 0; k < m->n_sources; k++) p.taken[k] = taken_by(m, start, k);
    TRY(mix_period_make(a, weight, m->n_sources, &p.period));
    for (int64_t k = 0; k < m->n_sources; k++)
        if (weight[k] && !m->source[k].n)
            return error_new("dataset %lld has no samples, but the weight %lld", (long long)k,
                             (long long)weight[k]);
    m->phase[m->n_phases++] = p;
    return NULL;
}

static bool lasts(const Mix *m, int64_t n)
{
    for (int64_t k = 0; k < m->n_sources; k++)
        if (taken_by(m, n, k) > m->source[k].n) return false;
    return true;
}

/* As many samples as there are without taking one twice. */
static int64_t longest(const Mix *m)
{
    int64_t low = 0, high = 1;
    for (int64_t k = 0; k < m->n_sources; k++) high += m->source[k].n;
    while (high - low > 1) { /* low lasts, high does not */
        int64_t middle = low + (high - low) / 2;
        if (lasts(m, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static Error *check_weights(const int64_t *weight, int64_t n, int64_t n_datasets)
{
    if (n != n_datasets)
        return error_new("%lld weights for %lld datasets", (long long)n, (long long)n_datasets);
    for (int64_t k = 0; k < n; k++)
        if (weight[k] < 0)
            return error_new("weight %lld is %lld; weights are at least 0", (long long)k,
                             (long long)weight[k]);
    return NULL;
}

static Error *check_changes(const WeightedMix *s)
{
    TRY(check_weights(s->weights, s->n_weights, s->n_datasets));
    int64_t last = 0;
    for (int64_t i = 0; i < s->n_changes; i++) {
        const MixChange *c = &s->change[i];
        TRY(error_wrap(check_weights(c->weights.item, c->weights.n, s->n_datasets), "changes[%lld]",
                       (long long)i));
        if (c->at_sample <= last)
            return error_new("changes[%lld] is at sample %lld, which must come after sample %lld",
                             (long long)i, (long long)c->at_sample, (long long)last);
        last = c->at_sample;
    }
    return NULL;
}

Error *weighted_mix_new(Arena *a, const WeightedMix *s, Dataset **out)
{
    Mix *m = NEW(a, Mix);
    TRY(check_changes(s));
    *m = (Mix){ .base = { .count = count,
                          .get = get,
                          .describe = describe,
                          .locate = locate,
                          .is_ordered = true },
                .source = NEW_N(a, Source, s->n_datasets),
                .n_sources = s->n_datasets,
                .shuffle = s->shuffle,
                .seed = (uint64_t)s->seed,
                .phase = NEW_N(a, Phase, s->n_changes + 1) };
    for (int64_t k = 0; k < s->n_datasets; k++) {
        m->source[k] =
            (Source){ .dataset = s->dataset[k], .n = s->dataset[k]->count(s->dataset[k]) };
    }
    TRY(add_phase(a, m, 0, s->weights));
    for (int64_t i = 0; i < s->n_changes; i++)
        TRY(add_phase(a, m, s->change[i].at_sample, s->change[i].weights.item));
    m->n = s->num_samples ? s->num_samples : longest(m);
    *out = &m->base;
    return NULL;
}

/* ---- the component ---- */

typedef struct ChangeList {
    MixChange *item;
    int64_t n;
} ChangeList;

typedef struct Settings {
    ComponentList datasets;
    IntList weights;
    ChangeList changes;
    const int64_t *num_samples; /* NULL: as many as last */
    bool shuffle;
    int64_t seed;
} Settings;

/* clang-format off */
static const Field change_fields[] = {
    FIELD_INT(MixChange, at_sample, NULL, 1, INFINITY, "the first sample with these weights, counted over all ranks", .flags = FIELD_STRICT),
    FIELD_INTS(MixChange, weights, NULL, 1, 0, "one per dataset"),
    { 0 },
};
static const Field fields[] = {
    FIELD_COMPONENTS(Settings, datasets, "dataset", NULL, 1, INFINITY, "what is mixed; their samples must have equal shapes"),
    FIELD_INTS(Settings, weights, NULL, 1, INFINITY, "one per dataset: at every place, each has had its share give or take less than one sample"),
    FIELD_STRUCTS(Settings, changes, ChangeList, change_fields, "[]", 0, 0, "other weights from a sample on; those of the past must stay as they were"),
    FIELD_INT(Settings, num_samples, "null", 1, INFINITY, "samples of the mix, for which datasets begin again when they end; null: until one with a weight ends", .flags = FIELD_STRICT),
    FIELD_BOOL(Settings, shuffle, "false", "each dataset in a random order, another one for each time through"),
    FIELD_INT(Settings, seed, "0", 0, 0, "of these orders"),
    { 0 },
};
/* clang-format on */

static WeightedMix mix_of(const Settings *s)
{
    return (WeightedMix){ .dataset = (const Dataset *const *)s->datasets.item,
                          .n_datasets = s->datasets.n,
                          .weights = s->weights.item,
                          .n_weights = s->weights.n,
                          .change = s->changes.item,
                          .n_changes = s->changes.n,
                          .num_samples = s->num_samples ? *s->num_samples : 0,
                          .shuffle = s->shuffle,
                          .seed = s->seed };
}

static Error *check(const void *settings)
{
    WeightedMix m = mix_of(settings);
    return check_changes(&m);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    WeightedMix m = mix_of(settings);
    return weighted_mix_new(builder_arena(b), &m, (Dataset **)out);
}

const ComponentDef dataset_weighted_mix = {
    .kind = "dataset",
    .variant = "weighted_mix",
    .doc = "samples of several datasets in given shares, which may change at given samples; its "
           "sampler must not shuffle",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
