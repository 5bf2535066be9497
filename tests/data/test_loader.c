/* test_loader.c - batches in order, ahead of their use or not; continuing; ids that are none. */
#include "data/collate.h"
#include "data/collators.h"
#include "data/datasets.h"
#include "data/packed_file.h"
#include "data/sampler.h"
#include "test.h"
#include <string.h>
#include <unistd.h>

typedef struct Pipeline {
    Dataset *dataset;
    BatchSampler batches;
    Collator *collator;
} Pipeline;

/* n samples of 4 tokens, 0 1 2 3|3 4 5 6|..., in batches. */
static Pipeline pipeline(Arena *a, int64_t n, int token_bytes, int64_t batch_size, bool shuffle)
{
    int64_t length[] = { 60, 60, 60 }; /* documents are not seen */
    length[0] = 3 * n + 1;
    Pipeline p = { .collator = gpt2_collator_new(a, "input_ids", "target_ids") };
    PackedContinuous s = { .raw_data_path =
                               packed_file(a, "tokens.pbin", token_bytes, 0, length, 1),
                           .sample_key = "input_ids",
                           .sequence_length = 3,
                           .reuse_last_target = true };
    Sampler *sampler;
    assert_no_error(packed_continuous_open(a, &s, &p.dataset));
    assert_int_equal(p.dataset->count(p.dataset), n);
    DistributedOrder order = {
        .n = n, .num_replicas = 1, .kind = shuffle ? ORDER_TORCH : ORDER_RISING, .drop_last = true
    };
    assert_no_error(distributed_sampler_new(a, &order, &sampler));
    p.batches = (BatchSampler){ .sampler = sampler, .batch_size = batch_size };
    return p;
}

static Loader *loader(Arena *a, const Pipeline *p, int prefetch)
{
    return loader_new(a, &(LoaderSettings){ .tag = "train",
                                            .dataset = p->dataset,
                                            .batches = &p->batches,
                                            .collator = p->collator,
                                            .prefetch = prefetch });
}

static void add_rows(Text *t, const Tensor *x)
{
    const int32_t *id = x->data;
    assert_int_equal(x->dtype, I32);
    assert_int_equal(x->n_dims, 2);
    for (int64_t i = 0; i < tensor_count(x); i++)
        text_printf(t, "%d%c", id[i], (i + 1) % x->size[1] ? ' ' : '|');
}

/* What is left of a loader, as text. */
static const char *drain(Arena *a, Loader *l)
{
    Text t = { 0 };
    Batch *b;
    for (;;) {
        int64_t position = loader_position(l);
        assert_no_error(loader_next(l, &b));
        if (!b) break;
        assert_int_equal(b->position, position);
        assert_int_equal(loader_position(l), position + b->n_samples);
        assert_int_equal(b->n_samples, loader_batch_size(l));
        assert_null(batch_find(b, "other"));
        add_rows(&t, batch_find(b, "input_ids"));
        text_puts(&t, "> ");
        add_rows(&t, batch_find(b, "target_ids"));
        text_putc(&t, '\n');
    }
    const char *result = arena_string(a, t.ptr ? t.ptr : "");
    text_free(&t);
    return result;
}

TEST(batches_are_the_same_for_every_number_of_threads_and_after_a_restart)
{
    Arena *a = arena_new();
    Pipeline p = pipeline(a, 200, 2, 3, true);
    const char *expected = drain(a, loader(a, &p, 0));
    size_t line = strcspn(expected, "\n") + 1;
    assert_true(line > 1);
    for (int n_threads = 1; n_threads <= 8; n_threads++)
        for (int prefetch = 1; prefetch <= 2 * n_threads; prefetch += n_threads) {
            LoaderSettings s = { .tag = "train",
                                 .dataset = p.dataset,
                                 .batches = &p.batches,
                                 .collator = p.collator,
                                 .prefetch = prefetch,
                                 .n_threads = n_threads };
            Loader *first = loader_new(a, &s), *second = loader_new(a, &s);
            assert_string_equal(drain(a, first), expected);
            const char *rest = expected;
            Batch *b;
            for (int i = 0; i < 5 + n_threads; i++) {
                assert_no_error(loader_next(second, &b));
                rest = strchr(rest, '\n') + 1;
            }
            assert_no_error(loader_seek(first, loader_position(second)));
            assert_string_equal(drain(a, first), rest);
        }
    arena_free(a);
}

