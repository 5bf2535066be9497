/* test_plan.c - what is planned for a rank is what it takes, and what the formulas say. */
#include "layout.h"
#include "test.h"
#include <string.h>

static void check_plan(LayoutCase l)
{
    Arena *a = arena_new();
    if (!l.data_parallel.blocks_per_unit) l.data_parallel.blocks_per_unit = 1;
    const RankPlan plan = layout_plan(a, &l, 0);
    const LayoutResult ran = layout_run(a, &l);
    assert_int_equal(plan.parameters, ran.bytes[0]);
    assert_int_equal(plan.gradients, ran.bytes[1]);
    assert_int_equal(plan.states, ran.bytes[2]);
    assert_int_equal(plan.workspace, ran.bytes[3]);
    arena_free(a);
}

TEST(a_rank_takes_what_was_planned_to_the_byte)
{
    check_plan((LayoutCase){ .size[MESH_DP_SHARD] = 2, .accumulation = 2, .compute = F32 });
    check_plan((LayoutCase){ .size[MESH_DP_SHARD] = 3,
                             .data_parallel.stage = ZERO_PARAMETERS,
                             .recompute_every = 1,
                             .compute = BF16 });
    check_plan((LayoutCase){
        .size[MESH_TP] = 2,
        .size[MESH_CP] = 2,
        .sharding = { .tensor = true, .sequence = true, .context = true, .layout = ZIGZAG },
        .llama_like = true,
        .compute = BF16 });
    check_plan((LayoutCase){ .size[MESH_PP] = 2, .accumulation = 4, .compute = F32 });
}

static const Traffic *find(const RankPlan *p, const char *op, unsigned axes)
{
    for (int64_t i = 0; i < p->n_traffic; i++)
        if (!strcmp(p->traffic[i].op, op) && p->traffic[i].axes == axes) return &p->traffic[i];
    fail_msg("no %s", op);
    return NULL;
}

/* The tiny model has three blocks, an embedding in front of them and a head after them: five units,
 * of which the head's is gathered once, for both passes, and the embedding's for the forward pass
 * alone. */
TEST(sharded_parameters_are_gathered_once_per_unit_and_pass)
{
    Arena *a = arena_new();
    const LayoutCase l = { .size[MESH_DP_SHARD] = 2,
                           .data_parallel = { .stage = ZERO_PARAMETERS, .blocks_per_unit = 1 },
                           .llama_like = true,
                           .accumulation = 3,
                           .compute = F32 };
    const RankPlan p = layout_plan(a, &l, 0);
    assert_int_equal(find(&p, "gather_unit", 1u << MESH_DP_SHARD)->n, 3 * (2 * 3 + 2));
    assert_int_equal(find(&p, "reduce_unit", 1u << MESH_DP_SHARD)->n, 3 * 5);
    arena_free(a);
}

/* Forward two and backward two per layer (Shoeybi et al. 2019), one for the embedding and one for
 * the gradient at the head, whose weight and logits stay where they are. */
TEST(tensor_parallel_ranks_reduce_four_times_per_layer)
{
    Arena *a = arena_new();
    LayoutCase l = { .size[MESH_TP] = 2,
                     .sharding = { .tensor = true },
                     .data_parallel.blocks_per_unit = 1,
                     .compute = F32 };
    const RankPlan p = layout_plan(a, &l, 0);
    const Traffic *sums = find(&p, "all_reduce", 1u << MESH_TP);
    assert_int_equal(sums->n, 4 * 3 + 2);
    assert_int_equal((int64_t)sums->bytes, sums->n * 2 * 8 * 16 * 4);
    assert_int_equal((int64_t)find(&p, "head_step", 1u << MESH_TP)->bytes, 2 * 8 * (8 + 8 + 4));
    for (int64_t i = 0; i < p.n_traffic; i++)
        assert_string_not_equal(p.traffic[i].op, "all_gather");
    arena_free(a);
}

/* Products of bf16 are sent as bf16, sums of rows of the embedding and gradients that all ranks get
 * as they are. */
TEST(tensor_parallel_ranks_send_bf16_where_they_multiply_bf16)
{
    Arena *a = arena_new();
    LayoutCase l = { .size[MESH_TP] = 2,
                     .sharding = { .tensor = true },
                     .data_parallel.blocks_per_unit = 1,
                     .llama_like = true,
                     .compute = BF16 };
    RankPlan p = layout_plan(a, &l, 0);
    const int64_t sum = (int64_t)2 * 8 * 16; /* elements of [tokens embed] on two ranks */
    assert_int_equal(find(&p, "all_reduce", 1u << MESH_TP)->n, 4 * 3 + 2);
    assert_int_equal((int64_t)find(&p, "all_reduce", 1u << MESH_TP)->bytes,
                     sum * (6 * 2 + 7 * 4 + 1 * 4));
    l.sharding.sequence = true;
    p = layout_plan(a, &l, 0);
    assert_int_equal((int64_t)find(&p, "reduce_scatter", 1u << MESH_TP)->bytes,
                     sum / 2 * (13 * 2 + 1 * 4));
    assert_int_equal((int64_t)find(&p, "all_gather", 1u << MESH_TP)->bytes,
                     sum / 2 * (6 * 3 * 2 + 1 * 2 + 1 * 4));
    arena_free(a);
}

