/* test_data_parallel.c - DDP, ZeRO and HSDP on N ranks equal one rank. */
#include "layout.h"
#include "test.h"

static void equals_one_rank(LayoutCase l, double most)
{
    Arena *a = arena_new();
    if (!l.data_parallel.blocks_per_unit) l.data_parallel.blocks_per_unit = 1;
    LayoutResult one = layout_run_alone(a, &l), many = layout_run(a, &l);
    double d = layout_difference(&one, &many);
    if (!(d <= most)) fail_msg("the ranks are %.3g away from one rank; allowed is %.3g", d, most);
    arena_free(a);
}

TEST(two_ranks_with_copies_of_the_model_equal_one)
{
    equals_one_rank((LayoutCase){ .size[MESH_DP_REPLICATE] = 2, .compute = F64 }, 1e-11);
    equals_one_rank((LayoutCase){ .size[MESH_DP_REPLICATE] = 2,
                                  .llama_like = true,
                                  .tied = true,
                                  .max_norm = 0.1,
                                  .compute = F64 },
                    1e-11);
    equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2, .accumulation = 3, .compute = F32 },
                    2e-5);
}

static void every_stage(LayoutCase l, double most)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++) {
        l.data_parallel.stage = (ZeroStage)stage;
        equals_one_rank(l, most);
    }
}

TEST(every_stage_of_zero_on_two_ranks_equals_one)
{
    every_stage((LayoutCase){ .size[MESH_DP_SHARD] = 2, .accumulation = 2, .compute = F64 }, 1e-11);
    every_stage((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                              .llama_like = true,
                              .tied = true,
                              .compute = F64,
                              .recompute_every = 1 },
                1e-11);
}

TEST(rows_that_do_not_divide_are_padded)
{
    every_stage((LayoutCase){ .size[MESH_DP_SHARD] = 3, .llama_like = true, .compute = F64 },
                1e-11);
    every_stage((LayoutCase){ .size[MESH_DP_SHARD] = 7, .compute = F32 }, 2e-5);
    every_stage((LayoutCase){ .size[MESH_DP_SHARD] = 2, .compute = BF16, .llama_like = true },
                2e-2);
}

TEST(copies_of_sharded_models_equal_one)
{
    every_stage((LayoutCase){ .size[MESH_DP_REPLICATE] = 2,
                              .size[MESH_DP_SHARD] = 2,
                              .accumulation = 2,
                              .data_parallel.blocks_per_unit = 2,
                              .compute = F64 },
                1e-11);
}
