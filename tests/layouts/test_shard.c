/* test_shard.c - tensor, sequence and context parallelism on N ranks equal one rank. */
#include "layout.h"
#include "test.h"

static const Sharding tensor = { .tensor = true }, sequence = { .tensor = true, .sequence = true };

TEST(two_tensor_parallel_ranks_equal_one)
{
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2, .sharding = tensor, .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .sharding = tensor,
                                         .llama_like = true,
                                         .tied = true,
                                         .compute = F64 },
                           1e-11);
}

TEST(two_sequence_parallel_ranks_equal_one)
{
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2, .sharding = sequence, .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .sharding = sequence,
                                         .llama_like = true,
                                         .recompute_every = 1,
                                         .compute = F64 },
                           1e-11);
}

TEST(two_context_parallel_ranks_equal_one)
{
    for (int layout = CONTIGUOUS; layout <= ZIGZAG; layout++)
        for (int llama = 0; llama < 2; llama++)
            layout_equals_one_rank(
                (LayoutCase){ .size[MESH_CP] = 2,
                              .sharding = { .context = true, .layout = (Layout)layout },
                              .llama_like = llama,
                              .compute = F64 },
                1e-11);
}
