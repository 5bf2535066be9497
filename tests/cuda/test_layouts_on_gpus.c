/* test_layouts_on_gpus.c - a step on several GPUs equals that on one, in each way to share a model.
 */
#include "../layouts/layout.h"
#include "../models/families.h"
#include "models/model.h"
#include "passes/all_passes.h"
#include "passes/float8.h"
#include "test.h"
#include <stdlib.h>

static void on_gpus(void)
{
    setenv("MODALITIES_MOCK_GPUS", "8", 1);
    setenv("MODALITIES_DEVICE", "cuda", 1);
}

/* Rounding of sums in f32. */
static const double near = 5e-5;

TEST(gpus_that_share_tensors_equal_one)
{
    on_gpus();
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_TP] = 2, .sharding = { .tensor = true }, .compute = F32 }, near);
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .sharding = { .tensor = true, .sequence = true },
                                         .llama_like = true,
                                         .compute = F32 },
                           near);
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_TP] = 2,
                      .sharding = { .tensor = true, .sequence = true, .async = true },
                      .llama_like = true,
                      .compute = F32 },
        near);
}

TEST(gpus_that_share_rows_equal_one)
{
    static const ContextMethod methods[] = { CONTEXT_GATHER, CONTEXT_RING, CONTEXT_ULYSSES };
    on_gpus();
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        layout_equals_one_rank(
            (LayoutCase){ .size[MESH_CP] = 2,
                          .sharding = { .context = true, .method = methods[i], .layout = ZIGZAG },
                          .llama_like = true,
                          .compute = F32 },
            near);
}

TEST(gpus_that_share_parameters_equal_one)
{
    static const ZeroStage stages[] = { ZERO_NONE, ZERO_STATES, ZERO_PARAMETERS };
    on_gpus();
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        layout_equals_one_rank((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                             .data_parallel = { .stage = stages[i] },
                                             .accumulation = 2,
                                             .compute = F32 },
                               near);
}

TEST(gpus_of_a_pipeline_equal_one)
{
    on_gpus();
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_PP] = 2, .accumulation = 3, .tied = true, .compute = F32 }, near);
    layout_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                         .accumulation = 4,
                                         .schedule = "Interleaved1F1B",
                                         .per_rank = 2,
                                         .layers = 4,
                                         .compute = F32 },
                           near);
}

/* Several stages per rank, with blocks for later tokens on stages of their own: streams and
 * gradients of both the head and these blocks travel between stages. */
TEST(gpus_of_a_pipeline_with_tokens_ahead_equal_one)
{
    static const struct {
        const char *schedule;
        int blocks, per_rank;
        int64_t shards;
    } c[] = { { "Interleaved1F1B", 2, 2, 1 }, { "ZBVZeroBubble", 4, 2, 2 } };
    on_gpus();
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
        const MultiToken ahead = { .depth = 2, .weight = 0.7, .behind_norm = i % 2 };
        DecoderLayer *layer = NEW_N(a, DecoderLayer, c[i].blocks + ahead.depth);
        for (int64_t k = 0; k < c[i].blocks + ahead.depth; k++) layer[k] = d.layer[d.n_layer - 1];
        d.layer = layer;
        d.n_layer = c[i].blocks;
        d.multi_token = &ahead;
        layout_equals_one_rank((LayoutCase){ .size[MESH_PP] = 2,
                                             .size[MESH_DP_SHARD] = c[i].shards,
                                             .data_parallel.stage = ZERO_PARAMETERS,
                                             .decoder = &d,
                                             .vocabulary = (int)d.vocab_size,
                                             .schedule = c[i].schedule,
                                             .per_rank = c[i].per_rank,
                                             .accumulation = 4,
                                             .compute = F32 },
                               near);
    }
    arena_free(a);
}

TEST(gpus_that_share_experts_equal_one)
{
    static const Moe moe = { .n_experts = 4,
                             .top_k = 2,
                             .hidden = 6,
                             .normalize = true,
                             .aux_loss = 0.02,
                             .activation = ACTIVATE_SILU };
    on_gpus();
    layout_equals_one_rank(
        (LayoutCase){ .size[MESH_EP] = 2, .moe = &moe, .llama_like = true, .compute = F32 }, near);
}

static void in_eight_bits(Model *m)
{
    static const char *const none[] = { NULL };
    static const Float8 all = { FLOAT8_TENSORWISE, none, 0, 0 };
    passes_add(&m->passes, &pass_float8, &all);
}

/* Of Qwen 2, with one head of keys. */
TEST(gpus_that_repeat_a_head_of_keys_equal_one)
{
    on_gpus();
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    d.n_head_kv = 1;
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .sharding = { .tensor = true, .sequence = true },
                                         .decoder = &d,
                                         .vocabulary = (int)d.vocab_size,
                                         .compute = F32 },
                           near);
    arena_free(a);
}

static void share_sequences(const char *block_class)
{
    on_gpus();
    Arena *a = arena_new();
    const Decoder d = tiny_family_of(a, block_class);
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .size[MESH_CP] = 2,
                                         .sharding = { .tensor = true,
                                                       .context = true,
                                                       .method = CONTEXT_RING,
                                                       .layout = ZIGZAG },
                                         .decoder = &d,
                                         .vocabulary = (int)d.vocab_size,
                                         .compute = F32 },
                           near);
    arena_free(a);
}

/* Of BLOOM, whose scores fall with distance by slopes of its six heads. */
TEST(gpus_that_share_heads_with_slopes_equal_one)
{
    share_sequences("BloomBlock");
}

/* Of Jamba: each computes the states of all tokens, and gives the gradients of its own. */
TEST(gpus_that_share_sequences_with_selective_scans_equal_one)
{
    share_sequences("JambaAttentionDecoderLayer");
}

/* Factors travel in eight bits and sums in bf16, after which some are rounded to a neighbour, which
 * is 6 % away: just as far from one rank as on CPUs. */
TEST(gpus_that_share_tensors_in_eight_bits_are_near_one)
{
    on_gpus();
    layout_equals_one_rank((LayoutCase){ .size[MESH_TP] = 2,
                                         .sharding = { .tensor = true, .sequence = true },
                                         .edit = in_eight_bits,
                                         .width = 32,
                                         .heads = 8,
                                         .kv_heads = 8,
                                         .compute = F32 },
                           0.2);
}
