/* test_weighted_mix.c - each dataset has its share at every place, through changes and restarts. */
#include "base/rng.h"
#include "components.h"
#include "data/datasets.h"
#include "data/mix_period.h"
#include "data/packed_file.h"
#include "data/sampler.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_SOURCES = 6 };

/* Tijdeman's bound: nobody is ever a whole sample off. */
static void assert_fair(const int64_t *weight, int64_t n)
{
    Arena *a = arena_new();
    MixPeriod p;
    int64_t given[MOST_SOURCES] = { 0 }, total = 0;
    for (int64_t k = 0; k < n; k++) total += weight[k];
    assert_no_error(mix_period_make(a, weight, n, &p));
    for (int64_t t = 0; t < 2 * p.n; t++) {
        int64_t k = p.source[t % p.n];
        assert_int_equal(given[k], t / p.n * p.share[k] + p.rank[t % p.n]);
        given[k]++;
        for (int64_t i = 0; i < n; i++) {
            assert_int_equal(mix_period_count(&p, t + 1, i), given[i]);
            assert_true(llabs(given[i] * total - weight[i] * (t + 1)) < total);
        }
    }
    arena_free(a);
}

TEST(every_source_has_its_share_at_every_turn)
{
    assert_fair((int64_t[]){ 5 }, 1);
    assert_fair((int64_t[]){ 70, 20, 10 }, 3);
    assert_fair((int64_t[]){ 1, 0, 1000 }, 3);
    for (uint64_t seed = 0; seed < 60; seed++) {
        int64_t weight[MOST_SOURCES], n = 2 + (int64_t)(seed % (MOST_SOURCES - 1));
        for (int64_t k = 0; k < n; k++)
            weight[k] = 1 + (int64_t)(rng_bits(seed, (uint64_t)k) % (k % 2 ? 5 : 60));
        assert_fair(weight, n);
    }
}

/* Datasets whose samples of 4 tokens tell them apart: 1000 k + 4 i. */
static void make_sources(Arena *a, int64_t n_sources, const int64_t *n_samples, Dataset **out)
{
    for (int64_t k = 0; k < n_sources; k++) {
        int64_t length[] = { 4 * n_samples[k] };
        PackedContinuous s = { packed_file(a, arena_printf(a, "%d.pbin", (int)k), 2,
                                           (int)(1000 * k), length, 1),
                               "x", 4, false };
        assert_no_error(packed_continuous_open(a, &s, &out[k]));
        assert_int_equal(out[k]->count(out[k]), n_samples[k]);
    }
}

/* "0:0 1:0 0:1": dataset and sample of the places [from, to). */
static const char *places(Arena *a, const Dataset *mix, int64_t from, int64_t to)
{
    Text t = { 0 };
    for (int64_t i = from; i < to; i++) {
        Sample s;
        assert_no_error(mix->get(mix, i, a, &s));
        int first = *(uint16_t *)sample_find(&s, "x")->data;
        text_printf(&t, "%s%d:%d", t.len ? " " : "", first / 1000, first % 1000 / 4);
    }
    const char *result = arena_string(a, t.ptr ? t.ptr : "");
    text_free(&t);
    return result;
}

TEST(weights_change_at_a_sample_and_every_dataset_goes_on)
{
    Arena *a = arena_new();
    Dataset *source[2], *plain, *changed;
    make_sources(a, 2, (int64_t[]){ 20, 20 }, source);
    MixChange change = { .at_sample = 6, .weights = { (int64_t[]){ 1, 1 }, 2 } };
    WeightedMix s = { .dataset = (const Dataset *const *)source,
                      .n_datasets = 2,
                      .weights = (int64_t[]){ 2, 1 },
                      .n_weights = 2 };
    assert_no_error(weighted_mix_new(a, &s, &plain));
    assert_string_equal(places(a, plain, 0, 9), "0:0 1:0 0:1 0:2 1:1 0:3 0:4 1:2 0:5");
    assert_int_equal(plain->count(plain), 30);
    s.change = &change;
    s.n_changes = 1;
    assert_no_error(weighted_mix_new(a, &s, &changed));
    assert_string_equal(places(a, changed, 0, 6), places(a, plain, 0, 6));
    assert_string_equal(places(a, changed, 6, 11), "0:4 1:2 0:5 1:3 0:6");
    assert_int_equal(changed->count(changed), 6 + 2 * 16 + 0);
    arena_free(a);
}

