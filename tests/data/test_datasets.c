/* test_datasets.c - which tokens each sample of a dataset has. */
#include "data/datasets.h"
#include "data/jsonl.h"
#include "data/packed_file.h"
#include "data/toy_tokenizer.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static int64_t element(const Tensor *t, int64_t i)
{
    return (int64_t)dtype_get(t->dtype, t->data, i);
}

/* "0 1 2|2 3 4|": all samples of a dataset. */
static const char *samples(Arena *a, const Dataset *d)
{
    Text t = { 0 };
    for (int64_t i = 0; i < d->count(d); i++) {
        Sample s;
        assert_no_error(d->get(d, i, a, &s));
        const Tensor *x = sample_find(&s, "tokens");
        assert_non_null(x);
        assert_null(sample_find(&s, "other"));
        for (int64_t k = 0; k < x->size[0]; k++)
            text_printf(&t, k ? " %lld" : "%lld", (long long)element(x, k));
        text_putc(&t, '|');
    }
    const char *result = arena_string(a, t.ptr ? t.ptr : "");
    text_free(&t);
    return result;
}

static const char *twenty(Arena *a, int token_bytes)
{
    return packed_file(a, "twenty.pbin", token_bytes, 0, (int64_t[]){ 6, 10, 3, 1 }, 4);
}

static Dataset *continuous(Arena *a, const char *path, int64_t block, bool reuse)
{
    Dataset *d;
    assert_no_error(packed_continuous_open(a,
                                           &(PackedContinuous){ .raw_data_path = path,
                                                                .sample_key = "tokens",
                                                                .sequence_length = block - reuse,
                                                                .reuse_last_target = reuse },
                                           &d));
    return d;
}

TEST(continuous_samples_share_one_token_or_none)
{
    Arena *a = arena_new();
    for (int size = 1; size <= 4; size *= 2) {
        const char *path = twenty(a, size);
        assert_string_equal(samples(a, continuous(a, path, 10, true)),
                            "0 1 2 3 4 5 6 7 8 9|9 10 11 12 13 14 15 16 17 18|");
        assert_string_equal(samples(a, continuous(a, path, 6, true)),
                            "0 1 2 3 4 5|5 6 7 8 9 10|10 11 12 13 14 15|");
        assert_string_equal(samples(a, continuous(a, path, 6, false)),
                            "0 1 2 3 4 5|6 7 8 9 10 11|12 13 14 15 16 17|");
        assert_string_equal(samples(a, continuous(a, path, 2, false)),
                            "0 1|2 3|4 5|6 7|8 9|10 11|12 13|14 15|16 17|18 19|");
    }
    arena_free(a);
}

TEST(the_number_of_continuous_samples_follows_the_table)
{
    Arena *a = arena_new();
    static const int table[][3] = { { 2, true, 19 }, { 3, true, 9 },  { 10, true, 2 },
                                    { 6, true, 3 },  { 20, true, 1 }, { 2, false, 10 },
                                    { 6, false, 3 }, { 20, false, 1 } };
    const char *path = twenty(a, 2);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Dataset *d = continuous(a, path, table[i][0], table[i][1]);
        assert_int_equal(d->count(d), table[i][2]);
    }
    assert_int_equal(packed_continuous_count(332875, 256, true), 1300);
    assert_int_equal(packed_continuous_count(7989, 256, true), 31);
    assert_int_equal(packed_continuous_count(256, 256, true), 0);
    assert_int_equal(packed_continuous_count(257, 256, true), 1);
    arena_free(a);
}

static void assert_not_continuous(const char *path, int64_t sequence_length, bool reuse,
                                  const char *why)
{
    Arena *a = arena_new();
    Dataset *d;
    PackedContinuous s = { .raw_data_path = path,
                           .sample_key = "tokens",
                           .sequence_length = sequence_length,
                           .reuse_last_target = reuse };
    assert_error_has(packed_continuous_open(a, &s, &d), why);
    arena_free(a);
}

TEST(a_file_too_small_for_one_sample_is_refused)
{
    Arena *a = arena_new();
    const char *path = twenty(a, 2);
    assert_not_continuous(
        path, 20, true,
        "20 tokens are fewer than the 21 of one sample (sequence_length 20 and the last");
    assert_not_continuous(path, 21, false,
                          "20 tokens are fewer than the 21 of one sample (sequence_length 21)");
    assert_not_continuous(path, 1, false, "a sample of 1 tokens; it needs at least 2");
    assert_not_continuous("nowhere.pbin", 4, true, "nowhere.pbin");
    arena_free(a);
}

TEST(megatron_samples_begin_with_a_document)
{
    Arena *a = arena_new();
    const char *path = twenty(a, 4); /* documents begin at 0, 6, 16, 19 */
    static const int64_t table[][2] = { { 1, 4 }, { 2, 3 },  { 3, 3 }, { 10, 2 },
                                        { 6, 2 }, { 20, 1 }, { 25, 0 } };
    Dataset *d;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_no_error(packed_megatron_open(a, path, "tokens", table[i][0], &d));
        assert_int_equal(d->count(d), table[i][1]);
    }
    assert_no_error(packed_megatron_open(a, path, "tokens", 2, &d));
    assert_string_equal(samples(a, d), "0 1|6 7|16 17|");
    assert_no_error(packed_megatron_open(a, path, "tokens", 10, &d));
    assert_string_equal(samples(a, d), "0 1 2 3 4 5 6 7 8 9|6 7 8 9 10 11 12 13 14 15|");
    assert_no_error(packed_megatron_open(a, path, "tokens", 6, &d));
    assert_string_equal(samples(a, d), "0 1 2 3 4 5|6 7 8 9 10 11|");
    arena_free(a);
}

