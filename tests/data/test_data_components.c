/* test_data_components.c - the components of the data path as a YAML file makes them: every setting
 * changes what comes out, and wrong ones are refused with their place. */
#include "base/log.h"
#include "components.h"
#include "data/data.h"
#include "data/jsonl.h"
#include "data/packed_file.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *write_yaml(Arena *a, const char *text)
{
    const char *path = path_join(a, test_folder(), "data.yaml");
    assert_no_error(file_write(path, text, strlen(text)));
    return path;
}

static Error *build(Arena *a, const char *yaml, const char *override, const char *key,
                    const char *kind, void *out)
{
    StringList set = { .item = (const char *[]){ override }, .n = override ? 1 : 0 };
    return component_from_file(a, yaml, set, key, kind, out);
}

/* Everything that a loader gives, as text. */
static const char *content(Arena *a, Loader *l)
{
    Text t = { 0 };
    text_printf(&t, "%s %d\n", loader_tag(l), loader_pins_memory(l));
    Batch *b;
    for (;;) {
        assert_no_error(loader_next(l, &b));
        if (!b) break;
        for (int i = 0; i < b->n; i++) {
            const Tensor *x = &b->item[i].tensor;
            text_printf(&t, "%s [", b->item[i].name);
            for (int d = 0; d < x->n_dims; d++) text_printf(&t, " %lld", (long long)x->size[d]);
            text_puts(&t, " ]");
            for (int64_t k = 0; k < tensor_count(x); k++)
                text_printf(&t, " %g", dtype_get(x->dtype, x->data, k));
            text_putc(&t, '\n');
        }
    }
    const char *result = arena_string(a, t.ptr);
    text_free(&t);
    return result;
}

static const char *loader_content(Arena *a, const char *yaml, const char *override)
{
    Loader *l;
    Error *e = build(a, yaml, override, "loader", "data_loader", &l);
    if (e) fail_msg("%s: %s", override, error_text(e));
    return content(a, l);
}

static const char *training_yaml(Arena *a)
{
    const char *tokens = packed_file(a, "tokens.pbin", 2, 0, (int64_t[]){ 31, 20, 50 }, 3);
    packed_file(a, "other.pbin", 2, 500, (int64_t[]){ 101 }, 1);
    return write_yaml(
        a,
        arena_printf(a,
                     "dataset:\n"
                     "  component_key: dataset\n  variant_key: packed_mem_map_dataset_continuous\n"
                     "  config: {raw_data_path: %s, sequence_length: 4, sample_key: ids, "
                     "reuse_last_target: true}\n"
                     "loader:\n"
                     "  component_key: data_loader\n  variant_key: default\n"
                     "  config:\n"
                     "    num_workers: 1\n    pin_memory: false\n    dataloader_tag: train\n"
                     "    dataset: {instance_key: dataset, pass_type: BY_REFERENCE}\n"
                     "    batch_sampler:\n"
                     "      component_key: batch_sampler\n      variant_key: default\n"
                     "      config:\n        batch_size: 3\n        drop_last: true\n"
                     "        sampler:\n"
                     "          component_key: sampler\n          variant_key: "
                     "resumable_distributed_sampler\n"
                     "          config:\n"
                     "            {dataset: {instance_key: dataset, pass_type: BY_REFERENCE}, "
                     "rank: 0, num_replicas: 2,\n"
                     "             epoch: 0, shuffle: true, seed: 1, drop_last: true, "
                     "skip_num_global_samples: 0}\n"
                     "    collate_fn:\n"
                     "      component_key: collate_fn\n      variant_key: gpt_2_llm_collator\n"
                     "      config: {sample_key: ids, target_key: targets}\n",
                     tokens));
}

#define SAMPLER "loader.config.batch_sampler.config.sampler"