TEST(batches_hold_tokens_and_their_successors)
{
    for (int size = 1; size <= 4; size *= 2)
        for (int prefetch = 0; prefetch <= 3; prefetch++) {
            Arena *a = arena_new();
            Pipeline p = pipeline(a, 5, size, 2, false);
            Loader *l = loader(a, &p, prefetch);
            assert_int_equal(loader_count(l), 2);
            assert_string_equal(loader_tag(l), "train");
            assert_string_equal(drain(a, l),
                                "0 1 2|3 4 5|> 1 2 3|4 5 6|\n6 7 8|9 10 11|> 7 8 9|10 11 12|\n");
            assert_string_equal(drain(a, l), ""); /* the end stays the end */
            arena_free(a);
        }
}

TEST(batches_made_ahead_are_those_made_when_asked_for)
{
    Arena *a = arena_new();
    Pipeline p = pipeline(a, 83, 2, 3, true);
    const char *expected = drain(a, loader(a, &p, 0));
    for (int prefetch = 1; prefetch < 40; prefetch = prefetch * 2 + 1)
        assert_string_equal(drain(a, loader(a, &p, prefetch)), expected);
    arena_free(a);
}

TEST(a_loader_continues_exactly_at_any_position)
{
    Arena *a = arena_new();
    Pipeline p = pipeline(a, 20, 2, 3, true);
    for (int prefetch = 0; prefetch < 5; prefetch += 2) {
        Loader *whole = loader(a, &p, prefetch), *second = loader(a, &p, prefetch);
        Batch *b;
        for (int i = 0; i < 2; i++) assert_no_error(loader_next(whole, &b));
        assert_no_error(loader_seek(second, loader_position(whole)));
        const char *rest = drain(a, whole);
        assert_int_equal(strlen(rest) > 0, true);
        assert_string_equal(drain(a, second), rest);
        assert_no_error(loader_seek(whole, 0)); /* a second pass */
        assert_string_equal(drain(a, whole), drain(a, loader(a, &p, 0)));
        assert_no_error(loader_seek(whole, 4)); /* no multiple of the batch size */
        assert_no_error(loader_next(whole, &b));
        assert_int_equal(b->position, 4);
        assert_int_equal(*(int32_t *)batch_find(b, "input_ids")->data % 3, 0);
        assert_int_equal(*(int32_t *)batch_find(b, "input_ids")->data / 3,
                         p.batches.sampler->index(p.batches.sampler, 4));
        assert_error_has(loader_seek(whole, 21), "cannot continue at sample 21: this rank has 20");
        assert_error_has(loader_seek(whole, -1), "cannot continue at sample -1");
    }
    arena_free(a);
}

/* A collator that takes its time. */
static Error *dawdle(const Collator *self, const Sample *sample, int64_t n, Batch *out)
{
    (void)self;
    usleep(20000);
    return collate_all.collate(&collate_all, sample, n, out);
}

TEST(waits_for_batches_are_counted)
{
    Arena *a = arena_new();
    Pipeline p = pipeline(a, 8, 2, 2, false);
    const Collator slow = { .collate = dawdle };
    Batch *b;
    p.collator = (Collator *)&slow;
    Loader *l = loader(a, &p, 4); /* one thread makes all four */
    assert_no_error(loader_next(l, &b));
    assert_int_equal(loader_waits(l).n, 0); /* the first one does not count */
    assert_no_error(loader_next(l, &b));
    assert_int_equal(loader_waits(l).n, 1);
    assert_true(loader_waits(l).seconds > 0);
    usleep(200000);
    double before = loader_waits(l).seconds;
    assert_no_error(loader_next(l, &b));
    assert_no_error(loader_next(l, &b));
    assert_int_equal(loader_waits(l).n, 1); /* both are there */
    assert_true(loader_waits(l).seconds == before);
    arena_free(a);
}