TEST(datasets_say_where_a_sample_comes_from)
{
    Arena *a = arena_new();
    Text t = { 0 };
    const char *path = twenty(a, 4);
    Dataset *d = continuous(a, path, 6, true);
    d->describe(d, 1, &t);
    assert_contains(t.ptr, "twenty.pbin, sample 1 (tokens 5 to 10)");
    text_clear(&t);
    assert_no_error(packed_megatron_open(a, path, "tokens", 6, &d));
    d = combined_new(a, (Dataset *[]){ continuous(a, path, 6, true), d }, 2);
    d->describe(d, 4, &t);
    assert_contains(t.ptr, "twenty.pbin, sample 1 (tokens 6 to 11)");
    text_free(&t);
    arena_free(a);
}

TEST(combined_samples_follow_one_dataset_after_the_other)
{
    Arena *a = arena_new();
    Dataset *first = continuous(a, packed_file(a, "a.pbin", 2, 0, (int64_t[]){ 5 }, 1), 3, true);
    Dataset *second = continuous(a, packed_file(a, "b.pbin", 1, 100, (int64_t[]){ 3 }, 1), 3, true),
            *empty;
    assert_no_error(packed_megatron_open(a, packed_file(a, "c.pbin", 1, 0, (int64_t[]){ 1 }, 1),
                                         "tokens", 9, &empty));
    Dataset *all = combined_new(a, (Dataset *[]){ empty, first, empty, second, empty }, 5);
    assert_int_equal(all->count(all), 3);
    assert_string_equal(samples(a, all), "0 1 2|2 3 4|100 101 102|");
    Dataset *none = combined_new(a, NULL, 0);
    assert_int_equal(none->count(none), 0);
    arena_free(a);
}

TEST(lines_are_tokenized_when_asked_for)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "some.jsonl"),
               text[] = "{\"x\": \"ab\"}\n{\"x\": 1}\n{\"x\": \"c\"}";
    IndexSummary summary;
    assert_no_error(file_write(path, text, sizeof text - 1));
    assert_no_error(jsonl_write_index(path, path_with_suffix(a, path, ".idx"), NULL, &summary));
    Tokenizer toy = toy_tokenizer(256);
    MemMap settings = {
        .raw_data_path = path, .tokenizer = &toy, .jq_pattern = ".x", .sample_key = "tokens"
    };
    Dataset *d;
    Sample s;
    assert_no_error(mem_map_open(a, &settings, &d));
    assert_int_equal(d->count(d), 3);
    assert_no_error(d->get(d, 2, a, &s));
    assert_int_equal(sample_find(&s, "tokens")->size[0], 1);
    assert_int_equal(element(sample_find(&s, "tokens"), 0), 'c');
    assert_no_error(d->get(d, 0, a, &s));
    assert_int_equal(sample_find(&s, "tokens")->size[0], 2);
    assert_error_has(d->get(d, 1, a, &s),
                     "some.jsonl, sample 1 (byte 12): jq_pattern '.x' finds a number");
    settings.jq_pattern = ".[";
    assert_error_has(mem_map_open(a, &settings, &d), "jq_pattern");
    settings.index_path = "nowhere.idx";
    assert_error_has(mem_map_open(a, &settings, &d), "nowhere.idx");
    arena_free(a);
}

TEST(dummy_samples_have_their_shapes_and_stay_the_same)
{
    Arena *a = arena_new();
    Dataset *d;
    DummyItem item[] = { { "image", (int64_t[]){ 3, 4, 5 }, 3, DUMMY_FLOAT },
                         { "ids", (int64_t[]){ 7 }, 1, DUMMY_INT } };
    Sample x, y, z;
    assert_no_error(dummy_new(a, 10, item, 2, &d));
    assert_int_equal(d->count(d), 10);
    assert_no_error(d->get(d, 3, a, &x));
    assert_no_error(d->get(d, 3, a, &y));
    assert_no_error(d->get(d, 4, a, &z));
    const Tensor *image = sample_find(&x, "image"), *ids = sample_find(&x, "ids");
    assert_int_equal(image->dtype, F32);
    assert_int_equal(tensor_count(image), 60);
    assert_int_equal(ids->dtype, I32);
    for (int i = 0; i < 7; i++) assert_true(element(ids, i) >= 0 && element(ids, i) < 512);
    assert_memory_equal(image->data, sample_find(&y, "image")->data, tensor_bytes(image));
    assert_memory_not_equal(image->data, sample_find(&z, "image")->data, tensor_bytes(image));
    assert_error_has(dummy_new(a, 1, item, 0, &d),
                     "0 entries of sample_definition, allowed are 1 to 8");
    item[1].sample_key = "image";
    assert_error_has(dummy_new(a, 1, item, 2, &d), "'image' is given twice");
    item[1] = (DummyItem){ "x", (int64_t[]){ 0 }, 1, DUMMY_INT };
    assert_error_has(dummy_new(a, 1, item, 2, &d), "has a size of 0");
    item[1] = (DummyItem){ "x", (int64_t[]){ 1, 1, 1, 1, 1, 1 }, 6, DUMMY_INT };
    assert_error_has(dummy_new(a, 1, item, 2, &d), "6 dimensions");
    arena_free(a);
}
