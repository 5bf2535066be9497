/* test_scripts.c - what the original has as scripts: norms of parameters, packing tokenized again,
 * filters that see token ids. */
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST(norms_of_parameters_are_those_of_the_numbers)
{
    Arena *a = arena_new();
    const char *said, *path = path_join(a, test_folder(), "w.safetensors"),
                      *json = path_join(a, test_folder(), "norms.json");
    /* two tensors: [3 4] and [0 2 0 0] */
    static const char header[] =
        "{\"lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
        "\"wte.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]}}";
    const float numbers[] = { 3, 4, 0, 2, 0, 0 };
    uint64_t n = (sizeof header - 1 + 7) / 8 * 8;
    Text t = { 0 };
    text_add(&t, &n, 8);
    text_puts(&t, header);
    while (t.len < 8 + n) text_putc(&t, ' ');
    text_add(&t, numbers, sizeof numbers);
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
    const char *words =
        arena_printf(a, "checkpoint norms %s %s --json_output_path %s", path, path, json);
    if (command_line_run(a, words, &said)) fail_msg("%s", said);
    assert_contains(said, "lm_head.weight: 5.000000 5.000000\n");
    assert_contains(said, "wte.weight: 2.000000 2.000000\n");
    Str text;
    assert_no_error(file_read(a, json, &text));
    assert_contains(text.ptr, "\"lm_head.weight\": 5.0");
    arena_free(a);
}

TEST(norms_of_a_training_s_checkpoint_have_every_parameter)
{
    Bench b = bench_new();
    const char *said;
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    int64_t steps;
    const char *checkpoint = bench_last_checkpoint(&b, "x", &steps);
    assert_int_equal(
        command_line_run(b.arena, arena_printf(b.arena, "checkpoint norms %s", checkpoint), &said),
        0);
    assert_contains(said, "\ntransformer.wte.weight: ");
    assert_contains(said, "\ntransformer.h.1.mlp.c_proj.weight: ");
    assert_null(strstr(said, "exp_avg"));
    arena_free(b.arena);
}

/* A corpus of 40 lines, its tokenizer and its packed file. */
static void pack(Arena *a)
{
    const char *said, *d = test_folder();
    Text t = { 0 };
    for (int i = 0; i < 40; i++) text_printf(&t, "{\"text\": \"line %d of many, %d\"}\n", i, i * i);
    assert_no_error(file_write(path_join(a, d, "x.jsonl"), t.ptr, t.len));
    text_clear(&t);
    text_printf(
        &t,
        "settings: {src_path: %s/x.jsonl, dst_path: %s/x.pbin, index_path: null, jq_pattern: "
        ".text, num_cpus: 2, eod_token: <eod>, processing_batch_size: 10, "
        "raw_samples_queue_size: 10, processed_samples_queue_size: 10}\n"
        "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, config: "
        "{pretrained_model_name_or_path: %s/tok.json}}\n",
        d, d, d);
    assert_no_error(file_write(path_join(a, d, "pack.yaml"), t.ptr, t.len));
    text_free(&t);
    const char *commands[] = {
        "tokenizer train --input_path %s/x.jsonl --output_path %s/tok.json --vocab_size 280 "
        "--special_tokens '<eod>'",
        "data create_raw_index %s/x.jsonl", "data pack_encoded_data %s/pack.yaml"
    };
    for (int i = 0; i < 3; i++) {
        const char *words =
            i ? arena_printf(a, commands[i], d) : arena_printf(a, commands[i], d, d);
        if (command_line_run(a, words, &said)) fail_msg("%s", said);
    }
}

TEST(a_packed_file_is_tokenized_again_and_the_first_difference_named)
{
    Arena *a = arena_new();
    const char *said, *d = test_folder();
    const char *verify = arena_printf(a, "data verify_packing %s/pack.yaml", d);
    pack(a);
    assert_int_equal(command_line_run(a, verify, &said), 0);
    assert_contains(said, "x.pbin: fine: 40 documents, ");
    Str text;
    const char *path = path_join(a, d, "x.pbin");
    assert_no_error(file_read(a, path, &text));
    char *bytes = arena_copy(a, text.ptr, text.len);
    bytes[12 + 2 * 3] ^= 1; /* token 3, of two bytes */
    assert_no_error(file_write(path, bytes, text.len));
    assert_int_equal(command_line_run(a, verify, &said), 1);
    assert_contains(said, "x.pbin: document 0: token 3 is ");
    assert_int_equal(shell_run(a, arena_printf(a, "ls %s | grep -c again", d), &said), 1);
    arena_free(a);
}

TEST(a_filter_sees_the_ids_of_tokens)
{
    Arena *a = arena_new();
    const char *said, *d = test_folder();
    pack(a);
    const char *filter = arena_printf(
        a,
        "data filter %s/x.pbin %s/y.pbin --jq '(.tokens | length == 0 or .[-1] != 0) or .n_tokens "
        "!= (.tokens | length)'",
        d, d);
    assert_int_not_equal(command_line_run(a, filter, &said),
                         0); /* every document ends with <eod>, 0 */
    assert_contains(said, "the filter keeps none of the 40 documents");
    filter = arena_printf(
        a, "data filter %s/x.pbin %s/y.pbin --jq '.tokens[-1] == 0 and .index < 7'", d, d);
    if (command_line_run(a, filter, &said)) fail_msg("%s", said);
    assert_contains(said, "7 documents");
    arena_free(a);
}
