/* test_on_the_fly.c - samples straight from JSON lines are those of packing first, whoever asks for
 * them in whatever order. */
#include "base/log.h"
#include "data/collators.h"
#include "data/datasets.h"
#include "data/jsonl.h"
#include "data/pack.h"
#include "data/sampler.h"
#include "data/toy_tokenizer.h"
#include "test.h"
#include <string.h>

/* Writes lines of many lengths, some far longer than a block, with their index. */
static const char *write_lines(Arena *a, int n)
{
    Text t = { 0 };
    IndexSummary done;
    for (int i = 0; i < n; i++) {
        int length = i % 13 == 5 ? 100 + i : i * 7 % 19;
        text_printf(&t, "{\"text\": \"%d:%0*d\"}\n", i, length + 1, i % 10);
    }
    const char *path = path_join(a, test_folder(), "lines.jsonl");
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
    assert_no_error(jsonl_write_index(path, path_with_suffix(a, path, ".idx"), NULL, &done));
    return path;
}

static JsonlOnTheFly settings_for(const char *path, Tokenizer *t)
{
    return (JsonlOnTheFly){ .raw_data_path = path,
                            .tokenizer = t,
                            .jq_pattern = ".text",
                            .eod_token = "<eod>",
                            .sample_key = "x",
                            .sequence_length = 16,
                            .reuse_last_target = true,
                            .num_threads = 2 };
}

static const char *pack(Arena *a, const char *path, const Tokenizer *t, BadLinePolicy policy)
{
    PackSettings s = { .src_path = path,
                       .dst_path = path_with_suffix(a, path, ".pbin"),
                       .jq_pattern = ".text",
                       .eod_token = "<eod>",
                       .num_cpus = 1,
                       .processing_batch_size = 3,
                       .raw_samples_queue_size = 2,
                       .processed_samples_queue_size = 2,
                       .on_bad_line = policy };
    PackSummary done;
    assert_no_error(pack_jsonl(&s, t, &done));
    return s.dst_path;
}

static int64_t id_at(const Tensor *t, int64_t i)
{
    return t->dtype == U8 ? ((uint8_t *)t->data)[i] : ((int32_t *)t->data)[i];
}

static void assert_same(const Dataset *ours, const Dataset *packed, int64_t i)
{
    Arena *scratch = arena_new();
    Sample x, y;
    assert_no_error(ours->get(ours, i, scratch, &x));
    assert_no_error(packed->get(packed, i, scratch, &y));
    const Tensor *p = sample_find(&x, "x"), *q = sample_find(&y, "x");
    assert_int_equal(p->size[0], q->size[0]);
    for (int64_t k = 0; k < p->size[0]; k++) assert_int_equal(id_at(p, k), id_at(q, k));
    arena_free(scratch);
}

static void assert_all_same(const Dataset *ours, const Dataset *packed)
{
    int64_t n = ours->count(ours);
    assert_int_equal(n, packed->count(packed));
    assert_true(n > 20);
    for (int64_t i = 0; i < n; i++) assert_same(ours, packed, i);
    for (int64_t i = 0; i < n; i++) assert_same(ours, packed, i * 7919 % n);
}

TEST(samples_on_the_fly_are_those_of_packing_first)
{
    Arena *a = arena_new();
    Tokenizer toy = toy_tokenizer(256);
    const char *path = write_lines(a, 200), *pbin = pack(a, path, &toy, BAD_LINE_STOP);
    for (int64_t length = 2; length <= 300; length = length * 3 + 1)
        for (int rule = 0; rule < 3; rule++) {
            Dataset *ours, *packed;
            JsonlOnTheFly s = settings_for(path, &toy);
            s.sequence_length = length;
            s.reuse_last_target = rule != 1;
            s.blocks = rule == 2 ? BLOCKS_MEGATRON : BLOCKS_CONTINUOUS;
            assert_no_error(jsonl_on_the_fly_open(a, &s, &ours));
            PackedContinuous c = { pbin, "x", length, s.reuse_last_target };
            if (rule == 2)
                assert_no_error(packed_megatron_open(a, pbin, "x", length + 1, &packed));
            else
                assert_no_error(packed_continuous_open(a, &c, &packed));
            if (ours->count(ours) > 20) assert_all_same(ours, packed);
        }
    arena_free(a);
}