TEST(every_setting_of_the_training_data_changes_what_comes_out)
{
    Arena *a = arena_new();
    const char *yaml = training_yaml(a), *base = loader_content(a, yaml, NULL);
    assert_contains(base, "ids [ 3 4 ]");
    assert_contains(base, "targets [ 3 4 ]");
    const char *const changes[] = {
        "dataset.config.sequence_length=5",
        "dataset.config.reuse_last_target=false",
        arena_printf(a, "dataset.config.raw_data_path=%s/other.pbin", test_folder()),
        "loader.config.pin_memory=true",
        "loader.config.dataloader_tag=other",
        "loader.config.collate_fn=null",
        "loader.config.collate_fn.config.target_key=next",
        "loader.config.batch_sampler.config.batch_size=2",
        SAMPLER ".config.rank=1",
        SAMPLER ".config.num_replicas=3",
        SAMPLER ".config.epoch=1",
        SAMPLER ".config.shuffle=false",
        SAMPLER ".config.shuffle=null",
        SAMPLER ".config.seed=2",
        SAMPLER ".config.seed=null",
        SAMPLER ".config.skip_num_global_samples=3",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (!strcmp(loader_content(a, yaml, changes[i]), base))
            fail_msg("%s changes nothing", changes[i]);
    assert_string_equal(loader_content(a, yaml, "loader.config.num_workers=0"), base);
    assert_string_equal(loader_content(a, yaml, "loader.config.num_workers=1000"), base);
    arena_free(a);
}

static void assert_refused(const char *yaml, const char *override, const char *why)
{
    Arena *a = arena_new();
    Loader *l;
    Error *e = build(a, yaml, override, "loader", "data_loader", &l);
    if (!e) fail_msg("%s is accepted", override);
    assert_error_has(e, why);
    arena_free(a);
}

TEST(wrong_settings_of_the_training_data_are_refused)
{
    Arena *a = arena_new();
    const char *yaml = training_yaml(a);
    assert_refused(yaml, "dataset.config.sequence_length=1",
                   "sequence_length: 1; allowed: an integer, at least 2");
    assert_refused(yaml, "dataset.config.sequence_length=4.0", "sequence_length");
    assert_refused(yaml, "dataset.config.sequence_length=1000",
                   "101 tokens are fewer than the 1001 of one sample");
    assert_refused(yaml, "dataset.config.raw_data_path=nowhere.pbin", "nowhere.pbin");
    assert_refused(yaml, "loader.config.num_workers=-1", "num_workers");
    assert_refused(yaml, "loader.config.batch_sampler.config.batch_size=0", "batch_size");
    assert_refused(yaml, "loader.config.batch_sampler.config.drop_last=false", "drop_last");
    assert_refused(yaml, SAMPLER ".config.drop_last=false", "drop_last");
    assert_refused(yaml, SAMPLER ".config.rank=2", "rank 2 of num_replicas 2, allowed are 0 to 1");
    assert_refused(yaml, SAMPLER ".config.rank=-1", "rank");
    assert_refused(yaml, SAMPLER ".config.skip_num_global_samples=26",
                   "but the dataset has 25 samples");
    assert_refused(yaml, "loader.config.collate_fn.config.target_key=ids", "are both 'ids'");
    arena_free(a);
}

static const char *first_of(Arena *a, const char *yaml, const char *override, const char *key)
{
    Sampler *s;
    Error *e = build(a, yaml, override, key, "sampler", &s);
    if (e) fail_msg("%s: %s", override, error_text(e));
    Text t = { 0 };
    text_printf(&t, "%lld:", (long long)s->count(s));
    for (int64_t i = 0; i < s->count(s) && i < 4; i++)
        text_printf(&t, " %lld", (long long)s->index(s, i));
    const char *result = arena_string(a, t.ptr);
    text_free(&t);
    return result;
}

static const char *sampler_yaml(Arena *a)
{
    return write_yaml(
        a, "dataset:\n"
           "  component_key: dataset\n  variant_key: dummy_dataset\n"
           "  config: {num_samples: 10, sample_definition: [{sample_key: x, sample_shape: [1], "
           "sample_type: int}]}\n"
           "mesh:\n"
           "  component_key: device_mesh\n  variant_key: default\n"
           "  config: {device_type: cpu, data_parallel_replicate_degree: 1, "
           "data_parallel_shard_degree: 2,\n"
           "           tensor_parallel_degree: 2, world_size: 4}\n"
           "multi:\n"
           "  component_key: sampler\n  variant_key: resumable_distributed_multi_dim_sampler\n"
           "  config: {dataset: {instance_key: dataset, pass_type: BY_REFERENCE}, "
           "skip_num_global_samples: 1,\n"
           "           device_mesh: {instance_key: mesh, pass_type: BY_REFERENCE}, "
           "data_parallel_key: dp_shard}\n"
           "sequential:\n"
           "  component_key: sampler\n  variant_key: sequential_sampler\n"
           "  config: {data_source: {instance_key: dataset, pass_type: BY_REFERENCE}}\n"
           "distributed:\n"
           "  component_key: sampler\n  variant_key: distributed_sampler\n"
           "  config: {dataset: {instance_key: dataset, pass_type: BY_REFERENCE}, rank: 1, "
           "num_replicas: 3,\n"
           "           shuffle: false}\n");
}

TEST(ranks_that_differ_in_tensor_parallelism_alone_see_the_same_samples)
{
    Arena *a = arena_new();
    const char *yaml = sampler_yaml(a);
    static const char *const expected[] = { "4: 1 3 5 7", "4: 1 3 5 7", "4: 2 4 6 8",
                                            "4: 2 4 6 8" };
    for (int rank = 0; rank < 4; rank++) {
        setenv("WORLD_SIZE", "4", 1);
        setenv("RANK", arena_printf(a, "%d", rank), 1);
        assert_string_equal(first_of(a, yaml, NULL, "multi"), expected[rank]);
    }
    assert_string_equal(first_of(a, yaml, "multi.config.data_parallel_key=tp", "multi"),
                        "4: 2 4 6 8"); /* rank 3 */
    setenv("RANK", "4", 1);
    Sampler *s;
    assert_error_has(build(a, yaml, NULL, "multi", "sampler", &s),
                     "RANK is \"4\"; with WORLD_SIZE=4 it must be 0 to 3");
    arena_free(a);
}

TEST(copies_of_a_sharded_model_see_different_samples)
{
    Arena *a = arena_new();
    log_set_level(LOG_SILENT);
    Str text;
    assert_no_error(file_read(a, sampler_yaml(a), &text));
    char *yaml = arena_string(a, text.ptr);
    memcpy(strstr(yaml, "replicate_degree: 1"), "replicate_degree: 2", 19);
    memcpy(strstr(yaml, "tensor_parallel_degree: 2"), "tensor_parallel_degree: 1", 25);
    const char *path = write_yaml(a, yaml);
    static const char *const expected[] = { "2: 1 5", "2: 2 6", "2: 3 7", "2: 4 8" };
    static const char *const keys[] = { "multi.config.data_parallel_key=dp_shard",
                                        "multi.config.data_parallel_key=dp_replicate" };
    for (int rank = 0; rank < 4; rank++) {
        setenv("WORLD_SIZE", "4", 1);
        setenv("RANK", arena_printf(a, "%d", rank), 1);
        for (int k = 0; k < 2; k++)
            assert_string_equal(first_of(a, path, keys[k], "multi"), expected[rank]);
    }
    arena_free(a);
}

TEST(the_other_samplers_are_made_from_yaml)
{
    Arena *a = arena_new();
    const char *yaml = sampler_yaml(a);
    assert_string_equal(first_of(a, yaml, NULL, "sequential"), "10: 0 1 2 3");
    assert_string_equal(first_of(a, yaml, NULL, "distributed"), "3: 1 4 7");
    assert_string_equal(first_of(a, yaml, "distributed.config.rank=0", "distributed"), "3: 0 3 6");
    assert_string_equal(first_of(a, yaml, "distributed.config.num_replicas=2", "distributed"),
                        "5: 1 3 5 7");
    assert_string_equal(first_of(a, yaml, "distributed.config.shuffle=true", "distributed"),
                        "3: 1 3 8"); /* seed 0 */
    assert_string_equal(first_of(a, yaml, "dataset.config.num_samples=4", "distributed"), "1: 1");
    setenv("RANK", "0", 1);
    assert_string_equal(first_of(a, yaml, "multi.config.skip_num_global_samples=0", "multi"),
                        "5: 0 2 4 6");
    const char *base = first_of(a, yaml, "multi.config.shuffle=true", "multi");
    assert_string_not_equal(base, first_of(a, yaml, NULL, "multi"));
    arena_free(a);
}

static const char *dataset_content(Arena *a, const char *yaml, const char *override,
                                   const char *key)
{
    Dataset *d;
    Error *e = build(a, yaml, override, key, "dataset", &d);
    if (e) {
        const char *text = arena_string(a, error_text(e));
        error_free(e);
        return text;
    }
    Text t = { 0 };
    text_printf(&t, "%lld:", (long long)d->count(d));
    for (int64_t i = 0; i < d->count(d); i++) {
        Sample s;
        assert_no_error(d->get(d, i, a, &s));
        text_printf(&t, " %s", s.item[0].name);
        for (int64_t k = 0; k < tensor_count(&s.item[0].tensor); k++)
            text_printf(&t, " %g", dtype_get(s.item[0].tensor.dtype, s.item[0].tensor.data, k));
    }
    const char *result = arena_string(a, t.ptr);
    text_free(&t);
    return result;
}

TEST(the_other_datasets_are_made_from_yaml)
{
    Arena *a = arena_new();
    const char *tokens = packed_file(a, "tokens.pbin", 1, 0, (int64_t[]){ 3, 4 }, 2);
    const char *lines = path_join(a, test_folder(), "lines.jsonl"),
               text[] = "{\"a\": \"Hello\", \"b\": \"!\"}\n";
    IndexSummary summary;
    assert_no_error(file_write(lines, text, sizeof text - 1));
    assert_no_error(jsonl_write_index(lines, path_with_suffix(a, lines, ".idx"), NULL, &summary));
    const char *yaml = write_yaml(
        a,
        arena_printf(a,
                     "megatron:\n"
                     "  component_key: dataset\n  variant_key: packed_mem_map_dataset_megatron\n"
                     "  config: {raw_data_path: %s, block_size: 3, sample_key: x}\n"
                     "short:\n"
                     "  component_key: dataset\n  variant_key: packed_mem_map_dataset_megatron\n"
                     "  config: {raw_data_path: %s, sequence_length: 3, sample_key: x}\n"
                     "combined:\n"
                     "  component_key: dataset\n  variant_key: combined\n"
                     "  config:\n    datasets:\n"
                     "      - {instance_key: megatron, pass_type: BY_REFERENCE}\n"
                     "      - {instance_key: short, pass_type: BY_REFERENCE}\n"
                     "mem_map:\n"
                     "  component_key: dataset\n  variant_key: mem_map_dataset\n"
                     "  config:\n    raw_data_path: %s\n    index_path: null\n    jq_pattern: .a\n "
                     "   sample_key: y\n"
                     "    tokenizer:\n"
                     "      component_key: tokenizer\n      variant_key: pretrained_hf_tokenizer\n"
                     "      config: {pretrained_model_name_or_path: %s}\n",
                     tokens, tokens, lines, shared_path(a, "data/tokenizers/gpt2")));
    assert_string_equal(dataset_content(a, yaml, NULL, "megatron"), "2: x 0 1 2 x 3 4 5");
    assert_string_equal(dataset_content(a, yaml, "megatron.config.sample_key=z", "megatron"),
                        "2: z 0 1 2 z 3 4 5");
    assert_string_equal(dataset_content(a, yaml, "megatron.config.block_size=2", "megatron"),
                        "2: x 0 1 x 3 4");
    assert_string_equal(dataset_content(a, yaml, NULL, "short"), "1: x 0 1 2 3");
    assert_string_equal(dataset_content(a, yaml, NULL, "combined"), "3: x 0 1 2 x 3 4 5 x 0 1 2 3");
    assert_string_equal(dataset_content(a, yaml, NULL, "mem_map"), "1: y 15496");
    assert_string_equal(dataset_content(a, yaml, "mem_map.config.jq_pattern=.b", "mem_map"),
                        "1: y 0");
    assert_contains(dataset_content(a, yaml, "short.config.sequence_length=null", "short"),
                    "give either block_size or");
    assert_contains(dataset_content(a, yaml, "megatron.config.block_size=100", "megatron"),
                    "do not fill one sample of 100");
    arena_free(a);
}
