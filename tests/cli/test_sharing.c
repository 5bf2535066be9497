/* test_sharing.c - data commands under mpirun: three ranks give the bytes of one process. */
#include "cli/command_line.h"
#include "comm/mpirun.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* A shell's words after `modalities`, by n ranks; %s stands for this test's folder. */
static int by_ranks(Arena *a, int n, const char *words, const char **said)
{
    const char *launcher = n > 1 ? arena_printf(a, "mpirun --oversubscribe -n %d ", n) : "";
    return shell_run(
        a, arena_printf(a, "D=%s; %s%s %s", test_folder(), launcher, program_path(), words), said);
}

static void assert_made(Arena *a, int n, const char *words)
{
    const char *said;
    if (by_ranks(a, n, words, &said)) fail_msg("%s: %s", words, said);
}

static void assert_same_files(Arena *a, const char *one, const char *other)
{
    Str x, y;
    assert_no_error(file_read(a, path_join(a, test_folder(), one), &x));
    assert_no_error(file_read(a, path_join(a, test_folder(), other), &y));
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.ptr, y.ptr, x.len);
}

/* Nothing but what was asked for is left. */
static void assert_no_parts(Arena *a)
{
    const char *said;
    shell_run(a, arena_printf(a, "ls %s | grep -c -e part_ -e partial", test_folder()), &said);
    assert_string_equal(said, "0\n");
}

/* Lines of words; with `bad`, one that is no JSON. */
static void write_lines(Arena *a, const char *name, int n, int bad)
{
    Text t = { 0 };
    for (int i = 0; i < n; i++)
        if (i == bad)
            text_puts(&t, "{\"text\": oops}\n");
        else
            text_printf(&t, "{\"text\": \"line %d has the words a%d b%d and %*d\"}\n", i, i * 7,
                        i % 13, i % 40 + 1, i);
    assert_no_error(file_write(path_join(a, test_folder(), name), t.ptr, t.len));
    text_free(&t);
}

static void write_config(Arena *a, const char *name, const char *source)
{
    const char *text = arena_printf(
        a,
        "settings: {src_path: %s, dst_path: %s/OUT, index_path: null, jq_pattern: .text, num_cpus: "
        "2, "
        "eod_token: <eod>, processing_batch_size: 10, raw_samples_queue_size: 10, "
        "processed_samples_queue_size: 10}\n"
        "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, config: "
        "{pretrained_model_name_or_path: %s/tok.json}}\n",
        source, test_folder(), test_folder());
    assert_no_error(file_write(path_join(a, test_folder(), name), text, strlen(text)));
}

/* Every byte is a token, and <eod>. */
static void write_tokenizer(Arena *a)
{
    const char *said;
    assert_int_equal(by_ranks(a, 1,
                              "tokenizer train --input_path $D/lines.jsonl --output_path "
                              "$D/tok.json --vocab_size 300 "
                              "--special_tokens '<eod>'",
                              &said),
                     0);
}

static void prepare(Arena *a)
{
    mpirun_prepare(a);
    write_lines(a, "lines.jsonl", 9000, -1);
}

