/* test_offload.c - activations that wait in host memory: the same bits, less of the device's
 * memory, and copies that run beside the computation. */
#include "graph/op.h"
#include "layout.h"
#include "models/decoder_model.h"
#include "passes/all_passes.h"
#include "passes/offload.h"
#include "test.h"
#include <string.h>

static const Moe four = { .n_experts = 4,
                          .top_k = 2,
                          .hidden = 6,
                          .shared_hidden = 4,
                          .aux_loss = 0.02,
                          .activation = ACTIVATE_SILU };
static const Offload all_blocks = { .every = 1 }, every_second = { .every = 2 };

static void offload_all(Model *m)
{
    passes_add(&m->passes, &pass_offload, &all_blocks);
}

static void offload_second(Model *m)
{
    passes_add(&m->passes, &pass_offload, &every_second);
}

static void check_same(LayoutCase l, void (*edit)(Model *m))
{
    Arena *a = arena_new();
    l.layers = l.size[MESH_PP] ? 16 : 6;
    if (!l.data_parallel.blocks_per_unit) l.data_parallel.blocks_per_unit = 1;
    const LayoutResult kept = layout_run(a, &l);
    const RankPlan plan_kept = layout_plan(a, &l, 0);
    l.edit = edit;
    const LayoutResult moved = layout_run(a, &l);
    const RankPlan plan = layout_plan(a, &l, 0);
    assert_true(layout_same_bits(&kept, &moved));
    assert_int_equal(plan_kept.host, 0);
    assert_true(plan.host > 0);
    if (plan.workspace >= plan_kept.workspace)
        fail_msg("%zu bytes of the device for %zu", plan.workspace, plan_kept.workspace);
    assert_int_equal(plan.workspace, moved.bytes[3]);
    arena_free(a);
}

TEST(activations_in_host_memory_change_no_bit)
{
    check_same((LayoutCase){ .compute = F32, .accumulation = 2 }, offload_all);
    check_same((LayoutCase){ .compute = BF16, .llama_like = true, .tied = true }, offload_second);
    check_same((LayoutCase){ .compute = BF16, .llama_like = true, .recompute_every = 2 },
               offload_all);
    check_same((LayoutCase){ .size[MESH_DP_SHARD] = 2,
                             .data_parallel.stage = ZERO_PARAMETERS,
                             .accumulation = 2,
                             .max_norm = 0.1,
                             .compute = F32 },
               offload_all);
    check_same((LayoutCase){ .size[MESH_TP] = 2,
                             .size[MESH_CP] = 2,
                             .sharding = { .tensor = true,
                                           .sequence = true,
                                           .context = true,
                                           .layout = ZIGZAG,
                                           .method = CONTEXT_RING },
                             .llama_like = true,
                             .sequence = 64, /* else kernels' scratch outweighs activations */
                             .compute = BF16 },
               offload_all);
    check_same((LayoutCase){ .size[MESH_EP] = 2,
                             .moe = &four,
                             .data_parallel.stage = ZERO_PARAMETERS,
                             .llama_like = true,
                             .recompute_every = 3,
                             .compute = F32 },
               offload_all);
    check_same((LayoutCase){ .size[MESH_TP] = 2,
                             .sharding = { .tensor = true, .sequence = true, .async = true },
                             .compute = F32 },
               offload_second);
}

static void check_settings(const char *settings)
{
    Arena *a = arena_new();
    const char *config =
        arena_printf(a,
                     "sample_key: input_ids, prediction_key: logits, vocab_size: 16, "
                     "sequence_length: 32, n_embd: 16, n_layer: 6, n_head_q: 4, ffn_hidden: 24, "
                     "rope: {}, %s%s",
                     strstr(settings, "n_head_kv") ? "" : "n_head_kv: 2, ", settings);
    Model *m;
    assert_no_error(decoder_model(a, config, &m));
    const LayoutCase l = { .decoder = decoder_of(m), .vocabulary = 16, .compute = F32 };
    LayoutCase again = l;
    again.recompute_every = 2;
    check_same(l, offload_all);
    check_same(l, offload_second);
    check_same(again, offload_all);
    arena_free(a);
}