/* Half the bytes for numbers of half the size, and sums that are rounded on their way alone. */
TEST(gradients_travel_in_the_numbers_that_are_asked_for)
{
    Arena *a = arena_new();
    LayoutCase l = {
        .size[MESH_DP_SHARD] = 2,
        .data_parallel = { .stage = ZERO_PARAMETERS, .blocks_per_unit = 1, .reduce_dtype = F32 },
        .compute = F32
    };
    const LayoutResult one = layout_run_alone(a, &l);
    RankPlan p = layout_plan(a, &l, 0);
    const double bytes = find(&p, "reduce_unit", 1u << MESH_DP_SHARD)->bytes;
    for (int i = 0; i < 2; i++) {
        l.data_parallel.reduce_dtype = i ? F16 : BF16;
        p = layout_plan(a, &l, 0);
        assert_true(2 * find(&p, "reduce_unit", 1u << MESH_DP_SHARD)->bytes == bytes);
        const LayoutResult many = layout_run(a, &l);
        const double d = layout_gradient_difference(&one, &many);
        assert_true(d > 1e-5 && d < 0.01);
    }
    arena_free(a);
}

/* How many products of the head's size a microbatch takes: what grows with the vocabulary. */
static double products_of_head(LayoutCase l)
{
    enum { FEW = 14, MANY = 26, TOKENS = 2 * 8, WIDTH = 16 };
    Arena *a = arena_new();
    l.data_parallel = (DataParallel){ .stage = ZERO_NONE, .blocks_per_unit = 1 };
    l.compute = F32;
    l.accumulation = 3;
    l.vocabulary = FEW;
    const double few = layout_plan(a, &l, 0).flops;
    l.vocabulary = MANY;
    const double more = layout_plan(a, &l, 0).flops - few;
    const double ranks = l.size[MESH_TP] ? (double)l.size[MESH_TP] : 1;
    arena_free(a);
    return more * ranks / (2.0 * TOKENS * WIDTH * (MANY - FEW) * (double)l.accumulation);
}

/* One for the logits and two for gradients, also where ranks divide the vocabulary: nobody makes
 * logits a second time for the sake of their gradients. */
TEST(the_head_takes_three_products_on_one_rank_and_on_ranks_that_divide_the_vocabulary)
{
    const Sharding tensor = { .tensor = true }, sequence = { .tensor = true, .sequence = true };
    assert_close(products_of_head((LayoutCase){ 0 }), 3, 1e-9);
    assert_close(products_of_head((LayoutCase){ .size[MESH_TP] = 2, .sharding = tensor }), 3, 1e-9);
    assert_close(products_of_head((LayoutCase){ .size[MESH_TP] = 2, .sharding = sequence }), 3,
                 1e-9);
    assert_close(
        products_of_head((LayoutCase){ .size[MESH_TP] = 2, .sharding = sequence, .tied = true }), 3,
        1e-9);
    assert_close(products_of_head((LayoutCase){ .size[MESH_TP] = 2,
                                                .sharding = sequence,
                                                .llama_like = true,
                                                .recompute_every = 1,
                                                .global_tokens = true }),
                 3, 1e-9);
}

TEST(zero_divides_what_ranks_keep)
{
    Arena *a = arena_new();
    LayoutCase l = { .size[MESH_DP_SHARD] = 4,
                     .data_parallel = { .stage = ZERO_NONE, .blocks_per_unit = 1 },
                     .compute = F32 };
    const RankPlan copies = layout_plan(a, &l, 0);
    l.data_parallel.stage = ZERO_PARAMETERS;
    const RankPlan homes = layout_plan(a, &l, 0);
    assert_true(homes.parameters * 4 >= copies.parameters);
    assert_true(homes.parameters * 4 < copies.parameters * 11 / 10); /* rows that are padding */
    assert_int_equal(homes.gradients, homes.parameters);
    assert_true(homes.states >= 2 * homes.parameters);
    arena_free(a);
}

/* What grows with the tokens of a sequence, and only that, is divided over cp. */
TEST(two_context_parallel_ranks_hold_twice_the_length_in_the_same_memory)
{
    Arena *a = arena_new();
    LayoutCase l = { .batch = 1,
                     .sequence = 256,
                     .layers = 4,
                     .data_parallel = { .stage = ZERO_NONE, .blocks_per_unit = 1 },
                     .compute = F32 };
    const RankPlan one = layout_plan(a, &l, 0);
    l.sequence *= 2;
    const RankPlan longer = layout_plan(a, &l, 0);
    assert_true(longer.workspace > one.workspace * 19 / 10);
    l.size[MESH_CP] = 2;
    /* In attention `gather` has all keys and values, `ulysses` all tokens of half the heads. */
    static const double most[] = { 1.5, 1.2, 1.25 };
    for (ContextMethod m = CONTEXT_GATHER; m <= CONTEXT_ULYSSES; m++) {
        l.sharding = (Sharding){ .context = true, .layout = ZIGZAG, .method = m };
        const double more = (double)layout_plan(a, &l, 0).workspace / (double)one.workspace;
        if (more > most[m]) fail_msg("method %d: %.3f times the memory of one rank", (int)m, more);
    }
    arena_free(a);
}
