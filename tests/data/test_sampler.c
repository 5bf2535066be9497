/* test_sampler.c - orders of samples equal torch's, in every golden case. */
#include "base/md5.h"
#include "data/order.h"
#include "data/sampler.h"
#include "golden.h"
#include <jansson.h>
#include <string.h>

static int64_t integer(const json_t *record, const char *key)
{
    return json_integer_value(json_object_get(record, key));
}

/* `expected` holds part of the sequence, from place `from` on. */
static void assert_part(const json_t *expected, const int64_t *got, int64_t from)
{
    for (size_t i = 0; i < json_array_size(expected); i++)
        assert_int_equal(got[from + (int64_t)i], json_integer_value(json_array_get(expected, i)));
}

static void assert_md5(const json_t *record, const void *bytes, size_t len)
{
    Md5 sum = { 0 };
    char md5[33];
    md5_add(&sum, bytes, len);
    md5_finish(&sum, md5);
    assert_string_equal(md5, json_string_value(json_object_get(record, "md5")));
}

/* Calls check for each line of a golden file; returns the number of lines. */
static int each_record(const char *path, void (*check)(Arena *a, const json_t *record))
{
    Arena *outer = arena_new();
    FILE *f = fopen(shared_path(outer, path), "r");
    assert_non_null(f);
    int n = 0;
    for (json_t *record; (record = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)); n++) {
        Arena *a = arena_new();
        check(a, record);
        arena_free(a);
        json_decref(record);
    }
    assert_true(feof(f));
    fclose(f);
    arena_free(outer);
    return n;
}

static void check_sampler(Arena *a, const json_t *r)
{
    DistributedOrder order = {
        .n = integer(r, "dataset_length"),
        .rank = integer(r, "rank"),
        .num_replicas = integer(r, "num_replicas"),
        .kind = json_is_true(json_object_get(r, "shuffle")) ? ORDER_TORCH : ORDER_RISING,
        .seed = integer(r, "seed") + integer(r, "epoch"),
        .drop_last = json_is_true(json_object_get(r, "drop_last")),
        .skip_num_global_samples = integer(r, "skip_num_global_samples"),
    };
    Sampler *s;
    assert_no_error(distributed_sampler_new(a, &order, &s));
    int64_t n = s->count(s), n_last = (int64_t)json_array_size(json_object_get(r, "last"));
    assert_int_equal(n, integer(r, "length"));
    int64_t *got = NEW_N(a, int64_t, n ? n : 1);
    Text joined = { 0 };
    for (int64_t i = 0; i < n; i++) {
        got[i] = s->index(s, i);
        text_printf(&joined, i ? ",%lld" : "%lld", (long long)got[i]);
    }
    assert_part(json_object_get(r, "first"), got, 0);
    assert_part(json_object_get(r, "last"), got, n - n_last);
    assert_md5(r, joined.len ? joined.ptr : "", joined.len);
    text_free(&joined);
}

TEST(samplers_give_torchs_order_in_every_golden_case)
{
    assert_int_equal(each_record("data/goldens/samplers/samplers.jsonl", check_sampler), 352);
}

static void check_permutation(Arena *a, const json_t *r)
{
    int64_t n = integer(r, "n");
    Order *order = order_new(a, n, ORDER_TORCH, (uint64_t)integer(r, "seed"), false);
    int64_t *got = NEW_N(a, int64_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++) got[i] = order_at(order, i);
    assert_part(json_object_get(r, "first"), got, 0);
    assert_part(json_object_get(r, "last"), got,
                n - (int64_t)json_array_size(json_object_get(r, "last")));
    assert_md5(r, got, (size_t)n * sizeof *got);
}

TEST(permutations_are_torchs_in_every_golden_case)
{
    assert_int_equal(each_record("data/goldens/samplers/randperm.jsonl", check_permutation), 278);
}

/* The samples of all ranks together, in the order of the steps. */
static void deal(Arena *a, OrderKind kind, int64_t n, int64_t n_ranks, int64_t skip, int64_t *out,
                 int64_t *n_out)
{
    *n_out = 0;
    Sampler *s[8];
    for (int64_t r = 0; r < n_ranks; r++) {
        DistributedOrder order = { .n = n,
                                   .rank = r,
                                   .num_replicas = n_ranks,
                                   .kind = kind,
                                   .seed = 7,
                                   .drop_last = true,
                                   .skip_num_global_samples = skip };
        assert_no_error(distributed_sampler_new(a, &order, &s[r]));
    }
    for (int64_t i = 0; i < s[0]->count(s[0]); i++)
        for (int64_t r = 0; r < n_ranks; r++) out[(*n_out)++] = s[r]->index(s[r], i);
}

