/* test_shard.c - tensor, sequence and context parallelism on N ranks equal one rank. */
#include "graph/op.h"
#include "layout.h"
#include "test.h"
#include <string.h>

static const Sharding tensor = { .tensor = true }, sequence = { .tensor = true, .sequence = true },
                      in_pieces = { .tensor = true, .sequence = true, .async = true };

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

/* Distances of gradients from those in F64, largest of all: on one rank, and on several, which
 * round what they send each other. */
static void add_distances(LayoutCase l, double *of_one, double *of_many)
{
    Arena *a = arena_new();
    LayoutCase exact = l;
    l.data_parallel.blocks_per_unit = exact.data_parallel.blocks_per_unit = 1;
    exact.compute = F64;
    l.compute = BF16;
    const LayoutResult truth = layout_run_alone(a, &exact), one = layout_run_alone(a, &l),
                       many = layout_run(a, &l);
    *of_one += layout_difference(&truth, &one);
    *of_many += layout_difference(&truth, &many);
    arena_free(a);
}

/* The largest of some hundred roundings is a matter of luck, so that cases are judged together. */
TEST(what_tensor_parallel_ranks_round_is_at_most_twice_as_far_from_f64_as_one_rank)
{
    double of_one = 0, of_many = 0;
    for (int llama = 0; llama < 2; llama++)
        for (int ranks = 2; ranks <= 4; ranks += 2)
            for (int way = 0; way < 3; way++)
                add_distances((LayoutCase){ .size[MESH_TP] = ranks,
                                            .sharding = way == 0   ? tensor
                                                        : way == 1 ? sequence
                                                                   : in_pieces,
                                            .width = 32,
                                            .llama_like = llama },
                              &of_one, &of_many);
    test_note("%.3g on one rank, %.3g on several", of_one / 12, of_many / 12);
    assert_true(of_many <= 2 * of_one);
}

static void count_nodes_in_pieces(const Graph *g, void *to)
{
    int64_t *n = to;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        n[0] += !strcmp(g->node[i]->op->name, "gather_contract");
        n[1] += !strcmp(g->node[i]->op->name, "contract_scatter");
    }
}

/* Of each layer: two gatherings forward, two of gradients, two of inputs again; and as many sums in
 * both directions. */
TEST(products_in_pieces_on_several_ranks_equal_one)
{
    for (int ranks = 2; ranks <= 4; ranks += 2)
        for (int llama = 0; llama < 2; llama++)
            for (int dtype = 0; dtype < 2; dtype++) {
                int64_t n[2] = { 0 };
                layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = ranks,
                                                     .sharding = in_pieces,
                                                     .llama_like = llama,
                                                     .recompute_every = dtype,
                                                     .compute = dtype ? F32 : F64,
                                                     .inspect = count_nodes_in_pieces,
                                                     .inspect_to = n },
                                       dtype ? 2e-5 : 1e-11);
                assert_true(n[0] >= 6 * 3);
                assert_true(n[1] >= 4 * 3);
            }
}

TEST(products_in_pieces_go_with_all_other_ways_to_share_a_model)
{
    layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                         .size[MESH_TP] = 2,
                                         .sharding = in_pieces,
                                         .data_parallel.stage = ZERO_PARAMETERS,
                                         .llama_like = true,
                                         .recompute_every = 1,
                                         .accumulation = 2,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                         .size[MESH_TP] = 2,
                                         .sharding = in_pieces,
                                         .schedule = "InterleavedZeroBubble",
                                         .per_rank = 1,
                                         .accumulation = 4,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_CP] = 2,
                                         .size[MESH_TP] = 2,
                                         .sharding = { .tensor = true,
                                                       .sequence = true,
                                                       .async = true,
                                                       .context = true,
                                                       .method = CONTEXT_RING,
                                                       .layout = ZIGZAG },
                                         .tied = true,
                                         .compute = F64 },
                           1e-11);
    /* where a sum that is scattered is not of products alone */
    static const Moe shared = {
        .n_experts = 4, .top_k = 2, .hidden = 6, .shared_hidden = 4, .activation = ACTIVATE_SILU
    };
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_TP] = 2, .sharding = in_pieces, .moe = &shared, .compute = F64 },
        1e-11);
}

/* Ops have other names, but a step sends and computes as much. */
TEST(products_in_pieces_send_and_compute_the_same)
{
    Arena *a = arena_new();
    double bytes[2] = { 0 }, flops[2];
    for (int k = 0; k < 2; k++) {
        const LayoutCase l = { .size[MESH_TP] = 2,
                               .sharding = k ? in_pieces : sequence,
                               .data_parallel = { .blocks_per_unit = 1 },
                               .llama_like = true,
                               .compute = BF16 };
        const RankPlan p = layout_plan(a, &l, 0);
        for (int64_t i = 0; i < p.n_traffic; i++) bytes[k] += p.traffic[i].bytes;
        flops[k] = p.flops;
    }
    assert_true(bytes[0] > 0 && bytes[0] == bytes[1]);
    assert_true(flops[0] == flops[1]);
    arena_free(a);
}
