/* test_ternary.c - ranks whose linear layers have ternary weights equal one rank. */
#include "layout.h"
#include "models/model.h"
#include "ops/grid.h"
#include "passes/all_passes.h"
#include "test.h"

static void make_ternary(Model *m)
{
    m->is_ternary = true;
}

/* In double the ranks find the same factors. */
static void equals_one_rank(LayoutCase l)
{
    l.edit = make_ternary;
    l.compute = F64;
    layout_equals_one_rank(l, 1e-8);
}

TEST(layouts_are_compared_with_ternary_weights)
{
    Arena *a = arena_new();
    LayoutCase l = { .compute = F64, .edit = make_ternary };
    const LayoutResult rounded = layout_run_alone(a, &l);
    l.edit = NULL;
    const LayoutResult plain = layout_run_alone(a, &l);
    assert_true(layout_difference(&plain, &rounded) > 1e-3);
    arena_free(a);
}

static void count_roundings(const Graph *g, void *to)
{
    int64_t *n = to;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *x = g->node[i];
        if (x->op == &op_grid_round) n[x->phase == PREPARE]++;
    }
}

/* Weights once per step, unless ranks gather them for each use. */
TEST(ternary_weights_on_data_parallel_ranks_equal_one)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++) {
        Arena *a = arena_new();
        int64_t n[2] = { 0 };
        LayoutCase l = { .size[MESH_DP_SHARD] = 2,
                         .accumulation = 2,
                         .compute = F64,
                         .data_parallel = { .stage = (ZeroStage)stage, .blocks_per_unit = 1 } };
        equals_one_rank(l);
        l.edit = make_ternary;
        l.inspect = count_roundings;
        l.inspect_to = n;
        layout_run(a, &l);
        assert_true(n[0] > 0);
        assert_int_equal(n[1] > 0, stage < ZERO_PARAMETERS);
        arena_free(a);
    }
    equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 3,
                                  .llama_like = true,
                                  .recompute_every = 1,
                                  .data_parallel.stage = ZERO_PARAMETERS });
}

/* What is rounded are copies, of which a unit's are gathered together; bf16 turns some numbers to a
 * neighbour on the grid. */
TEST(ternary_weights_in_bf16_are_gathered_on_data_parallel_ranks)
{
    for (int stage = ZERO_STATES; stage <= ZERO_PARAMETERS; stage++)
        layout_equals_one_rank(
            (LayoutCase){ .size[MESH_DP_SHARD] = 2,
                          .llama_like = true,
                          .compute = BF16,
                          .edit = make_ternary,
                          .data_parallel = { .stage = (ZeroStage)stage, .blocks_per_unit = 2 } },
            5e-2);
}

TEST(ternary_weights_under_tensor_and_context_parallelism_equal_one)
{
    const Sharding tensor = { .tensor = true, .sequence = true },
                   pieces = { .tensor = true, .sequence = true, .async = true };
    equals_one_rank((LayoutCase){ .size[MESH_TP] = 2, .sharding.tensor = true });
    equals_one_rank((LayoutCase){ .size[MESH_TP] = 2, .llama_like = true, .sharding = tensor });
    equals_one_rank((LayoutCase){ .size[MESH_TP] = 2, .llama_like = true, .sharding = pieces });
    equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                  .size[MESH_TP] = 2,
                                  .sharding = tensor,
                                  .recompute_every = 1,
                                  .data_parallel.stage = ZERO_PARAMETERS });
    equals_one_rank((LayoutCase){ .size[MESH_CP] = 2,
                                  .llama_like = true,
                                  .sharding = { .context = true, .layout = ZIGZAG } });
}

TEST(ternary_weights_on_ranks_of_a_pipeline_equal_one)
{
    equals_one_rank((LayoutCase){ .size[MESH_PP] = 2, .accumulation = 2 });
}