TEST(a_run_continues_with_the_next_samples_on_another_number_of_ranks)
{
    for (OrderKind kind = ORDER_RISING; kind <= ORDER_FEISTEL; kind++) {
        Arena *a = arena_new();
        int64_t whole[100], rest[100], n_whole, n_rest;
        deal(a, kind, 100, 1, 0, whole, &n_whole);
        for (int64_t n_ranks = 1; n_ranks <= 8; n_ranks++) {
            deal(a, kind, 100, n_ranks, 40, rest, &n_rest);
            assert_int_equal(n_rest, 60 / n_ranks * n_ranks);
            assert_memory_equal(whole + 40, rest, sizeof *rest * (size_t)n_rest);
        }
        arena_free(a);
    }
}

TEST(a_feistel_order_is_a_permutation_for_every_size_and_seed)
{
    Arena *a = arena_new();
    for (int64_t n = 1; n <= 300; n++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            Order *o = order_new(a, n, ORDER_FEISTEL, seed, false);
            bool seen[300] = { false };
            for (int64_t i = 0; i < n; i++) {
                int64_t at = order_at(o, i);
                assert_in_range(at, 0, n - 1);
                assert_false(seen[at]);
                seen[at] = true;
            }
        }
    arena_free(a);
}

/* Where place 0 and the steps between neighbours lead must be spread as if drawn: chi-squared over
 * 16 classes, 15 degrees of freedom; 45 is exceeded by chance once in 10,000. */
TEST(a_feistel_order_looks_random)
{
    enum { SIZE = 1000, SEEDS = 4096, CLASSES = 16 };
    Arena *a = arena_new();
    double first[CLASSES] = { 0 }, step[CLASSES] = { 0 }, chi[2] = { 0 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        Order *o = order_new(a, SIZE, ORDER_FEISTEL, seed, false);
        int64_t x = order_at(o, 0), y = order_at(o, 1);
        first[x * CLASSES / SIZE]++;
        step[(y - x + SIZE) % SIZE * CLASSES / SIZE]++;
    }
    const double expected = (double)SEEDS / CLASSES;
    for (int i = 0; i < CLASSES; i++) {
        chi[0] += (first[i] - expected) * (first[i] - expected) / expected;
        chi[1] += (step[i] - expected) * (step[i] - expected) / expected;
    }
    assert_true(chi[0] < 45 && chi[1] < 45);
    Order *large = order_new(a, INT64_C(1) << 50, ORDER_FEISTEL, 1, false);
    assert_true(order_at(large, 0) != order_at(large, 1));
    assert_in_range(order_at(large, (INT64_C(1) << 50) - 1), 0, (INT64_C(1) << 50) - 1);
    arena_free(a);
}

TEST(a_sampler_refuses_ranks_and_skips_that_do_not_exist)
{
    Arena *a = arena_new();
    Sampler *s;
    assert_error_has(
        distributed_sampler_new(a, &(DistributedOrder){ .n = 4, .rank = 2, .num_replicas = 2 }, &s),
        "rank 2 of num_replicas 2, allowed are 0 to 1");
    assert_error_has(
        distributed_sampler_new(a, &(DistributedOrder){ .n = 4, .num_replicas = 0 }, &s),
        "num_replicas is 0");
    DistributedOrder skipped = { .n = 4, .num_replicas = 1, .skip_num_global_samples = 5 };
    assert_error_has(distributed_sampler_new(a, &skipped, &s), "skip_num_global_samples is 5");
    arena_free(a);
}

TEST(the_sequential_sampler_gives_every_sample_in_order)
{
    Arena *a = arena_new();
    Sampler *s = sequential_sampler_new(a, 5);
    assert_int_equal(s->count(s), 5);
    for (int64_t i = 0; i < 5; i++) assert_int_equal(s->index(s, i), i);
    arena_free(a);
}