TEST(datasets_that_end_begin_again_in_another_order)
{
    Arena *a = arena_new();
    Dataset *source[2], *mix;
    make_sources(a, 2, (int64_t[]){ 7, 50 }, source);
    WeightedMix s = { .dataset = (const Dataset *const *)source,
                      .n_datasets = 2,
                      .weights = (int64_t[]){ 1, 1 },
                      .n_weights = 2,
                      .num_samples = 42,
                      .shuffle = true,
                      .seed = 3 };
    assert_no_error(weighted_mix_new(a, &s, &mix));
    assert_int_equal(mix->count(mix), 42);
    int seen[7] = { 0 }, n_moved = 0, order[21], n = 0;
    for (int64_t i = 0; i < 42; i++) {
        int k, at;
        assert_int_equal(sscanf(places(a, mix, i, i + 1), "%d:%d", &k, &at), 2);
        if (k) continue;
        seen[at]++;
        order[n++] = at;
        if (n % 7 == 0) /* each pass takes every sample once */
            for (int j = 0; j < 7; j++) assert_int_equal(seen[j], n / 7);
    }
    assert_int_equal(n, 21);
    for (int i = 0; i < 7; i++) n_moved += (order[i] != order[7 + i]) + (order[i] != order[14 + i]);
    assert_true(n_moved > 4);
    arena_free(a);
}

/* Batches of one sample of every rank in turn, from sample `skip` of the whole order on: the first
 * token of each sample. */
static int64_t first_tokens(Arena *a, const Dataset *mix, int64_t skip, int64_t n_ranks,
                            int n_threads, int64_t *out)
{
    Loader *l[3];
    for (int64_t rank = 0; rank < n_ranks; rank++) {
        DistributedOrder order = { .n = mix->count(mix),
                                   .rank = rank,
                                   .num_replicas = n_ranks,
                                   .drop_last = true,
                                   .skip_num_global_samples = skip };
        BatchSampler *batches = NEW(a, BatchSampler);
        Sampler *sampler;
        assert_no_error(distributed_sampler_new(a, &order, &sampler));
        *batches = (BatchSampler){ sampler, 1 };
        l[rank] = loader_new(a, &(LoaderSettings){ .tag = "x",
                                                   .dataset = mix,
                                                   .batches = batches,
                                                   .prefetch = 2 * n_threads,
                                                   .n_threads = n_threads });
    }
    Batch *b;
    for (int64_t n = 0;; n++) {
        assert_no_error(loader_next(l[n % n_ranks], &b));
        if (!b) return n;
        assert_int_equal(tensor_count(batch_find(b, "x")), 4);
        out[n] = *(int32_t *)batch_find(b, "x")->data;
    }
}

/* Weights that change twice, one of them in the middle of a period: at every sample every dataset
 * has had its share of the tokens since the last change; and from every sample on a run continues
 * alike, on any number of ranks. */
TEST(a_mix_is_exact_to_the_sample_and_goes_on_from_any_of_them)
{
    enum { N = 90 };
    Arena *a = arena_new();
    Dataset *source[3], *mix;
    make_sources(a, 3, (int64_t[]){ 30, 7, 50 }, source);
    const int64_t start[] = { 0, 17, 60, N };
    int64_t weight[][3] = { { 5, 3, 2 }, { 1, 0, 6 }, { 1, 1, 1 } };
    MixChange change[] = { { start[1], { weight[1], 3 } }, { start[2], { weight[2], 3 } } };
    WeightedMix s = { .dataset = (const Dataset *const *)source,
                      .n_datasets = 3,
                      .weights = weight[0],
                      .n_weights = 3,
                      .change = change,
                      .n_changes = 2,
                      .num_samples = N,
                      .shuffle = true,
                      .seed = 1 };
    assert_no_error(weighted_mix_new(a, &s, &mix));
    int64_t whole[N], rest[N];
    assert_int_equal(first_tokens(a, mix, 0, 1, 0, whole), N);
    for (int phase = 0; phase < 3; phase++) {
        int64_t given[3] = { 0 }, total = weight[phase][0] + weight[phase][1] + weight[phase][2];
        for (int64_t i = start[phase]; i < start[phase + 1]; i++) {
            given[whole[i] / 1000]++;
            for (int k = 0; k < 3; k++)
                assert_true(llabs(given[k] * total - weight[phase][k] * (i + 1 - start[phase])) <
                            total);
        }
    }
    for (int64_t skip = 0; skip <= N; skip++) {
        int64_t n_ranks = 1 + skip % 3, n = first_tokens(a, mix, skip, n_ranks, skip % 2, rest);
        assert_int_equal(n, (N - skip) / n_ranks * n_ranks);
        assert_memory_equal(rest, whole + skip, sizeof *rest * (size_t)n);
    }
    arena_free(a);
}

