/* test_rewriting.c - the commands that merge, shuffle and chunk: the original's files byte for
 * byte, and what they do with bad input, full disks and sudden death. */
#include "base/md5.h"
#include "data/packed_file.h"
#include "data/pbin.h"
#include "data/shuffle.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs the program in the test's folder with variables in front; returns the exit status, 128 + n
 * for signal n. */
static int run(Arena *a, const char *variables, const char *args, const char **said)
{
    const char *log = path_join(a, test_folder(), "said");
    Str text;
    int status = system(arena_printf(a, "cd %s && env %s %s data %s > said 2>&1", test_folder(),
                                     variables, path_absolute(a, program_path()), args));
    assert_no_error(file_read(a, log, &text));
    *said = text.ptr;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void exits(int expected, const char *args, const char *part)
{
    Arena *a = arena_new();
    const char *said;
    int status = run(a, "", args, &said);
    if (status != expected) fail_msg("%s: exit status %d, said: %s", args, status, said);
    assert_contains(said, part);
    arena_free(a);
}

/* The bytes are those of the original. It glues a last line without newline to its successor: that
 * line is `glued`, or NULL. */
static void assert_md5(const char *path, const char *glued, const char *expected)
{
    Arena *a = arena_new();
    Str bytes;
    char got[33];
    Md5 sum = { 0 };
    assert_no_error(file_read(a, path, &bytes));
    const char *line = glued ? strstr(bytes.ptr, glued) : NULL;
    if (line) {
        size_t n = (size_t)(line - bytes.ptr) + strlen(glued);
        assert_int_equal(bytes.ptr[n], '\n');
        md5_add(&sum, bytes.ptr, n);
        bytes = (Str){ bytes.ptr + n + 1, bytes.len - n - 1 };
    }
    md5_add(&sum, bytes.ptr, bytes.len);
    md5_finish(&sum, got);
    if (strcmp(got, expected)) fail_msg("%s: md5 %s, expected %s", path, got, expected);
    arena_free(a);
}

/* The line after the last newline of a corpus, or NULL. */
static const char *unended_line(Arena *a, const char *path)
{
    Str text;
    assert_no_error(file_read(a, path, &text));
    const char *newline = strrchr(text.ptr, '\n');
    return newline && newline[1] ? newline + 1 : NULL;
}

/* What the original made of its own corpora. */
TEST(the_originals_corpora_are_shuffled_byte_for_byte)
{
    static const struct {
        const char *name;
        int64_t seed;
        const char *md5;
    } rows[] = {
        { "lorem_ipsum.pbin", 0, "203c2bffab22800c568e1ec709a91543" },
        { "lorem_ipsum.pbin", 42, "e23f3f1d7d4fb3bea3ff0aa6558b2373" },
        { "lorem_ipsum_long.pbin", 0, "dce26116663d1a2734ba052a56a120c9" },
        { "lorem_ipsum_long.pbin", 42, "4fbcdc77f12069130f32be36bd30b40f" },
        { "lorem_ipsum.jsonl", 0, "1bc695e490b8e69d655873018ec5bbdb" },
        { "lorem_ipsum.jsonl", 42, "29e54ab82a5eb978c00ccf1710e8ae6b" },
        { "lorem_ipsum_long.jsonl", 0, "6d5679b9191ad814267cef476b675c20" },
        { "lorem_ipsum_long.jsonl", 42, "67a0363f2dc7a0b222884a3a3133f92e" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *from = shared_path(a, arena_printf(a, "data/modalities/data/%s", rows[i].name));
        const char *to = path_join(a, test_folder(), "shuffled");
        ShuffleSummary done;
        bool is_pbin = strstr(from, ".pbin");
        assert_no_error(shuffle_file(is_pbin ? PIECES_PBIN : PIECES_JSONL, from, to, rows[i].seed,
                                     NULL, &done));
        assert_md5(to, is_pbin ? NULL : unended_line(a, from), rows[i].md5);
    }
    arena_free(a);
}

TEST(the_originals_corpora_are_chunked_and_merged_byte_for_byte)
{
    static const char *const md5[2][4] = {
        { "6ab74f725ecb6f1c579d700fe0aead8d", "a61076ff3a242a13f532bb58acc06fb1",
          "15553b5004ab62667d16fc0ba0be1a06", "ff8e09d127a6607cb5af5d11bd58ddd0" },
        { "7524a307ba850694e41f45047117221c", "bc84fd4d8ca08dbc0ce1f15693d12be8",
          "6c185123148c8a3f0f88c45eef0e3a08", "d676cb899529d4a0b19db96a5ceefcdf" },
    };
    Arena *a = arena_new();
    const char *folder = shared_path(a, "data/modalities/data");
    assert_no_error(
        file_write(path_join(a, test_folder(), "list"), "lorem_ipsum\nlorem_ipsum_long\n", 29));
    for (int k = 0; k < 2; k++)
        for (int id = 0; id < 4; id++) {
            exits(0,
                  arena_printf(a,
                               "create_shuffled_%s_chunk --input_file_list_path list "
                               "--input_data_root_path %s --output_chunk_file_path new/%d "
                               "--file_existence_policy override --num_chunks 4 --chunk_id %d "
                               "--global_seed 42",
                               k ? "jsonl" : "dataset", folder, id, id),
                  k ? "128 lines" : "128 documents");
            const char *last = path_join(a, folder, "lorem_ipsum_long.jsonl");
            assert_md5(path_join(a, test_folder(), arena_printf(a, "new/%d", id)),
                       k ? unended_line(a, last) : NULL, md5[k][id]);
        }
    exits(0,
          arena_printf(a, "merge_packed_data %s/lorem_ipsum.pbin %s/lorem_ipsum_long.pbin m.pbin",
                       folder, folder),
          "m.pbin: 512 documents");
    assert_md5(path_join(a, test_folder(), "m.pbin"), NULL, "47a1352953cabed8b42768ba7a3911a7");
    arena_free(a);
}

TEST(chunks_share_all_items_as_evenly_as_can_be)
{
    for (int64_t n = 0; n < 30; n++)
        for (int64_t k = 1; k < 12; k++)
            for (int64_t id = 0, end = 0, from, to; id < k; id++, end = to) {
                chunk_range(n, k, id, &from, &to);
                assert_int_equal(from, end);
                assert_int_equal(to - from, n / k + (id < n % k));
                if (id == k - 1) assert_int_equal(to, n);
            }
    assert_int_equal(chunk_seed(1, 0), 1053073905);
    assert_int_equal(chunk_seed(42, 3), 2205407336);
}

/* two.pbin and four.pbin hold few tokens, big.pbin some megabytes. */
static void make_inputs(Arena *a)
{
    int64_t length[] = { 3, 0, 5, 1 }, large[200];
    for (int i = 0; i < 200; i++) large[i] = 10000 + i * 37;
    packed_file(a, "two.pbin", 2, 10, length, 4);
    packed_file(a, "four.pbin", 4, 10, length, 4);
    packed_file(a, "big.pbin", 4, 0, large, 200);
    assert_no_error(file_write(path_join(a, test_folder(), "list"), "two\n", 4));
}

TEST(bad_input_of_merging_shuffling_and_chunking_is_refused)
{
    Arena *a = arena_new();
    Str bytes;
    make_inputs(a);
    assert_no_error(file_read(a, path_join(a, test_folder(), "two.pbin"), &bytes));
    assert_no_error(file_write(path_join(a, test_folder(), "cut.pbin"), bytes.ptr, bytes.len - 9));
    assert_no_error(make_directories(path_join(a, test_folder(), "empty")));
    exits(1, "merge_packed_data two.pbin cut.pbin out.pbin", "cut.pbin: the index of documents");
    exits(1, "merge_packed_data two.pbin four.pbin out.pbin",
          "token representation sizes. This could indicate the usage of different tokenizers. Not "
          "supported! (two.pbin: 2 bytes, four.pbin: 4 bytes)");
    exits(2, "merge_packed_data two.pbin four.pbin", "four.pbin exists already");
    exits(2, "merge_packed_data nowhere.pbin out.pbin", "nowhere.pbin");
    exits(1, "merge_packed_data empty out.pbin", "there is no .pbin file below empty");
    exits(1, "shuffle_tokenized_data --input_data_path cut.pbin --output_data_path out.pbin",
          "cut.pbin: the index of documents");
    exits(1, "shuffle_tokenized_data --input_data_path two.pbin --output_data_path four.pbin",
          "File already exists.");
    exits(0,
          "shuffle_tokenized_data --input_data_path two.pbin --output_data_path four.pbin "
          "--file_existence_policy skip",
          "File already exists at four.pbin. Skipping ...");
    exits(1, "shuffle_tokenized_data --input_data_path two.pbin --output_data_path ./two.pbin",
          "Input and output file paths must be different.");
    static const char chunk[] = "create_shuffled_dataset_chunk --input_file_list_path list "
                                "--input_data_root_path . --output_chunk_file_path out.pbin";
    exits(1, arena_printf(a, "%s --chunk_id 0 --num_chunks 0", chunk),
          "Number of chunks must be greater than 0.");
    exits(1, arena_printf(a, "%s --chunk_id 2 --num_chunks 2", chunk),
          "Chunk ID must be less than the number of chunks. (chunk 2 of 2");
    exits(1, arena_printf(a, "%s --chunk_id -1 --num_chunks 2", chunk), "chunk -1 of 2");
    exits(1, arena_printf(a, "%s --chunk_id 4 --num_chunks 9", chunk),
          "Chunk 4 is empty: 9 chunks of 1 files leave no document for it");
    assert_no_error(file_write(path_join(a, test_folder(), "list"), "two\nfour\n", 9));
    exits(1, arena_printf(a, "%s --chunk_id 0 --num_chunks 1", chunk),
          "All datasets must have the same token size in bytes. (./two.pbin: 2, ./four.pbin: 4)");
    assert_no_error(file_write(path_join(a, test_folder(), "list"), "two\nthree\n", 10));
    exits(1, arena_printf(a, "%s --chunk_id 0 --num_chunks 1", chunk), "cannot open ./three.pbin");
    assert_false(file_exists(path_join(a, test_folder(), "out.pbin")));
    arena_free(a);
}

TEST(without_a_seed_the_seed_is_drawn_and_told)
{
    Arena *a = arena_new();
    const char *said;
    make_inputs(a);
    const char *args = "shuffle_tokenized_data --input_data_path big.pbin --output_data_path "
                       "%s.pbin --file_existence_policy override %s";
    assert_int_equal(run(a, "", arena_printf(a, args, "one", ""), &said), 0);
    long long seed;
    assert_int_equal(sscanf(said, "--seed %lld was drawn", &seed), 1);
    assert_int_equal(
        run(a, "", arena_printf(a, args, "other", arena_printf(a, "--seed %lld", seed)), &said), 0);
    Str one, other, input;
    assert_no_error(file_read(a, path_join(a, test_folder(), "one.pbin"), &one));
    assert_no_error(file_read(a, path_join(a, test_folder(), "other.pbin"), &other));
    assert_no_error(file_read(a, path_join(a, test_folder(), "big.pbin"), &input));
    assert_int_equal(one.len, other.len);
    assert_memory_equal(one.ptr, other.ptr, one.len);
    assert_memory_not_equal(one.ptr, input.ptr, PBIN_HEADER + 80000);
    arena_free(a);
}

static const char *shim(Arena *a, const char *at, const char *mode)
{
    char self[4096] = { 0 };
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    return arena_printf(a,
                        "LD_PRELOAD=%s/crash_shim.so ASAN_OPTIONS=verify_asan_link_order=0 "
                        "CRASH_PATH=out.pbin CRASH_AT=%s CRASH_MODE=%s",
                        path_folder(a, self), at, mode);
}

static int64_t count_files(Arena *a, const char *pattern)
{
    PathList files = { 0 };
    int64_t n = 0;
    assert_no_error(files_below(a, test_folder(), "", &files));
    for (int64_t i = 0; i < files.n; i++) n += text_matches(pattern, path_name(files.item[i]));
    return n;
}

/* Every change to the file system fails or kills in turn: what was there stays, or the new file is
 * whole. */
TEST(full_disks_and_sudden_death_leave_no_half_written_output)
{
    static const char *const commands[] = {
        "merge_packed_data big.pbin two4.pbin out.pbin",
        "shuffle_tokenized_data --input_data_path big.pbin --output_data_path out.pbin --seed 1 "
        "--file_existence_policy override",
    };
    Arena *a = arena_new();
    const char *said, *out = path_join(a, test_folder(), "out.pbin");
    Str whole;
    make_inputs(a);
    int64_t length[] = { 3 };
    packed_file(a, "two4.pbin", 4, 10, length, 1);
    for (int c = 0; c < 2; c++) {
        assert_no_error(remove_tree(out));
        assert_int_equal(run(a, "", commands[c], &said), 0);
        assert_no_error(file_read(a, out, &whole));
        int n_failed = 0, n_killed = 0;
        for (int at = 1; at <= 8; at++) {
            for (int kill = 0; kill < 2; kill++) {
                assert_no_error(remove_tree(out));
                if (c) assert_no_error(file_write(out, "before", 6));
                const char *event = arena_printf(a, kill ? "any:%d" : "write:%d", at);
                int status = run(a, shim(a, event, kill ? "kill" : "ENOSPC"), commands[c], &said);
                Str got = { "", 0 };
                if (file_exists(out)) assert_no_error(file_read(a, out, &got));
                bool is_new = got.len == whole.len && !memcmp(got.ptr, whole.ptr, got.len);
                bool is_old = c ? str_is(got, "before") : !file_exists(out);
                assert_true(is_new || is_old);
                if (status == 0) assert_true(is_new);
                if (!kill) assert_int_equal(count_files(a, "out.pbin?*"), 0);
                if (!kill && status) assert_contains(said, "No space left on device");
                n_failed += !kill && status != 0;
                n_killed += kill && status != 0;
                assert_int_equal(system(arena_printf(a, "rm -f %s.*", out)), 0);
            }
        }
        assert_true(n_failed >= 4);
        assert_true(n_killed >= 4);
    }
    arena_free(a);
}

TEST(megatron_commands_follow_the_policy_of_both_files)
{
    Arena *a = arena_new();
    make_inputs(a);
    exits(0, "export_megatron two.pbin m", "m.bin: 4 documents");
    exits(1, "export_megatron two.pbin m.bin", "File already exists.");
    exits(0, "export_megatron two.pbin m.idx --file_existence_policy skip", "Skipping ...");
    exits(0, "export_megatron two.pbin m --file_existence_policy override", "Overriding it.");
    exits(0, "import_megatron m back.pbin", "back.pbin: 4 documents");
    exits(1, "import_megatron m.idx back.pbin", "File already exists.");
    exits(1, "import_megatron m.idx m.bin --file_existence_policy override", "must be different");
    exits(1, "import_megatron nowhere x.pbin", "cannot open nowhere.bin");
    exits(0, "export_megatron two.pbin f --index_format fairseq", "f.bin: 4 documents");
    exits(0, "import_megatron f.bin back.pbin --file_existence_policy override", "4 documents");
    Str one, other;
    assert_no_error(file_read(a, path_join(a, test_folder(), "two.pbin"), &one));
    assert_no_error(file_read(a, path_join(a, test_folder(), "back.pbin"), &other));
    assert_int_equal(one.len, other.len);
    assert_memory_equal(one.ptr, other.ptr, one.len);
    arena_free(a);
}

TEST(lines_over_the_limit_are_an_error_or_left_out_by_shuffling)
{
    static const char text[] = "{}\n[1, 2, 3, 4]\n[]\n[\"much too long\"]\n[5, 6, 7, 8]";
    Arena *a = arena_new();
    Str out;
    assert_no_error(file_write(path_join(a, test_folder(), "long.jsonl"), text, sizeof text - 1));
    assert_no_error(file_write(path_join(a, test_folder(), "files"), "long", 4));
    const char *shuffle = "shuffle_jsonl_data --input_data_path long.jsonl --output_data_path s "
                          "--seed 1 --file_existence_policy override --max_line_bytes";
    const char *chunk = "create_shuffled_jsonl_chunk --input_file_list_path files "
                        "--input_data_root_path . --output_chunk_file_path c --num_chunks 1 "
                        "--chunk_id 0 --global_seed 1 --max_line_bytes";
    exits(1, arena_printf(a, "%s 12", shuffle),
          "long.jsonl:4: a line of more than 12 bytes (max_line_bytes) (byte 19 of the file");
    exits(1, arena_printf(a, "%s 12", chunk), "long.jsonl:4: a line of more than 12 bytes");
    exits(0, arena_printf(a, "%s 12 --on_bad_line skip --bad_line_report report", shuffle),
          "s: 1 of 5 lines were left out");
    assert_no_error(file_read(a, path_join(a, test_folder(), "s"), &out));
    assert_int_equal(out.len, sizeof text - sizeof "[\"much too long\"]");
    assert_no_error(file_read(a, path_join(a, test_folder(), "report"), &out));
    assert_contains(out.ptr, "\"line\": 4, \"byte\": 19, \"reason\": \"a line of more than 12");
    exits(0, arena_printf(a, "%s 11 --on_bad_line skip", chunk), "c: 3 of 5 lines were left out");
    assert_no_error(file_read(a, path_join(a, test_folder(), "c"), &out));
    assert_int_equal(out.len, 6);
    arena_free(a);
}