/* The batches of a shuffled loader as text, from `position` on. */
static const char *batches(Arena *a, const Dataset *d, int n_threads, int64_t position)
{
    Sampler *sampler;
    DistributedOrder order = { .n = d->count(d), .num_replicas = 1, .kind = ORDER_FEISTEL };
    assert_no_error(distributed_sampler_new(a, &order, &sampler));
    BatchSampler b = { sampler, 4 };
    Loader *l = loader_new(a, &(LoaderSettings){ .tag = "train",
                                                 .dataset = d,
                                                 .batches = &b,
                                                 .collator = gpt2_collator_new(a, "x", "y"),
                                                 .prefetch = 2 * n_threads,
                                                 .n_threads = n_threads });
    Text t = { 0 };
    Batch *batch;
    assert_no_error(loader_seek(l, position));
    for (;;) {
        assert_no_error(loader_next(l, &batch));
        if (!batch) break;
        const Tensor *x = batch_find(batch, "x");
        for (int64_t i = 0; i < tensor_count(x); i++) text_printf(&t, "%d ", (int)id_at(x, i));
        text_putc(&t, '\n');
    }
    const char *result = arena_string_n(a, t.ptr ? t.ptr : "", t.len);
    text_free(&t);
    return result;
}

TEST(batches_on_the_fly_do_not_depend_on_threads_and_continue)
{
    Arena *a = arena_new();
    Tokenizer toy = toy_tokenizer(256);
    JsonlOnTheFly s = settings_for(write_lines(a, 200), &toy);
    Dataset *d;
    assert_no_error(jsonl_on_the_fly_open(a, &s, &d));
    const char *expected = batches(a, d, 0, 0), *rest = expected;
    for (int i = 0; i < 3; i++) rest = strchr(rest, '\n') + 1;
    for (int n_threads = 1; n_threads <= 4; n_threads++) {
        /* opened anew, as after a kill: the counts are there, the position is all there is to know
         */
        assert_no_error(jsonl_on_the_fly_open(a, &s, &d));
        assert_string_equal(batches(a, d, n_threads, 0), expected);
        assert_string_equal(batches(a, d, n_threads, 12), rest);
    }
    arena_free(a);
}

TEST(counts_are_kept_and_made_anew_when_something_changes)
{
    Arena *a = arena_new();
    Tokenizer toy = toy_tokenizer(256);
    JsonlOnTheFly s = settings_for(write_lines(a, 50), &toy);
    Dataset *d;
    Str before, after;
    const char *counts = path_with_suffix(a, s.raw_data_path, ".counts");
    assert_no_error(jsonl_on_the_fly_open(a, &s, &d));
    int64_t n = d->count(d);
    assert_no_error(file_read(a, counts, &before));
    assert_int_equal(before.len, 56 + 4 * 50);
    assert_no_error(jsonl_on_the_fly_open(a, &s, &d));
    assert_no_error(file_read(a, counts, &after));
    assert_true(str_equal(before, after));
    s.jq_pattern = ".text + .text";
    assert_no_error(jsonl_on_the_fly_open(a, &s, &d));
    assert_true(d->count(d) > n);
    assert_no_error(file_read(a, counts, &after));
    assert_false(str_equal(before, after));
    assert_no_error(file_write(counts, before.ptr, before.len - 1)); /* cut short */
    s.jq_pattern = ".text";
    assert_no_error(jsonl_on_the_fly_open(a, &s, &d));
    assert_int_equal(d->count(d), n);
    arena_free(a);
}

TEST(counts_replace_nothing_but_counts)
{
    Arena *a = arena_new();
    Tokenizer toy = toy_tokenizer(256);
    JsonlOnTheFly s = settings_for(write_lines(a, 50), &toy);
    Dataset *d;
    Str after;
    s.counts_path = path_join(a, test_folder(), "notes");
    assert_no_error(file_write(s.counts_path, "my notes", 8));
    assert_error_has(jsonl_on_the_fly_open(a, &s, &d), "holds no counts of tokens");
    assert_no_error(file_read(a, s.counts_path, &after));
    assert_string_equal(after.ptr, "my notes");
    arena_free(a);
}

