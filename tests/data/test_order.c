/* test_order.c - where the samples of a run come from: documents of tokens, and the command that
 * prints them for steps. */
#include "cli/command_line.h"
#include "data/datasets.h"
#include "data/document_finder.h"
#include "data/packed_file.h"
#include "data/sampler.h"
#include "test.h"
#include <string.h>

TEST(every_token_is_found_in_its_document)
{
    Arena *a = arena_new();
    static const int64_t length[] = { 0, 3, 0, 0, 1, 5, 0 };
    Pbin p;
    DocumentFinder f;
    assert_no_error(pbin_open(a, packed_file(a, "x.pbin", 2, 0, length, 7), &p));
    assert_no_error(document_finder_open(a, &p, &f));
    static const int64_t document[] = { 1, 1, 1, 4, 5, 5, 5, 5, 5 },
                         begin[] = { 0, 0, 0, 3, 4, 4, 4, 4, 4 };
    for (int64_t i = 0; i < 9; i++) {
        int64_t first;
        assert_int_equal(document_finder_find(&f, i, &first), document[i]);
        assert_int_equal(first, begin[i]);
    }
    arena_free(a);
}

/* The tokens at the place that is told are those of the batch. */
TEST(the_place_of_a_sample_holds_what_the_loader_gives)
{
    Arena *a = arena_new();
    Dataset *part[3], *all;
    Sampler *sampler;
    static const int64_t length[] = { 30, 40, 1, 60 };
    PackedContinuous s = { packed_file(a, "one.pbin", 2, 0, length, 4), "x", 6, true };
    assert_no_error(packed_continuous_open(a, &s, &part[0]));
    s.raw_data_path = packed_file(a, "two.pbin", 2, 1000, length, 4);
    s.reuse_last_target = false;
    s.sequence_length = 7;
    assert_no_error(packed_continuous_open(a, &s, &part[1]));
    assert_no_error(packed_megatron_open(a, packed_file(a, "three.pbin", 2, 2000, length, 4), "x",
                                         7, &part[2]));
    all = combined_new(a, part, 3);
    assert_no_error(distributed_sampler_new(a,
                                            &(DistributedOrder){ .n = all->count(all),
                                                                 .num_replicas = 2,
                                                                 .rank = 1,
                                                                 .kind = ORDER_TORCH,
                                                                 .seed = 4,
                                                                 .skip_num_global_samples = 3 },
                                            &sampler));
    Loader *l = loader_new(
        a,
        &(LoaderSettings){ .tag = "x", .dataset = all, .batches = &(BatchSampler){ sampler, 3 } });
    Batch *b;
    int n_files = 0;
    const Pbin *seen[3] = { 0 };
    for (int64_t position = 0;; position += 3) {
        assert_no_error(loader_next(l, &b));
        if (!b) break;
        const int32_t *tokens = batch_find(b, "x")->data;
        for (int64_t i = 0; i < 3; i++, tokens += 7) {
            Text description = { 0 };
            int64_t index;
            SamplePlace place = loader_locate(l, position + i, &index, &description);
            assert_int_equal(index, sampler->index(sampler, position + i));
            assert_int_equal(place.n, 7);
            assert_contains(description.ptr, path_name(place.file->path));
            for (int64_t k = 0; k < 7; k++)
                assert_int_equal(tokens[k], pbin_token(place.file, place.first + k));
            int known = 0;
            while (known < n_files && seen[known] != place.file) known++;
            if (known == n_files) seen[n_files++] = place.file;
            text_free(&description);
        }
    }
    assert_int_equal(n_files, 3);
    arena_free(a);
}