/* What several blocks read comes back for the first of them in the backward pass. */
TEST(keys_that_blocks_share_wait_in_host_memory_too)
{
    check_settings("layers: [{}, {window: 4}, {shared_kv: true}, {shared_kv: true, window: 4}], "
                   "per_layer_embedding: {width: 4}");
}

TEST(streams_wait_in_host_memory_too)
{
    check_settings("norm_behind: true, alternating_updates: {scale: true}, laurel_rank: 3, layers: "
                   "[{sparsity: 0.5}, {}], per_layer_embedding: {width: 4}");
}

TEST(windows_of_tokens_wait_in_host_memory_too)
{
    check_settings("n_head_kv: 1, joint_attention: {query_rank: 6, output_groups: 2, output_rank: "
                   "5}, attention_sinks: true, sparse_attention: {heads: 3, width: 4, top_k: 2}, "
                   "layers: [{window: 6, compress: 4, overlaps: true, selects: true}, {window: 6, "
                   "compress: 8}, {window: 6}]");
}

TEST(hyper_connected_streams_wait_in_host_memory_too)
{
    check_settings("hyper_connections: {streams: 3, iterations: 3}");
}

TEST(what_is_added_behind_the_next_block_waits_in_host_memory_too)
{
    check_settings("norm_behind: true, layers: [{sparse: true, shortcut: true}, {}], mixture: "
                   "{n_experts: 4, zero_experts: 2, top_k: 2, hidden: 8}");
}
FENCED(activations_in_host_memory_change_no_bit)

TEST(activations_of_pipelines_in_host_memory_change_no_bit)
{
    static const char *const schedule[] = { "1F1B", "Interleaved1F1B", "ZBVZeroBubble" };
    for (int i = 0; i < 3; i++)
        check_same((LayoutCase){ .size[MESH_PP] = 2,
                                 .schedule = schedule[i],
                                 .per_rank = i ? 2 : 1,
                                 .accumulation = 4,
                                 .llama_like = true,
                                 .compute = F32 },
                   i == 2 ? offload_second : offload_all);
}
FENCED(activations_of_pipelines_in_host_memory_change_no_bit)

typedef struct Copies {
    int out, back, held; /* held: nodes of the computation that wait for a copy to the host */
    bool is_ahead;       /* each value is asked for in a block before the one that reads it */
} Copies;

static bool reads(const Node *n, const Value *v)
{
    int64_t at;
    for (int k = 0; k < n->n_in; k++)
        if (value_storage(n->in[k], &at) == v) return true;
    return false;
}

static void look(const Graph *g, void *to)
{
    Copies *c = to;
    int block = -1;
    c->is_ahead = true;
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        c->held += n->after && !strcmp(n->after->op->name, "to_host");
        if (n->stream == STREAM_COMPUTE && n->phase == BACKWARD_INPUT) block = n->block;
        if (!(n->op->flags & OP_COPY)) continue;
        assert_int_equal(n->stream, STREAM_OFFLOAD);
        const bool is_out = !strcmp(n->op->name, "to_host");
        c->out += is_out;
        c->back += !is_out;
        for (int64_t k = i + 1; !is_out && k < g->n_nodes; k++)
            if (!(g->node[k]->op->flags & OP_VIEW) && reads(g->node[k], n->out[0])) {
                c->is_ahead &= g->node[k]->block != block;
                break;
            }
    }
}

TEST(activations_leave_beside_the_computation_and_come_back_a_block_ahead)
{
    Arena *a = arena_new();
    Copies c = { 0 };
    layout_run(a, &(LayoutCase){ .compute = F32,
                                 .layers = 6,
                                 .data_parallel.blocks_per_unit = 1,
                                 .edit = offload_all,
                                 .inspect = look,
                                 .inspect_to = &c });
    assert_true(c.out >= 5 && c.out == c.back);
    assert_true(c.is_ahead);
    assert_int_equal(c.held, 4); /* blocks 2 to 5 */
    arena_free(a);
}
