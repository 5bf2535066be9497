/* test_data_parallel.c - DDP, ZeRO and HSDP on N ranks equal one rank. */
#include "layout.h"
#include "test.h"
#include <string.h>

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

/* Gradients of the parameters whose names have these words. */
static void check_same_gradients(LayoutCase l, const char *of)
{
    Arena *a = arena_new();
    int n = 0;
    l.data_parallel.blocks_per_unit = 1;
    l.compute = F32;
    const LayoutResult one = layout_run_alone(a, &l), many = layout_run(a, &l);
    for (int64_t i = 0; i < one.n_params; i++)
        for (int64_t k = 0; k < many.n_params; k++) {
            const LayoutParam *p = &one.param[i], *q = &many.param[k];
            if (strcmp(p->name, q->name) != 0 || !strstr(p->name, of)) continue;
            if (memcmp(p->gradient, q->gradient, sizeof(double) * (size_t)p->n) != 0)
                fail_msg("the gradient of %s has other bits", p->name);
            n++;
        }
    assert_true(n > 10);
    arena_free(a);
}

/* As docs/parallelism.md says: where a rank has one microbatch, all but tables and head. */
TEST(gradients_of_layers_have_the_bits_of_accumulation)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++)
        check_same_gradients((LayoutCase){ .size[MESH_DP_SHARD] = 3,
                                           .data_parallel.stage = (ZeroStage)stage,
                                           .llama_like = stage % 2 },
                             ".h.");
    check_same_gradients((LayoutCase){ .size[MESH_DP_REPLICATE] = 4, .recompute_every = 2 }, ".h.");
}

TEST(gradients_of_pipelines_have_the_bits_of_accumulation)
{
    static const char *const schedule[] = {
        "GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble"
    };
    for (int i = 0; i < 6; i++)
        check_same_gradients((LayoutCase){ .size[MESH_PP] = 2,
                                           .schedule = schedule[i],
                                           .per_rank = i > 1 ? 2 : 1,
                                           .layers = 4,
                                           .llama_like = i % 2,
                                           .accumulation = 4 },
                             "");
}
