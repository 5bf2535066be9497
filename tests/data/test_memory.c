/* test_memory.c - data commands on inputs several times larger than the memory they may take.
 *
 * RLIMIT_DATA bounds what a process has for itself; mapped files, which the system may drop, are
 * not counted. Sanitizers need more than any such limit: with them only the inputs are tried. */
#include "cli/command_line.h"
#include "compressed.h"
#include "data/pbin.h"
#include "test.h"
#include "tokenizer/small_tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_LIMITED = 0, INPUT = 16 << 20 };
#else
enum { IS_LIMITED = 1, INPUT = 160 << 20 };
#endif
enum { LIMIT = 48 << 20, N_PACKED = 2560 };

static const char *at(Arena *a, const char *name)
{
    return path_join(a, test_folder(), name);
}

/* Runs the program in the test's folder within the limit. */
static void must(Arena *a, const char *args)
{
    Str said;
    const char *limit =
        IS_LIMITED ? arena_printf(a, "ulimit -s 1024 && ulimit -d %d &&", LIMIT >> 10) : "";
    int status =
        system(arena_printf(a, "cd %s && %s env MODALITIES_THREADS=2 %s data %s > said 2>&1",
                            test_folder(), limit, path_absolute(a, program_path()), args));
    assert_no_error(file_read(a, at(a, "said"), &said));
    if (status) fail_msg("%s: status %d: %s", args, status, said.ptr);
}

TEST(the_limit_of_memory_is_one)
{
    if (!IS_LIMITED) return;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit r = { LIMIT, LIMIT };
        if (setrlimit(RLIMIT_DATA, &r) != 0) _exit(2);
        void *volatile p = malloc(LIMIT);
        _exit(p ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Packed tokens that are a hole in the file. */
static void write_packed(Arena *a)
{
    FILE *f = fopen(at(a, "big.pbin"), "wb");
    assert_non_null(f);
    int64_t bytes = INPUT / N_PACKED / 4 * 4, all = bytes * N_PACKED;
    uint32_t size = 4;
    fwrite(&all, 8, 1, f);
    fwrite(&size, 4, 1, f);
    fseeko(f, all, SEEK_CUR);
    IndexWriter w;
    index_begin(&w, f);
    for (int64_t i = 0; i < N_PACKED; i++) index_add(&w, i * bytes, bytes);
    index_end(&w);
    assert_int_equal(fclose(f), 0);
}

/* The same line until there is enough. */
static void write_lines(Arena *a, const char *name, const char *line)
{
    Text block = { 0 };
    while (block.len < 1 << 20) text_puts(&block, line);
    FILE *f = fopen(at(a, name), "wb");
    assert_non_null(f);
    for (size_t n = 0; n < INPUT; n += block.len) fwrite(block.ptr, 1, block.len, f);
    assert_int_equal(fclose(f), 0);
    text_free(&block);
}

TEST(packed_files_larger_than_memory_are_merged_shuffled_filtered_and_converted)
{
    Arena *a = arena_new();
    write_packed(a);
    assert_no_error(file_write(at(a, "list"), "big\n", 4));
    must(a, "merge_packed_data big.pbin out.pbin");
    must(a,
         "shuffle_tokenized_data --input_data_path big.pbin --output_data_path out.pbin --seed 1 "
         "--file_existence_policy override");
    must(a, "create_shuffled_dataset_chunk --input_file_list_path list --input_data_root_path . "
            "--output_chunk_file_path out.pbin --chunk_id 0 --num_chunks 1 --global_seed 1 "
            "--file_existence_policy override");
    must(a, "filter big.pbin out.pbin --jq '.index != 3' --file_existence_policy override");
    must(a, "export_megatron big.pbin out");
    must(a, "import_megatron out.bin out.pbin --file_existence_policy override");
    arena_free(a);
}

static const char LINE[] =
    "{\"text\": \"The same words again and again, said in the same order, until "
    "there are more of them than fit.\", \"m\": [{\"role\": \"a\"}]}\n";

static void write_configs(Arena *a)
{
    static const char *const merges[] = { "s a", NULL };
    small_tokenizer(a, merges,
                    "[{\"id\": 257, \"content\": \"<eod>\", \"single_word\": false, \"lstrip\": "
                    "false, \"rstrip\": false, \"normalized\": false, \"special\": true}]");
    static const char pack[] =
        "settings: {src_path: big.jsonl, dst_path: packed.pbin, jq_pattern: .text, eod_token: "
        "<eod>, num_cpus: 2, processing_batch_size: 100, raw_samples_queue_size: 20, "
        "processed_samples_queue_size: 20}\n"
        "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, "
        "config: {pretrained_model_name_or_path: tokenizer.json}}\n";
    static const char chat[] =
        "settings: {src_path: big.jsonl, dst_path: t.jsonl, messages_key: m, "
        "pbin_creation_config_file_path: pack.yaml, split_config: {splitting: {train: 80, val: 20, "
        "test: 0}, seed: 3}}\n"
        "instruction_data_transformation: {role_mapping: {a: b}}\n"
        "jinja2_chat_template: \"{{ messages[0].role }}\"\n"
        "chat_template_data: {}\n";
    assert_no_error(file_write(at(a, "pack.yaml"), pack, strlen(pack)));
    assert_no_error(file_write(at(a, "chat.yaml"), chat, strlen(chat)));
}

TEST(texts_larger_than_memory_are_packed_plain_and_compressed)
{
    Arena *a = arena_new();
    write_configs(a);
    write_lines(a, "big.jsonl", LINE);
    must(a, "create_raw_index big.jsonl");
    must(a, "pack_encoded_data pack.yaml");
    Str plain;
    assert_no_error(file_view(a, at(a, "big.jsonl"), &plain));
    Str small = compressed(a, COMPRESSED_ZSTD, plain);
    assert_no_error(file_write(at(a, "big.jsonl.zst"), small.ptr, small.len));
    must(a, "pack_encoded_data pack.yaml --set settings.src_path=big.jsonl.zst "
            "--set settings.dst_path=other.pbin");
    assert_int_equal(
        system(arena_printf(a, "cmp %s %s", at(a, "packed.pbin"), at(a, "other.pbin"))), 0);
    arena_free(a);
}

TEST(conversations_larger_than_memory_are_converted)
{
    Arena *a = arena_new();
    write_configs(a);
    write_lines(a, "big.jsonl", LINE);
    must(a, "prepare_instruction_tuning_data --config_file_path chat.yaml");
    arena_free(a);
}

TEST(lines_larger_than_memory_are_indexed_and_shuffled)
{
    Arena *a = arena_new();
    write_lines(a, "big.jsonl", LINE);
    assert_no_error(file_write(at(a, "list"), "big\n", 4));
    must(a, "create_raw_index big.jsonl");
    must(a, "shuffle_jsonl_data --input_data_path big.jsonl --output_data_path out.jsonl --seed 1");
    must(a, "create_shuffled_jsonl_chunk --input_file_list_path list --input_data_root_path . "
            "--output_chunk_file_path out.jsonl --chunk_id 0 --num_chunks 2 --global_seed 1 "
            "--file_existence_policy override");
    arena_free(a);
}
