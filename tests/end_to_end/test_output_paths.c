/* test_output_paths.c - outputs that tables of options cannot judge: default outputs, files that a
 * YAML file, a list, a folder or a pattern names. Each is refused, and no file is changed. */
#include "checkpoint/manifest.h"
#include "end_to_end/kill_inputs.h"
#include "end_to_end/training.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PACK_YAML[] = "settings:\n"
                                "  src_path: in.jsonl\n"
                                "  dst_path: out.pbin\n"
                                "  index_path: null\n"
                                "  jq_pattern: .text\n"
                                "  num_cpus: 1\n"
                                "  eod_token: <|endoftext|>\n"
                                "  processing_batch_size: 5\n"
                                "  raw_samples_queue_size: 3\n"
                                "  processed_samples_queue_size: 3\n"
                                "tokenizer:\n"
                                "  component_key: tokenizer\n"
                                "  variant_key: pretrained_hf_tokenizer\n"
                                "  config: {pretrained_model_name_or_path: tok, truncation: false, "
                                "padding: false}\n";

static void put(Arena *a, const char *name, const char *text)
{
    assert_no_error(make_directories(path_folder(a, kill_path(a, name))));
    kill_put(a, name, str_of(text));
}

static void make_inputs(Arena *a)
{
    put(a, "in.jsonl", "{\"text\": \"one two\"}\n{\"text\": \"three\"}\n");
    put(a, "d/a.jsonl", "{\"text\": \"four\"}\n");
    put(a, "d/a.json", "{\"text\": \"five\"}\n");
    put(a, "list", "in\n");
    put(a, "pack.yaml", PACK_YAML);
    kill_must(a, "tokenizer train --input_path in.jsonl --output_path tok/tokenizer.json "
                 "--vocab_size 300");
    put(a, "tok/tokenizer_config.json", "{}");
    kill_must(a, "data create_raw_index in.jsonl");
    kill_must(a, "data pack_encoded_data pack.yaml --set settings.dst_path=in.pbin");
    kill_must(a, "data export_megatron in.pbin m");
    assert_no_error(make_directories(kill_path(a, "packed")));
    kill_must(a, "data merge_packed_data in.pbin packed/one.pbin");
}

/* Names and contents of all files. */
static const char *picture(Arena *a)
{
    PathList files = { 0 };
    Text t = { 0 };
    assert_no_error(files_below(a, test_folder(), "", &files));
    for (int64_t i = 0; i < files.n; i++) {
        Str content;
        if (strstr(files.item[i], "/said")) continue;
        assert_no_error(file_read(a, files.item[i], &content));
        text_printf(&t, "%s %zu %08x\n", files.item[i], content.len,
                    checksum(0, content.ptr, content.len));
    }
    const char *all = arena_string(a, t.ptr);
    text_free(&t);
    return all;
}

static void is_refused(Arena *a, const char *args, const char *part)
{
    const char *said, *before = picture(a);
    int status = kill_run(a, "", "", args, &said);
    if (status != 1) fail_msg("%s: exit status %d: %s", args, status, said);
    assert_contains(said, part);
    assert_string_equal(picture(a), before);
}

static const char OVER_INPUT[] = "Input and output file paths must be different.";
static const char TWO_OUTPUTS[] = "Two outputs must be different files.";

TEST(an_index_is_not_written_over_a_file_that_is_indexed)
{
    Arena *a = arena_new();
    make_inputs(a);
    put(a, "strange.idx", "{\"text\": 1}\n");
    is_refused(a, "data create_raw_index strange.idx" REWRITE, OVER_INPUT);
    is_refused(a, "data create_raw_index 'd/*' --on_bad_line skip" REWRITE, "d/a.idx matches");
    is_refused(a, "data create_raw_index 'd/a.js*'" REWRITE, TWO_OUTPUTS);
    is_refused(a, "data create_raw_index d --index_path d/all.jsonl", "lies in the folder");
    is_refused(a, "data create_raw_index d --on_bad_line skip --bad_line_report d/a.idx" REWRITE,
               TWO_OUTPUTS);
    is_refused(a, "data create_raw_index in.jsonl --on_bad_line skip --bad_line_report in.jsonl",
               OVER_INPUT);
    is_refused(a, "data create_raw_index - --index_path in.jsonl" REWRITE " < in.jsonl",
               "is also standard input");
    arena_free(a);
}

