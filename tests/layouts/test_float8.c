/* test_float8.c - ranks that multiply factors of eight bits equal one rank. */
#include "layout.h"
#include "models/model.h"
#include "ops/collective.h"
#include "ops/float8.h"
#include "passes/all_passes.h"
#include "passes/float8.h"
#include "test.h"
#include <string.h>

static const char *const none[] = { NULL };
static Float8Recipe recipe;

static void in_eight_bits(Model *m)
{
    static const Float8 both[] = { { FLOAT8_TENSORWISE, none, 1, 0 },
                                   { FLOAT8_ROWWISE, none, 0, 1 } };
    passes_add(&m->passes, &pass_float8, &both[recipe]);
}

static LayoutCase in_double(LayoutCase l)
{
    l.edit = in_eight_bits;
    l.compute = F64;
    l.width = 32;
    l.heads = 8;
    l.kv_heads = l.llama_like ? 4 : 8;
    return l;
}

/* In double the ranks find the same factors. */
static void equals_one_rank(LayoutCase l)
{
    l = in_double(l);
    for (recipe = FLOAT8_TENSORWISE; recipe <= FLOAT8_ROWWISE; recipe++)
        layout_equals_one_rank(l, 1e-8);
}

TEST(layouts_are_compared_in_eight_bits)
{
    Arena *a = arena_new();
    LayoutCase l = in_double((LayoutCase){ 0 });
    recipe = FLOAT8_TENSORWISE;
    const LayoutResult narrow = layout_run_alone(a, &l);
    l.edit = NULL;
    const LayoutResult wide = layout_run_alone(a, &l);
    const double d = layout_difference(&wide, &narrow);
    if (!(d > 1e-3 && d < 0.3)) fail_msg("%g", d);
    arena_free(a);
}

/* What ranks send each other: sums and factors. */
typedef struct Seen {
    int64_t n_sums, n_factors;
} Seen;

static void look_at_transfers(const Graph *g, void *to)
{
    Seen *seen = to;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        seen->n_factors += n->op == &op_all_gather && n->in[0]->dtype == F8_E4M3;
        if (n->op != &op_reduce_scatter || n->in[0]->from->op != &op_float8_contract) continue;
        assert_int_equal(collective_wire(n), BF16);
        seen->n_sums++;
    }
}

/* In bf16 some factors are rounded to a neighbour: ranks are hardly further from what bf16 gives
 * than one is. */
TEST(ranks_send_factors_in_eight_bits_and_sums_in_bf16)
{
    for (recipe = FLOAT8_TENSORWISE; recipe <= FLOAT8_ROWWISE; recipe++) {
        Arena *a = arena_new();
        Seen seen = { 0 };
        LayoutCase l = in_double((LayoutCase){ .size[MESH_TP] = 2,
                                               .llama_like = true,
                                               .sharding = { .tensor = true, .sequence = true } });
        l.data_parallel.blocks_per_unit = 1;
        l.compute = BF16;
        const LayoutResult one = layout_run_alone(a, &l);
        l.inspect = look_at_transfers;
        l.inspect_to = &seen;
        const LayoutResult many = layout_run(a, &l);
        assert_true(seen.n_sums > 0 && seen.n_factors > 0);
        l.edit = NULL;
        l.inspect = NULL;
        const LayoutResult wide = layout_run_alone(a, &l);
        const double of_one = layout_difference(&wide, &one),
                     of_many = layout_difference(&wide, &many);
        if (!(of_many <= 2 * of_one)) fail_msg("%g, but one rank %g", of_many, of_one);
        arena_free(a);
    }
}

TEST(eight_bits_on_data_parallel_ranks_equal_one)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++)
        equals_one_rank((LayoutCase){
            .size[MESH_DP_SHARD] = 2, .accumulation = 2, .data_parallel.stage = (ZeroStage)stage });
    equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 3,
                                  .llama_like = true,
                                  .recompute_every = 1,
                                  .data_parallel.stage = ZERO_PARAMETERS });
}

TEST(eight_bits_under_tensor_and_context_parallelism_equal_one)
{
    const Sharding tensor = { .tensor = true, .sequence = true },
                   pieces = { .tensor = true, .sequence = true, .async = true };
    equals_one_rank((LayoutCase){ .size[MESH_TP] = 2, .sharding.tensor = true });
    equals_one_rank((LayoutCase){ .size[MESH_TP] = 2, .llama_like = true, .sharding = tensor });
    equals_one_rank((LayoutCase){ .size[MESH_TP] = 4, .sharding = pieces });
    equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                  .size[MESH_TP] = 2,
                                  .sharding = tensor,
                                  .recompute_every = 1,
                                  .data_parallel.stage = ZERO_PARAMETERS });
    for (int method = CONTEXT_GATHER; method <= CONTEXT_ULYSSES; method++)
        equals_one_rank(
            (LayoutCase){ .size[MESH_CP] = 2,
                          .llama_like = true,
                          .sharding = { .context = true,
                                        .layout = method == CONTEXT_RING ? ZIGZAG : CONTIGUOUS,
                                        .method = (ContextMethod)method } });
}

static const Moe sixteen = {
    .n_experts = 16, .top_k = 2, .hidden = 16, .shared_hidden = 16, .activation = ACTIVATE_SILU
};

static void look_at_router(const Graph *g, void *to)
{
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        if (n->op != &op_float8_contract || n->phase != FORWARD) continue;
        *(int64_t *)to += strstr(n->module, ".shared.") != NULL;
        assert_null(strstr(n->module, "router"));
    }
}

/* Experts and what chooses among them stay as they are; experts for all tokens do not. */
TEST(mixtures_of_experts_multiply_in_eight_bits_beside_them)
{
    int64_t n = 0;
    equals_one_rank((LayoutCase){
        .size[MESH_EP] = 2, .moe = &sixteen, .inspect = look_at_router, .inspect_to = &n });
    assert_true(n > 0);
}

TEST(eight_bits_on_ranks_of_a_pipeline_equal_one)
{
    equals_one_rank((LayoutCase){ .size[MESH_PP] = 2, .accumulation = 2 });
    equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                  .accumulation = 4,
                                  .layers = 4,
                                  .per_rank = 2,
                                  .schedule = "DualPipeV" });
}