TEST(a_line_that_is_not_as_it_was_counted_is_an_error)
{
    Arena *a = arena_new(), *scratch = arena_new();
    Tokenizer toy = toy_tokenizer(256);
    JsonlOnTheFly s = settings_for(write_lines(a, 50), &toy);
    Dataset *d;
    Sample sample;
    const char *counts = path_with_suffix(a, s.raw_data_path, ".counts");
    Str bytes;
    assert_no_error(jsonl_on_the_fly_open(a, &s, &d));
    assert_no_error(file_read(a, counts, &bytes));
    ((char *)bytes.ptr)[56]++; /* of line 0 */
    assert_no_error(file_write(counts, bytes.ptr, bytes.len));
    assert_no_error(jsonl_on_the_fly_open(a, &s, &d));
    assert_error_has(d->get(d, 0, scratch, &sample), "remove the counts");
    arena_free(scratch);
    arena_free(a);
}

TEST(bad_lines_are_named_or_left_out_as_in_packing)
{
    Arena *a = arena_new();
    Tokenizer toy = toy_tokenizer(256);
    Text t = { 0 };
    IndexSummary done;
    for (int i = 0; i < 300; i++)
        text_printf(&t, i % 50 == 7 ? "{\"no\": %d}\n" : "{\"text\": \"line %d\"}\n", i);
    const char *path = path_join(a, test_folder(), "bad.jsonl");
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
    assert_no_error(jsonl_write_index(path, path_with_suffix(a, path, ".idx"), NULL, &done));
    Dataset *ours, *packed;
    JsonlOnTheFly s = settings_for(path, &toy);
    assert_error_has(jsonl_on_the_fly_open(a, &s, &ours), "bad.jsonl:8: jq_pattern '.text' finds");
    assert_false(file_exists(path_with_suffix(a, path, ".counts")));
    log_set_level(LOG_SILENT);
    s.on_bad_line = BAD_LINE_SKIP;
    assert_no_error(jsonl_on_the_fly_open(a, &s, &ours));
    PackedContinuous c = { pack(a, path, &toy, BAD_LINE_SKIP), "x", 16, true };
    assert_no_error(packed_continuous_open(a, &c, &packed));
    assert_all_same(ours, packed);
    s.eod_token = "<none>";
    assert_error_has(jsonl_on_the_fly_open(a, &s, &ours), "eod_token '<none>' is no token");
    s.eod_token = "<eod>";
    s.sequence_length = 100000;
    assert_error_has(jsonl_on_the_fly_open(a, &s, &ours), "less than one sample of 100001");
    arena_free(a);
}

TEST(lines_over_the_limit_are_bad_lines_on_the_fly)
{
    Arena *a = arena_new();
    Tokenizer toy = toy_tokenizer(256);
    Text t = { 0 };
    IndexSummary done;
    for (int i = 0; i < 100; i++)
        text_printf(&t, "{\"text\": \"%s\"}\n", i == 40 ? "far too long to be used" : "line");
    const char *path = path_join(a, test_folder(), "long.jsonl");
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
    assert_no_error(jsonl_write_index(path, path_with_suffix(a, path, ".idx"), NULL, &done));
    Dataset *all, *without;
    JsonlOnTheFly s = settings_for(path, &toy);
    s.sequence_length = 4; /* a document has five tokens */
    s.reuse_last_target = true;
    assert_no_error(jsonl_on_the_fly_open(a, &s, &all));
    s.max_line_bytes = 20;
    assert_error_has(jsonl_on_the_fly_open(a, &s, &without),
                     "long.jsonl:41: a line of more than 20 bytes (max_line_bytes)");
    log_set_level(LOG_SILENT);
    s.on_bad_line = BAD_LINE_SKIP;
    assert_no_error(jsonl_on_the_fly_open(a, &s, &without));
    int64_t n_tokens = 99 * 5;
    assert_int_equal(without->count(without), (n_tokens - 1) / 4);
    assert_true(all->count(all) > without->count(without));
    Dataset *lines;
    MemMap m = { .raw_data_path = path,
                 .tokenizer = &toy,
                 .jq_pattern = ".text",
                 .sample_key = "x",
                 .max_line_bytes = 20 };
    Sample sample;
    assert_no_error(mem_map_open(a, &m, &lines));
    assert_no_error(lines->get(lines, 39, a, &sample));
    assert_error_has(lines->get(lines, 40, a, &sample), "a line of more than 20 bytes");
    arena_free(a);
}
