/* test_kill_data.c - data commands that are killed go on after their finished parts, and their
 * outputs have the same bytes.
 *
 * kill_points.h says at which events; packing has a file of its own. */
#include "base/file.h"
#include "end_to_end/kill_case.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const KillCase cases[] = {
    { "merging", "data merge_packed_data big.pbin big.pbin out.pbin", { "out.pbin" }, 4 },
    { "shuffling documents",
      "data shuffle_tokenized_data --input_data_path big.pbin --output_data_path out.pbin --seed "
      "1" REWRITE,
      { "out.pbin" },
      2 },
    { "shuffling lines",
      "data shuffle_jsonl_data --input_data_path big.jsonl --output_data_path out.jsonl --seed "
      "1" REWRITE,
      { "out.jsonl" },
      2 },
    { "a chunk",
      "data create_shuffled_dataset_chunk --input_file_list_path list --input_data_root_path . "
      "--output_chunk_file_path out.pbin --chunk_id 0 --num_chunks 1 --global_seed 3" REWRITE,
      { "out.pbin" },
      2 },
    { "filtering",
      "data filter big.pbin out.pbin --jq '.index % 3 != 1'" REWRITE,
      { "out.pbin" },
      4 },
    { "exporting", "data export_megatron big.pbin out" REWRITE, { "out.bin", "out.idx" }, 2 },
    { "importing", "data import_megatron big.bin out.pbin" REWRITE, { "out.pbin" }, 2 },
    { "converting conversations",
      "data prepare_instruction_tuning_data --config_file_path chat.yaml",
      { "chats_b3d13d9/t_train.b3d13d9.jsonl", "chats_b3d13d9/t_val.b3d13d9.jsonl",
        "chats_b3d13d9/t_train.b3d13d9.pbin", "chats_b3d13d9/t_val.b3d13d9.pbin", "report.jsonl" },
      2 },
};

TEST(killed_copying_goes_on_with_the_same_bytes)
{
    kill_cases(cases, 4);
}

TEST(killed_filtering_exporting_and_importing_go_on_with_the_same_bytes)
{
    kill_cases(cases + 4, 3);
}

TEST(killed_converting_of_conversations_goes_on_with_the_same_bytes)
{
    kill_cases(cases + 7, 1);
}

/* Its files are read at the rate of the disk: each begins anew, but those that are complete. */
TEST(killed_indexing_of_a_folder_goes_on_with_the_next_file)
{
    Arena *a = arena_new();
    const char *said;
    Str whole[3], got;
    static const char *const names[] = { "in/a.idx", "in/b.jsonl.idx", "in/c.jsonl.idx" };
    static const char index[] = "data create_raw_index in --file_existence_policy skip";
    kill_make_inputs(a);
    kill_must(a, index);
    for (int i = 0; i < 3; i++) {
        assert_no_error(file_read(a, kill_path(a, names[i]), &whole[i]));
        assert_no_error(remove_tree(kill_path(a, names[i])));
    }
    assert_int_equal(kill_run(a, "", "CRASH_AT=rename:2", index, &said), 128 + SIGKILL);
    assert_int_equal(kill_run(a, "", "CRASH_LOG=events", index, &said), 0);
    assert_contains(said, "File already exists at in/a.idx. Skipping ...");
    for (int i = 0; i < 3; i++) {
        assert_no_error(file_read(a, kill_path(a, names[i]), &got));
        assert_int_equal(got.len, whole[i].len);
        assert_memory_equal(got.ptr, whole[i].ptr, got.len);
    }
    Str events;
    assert_no_error(file_read(a, kill_path(a, "events"), &events));
    assert_int_equal(kill_count_text(events.ptr, "rename "), 2);
    arena_free(a);
}

TEST(a_killed_shuffle_goes_on_with_the_seed_that_it_drew)
{
    static const char *const commands[] = {
        "data shuffle_tokenized_data --input_data_path big.pbin --output_data_path out.pbin",
        "data create_shuffled_dataset_chunk --input_file_list_path list --input_data_root_path . "
        "--output_chunk_file_path out.pbin --chunk_id 0 --num_chunks 1",
    };
    Arena *a = arena_new();
    const char *said;
    Str got, expected;
    kill_make_inputs(a);
    for (int i = 0; i < 2; i++) {
        assert_no_error(remove_tree(kill_path(a, "out.pbin")));
        assert_int_equal(kill_run(a, KILL_SMALL_PARTS, "CRASH_AT=rename:3 CRASH_PATH=out.pbin",
                                  commands[i], &said),
                         128 + SIGKILL);
        long long seed;
        assert_int_equal(
            sscanf(said, i ? "--global_seed %lld was drawn" : "--seed %lld was drawn", &seed), 1);
        assert_int_equal(kill_run(a, "", "", commands[i], &said), 0);
        assert_contains(said, "out.pbin: the seed of an interrupted run is used again");
        assert_contains(said, "going on after");
        assert_no_error(file_read(a, kill_path(a, "out.pbin"), &got));
        kill_must(
            a, arena_printf(a, "%s --%sseed %lld" REWRITE, commands[i], i ? "global_" : "", seed));
        assert_no_error(file_read(a, kill_path(a, "out.pbin"), &expected));
        assert_int_equal(got.len, expected.len);
        assert_memory_equal(got.ptr, expected.ptr, got.len);
    }
    arena_free(a);
}