TEST(three_ranks_index_pack_filter_and_verify_with_the_bytes_of_one)
{
    Arena *a = arena_new();
    const char *said;
    prepare(a);
    write_tokenizer(a);
    write_config(a, "pack.yaml", arena_printf(a, "%s/lines.jsonl", test_folder()));
    for (int n = 1; n <= 3; n += 2) {
        assert_made(
            a, n,
            arena_printf(a, "data create_raw_index $D/lines.jsonl --index_path $D/%d.idx", n));
        assert_made(
            a, n,
            arena_printf(a,
                         "data pack_encoded_data $D/pack.yaml --set settings.dst_path=$D/%d.pbin "
                         "--set settings.index_path=$D/1.idx",
                         n));
        assert_made(
            a, n,
            arena_printf(
                a,
                "data filter $D/1.pbin $D/few%d.pbin --jq '.n_tokens %% 3 == 0 and .index > 4000'",
                n));
        assert_made(
            a, n, arena_printf(a, "data filter $D/1.pbin $D/none%d.pbin --jq '.index == 8999'", n));
    }
    assert_same_files(a, "1.idx", "3.idx");
    assert_same_files(a, "1.pbin", "3.pbin");
    assert_same_files(a, "few1.pbin", "few3.pbin");
    assert_same_files(a, "none1.pbin", "none3.pbin");
    assert_no_parts(a);
    const char *one, *three;
    assert_int_equal(
        by_ranks(a, 1, "data verify $D/1.pbin --tokenizer $D/tok.json --eod_token '<eod>'", &one),
        0);
    assert_int_equal(
        by_ranks(a, 3, "data verify $D/1.pbin --tokenizer $D/tok.json --eod_token '<eod>'", &three),
        0);
    assert_contains(three, one); /* MPI may have said something, too */
    assert_int_not_equal(
        by_ranks(a, 3, "data filter $D/1.pbin $D/no.pbin --jq '.index > 10000'", &said), 0);
    assert_contains(said, "the filter keeps none of the documents");
    assert_false(file_exists(path_join(a, test_folder(), "no.pbin")));
    arena_free(a);
}

TEST(a_bad_line_has_its_number_whichever_rank_finds_it)
{
    Arena *a = arena_new();
    const char *one, *three;
    mpirun_prepare(a);
    write_lines(a, "lines.jsonl", 30000, 25000);
    assert_int_equal(by_ranks(a, 1, "data create_raw_index $D/lines.jsonl", &one), 1);
    assert_contains(one, "lines.jsonl:25001");
    assert_int_not_equal(by_ranks(a, 3, "data create_raw_index $D/lines.jsonl", &three), 0);
    assert_contains(three, "lines.jsonl:25001");
    assert_false(file_exists(path_join(a, test_folder(), "lines.idx")));
    for (int n = 1; n <= 3; n += 2)
        assert_made(
            a, n,
            arena_printf(
                a, "data create_raw_index $D/lines.jsonl --on_bad_line skip --index_path $D/%d.idx",
                n));
    assert_same_files(a, "1.idx", "3.idx");
    /* the parts that the first job left are those of another file */
    write_lines(a, "lines.jsonl", 20000, -1);
    assert_made(a, 3, "data create_raw_index $D/lines.jsonl");
    assert_made(a, 1, "data create_raw_index $D/lines.jsonl --index_path $D/all.idx");
    assert_same_files(a, "all.idx", "lines.idx");
    assert_no_parts(a);
    arena_free(a);
}

/* Rank 1 dies when it makes its part; the others say so, and the next job goes on with what is
 * there. */
TEST(a_killed_rank_is_named_and_the_next_job_goes_on)
{
    Arena *a = arena_new();
    const char *said;
    prepare(a);
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "3", 0);
    assert_made(a, 1, "data create_raw_index $D/lines.jsonl");
    write_tokenizer(a);
    write_config(a, "pack.yaml", arena_printf(a, "%s/lines.jsonl", test_folder()));
    assert_made(a, 1, "data pack_encoded_data $D/pack.yaml --set settings.dst_path=$D/all.pbin");
    /* rank 1 dies when its part has begun */
    const char *die =
        "if [ $OMPI_COMM_WORLD_RANK = 1 ]; then (while ! ls $D/out.pbin.part_1_* 2>/dev/null; do "
        "sleep 0.02; done; kill -9 $$) & fi; exec $P data filter $D/all.pbin $D/out.pbin --jq "
        "\"[range(0; 1500)] | length > 0\"";
    setenv("D", test_folder(), 1);
    setenv("P", program_path(), 1);
    shell_run(
        a,
        arena_printf(a, "timeout 60 mpirun --enable-recovery --oversubscribe -n 3 sh -c '%s'", die),
        &said);
    if (file_exists(path_join(a, test_folder(), "out.pbin"))) test_skip("it was done too soon");
    assert_contains(said, "rank 1 (process ");
    assert_contains(said, " has died");
    assert_made(a, 3, "data filter $D/all.pbin $D/out.pbin --jq '[range(0; 1500)] | length > 0'");
    assert_same_files(a, "all.pbin", "out.pbin");
    assert_no_parts(a);
    arena_free(a);
}