TEST(batches_use_the_same_memory_again)
{
    Arena *a = arena_new();
    Pipeline p = pipeline(a, 30, 2, 2, true);
    for (int prefetch = 0; prefetch < 4; prefetch++) {
        const void *seen[8];
        int n_seen = 0;
        Loader *l = loader(a, &p, prefetch);
        Batch *b;
        for (int64_t i = 0; i < loader_count(l); i++) {
            assert_no_error(loader_next(l, &b));
            const void *data = batch_find(b, "input_ids")->data;
            int k = 0;
            while (k < n_seen && seen[k] != data) k++;
            if (k == n_seen) seen[n_seen++] = data;
            assert_true(n_seen <= prefetch + 1);
        }
    }
    arena_free(a);
}

TEST(an_id_beyond_the_vocabulary_names_file_sample_place_and_range)
{
    for (int size = 1; size <= 4; size *= 2)
        for (int prefetch = 0; prefetch <= 2; prefetch += 2) {
            Arena *a = arena_new();
            Pipeline p = pipeline(a, 6, size, 2, false);
            Loader *l = loader(a, &p, prefetch);
            Batch *b;
            loader_check_ids(l, 11);
            assert_no_error(loader_next(l, &b));
            for (int again = 0; again < 2; again++) {
                Error *e = loader_next(l, &b);
                assert_null(b);
                assert_contains(error_text(e), "data loader 'train': ");
                assert_contains(error_text(e), "tokens.pbin, sample 3 (tokens 9 to 12)");
                assert_error_has(
                    e,
                    "'input_ids' has the id 11 at place 2; the model's vocabulary allows 0 to 10");
            }
            loader_check_ids(l, 19);
            assert_int_equal(loader_position(l), 2);
            assert_no_error(loader_next(l, &b));
            arena_free(a);
        }
}

TEST(four_byte_ids_beyond_31_bits_are_no_ids)
{
    Arena *a = arena_new();
    PackedContinuous s = { .raw_data_path =
                               packed_file(a, "big.pbin", 4, UINT32_MAX - 9, (int64_t[]){ 8 }, 1),
                           .sample_key = "input_ids",
                           .sequence_length = 4,
                           .reuse_last_target = true };
    Pipeline p = { .collator = gpt2_collator_new(a, "input_ids", "target_ids") };
    assert_no_error(packed_continuous_open(a, &s, &p.dataset));
    p.batches = (BatchSampler){ .sampler = sequential_sampler_new(a, 1), .batch_size = 1 };
    Loader *l = loader(a, &p, 0);
    Batch *b;
    loader_check_ids(l, INT64_C(1) << 40);
    assert_error_has(loader_next(l, &b), "has the id -10 at place 0");
    arena_free(a);
}

TEST(a_sampler_of_another_dataset_is_noticed)
{
    Arena *a = arena_new();
    Pipeline p = pipeline(a, 4, 2, 1, false);
    p.batches.sampler = sequential_sampler_new(a, 9);
    Loader *l = loader(a, &p, 2);
    Batch *b;
    for (int i = 0; i < 4; i++) assert_no_error(loader_next(l, &b));
    assert_error_has(loader_next(l, &b), "asks for sample 4 of a dataset of 4");
    arena_free(a);
}

TEST(a_loader_that_is_given_up_in_between_ends_its_thread)
{
    Arena *a = arena_new();
    Pipeline p = pipeline(a, 60, 2, 1, true);
    for (int i = 0; i < 20; i++) {
        Arena *run = arena_new();
        Loader *l = loader(run, &p, 1 + i % 4);
        Batch *b;
        for (int k = 0; k < i % 3; k++) assert_no_error(loader_next(l, &b));
        arena_free(run);
    }
    arena_free(a);
}

