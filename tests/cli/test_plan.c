/* test_plan.c - `modalities plan` without data and without ranks. */
#include "base/file.h"
#include "command_line.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

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

TEST(a_plan_says_what_a_copy_for_the_background_takes)
{
    Arena *a = arena_new();
    const char *copied = plan(a, "configs/training/small.yaml --set "
                                 "checkpoint_saving.config.in_background=true");
    assert_contains(copied,
                    "at most, for the copy of a checkpoint that is saved in the background");
    assert_null(strstr(plan(a, "configs/training/small.yaml"), "at most, for the copy"));
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

TEST(a_dry_run_prints_the_plan_and_writes_nothing)
{
    Arena *a = arena_new();
    const char *dry, *refused;
    const char *there = path_join(a, test_folder(), "experiments");
    const char *args =
        arena_printf(a,
                     "run --config_file_path configs/training/small.yaml --ranks 8 --dry_run "
                     "--experiments_root_path %s",
                     there);
    assert_int_equal(command_line_run(a, args, &dry), 0);
    assert_string_equal(dry, plan(a, "configs/training/small.yaml --ranks 8"));
    assert_false(file_exists(there));
    assert_int_equal(setenv("WORLD_SIZE", "4", 1), 0);
    assert_int_equal(command_line_run(a, args, &refused), 2);
    assert_contains(refused, "--ranks 8, but WORLD_SIZE says 4");
    arena_free(a);
}

TEST(a_plan_names_the_largest_activations_and_shows_the_graph)
{
    Arena *a = arena_new();
    const char *shown = plan(a, "configs/training/small.yaml --ranks 2 --largest 3 --print_graph "
                                "after:data_parallel");
    assert_contains(shown, "# after data_parallel\n");
    assert_contains(shown, " = gather_unit(");
    assert_contains(shown, " smaller ones\n");
    arena_free(a);
}

/* One unit of all blocks: a node that gathers hundreds of parameters. */
TEST(a_plan_has_nodes_over_hundreds_of_parameters)
{
    Arena *a = arena_new();
    const char *text =
        plan(a, "configs/layouts/fsdp.yaml --ranks 2 --set model_raw.config.n_layer=40 "
                "--set sharded_model.config.blocks_per_unit=40 --print_graph "
                "after:data_parallel");
    int most = 0;
    for (const char *line = text; *line;
         line += strcspn(line, "\n") + (line[strcspn(line, "\n")] != 0)) {
        int n = 0;
        const size_t length = strcspn(line, "\n");
        const char *op = strstr(line, "gather_unit");
        if (!op || op > line + length) continue;
        for (const char *p = line; (p = strstr(p, "transformer.h.")) && p < line + length; p++) n++;
        if (n > most) most = n;
    }
    assert_true(most > 300);
    assert_contains(text, "gather_unit over dp_shard\n");
    arena_free(a);
}