TEST(packing_does_not_write_over_what_its_configuration_names)
{
    static const char *const inputs[] = { "in.jsonl", "in.idx", "pack.yaml", "tok/tokenizer.json",
                                          "tok/tokenizer_config.json" };
    Arena *a = arena_new();
    make_inputs(a);
    for (int i = 0; i < 5; i++) {
        const char *input = inputs[i];
        is_refused(a, arena_printf(a, PACK "--set settings.dst_path=%s", input), OVER_INPUT);
        is_refused(a, arena_printf(a, PACK "--set settings.bad_line_report=%s", input), OVER_INPUT);
    }
    is_refused(a, PACK "--set settings.bad_line_report=out.pbin", TWO_OUTPUTS);
    is_refused(a, PACK "--set settings.src_path=d --set settings.dst_path=d/new.jsonl",
               "settings.dst_path d/new.jsonl lies in the folder settings.src_path d");
    is_refused(a, PACK "--set 'settings.src_path=d/*' --set settings.dst_path=./d/new.pbin",
               "matches settings.src_path d/*");
    is_refused(a, PACK "--set settings.dst_path=tok/new.json", "is a file of the tokenizer");
    kill_must(a, PACK "--set settings.dst_path=tok/new.pbin"); /* data may lie there */
    arena_free(a);
}

TEST(files_of_lists_prefixes_and_folders_are_not_written_over)
{
    static const char chunk[] =
        "data create_shuffled_jsonl_chunk --input_file_list_path list "
        "--input_data_root_path . --chunk_id 0 --num_chunks 1" REWRITE " --output_chunk_file_path ";
    Arena *a = arena_new();
    make_inputs(a);
    is_refused(a, arena_printf(a, "%slist", chunk), OVER_INPUT);
    is_refused(a, arena_printf(a, "%sin.jsonl", chunk), OVER_INPUT);
    is_refused(a,
               arena_printf(a, "%sout.jsonl --on_bad_line skip --bad_line_report in.jsonl", chunk),
               OVER_INPUT);
    kill_must(a, arena_printf(a, "%sout.jsonl", chunk));
    is_refused(a, "data import_megatron m m.idx" REWRITE, OVER_INPUT);
    put(a, "p.bin", "x");
    is_refused(a, "data import_megatron m.bin m.bin" REWRITE, OVER_INPUT);
    assert_int_equal(rename(kill_path(a, "in.pbin"), kill_path(a, "same.idx")), 0);
    is_refused(a, "data export_megatron same.idx same" REWRITE, OVER_INPUT);
    assert_int_equal(rename(kill_path(a, "same.idx"), kill_path(a, "in.pbin")), 0);
    is_refused(a, "data merge_packed_data packed packed/all.pbin", "lies in the folder");
    is_refused(a, "data merge_packed_data in.pbin in.pbin", OVER_INPUT);
    kill_must(a, "data merge_packed_data packed all.pbin");
    arena_free(a);
}