TEST(without_a_collator_every_array_is_stacked)
{
    Arena *a = arena_new();
    Dataset *d;
    DummyItem item[] = { { "image", (int64_t[]){ 2, 3 }, 2, DUMMY_FLOAT },
                         { "ids", (int64_t[]){ 5 }, 1, DUMMY_INT } };
    assert_no_error(dummy_new(a, 4, item, 2, &d));
    Pipeline p = { .dataset = d,
                   .batches = { .sampler = sequential_sampler_new(a, 4), .batch_size = 2 } };
    Loader *l = loader(a, &p, 0);
    Batch *b;
    Sample s;
    loader_check_ids(l, 512); /* floats are no ids */
    assert_no_error(loader_next(l, &b));
    assert_no_error(loader_next(l, &b));
    const Tensor *image = batch_find(b, "image"), *ids = batch_find(b, "ids");
    assert_int_equal(image->dtype, F32);
    assert_int_equal(tensor_count(image), 12);
    assert_int_equal(ids->size[1], 5);
    assert_no_error(d->get(d, 3, a, &s));
    assert_memory_equal((float *)image->data + 6, sample_find(&s, "image")->data,
                        6 * sizeof(float));
    assert_memory_equal((int32_t *)ids->data + 5, sample_find(&s, "ids")->data,
                        5 * sizeof(int32_t));
    arena_free(a);
}

static Sample tokens_of(uint16_t *data, int64_t n)
{
    return (Sample){
        .n = 1, .item = { { "x", { .data = data, .dtype = U16, .n_dims = 1, .size = { n } } } }
    };
}

TEST(tokens_of_different_sizes_meet_in_one_batch)
{
    Arena *a = arena_new();
    PackedContinuous s = { .sample_key = "input_ids",
                           .sequence_length = 2,
                           .reuse_last_target = true };
    Dataset *part[3];
    for (int i = 0; i < 3; i++) {
        s.raw_data_path = packed_file(a, arena_printf(a, "%d.pbin", i), 1 << i, 10 * (uint32_t)i,
                                      (int64_t[]){ 3 }, 1);
        assert_no_error(packed_continuous_open(a, &s, &part[i]));
    }
    Pipeline p = { .dataset = combined_new(a, part, 3),
                   .batches = { .sampler = sequential_sampler_new(a, 3), .batch_size = 3 },
                   .collator = gpt2_collator_new(a, "input_ids", "target_ids") };
    assert_string_equal(drain(a, loader(a, &p, 0)), "0 1|10 11|20 21|> 1 2|11 12|21 22|\n");
    arena_free(a);
}

TEST(samples_that_cannot_be_stacked_say_why)
{
    Arena *a = arena_new();
    uint16_t data[4] = { 1, 2, 3, 4 };
    Batch b = { .arena = a };
    Collator *c = gpt2_collator_new(a, "x", "y"), *other = gpt2_collator_new(a, "ids", "y");
    Sample s[] = { tokens_of(data, 4), tokens_of(data, 3) };
    assert_error_has(c->collate(c, s, 2, &b),
                     "'x' of samples 0 and 1 of a batch differ in shape: u16 [4] and u16 [3]");
    batch_clear(&b);
    assert_error_has(other->collate(other, s, 1, &b), "the samples have no 'ids', only 'x'");
    s[0] = tokens_of(data, 1);
    assert_error_has(c->collate(c, s, 1, &b), "'x' must be a list of at least 2 tokens");
    batch_clear(&b);
    s[0] = tokens_of(data, 2);
    assert_no_error(c->collate(c, s, 1, &b));
    assert_int_equal(*(int32_t *)batch_find(&b, "x")->data, 1);
    assert_int_equal(*(int32_t *)batch_find(&b, "y")->data, 2);
    arena_free(a);
}