static const char yaml[] =
    "settings:\n"
    "  step_profile: {gradient_accumulation_steps: 2}\n"
    "  training_progress: {num_seen_steps: 10}\n"
    "other: {what: ever}\n"
    "train_dataset:\n"
    "  component_key: dataset\n"
    "  variant_key: packed_mem_map_dataset_continuous\n"
    "  config: {raw_data_path: %s, sequence_length: 6, sample_key: x}\n"
    "train_dataloader:\n"
    "  component_key: data_loader\n"
    "  variant_key: default\n"
    "  config:\n"
    "    dataloader_tag: train\n"
    "    num_workers: 0\n"
    "    pin_memory: false\n"
    "    dataset: {instance_key: train_dataset, pass_type: BY_REFERENCE}\n"
    "    collate_fn: {component_key: collate_fn, variant_key: gpt_2_llm_collator,\n"
    "                 config: {sample_key: x, target_key: y}}\n"
    "    batch_sampler:\n"
    "      component_key: batch_sampler\n"
    "      variant_key: default\n"
    "      config:\n"
    "        batch_size: 2\n"
    "        sampler:\n"
    "          component_key: sampler\n"
    "          variant_key: resumable_distributed_sampler\n"
    "          config:\n"
    "            dataset: {instance_key: train_dataset, pass_type: BY_REFERENCE}\n"
    "            rank: ${cuda_env:RANK}\n"
    "            num_replicas: ${cuda_env:WORLD_SIZE}\n";

TEST(the_order_of_steps_is_printed)
{
    Arena *a = arena_new();
    static const int64_t length[] = { 10, 4, 40 };
    const char *said, *path = path_join(a, test_folder(), "c.yaml");
    const char *data = packed_file(a, "x.pbin", 2, 0, length, 3);
    const char *text = arena_printf(a, yaml, data);
    assert_no_error(file_write(path, text, strlen(text)));
    const char *args = arena_printf(a, "data order --config_file_path %s --steps", path);
    assert_int_equal(command_line_run(a, arena_printf(a, "%s 11:12", args), &said), 0);
    assert_string_equal(said,
                        arena_printf(a,
                                     "step\tmicrobatch\trow\tsample\tfile\ttokens\tdocuments\n"
                                     "11\t0\t0\t0\t%s\t0-6\t0:0-6\n"
                                     "11\t0\t1\t1\t%s\t6-12\t0:6-9 1:0-2\n"
                                     "11\t1\t0\t2\t%s\t12-18\t1:2-3 2:0-4\n"
                                     "11\t1\t1\t3\t%s\t18-24\t2:4-10\n"
                                     "12\t0\t0\t4\t%s\t24-30\t2:10-16\n"
                                     "12\t0\t1\t5\t%s\t30-36\t2:16-22\n"
                                     "12\t1\t0\t6\t%s\t36-42\t2:22-28\n"
                                     "12\t1\t1\t7\t%s\t42-48\t2:28-34\n",
                                     data, data, data, data, data, data, data, data));
    assert_int_equal(command_line_run(a, arena_printf(a, "%s 11 --format jsonl", args), &said), 0);
    assert_contains(said,
                    arena_printf(a,
                                 "\n{\"step\": 11, \"microbatch\": 0, \"row\": 1, \"sample\": "
                                 "1, \"file\": \"%s\", \"first\": 6, \"last\": 12, "
                                 "\"documents\": [{\"document\": 0, \"first\": 6, \"last\": "
                                 "9}, {\"document\": 1, \"first\": 0, \"last\": 2}]}\n",
                                 data));
    assert_int_equal(command_line_run(a, arena_printf(a, "%s 13", args), &said), 1);
    assert_contains(said, "this run has data for steps 11 to 12 (4 batches of 2 samples");
    assert_int_equal(command_line_run(a, arena_printf(a, "%s 10:11", args), &said), 1);
    static const char *const wrong[] = { "x", "0", "3:2", "3:", "3:4:5", ":4" };
    for (int i = 0; i < 6; i++) {
        assert_int_equal(command_line_run(a, arena_printf(a, "%s %s", args, wrong[i]), &said), 2);
        assert_contains(said, "the form is first:last, from 1");
    }
    arena_free(a);
}
