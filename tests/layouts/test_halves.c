/* test_halves.c - parameters in two halves give the bits of whole ones, in every layout. */
#include "graph/op.h"
#include "layout.h"
#include "test.h"
#include <string.h>

static const Moe four = {
    .n_experts = 4, .top_k = 2, .hidden = 6, .normalize = true, .activation = ACTIVATE_SILU
};

static void count_halves(const Graph *g, void *to)
{
    for (int64_t i = 0; i < g->n_values; i++) *(int *)to += g->value[i]->low != NULL;
}

static void equals_whole(LayoutCase l, const char *what)
{
    Arena *a = arena_new();
    int n_halves = 0, n_whole = 0;
    l.compute = BF16;
    l.inspect = count_halves;
    l.inspect_to = &n_halves;
    const LayoutResult halves = layout_run(a, &l);
    l.keeps_whole = true;
    l.inspect_to = &n_whole;
    const LayoutResult whole = layout_run(a, &l);
    if (!layout_same_bits(&halves, &whole) || halves.loss != whole.loss ||
        halves.grad_norm != whole.grad_norm)
        fail_msg("%s: halves are other numbers", what);
    assert_int_equal(n_whole, 0);
    if (n_halves < 2) fail_msg("%s: %d parameters are in halves", what, n_halves);
    arena_free(a);
}

TEST(halves_of_one_rank_give_the_bits_of_whole_parameters)
{
    equals_whole((LayoutCase){ .llama_like = true }, "one rank");
    equals_whole((LayoutCase){ .accumulation = 3, .tied = true }, "accumulation, tied");
    equals_whole((LayoutCase){ .llama_like = true, .recompute_every = 1, .max_norm = 0.1 },
                 "recomputation");
    equals_whole((LayoutCase){ .moe = &four, .llama_like = true }, "experts");
}

TEST(halves_of_many_ranks_give_the_bits_of_whole_parameters)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++) {
        LayoutCase l = { .llama_like = true, .accumulation = 2 };
        l.data_parallel.stage = (ZeroStage)stage;
        l.data_parallel.blocks_per_unit = 1;
        l.size[MESH_DP_SHARD] = 2;
        equals_whole(l, "dp_shard");
        l.size[MESH_DP_SHARD] = 3; /* rows that do not divide */
        l.accumulation = 1;
        equals_whole(l, "padded rows");
        l.data_parallel.reduce_dtype = BF16;
        l.size[MESH_DP_REPLICATE] = 2;
        l.size[MESH_DP_SHARD] = 2;
        equals_whole(l, "copies of sharded models");
    }
    equals_whole((LayoutCase){ .size[MESH_TP] = 2, .sharding.tensor = true, .llama_like = true },
                 "tp");
    equals_whole((LayoutCase){ .size[MESH_TP] = 2,
                               .sharding = { .tensor = true, .sequence = true },
                               .size[MESH_DP_SHARD] = 2,
                               .data_parallel = { ZERO_PARAMETERS, 1 } },
                 "tp and dp_shard");
    equals_whole((LayoutCase){ .size[MESH_PP] = 2, .accumulation = 3, .tied = true }, "pp, tied");
    equals_whole((LayoutCase){ .size[MESH_EP] = 2, .moe = &four, .llama_like = true }, "ep");
    equals_whole((LayoutCase){ .size[MESH_CP] = 2, .sharding.context = true, .llama_like = true },
                 "cp");
}
