/* test_experts.c - experts divided over ranks, alone and with every other layout, equal one rank.
 */
#include "graph/op.h"
#include "layout.h"
#include "test.h"
#include <math.h>
#include <string.h>

static const Moe four = { .n_experts = 4,
                          .top_k = 2,
                          .hidden = 6,
                          .normalize = true,
                          .aux_loss = 0.02,
                          .z_loss = 0.01,
                          .activation = ACTIVATE_SILU };

TEST(two_ranks_that_share_experts_equal_one)
{
    static const Moe by_sigmoids = { .n_experts = 6,
                                     .top_k = 3,
                                     .hidden = 5,
                                     .score = SCORE_SIGMOID,
                                     .factor = 1.5,
                                     .shared_hidden = 4,
                                     .activation = ACTIVATE_GELU };
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_EP] = 2, .moe = &four, .llama_like = true, .compute = F64 },
        1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_EP] = 2,
                                         .moe = &by_sigmoids,
                                         .accumulation = 2,
                                         .recompute_every = 1,
                                         .max_norm = 0.1,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_EP] = 3, .moe = &by_sigmoids, .llama_like = true, .compute = F32 },
        1e-4);
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_EP] = 2, .moe = &four, .llama_like = true, .compute = BF16 },
        3e-2);
}

static const Moe plain = { .n_experts = 4,
                           .top_k = 2,
                           .hidden = 6,
                           .score = SCORE_SIGMOID,
                           .normalize = true,
                           .shared_hidden = 4,
                           .activation = ACTIVATE_RELU_SQUARED,
                           .is_plain = true };

TEST(ranks_that_share_experts_without_gates_equal_one)
{
    layout_equals_one_rank((LayoutCase){ .size[MESH_EP] = 2,
                                         .size[MESH_DP_SHARD] = 2,
                                         .moe = &plain,
                                         .data_parallel.stage = ZERO_PARAMETERS,
                                         .recompute_every = 1,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_EP] = 2,
                                         .size[MESH_TP] = 2,
                                         .moe = &plain,
                                         .sharding = { .tensor = true, .sequence = true },
                                         .compute = F64 },
                           1e-11);
}

static void every_stage(LayoutCase l)
{
    for (int stage = ZERO_NONE; stage <= ZERO_PARAMETERS; stage++) {
        l.data_parallel.stage = (ZeroStage)stage;
        layout_equals_one_rank(l, 1e-11);
    }
}

TEST(experts_and_every_stage_of_zero_equal_one_rank)
{
    every_stage((LayoutCase){ .size[MESH_EP] = 2, .moe = &four, .compute = F64 });
    every_stage((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                              .size[MESH_EP] = 2,
                              .moe = &four,
                              .llama_like = true,
                              .compute = F64 });
    every_stage((LayoutCase){ .size[MESH_DP_REPLICATE] = 2,
                              .size[MESH_DP_SHARD] = 2,
                              .size[MESH_EP] = 2,
                              .moe = &four,
                              .accumulation = 2,
                              .compute = F64 });
    every_stage((LayoutCase){ .size[MESH_DP_SHARD] = 3,
                              .size[MESH_EP] = 2,
                              .moe = &four,
                              .data_parallel.blocks_per_unit = 2,
                              .compute = F64 });
}

TEST(experts_and_shared_matrices_equal_one_rank)
{
    const Sharding tensor = { .tensor = true }, sequence = { .tensor = true, .sequence = true };
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .sharding = tensor,
                                         .moe = &four,
                                         .llama_like = true,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .sharding = sequence,
                                         .moe = &four,
                                         .llama_like = true,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_EP] = 2,
                                         .size[MESH_TP] = 2,
                                         .sharding = tensor,
                                         .moe = &four,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_EP] = 2,
                                         .size[MESH_TP] = 2,
                                         .sharding = sequence,
                                         .moe = &four,
                                         .llama_like = true,
                                         .recompute_every = 1,
                                         .compute = F64 },
                           1e-11);
}

TEST(experts_and_shared_sequences_equal_one_rank)
{
    for (int layout = CONTIGUOUS; layout <= ZIGZAG; layout++) {
        const Sharding context = { .context = true, .layout = (Layout)layout };
        layout_equals_one_rank((LayoutCase){ .size[MESH_CP] = 2,
                                             .sharding = context,
                                             .moe = &four,
                                             .llama_like = true,
                                             .compute = F64 },
                               1e-11);
        layout_equals_one_rank((LayoutCase){ .size[MESH_EP] = 2,
                                             .size[MESH_CP] = 2,
                                             .sharding = context,
                                             .moe = &four,
                                             .llama_like = true,
                                             .data_parallel.stage = ZERO_PARAMETERS,
                                             .compute = F64 },
                               1e-11);
    }
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_EP] = 2,
                      .size[MESH_CP] = 2,
                      .size[MESH_TP] = 2,
                      .sharding = { .tensor = true, .sequence = true, .context = true },
                      .moe = &four,
                      .compute = F64 },
        1e-11);
}