/* As many times through a dataset as there may be: nothing is kept for each. */
TEST(a_small_dataset_may_begin_again_any_number_of_times)
{
    Arena *a = arena_new();
    Dataset *source[2], *mix;
    make_sources(a, 2, (int64_t[]){ 1, 50 }, source);
    WeightedMix s = { .dataset = (const Dataset *const *)source,
                      .n_datasets = 2,
                      .weights = (int64_t[]){ 9, 1 },
                      .n_weights = 2,
                      .num_samples = INT64_C(1) << 45,
                      .shuffle = true };
    assert_no_error(weighted_mix_new(a, &s, &mix));
    const int64_t last = (INT64_C(1) << 45) - 10;
    assert_string_equal(places(a, mix, last, last + 1), "0:0");
    arena_free(a);
}

static const char mix_yaml[] =
    "d: {component_key: dataset, variant_key: weighted_mix, config: {datasets: [%s, %s], weights: "
    "[%s], changes: [%s]}}\n";

static Error *build(Arena *a, const char *weights, const char *changes, Dataset **out)
{
    static const char one[] = "{component_key: dataset, variant_key: dummy_dataset, config: "
                              "{num_samples: 10, sample_definition: [{sample_key: x, sample_shape: "
                              "[3], sample_type: int}]}}";
    const char *path = path_join(a, test_folder(), "mix.yaml");
    const char *text = arena_printf(a, mix_yaml, one, one, weights, changes);
    assert_no_error(file_write(path, text, strlen(text)));
    return component_from_file(a, path, (StringList){ 0 }, "d", "dataset", (void **)out);
}

/* A sampler of the mix that the file already has. */
static Error *build_sampler(Arena *a, const char *shuffle)
{
    static const char sampler[] =
        "s: {component_key: sampler, variant_key: resumable_distributed_sampler, config: {dataset: "
        "{instance_key: d, pass_type: BY_REFERENCE}, rank: 0, num_replicas: 1, shuffle: %s}}\n";
    const char *path = path_join(a, test_folder(), "sampler.yaml"), *text;
    Dataset *d;
    Sampler *s;
    Str mix;
    assert_no_error(build(a, "3, 1", "", &d));
    assert_no_error(file_read(a, path_join(a, test_folder(), "mix.yaml"), &mix));
    text = arena_printf(a, "%s%s", mix.ptr, arena_printf(a, sampler, shuffle));
    assert_no_error(file_write(path, text, strlen(text)));
    return component_from_file(a, path, (StringList){ 0 }, "s", "sampler", (void **)&s);
}

TEST(a_mix_is_made_from_yaml_and_wrong_weights_are_refused)
{
    Arena *a = arena_new();
    Dataset *d;
    assert_no_error(build(a, "3, 1", "", &d));
    assert_int_equal(d->count(d), 13);
    assert_no_error(build(a, "3, 1", "{at_sample: 4, weights: [0, 1]}", &d));
    assert_int_equal(d->count(d), 13);
    assert_error_has(build(a, "1", "", &d), "1 weights for 2 datasets");
    assert_error_has(build(a, "1, -1", "", &d), "weight 1 is -1");
    assert_error_has(build(a, "0, 0", "", &d), "all weights are 0");
    assert_error_has(build(a, "1048576, 1", "", &d), "must sum to at most 1048576");
    assert_error_has(build(a, "1, 1", "{at_sample: 0, weights: [1, 1]}", &d), "at_sample");
    assert_error_has(build(a, "1, 1", "{at_sample: 4, weights: [1]}", &d),
                     "changes[0]: 1 weights for 2 datasets");
    assert_error_has(
        build(a, "1, 1", "{at_sample: 4, weights: [1, 2]}, {at_sample: 4, weights: [2, 1]}", &d),
        "changes[1] is at sample 4, which must come after sample 4");
    assert_no_error(build_sampler(a, "false"));
    assert_error_has(build_sampler(a, "true"), "shuffle: true would undo the shares");
    arena_free(a);
}
