/* test_checkpoint_name.c - names are written and read as the original's. */
#include "checkpoint/checkpoint_name.h"
#include "test.h"

TEST(checkpoint_names_carry_the_totals)
{
    Arena *a = arena_new();
    CheckpointTotals t = {
        .seen_steps = 4, .seen_tokens = 2048, .target_steps = 15, .target_tokens = 7680
    };
    const char *name = checkpoint_name(a, "2024-01-01__10-00-00_abc", &t);
    assert_string_equal(
        name, "eid_2024-01-01__10-00-00_abc-seen_steps_4-seen_tokens_2048-target_steps_15-"
              "target_tokens_7680");
    int64_t n = 0;
    assert_no_error(checkpoint_path_number(name, "seen_steps_", &n));
    assert_int_equal(n, 4);
    assert_no_error(checkpoint_path_number(name, "seen_tokens_", &n));
    assert_int_equal(n, 2048);
    assert_no_error(checkpoint_path_number(name, "target_steps_", &n));
    assert_int_equal(n, 15);
    assert_no_error(checkpoint_path_number(name, "target_tokens_", &n));
    assert_int_equal(n, 7680);
    arena_free(a);
}

TEST(files_of_fsdp1_name_the_folder_beside_them)
{
    Arena *a = arena_new();
    assert_string_equal(checkpoint_folder_of(a, "x/eid_a-model-seen_steps_4-y.bin"),
                        "x/eid_a-seen_steps_4-y");
    assert_string_equal(checkpoint_folder_of(a, "eid_a-model-optimizer-seen_steps_4.bin"),
                        "eid_a-model-seen_steps_4");
    assert_null(checkpoint_folder_of(a, "eid_a-model-seen_steps_4"));
    assert_null(checkpoint_folder_of(a, "eid-model-seen_steps_4/model.bin"));
    arena_free(a);
}

TEST(checkpoint_paths_name_each_number_once)
{
    int64_t n;
    assert_error_has(checkpoint_path_number("/runs/model.bin", "seen_steps_", &n),
                     "/runs/model.bin: no \"seen_steps_\"");
    assert_error_has(checkpoint_path_number("/runs/seen_steps_x", "seen_steps_", &n),
                     "no \"seen_steps_\"");
    assert_error_has(
        checkpoint_path_number("/seen_steps_3/eid_a-seen_steps_3-x", "seen_steps_", &n), "twice");
    assert_error_has(checkpoint_path_number("seen_steps_99999999999999999999", "seen_steps_", &n),
                     "too large");
    assert_no_error(
        checkpoint_path_number("/seen_steps_/eid-seen_steps_17.bin", "seen_steps_", &n));
    assert_int_equal(n, 17);
}