TEST(tokenizer_commands_do_not_write_over_texts_and_tokenizers)
{
    Arena *a = arena_new();
    make_inputs(a);
    is_refused(
        a, "tokenizer train --input_path in.jsonl --output_path in.jsonl --vocab_size 300" REWRITE,
        OVER_INPUT);
    is_refused(a, "tokenizer train --input_path d --output_path d/x.jsonl --vocab_size 300",
               "lies in the folder");
    is_refused(a, "tokenizer encode --tokenizer tok --output_path in.jsonl < in.jsonl",
               "is also standard input");
    const char *before = picture(a);
    assert_int_not_equal(
        system(arena_printf(a,
                            "cd %s && %s tokenizer encode --tokenizer tok --input_path in.jsonl "
                            ">> in.jsonl 2> said",
                            test_folder(), path_absolute(a, program_path()))),
        0);
    assert_string_equal(picture(a), before);
    is_refused(a,
               "tokenizer encode --tokenizer tok --input_path in.jsonl --output_path "
               "tok/tokenizer.json",
               "is a file of the tokenizer");
    is_refused(a,
               "tokenizer encode --tokenizer tok/tokenizer.json --input_path in.jsonl "
               "--output_path tok/tokenizer_config.json",
               "is a file of the tokenizer");
    kill_must(a, "tokenizer encode --tokenizer tok --input_path in.jsonl --output_path ids.jsonl");
    arena_free(a);
}

TEST(an_output_that_is_there_is_replaced_only_when_asked)
{
    Arena *a = arena_new();
    Str text;
    make_inputs(a);
    put(a, "mine", "precious\n");
    put(a, "s/1/aaaa_2026-01-01__00-00-00/c.yaml", "x: 1\n");
    static const char encode[] = "tokenizer encode --tokenizer tok --input_path in.jsonl "
                                 "--output_path ",
                      decode[] = "tokenizer decode --tokenizer tok --input_path ids --output_path ",
                      remaining[] = "benchmark list_remaining_runs --exp_root s --expected_steps "
                                    "1 --file_list_path ";
    kill_must(a, arena_printf(a, "%s ids", encode));
    is_refused(a, arena_printf(a, "%s mine", encode), "File already exists");
    is_refused(a, arena_printf(a, "%s mine", decode), "File already exists");
    is_refused(a, arena_printf(a, "%s mine", remaining),
               "mine is there already and is not a list of configurations");
    kill_must(a, arena_printf(a, "%s list2", remaining));
    kill_must(a, arena_printf(a, "%s list2", remaining)); /* replaces its own */
    kill_must(a, arena_printf(a, "%s mine --file_existence_policy skip", decode));
    assert_no_error(file_read(a, kill_path(a, "mine"), &text));
    assert_string_equal(text.ptr, "precious\n");
    kill_must(a, arena_printf(a, "%s mine --file_existence_policy override", decode));
    assert_no_error(file_read(a, kill_path(a, "mine"), &text));
    assert_string_equal(text.ptr, "{\"text\": \"one two\"}\n{\"text\": \"three\"}\n");
    arena_free(a);
}

TEST(converting_conversations_does_not_write_over_what_two_configurations_name)
{
    static const char *const inputs[] = { "chats.jsonl", "chat.yaml", "pack_chats.yaml",
                                          "tokenizer.json" };
    static const char convert[] = "data prepare_instruction_tuning_data --config_file_path "
                                  "chat.yaml --set settings.bad_line_report=";
    Arena *a = arena_new();
    kill_make_inputs(a);
    for (int i = 0; i < 4; i++)
        is_refused(a, arena_printf(a, "%s%s", convert, inputs[i]), OVER_INPUT);
    kill_must(a, arena_printf(a, "%snew.jsonl", convert));
    arena_free(a);
}

TEST(a_training_does_not_add_results_to_what_it_reads)
{
    Bench b = bench_new();
    Str before, after;
    assert_no_error(file_read(b.arena, b.pbin, &before));
    const char *const names[] = { b.pbin, "tests/end_to_end/train.yaml" };
    for (int i = 0; i < 2; i++) {
        const char *set =
            arena_printf(b.arena, "evaluation_subscriber.config.output_file_path=%s", names[i]);
        const char *const more[] = { "--set", set, NULL };
        assert_refused(bench_run(&b, "x", NULL, more, NULL), 1, OVER_INPUT);
    }
    assert_no_error(file_read(b.arena, b.pbin, &after));
    assert_int_equal(after.len, before.len);
    assert_false(file_exists(path_join(b.arena, b.root, "x")));
    arena_free(b.arena);
}