TEST(experts_in_a_pipeline_equal_one_rank)
{
    layout_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                         .moe = &four,
                                         .llama_like = true,
                                         .accumulation = 2,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                         .size[MESH_DP_SHARD] = 2,
                                         .size[MESH_EP] = 2,
                                         .moe = &four,
                                         .llama_like = true,
                                         .accumulation = 3,
                                         .data_parallel.stage = ZERO_PARAMETERS,
                                         .compute = F64 },
                           1e-11);
}

/* What is dropped is the same, whoever has the experts. */
TEST(experts_with_a_capacity_equal_one_rank)
{
    static const Moe narrow = {
        .n_experts = 4, .top_k = 2, .hidden = 6, .capacity = 0.8, .activation = ACTIVATE_SILU
    };
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_EP] = 2, .moe = &narrow, .llama_like = true, .compute = F64 },
        1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_EP] = 2,
                                         .size[MESH_CP] = 2,
                                         .sharding = { .context = true, .layout = ZIGZAG },
                                         .moe = &narrow,
                                         .compute = F64 },
                           1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_EP] = 4,
                                         .size[MESH_TP] = 2,
                                         .sharding = { .tensor = true, .sequence = true },
                                         .moe = &narrow,
                                         .compute = F64 },
                           1e-11);
}

/* Of six experts two have no weights; a capacity does not bound them. */
TEST(experts_without_weights_equal_one_rank)
{
    static const Moe zero = { .n_experts = 4,
                              .zero_experts = 2,
                              .top_k = 3,
                              .hidden = 6,
                              .factor = 1.5,
                              .aux_loss = 0.02,
                              .z_loss = 0.01,
                              .balance_rate = 0.25,
                              .expert_scale = true,
                              .activation = ACTIVATE_SILU };
    Moe narrow = zero, weighing = zero;
    narrow.capacity = 0.7;
    weighing.weigh_inputs = true;
    weighing.shared_hidden = 5;
    const Moe *row[] = { &zero, &narrow, &weighing };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        layout_equals_one_rank((LayoutCase){ .size[MESH_EP] = 2,
                                             .size[MESH_DP_SHARD] = 2,
                                             .moe = row[i],
                                             .data_parallel.stage = ZERO_PARAMETERS,
                                             .llama_like = true,
                                             .recompute_every = 1,
                                             .compute = F64 },
                               1e-11);
        layout_equals_one_rank(
            (LayoutCase){
                .size[MESH_EP] = 2,
                .size[MESH_CP] = 2,
                .size[MESH_TP] = 2,
                .sharding = { .tensor = true, .sequence = true, .context = true, .layout = ZIGZAG },
                .moe = row[i],
                .accumulation = 2,
                .compute = F64 },
            1e-11);
        layout_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                             .size[MESH_TP] = 2,
                                             .sharding.tensor = true,
                                             .moe = row[i],
                                             .accumulation = 2,
                                             .compute = F64 },
                               1e-11);
    }
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_EP] = 2, .moe = &zero, .llama_like = true, .compute = BF16 },
        3e-2);
}

/* Biases follow the load of a whole step, wherever they are kept. */
TEST(routers_balanced_by_biases_equal_one_rank)
{
    static const Moe balanced = { .n_experts = 4,
                                  .top_k = 1,
                                  .hidden = 6,
                                  .score = SCORE_SIGMOID,
                                  .balance_rate = 0.25,
                                  .activation = ACTIVATE_SILU };
    LayoutCase l = { .moe = &balanced, .llama_like = true, .compute = F64 };
    Arena *a = arena_new();
    l.data_parallel.blocks_per_unit = 1;
    const LayoutResult alone = layout_run(a, &l);
    bool is_found = false;
    for (int64_t i = 0; i < alone.n_params; i++) {
        const LayoutParam *p = &alone.param[i];
        double sum = 0, most = 0;
        if (!strstr(p->name, "h.1.mlp.router.balance")) continue;
        is_found = true;
        for (int64_t k = 0; k < p->n; k++) {
            sum += p->after[k];
            most = fmax(most, fabs(p->after[k]));
        }
        assert_true(fabs(sum) < 1e-12 && most > 0.1 && most < 0.5);
    }
    assert_true(is_found);
    arena_free(a);
    l.size[MESH_DP_SHARD] = l.size[MESH_EP] = 2;
    l.accumulation = 2;
    every_stage(l);
    layout_equals_one_rank(
        (LayoutCase){
            .size[MESH_EP] = 2,
            .size[MESH_CP] = 2,
            .size[MESH_TP] = 2,
            .sharding = { .tensor = true, .sequence = true, .context = true, .layout = ZIGZAG },
            .moe = &balanced,
            .recompute_every = 1,
            .data_parallel.stage = ZERO_PARAMETERS,
            .compute = F64 },
        1e-11);
    layout_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                         .size[MESH_EP] = 2,
                                         .accumulation = 2,
                                         .moe = &balanced,
                                         .compute = F64 },
                           1e-11);
}

