/* test_threads.c - where no further thread can be made, work goes on with fewer or ends with an
 * error; it never dies.
 *
 * Under tests/preload/thread_shim.c the N-th thread fails, for every second N all after it, too,
 * until a run asks for no more than N - 1. */
#include "end_to_end/kill_case.h"
#include "end_to_end/training.h"
#include <string.h>

enum { MOST_THREADS = 100 };

static const char *variables(Arena *a, int n, bool rest)
{
    return arena_printf(a,
                        "LD_PRELOAD=%s ASAN_OPTIONS=verify_asan_link_order=0 MODALITIES_THREADS=3 "
                        "MODALITIES_PART_BYTES=1 THREAD_LOG=failed THREAD_AT=%d%s",
                        test_tool(a, "thread_shim.so"), n, rest ? " THREAD_REST=1" : "");
}

static void check_outputs(Arena *a, const KillCase *c, int n, const KillOutputs *whole)
{
    KillOutputs got = kill_read_outputs(a, c);
    for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++)
        if (got.file[i].len != whole->file[i].len ||
            memcmp(got.file[i].ptr, whole->file[i].ptr, got.file[i].len) != 0)
            fail_msg("%s, thread %d: %s differs", c->name, n, c->output[i]);
}

/* No output was written, but parts that the same command goes on from may stay. */
static void check_nothing_written(Arena *a, const KillCase *c, int n, const KillOutputs *whole)
{
    for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++)
        assert_false(file_exists(kill_path(a, c->output[i])));
    kill_must(a, c->args);
    check_outputs(a, c, n, whole);
}

/* Whether a thread failed. */
static bool run_without(const KillCase *c, int n, bool rest, const KillOutputs *whole)
{
    Arena *a = arena_new();
    const char *said;
    kill_remove_outputs(a, c);
    assert_no_error(remove_tree(kill_path(a, "failed")));
    int status = kill_run(a, variables(a, n, rest), "", c->args, &said);
    bool some_failed = file_exists(kill_path(a, "failed"));
    if (status == 0)
        check_outputs(a, c, n, whole);
    else if (status == 1 && some_failed && strstr(said, "a thread to read it cannot be made"))
        check_nothing_written(a, c, n, whole);
    else
        fail_msg("%s, thread %d: status %d: %s", c->name, n, status, said);
    arena_free(a);
    return some_failed;
}

/* At least `least` threads are made. */
static void check_case(const KillCase *c, int least)
{
    Arena *a = arena_new();
    kill_remove_outputs(a, c);
    kill_must(a, c->args);
    KillOutputs whole = kill_read_outputs(a, c);
    int n = 1;
    while (run_without(c, n, n % 2, &whole)) assert_true(n++ < MOST_THREADS);
    if (n <= least) fail_msg("%s: only %d threads", c->name, n - 1);
    arena_free(a);
}

TEST(data_commands_outlive_threads_that_cannot_be_made)
{
    static const KillCase cases[] = {
        { "indexing", "data create_raw_index plain.jsonl --index_path out.idx", { "out.idx" }, 0 },
        { "packing", PACK "--set settings.num_cpus=3", { "out.pbin" }, 0 },
        { "packing a stream",
          PACK "--set settings.src_path=in/b.jsonl.gz --set settings.num_cpus=3",
          { "out.pbin" },
          0 },
        { "packing a folder",
          PACK "--set settings.src_path=in --set settings.on_bad_line=skip",
          { "out.pbin" },
          0 },
        { "merging", "data merge_packed_data big.pbin big.pbin out.pbin", { "out.pbin" }, 0 },
        { "shuffling lines",
          "data shuffle_jsonl_data --input_data_path big.jsonl --output_data_path out.jsonl --seed "
          "1" REWRITE,
          { "out.jsonl" },
          0 },
        { "filtering", "data filter big.pbin out.pbin --jq '.index % 3 != 1'", { "out.pbin" }, 0 },
        { "exporting", "data export_megatron big.pbin out", { "out.bin", "out.idx" }, 0 },
        { "importing", "data import_megatron big.bin out.pbin", { "out.pbin" }, 0 },
        { "verifying", "data verify big.pbin", { NULL }, 0 },
        { "training a tokenizer",
          "tokenizer train --input_path plain.jsonl --vocab_size 300 "
          "--output_path out.json",
          { "out.json" },
          0 },
    };
    Arena *a = arena_new();
    kill_make_inputs(a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i], 2);
    arena_free(a);
}

/* Batches are made by threads of the loaders, kernels run on those of the pool. */
TEST(a_training_outlives_threads_that_cannot_be_made)
{
    static const char *const more[] = { "--set", "train_dataloader.config.num_workers=2", "--set",
                                        "eval_dataloaders.0.config.num_workers=2", NULL };
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *failed = path_join(a, test_folder(), "failed");
    assert_ended_well(bench_run(&b, "whole", NULL, more, NULL));
    int n = 1;
    for (bool some_failed = true; some_failed; n += some_failed) {
        const char *id = arena_printf(a, "without-%d", n);
        const char *const faults[] = { arena_printf(a, "LD_PRELOAD=%s",
                                                    test_tool(a, "thread_shim.so")),
                                       "ASAN_OPTIONS=verify_asan_link_order=0",
                                       "MODALITIES_THREADS=3",
                                       arena_printf(a, "THREAD_LOG=%s", failed),
                                       arena_printf(a, "THREAD_AT=%d", n),
                                       n % 2 ? "THREAD_REST=1" : NULL,
                                       NULL };
        assert_no_error(remove_tree(failed));
        Outcome o = bench_run(&b, id, NULL, more, faults);
        assert_ended_well(o);
        some_failed = file_exists(failed);
        if (some_failed)
            assert_contains(o.text, " threads can be made (Resource temporarily unavailable)");
        assert_same_state(&b, id, "whole");
        assert_no_error(remove_tree(path_join(a, b.root, id)));
        assert_true(n < MOST_THREADS);
    }
    assert_true(n > 6);
    arena_free(a);
}
