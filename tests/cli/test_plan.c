/* test_plan.c - `modalities plan` without data and without ranks. */
#include "command_line.h"
#include "test.h"

static const char *plan(Arena *a, const char *args)
{
    const char *output;
    int status = command_line_run(a, arena_printf(a, "plan --config_file_path %s", args), &output);
    if (status) fail_msg("status %d: %s", status, output);
    return output;
}

TEST(a_plan_says_what_each_rank_takes_and_sends)
{
    Arena *a = arena_new();
    const char *one = plan(a, "configs/training/small.yaml");
    assert_contains(one, "1 rank\n");
    assert_contains(one, "9.2 MB  parameters\n");
    const char *eight = plan(a, "configs/training/small.yaml --ranks 8");
    assert_contains(eight, "8 ranks: dp_shard 8\n");
    assert_contains(eight, "each of the ranks 0 to 7\n");
    assert_contains(eight, "gather_unit over dp_shard\n");
    arena_free(a);
}

TEST(a_plan_of_the_original_s_pipeline_has_its_stages_apart)
{
    Arena *a = arena_new();
    const char *path = shared_path(
        a, "data/modalities/config_files/training/config_lorem_ipsum_long_fsdp2_pp_tp.yaml");
    const char *output = plan(a, arena_printf(a, "%s --ranks 8", path));
    assert_contains(output, "8 ranks: pp 2 x dp_shard 2 x tp 2\n");
    assert_contains(output, "bubble: 33.3 %");
    assert_contains(output, "each of the ranks 0 to 3\n");
    assert_contains(output, "each of the ranks 4 to 7\n");
    assert_contains(output, "reduce_scatter over tp\n");
    assert_contains(output, "send over pp\n");
    arena_free(a);
}

TEST(a_plan_for_ranks_that_do_not_fit_the_mesh_is_refused)
{
    Arena *a = arena_new();
    const char *output;
    assert_int_equal(command_line_run(a,
                                      "plan --config_file_path configs/training/small.yaml --ranks "
                                      "8 --set device_mesh.config.tensor_parallel_degree=3",
                                      &output),
                     1);
    assert_contains(output, "the degrees");
    arena_free(a);
}
