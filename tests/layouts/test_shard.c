/* test_shard.c - tensor, sequence and context parallelism on N ranks equal one rank. */
#include "layout.h"
#include "test.h"
#include <string.h>

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

TEST(ranks_that_pass_keys_round_equal_one)
{
    for (int layout = CONTIGUOUS; layout <= ZIGZAG; layout++)
        for (int ranks = 2; ranks <= 4; ranks += 2)
            for (int dtype = 0; dtype < 2; dtype++)
                layout_equals_one_rank((LayoutCase){ .size[MESH_CP] = ranks,
                                                     .sharding = { .context = true,
                                                                   .method = CONTEXT_RING,
                                                                   .layout = (Layout)layout },
                                                     .llama_like = ranks == 4,
                                                     .recompute_every = dtype,
                                                     .compute = dtype ? F32 : F64 },
                                       dtype ? 2e-5 : 1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_CP] = 2,
                                         .size[MESH_TP] = 2,
                                         .sharding = { .tensor = true,
                                                       .sequence = true,
                                                       .context = true,
                                                       .method = CONTEXT_RING,
                                                       .layout = ZIGZAG },
                                         .llama_like = true,
                                         .compute = F64 },
                           1e-11);
}

TEST(two_ranks_that_exchange_tokens_for_heads_equal_one)
{
    for (int layout = CONTIGUOUS; layout <= ZIGZAG; layout++)
        for (int llama = 0; llama < 2; llama++)
            layout_equals_one_rank((LayoutCase){ .size[MESH_CP] = 2,
                                                 .sharding = { .context = true,
                                                               .method = CONTEXT_ULYSSES,
                                                               .layout = (Layout)layout },
                                                 .llama_like = llama,
                                                 .compute = F64 },
                                   1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_CP] = 2,
                                         .size[MESH_TP] = 2,
                                         .sharding = { .tensor = true,
                                                       .sequence = true,
                                                       .context = true,
                                                       .method = CONTEXT_ULYSSES },
                                         .compute = F64 },
                           1e-11);
}

/* Queries, keys and values there, and what attention gives back; and their gradients: eight per
 * layer. Nothing is gathered along cp. */
TEST(tokens_are_exchanged_for_heads_eight_times_per_layer)
{
    Arena *a = arena_new();
    const LayoutCase l = { .size[MESH_CP] = 2,
                           .sharding = { .context = true, .method = CONTEXT_ULYSSES },
                           .data_parallel = { .blocks_per_unit = 1 },
                           .compute = F32 };
    const RankPlan p = layout_plan(a, &l, 0);
    int64_t n = 0;
    for (int64_t i = 0; i < p.n_traffic; i++) {
        if (!strcmp(p.traffic[i].op, "all_to_all")) n += p.traffic[i].n;
        assert_string_not_equal(p.traffic[i].op, "all_gather");
    }
    assert_int_equal(n, 8 * 3);
    arena_free(a);
}

/* Four ranks and two heads of keys: each head is with two of them. */
TEST(more_ranks_than_heads_of_keys_equal_one)
{
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_TP] = 4, .sharding = tensor, .llama_like = true, .compute = F64 },
        1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                         .size[MESH_TP] = 4,
                                         .sharding = sequence,
                                         .data_parallel.stage = ZERO_PARAMETERS,
                                         .llama_like = true,
                                         .recompute_every = 1,
                                         .compute = F64 },
                           1e-11);
}
