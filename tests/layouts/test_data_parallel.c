/* test_data_parallel.c - DDP, ZeRO and HSDP on N ranks equal one rank. */
#include "layout.h"
#include "test.h"

TEST(two_ranks_with_copies_of_the_model_equal_one)
{
    layout_equals_one_rank((LayoutCase){ .size[MESH_DP_REPLICATE] = 2, .compute = F64 }, 1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_DP_REPLICATE] = 2,
                                         .llama_like = true,
                                         .tied = true,
                                         .max_norm = 0.1,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_DP_SHARD] = 2, .accumulation = 3, .compute = F32 }, 2e-5);
}

static void every_stage(LayoutCase l, double most)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++) {
        l.data_parallel.stage = (ZeroStage)stage;
        layout_equals_one_rank(l, most);
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