TEST(experts_that_do_not_divide_are_refused)
{
    Arena *a = arena_new();
    LayoutResult result;
    const LayoutCase l = {
        .size[MESH_EP] = 3, .moe = &four, .data_parallel.blocks_per_unit = 1, .compute = F64
    };
    Error *e = layout_try(a, &l, &result);
    assert_error_has(e, "4 experts do not divide among 3 ranks of ep");
    arena_free(a);
}

TEST(a_mixture_whose_layers_are_all_dense_has_no_penalty)
{
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_EP] = 2, .layers = 1, .moe = &four, .compute = F64 }, 1e-11);
}

TEST(an_expert_over_its_capacity_stops_where_asked_to)
{
    static const Moe strict = { .n_experts = 4,
                                .top_k = 2,
                                .hidden = 6,
                                .capacity = 0.5,
                                .overflow = OVERFLOW_STOPS,
                                .activation = ACTIVATE_SILU };
    Arena *a = arena_new();
    LayoutResult result;
    const LayoutCase l = {
        .size[MESH_EP] = 2, .moe = &strict, .data_parallel.blocks_per_unit = 1, .compute = F64
    };
    Error *e = layout_try(a, &l, &result);
    assert_error_has(
        e, "moe_limit in block 1 (forward): an expert is chosen by more tokens than its capacity");
    arena_free(a);
}

/* ---- what computes while rows travel ---- */

static bool needs(const Node *n, const Node *transfer)
{
    int64_t at;
    for (int k = 0; k < n->n_in; k++)
        if (value_storage(n->in[k], &at)->from == transfer) return true;
    return false;
}

/* Transfers of rows beside which products are made, and these products, in the backward and in the
 * forward pass. */
typedef struct Beside {
    int transfers[2], products[2];
} Beside;

static void count_beside(const Graph *g, void *to)
{
    Beside *b = to;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *t = g->node[i];
        if (strcmp(t->op->name, "moe_send") && strcmp(t->op->name, "moe_return")) continue;
        assert_int_equal(t->stream, STREAM_EXPERTS);
        int n = 0;
        for (int64_t k = i + 1; k < g->n_nodes && !needs(g->node[k], t); k++)
            if (g->node[k]->op->flags & OP_MATMUL) n++;
        b->transfers[t->phase == FORWARD] += n > 0;
        b->products[t->phase == FORWARD] += n;
    }
}

TEST(rows_travel_to_experts_while_the_shared_expert_computes)
{
    static const Moe shared = { .n_experts = 4,
                                .top_k = 2,
                                .hidden = 6,
                                .shared_hidden = 8,
                                .aux_loss = 0.02,
                                .z_loss = 0.01,
                                .activation = ACTIVATE_SILU };
    Arena *a = arena_new();
    Beside b = { 0 };
    LayoutCase l = { .size[MESH_EP] = 2,
                     .moe = &shared,
                     .llama_like = true,
                     .accumulation = 2,
                     .data_parallel.blocks_per_unit = 1,
                     .compute = F64,
                     .inspect = count_beside,
                     .inspect_to = &b };
    layout_run(a, &l);
    arena_free(a);
    /* two of the three layers have experts, and a shared one of three products */
    test_note(
        "beside %d transfers of the forward pass %d products, beside %d of the backward pass %d",
        b.transfers[1], b.products[1], b.transfers[0], b.products[0]);
    assert_int_equal(b.transfers[1], 4);
    assert_true(b.products[1] >= 2 * 3);
    assert_true(b.transfers[0] >= 2 && b.products[0] >= 2 * 3);
    l.inspect = NULL;
    every_stage(l);
}
FENCED(rows_travel_to_experts_while_the_shared_expert_computes)
