/* test_families.c - every family of Hugging Face's models is trained on ranks as on one: each
 * layout, recomputation and mixed precision with each family's norms, windows, caps and experts. */
#include "layout.h"
#include "models/decoder_model.h"
#include "models/families.h"
#include "test.h"
#include <string.h>

/* What is the same of all families. */
static void equals_one_rank(const Decoder *d, LayoutCase l, double most)
{
    l.decoder = d;
    l.vocabulary = (int)d->vocab_size;
    layout_equals_one_rank(l, most);
}

/* Ranks that share parameters and each sequence. */
static void equals_one_rank_fsdp_and_cp(const Decoder *d)
{
    equals_one_rank(d,
                    (LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                  .size[MESH_CP] = 2,
                                  .sharding = { .context = true, .layout = ZIGZAG },
                                  .data_parallel.stage = ZERO_PARAMETERS,
                                  .compute = F64 },
                    1e-11);
}

/* Ranks that multiply in bf16 are at most three times as far from f64 as one rank that does. */
static void check_rounding(const Decoder *d)
{
    Arena *a = arena_new();
    LayoutCase l = { .size[MESH_DP_SHARD] = 2,
                     .size[MESH_TP] = 2,
                     .sharding = { .tensor = true, .sequence = true },
                     .data_parallel = { .stage = ZERO_PARAMETERS, .blocks_per_unit = 1 },
                     .recompute_every = 2,
                     .decoder = d,
                     .vocabulary = (int)d->vocab_size,
                     .compute = F64 };
    const LayoutResult exact = layout_run_alone(a, &l);
    l.compute = BF16;
    const LayoutResult one = layout_run_alone(a, &l), many = layout_run(a, &l);
    const double of_one = layout_gradient_difference(&exact, &one),
                 of_many = layout_gradient_difference(&exact, &many);
    if (!(of_many <= 3 * of_one))
        fail_msg("%s: in bf16 the ranks are %.3g away, one rank is %.3g", d->block_class, of_many,
                 of_one);
    arena_free(a);
}

static void check_family(const Decoder *d)
{
    const Sharding sequence = { .tensor = true, .sequence = true };
    equals_one_rank(d,
                    (LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                  .data_parallel.stage = ZERO_PARAMETERS,
                                  .recompute_every = 1,
                                  .max_norm = 0.1,
                                  .compute = F64 },
                    1e-11);
    equals_one_rank(d, (LayoutCase){ .size[MESH_TP] = 2, .sharding = sequence, .compute = F64 },
                    1e-11);
    /* ulysses divides heads of keys */
    const bool has_windows = d->layer[2].window > 0 && d->n_head_kv > 1;
    for (int method = CONTEXT_RING; method <= (has_windows ? CONTEXT_ULYSSES : CONTEXT_RING);
         method++)
        equals_one_rank(
            d,
            (LayoutCase){
                .size[MESH_CP] = 2,
                .sharding = { .context = true, .layout = ZIGZAG, .method = (ContextMethod)method },
                .compute = F64 },
            1e-11);
    equals_one_rank(d,
                    (LayoutCase){ .size[MESH_PP] = 2,
                                  .size[MESH_TP] = 2,
                                  .sharding = sequence,
                                  .schedule = "ZBVZeroBubble",
                                  .per_rank = 2,
                                  .accumulation = 2,
                                  .compute = F64 },
                    1e-11);
    check_rounding(d);
    if (!d->moe) return;
    equals_one_rank(d,
                    (LayoutCase){ .size[MESH_EP] = 2,
                                  .size[MESH_TP] = 2,
                                  .sharding = sequence,
                                  .recompute_every = 1,
                                  .compute = F64 },
                    1e-11);
    equals_one_rank(
        d,
        (LayoutCase){ .size[MESH_PP] = 2, .size[MESH_EP] = 2, .accumulation = 2, .compute = F64 },
        1e-11);
}

TEST(every_family_learns_on_ranks_what_it_learns_on_one)
{
    Arena *a = arena_new();
    for (int i = 0; i < n_tiny_families(); i++) check_family(tiny_family(a, i));
    arena_free(a);
}

/* Of Qwen 2, whose key heads are fewer than query heads. */
TEST(gated_attention_learns_on_ranks_what_it_learns_on_one)
{
    Arena *a = arena_new();
    for (AttentionGate gate = GATE_HEAD; gate <= GATE_FEATURE; gate++) {
        Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
        d.attention_gate = gate;
        d.softplus_gates = gate == GATE_FEATURE;
        check_family(&d);
    }
    arena_free(a);
}

/* Of Qwen 2: blocks of each kind, with indexers that are trained, or not. */
TEST(joint_attention_to_windows_learns_on_ranks_what_it_learns_on_one)
{
    Arena *a = arena_new();
    for (int trained = 0; trained < 2; trained++) {
        Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
        Norm of_queries = *d.usual_norm, of_keys = *d.usual_norm, of_index = *d.usual_norm;
        of_queries.width = 6, of_keys.width = d.head_width, of_index.width = 4;
        Norm plain = of_keys;
        plain.has_weight = false;
        const Joint joint = { 6, 2, 5, &of_queries, &of_keys, &plain };
        const SparseAttention sparse = { 3, 4, 2, &of_index, trained ? 0.5 : 0 };
        DecoderLayer *layer = arena_copy(a, d.layer, sizeof *layer * (size_t)d.n_layer);
        for (int64_t i = 0; i < d.n_layer; i++) {
            layer[i].window = i % 3 == 2 ? 0 : 6;
            layer[i].compress = i % 3 == 2 ? 0 : i % 3 ? 5 : 4;
            layer[i].overlaps = layer[i].selects = i % 3 == 0;
        }
        d.joint = &joint;
        d.sparse = &sparse;
        d.layer = layer;
        d.qkv_bias = false;
        d.n_head_kv = 1;
        d.attention_sinks = true;
        d.inner_norm = trained ? d.usual_norm : NULL; /* of products of groups */
        check_family(&d);
        equals_one_rank_fsdp_and_cp(&d);
    }
    arena_free(a);
}

/* Of DeepSeek V3, with a router of each kind. */
TEST(experts_by_token_ids_learn_on_ranks_what_they_learn_on_one)
{
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "DeepseekV3DecoderLayer");
    DecoderLayer *layer = arena_copy(a, d.layer, sizeof *layer * (size_t)d.n_layer);
    Moe moe = *d.moe;
    int n = 0;
    moe.score = SCORE_SQRT_SOFTPLUS;
    moe.gate_bound = 0.5;
    for (int64_t i = 0; i < d.n_layer; i++) layer[i].by_id = layer[i].is_sparse && n++ % 2 == 0;
    d.layer = layer;
    d.moe = &moe;
    d.multi_token = NULL;
    check_family(&d);
    arena_free(a);
}

/* Of Mixtral, without a norm between the last mixture and the head, whose gradient ranks of tp sum.
 */
TEST(a_mixture_right_in_front_of_the_head_learns_on_ranks_what_it_learns_on_one)
{
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "MixtralDecoderLayer");
    d.head_norm = NULL;
    for (int sequence = 0; sequence < 2; sequence++)
        equals_one_rank(&d,
                        (LayoutCase){ .size[MESH_EP] = 2,
                                      .size[MESH_TP] = 2,
                                      .sharding = { .tensor = true, .sequence = sequence },
                                      .compute = F64 },
                        1e-11);
    arena_free(a);
}

/* Of Qwen 2, and with a mixture beside feed-forward layers, which reads what the weights give. */
TEST(hyper_connections_learn_on_ranks_what_they_learn_on_one)
{
    static const Norm norm = { .type = NORM_RMS, .eps = 1e-6 };
    static const HyperConnections hyper = { .n = 3, .iterations = 4, .eps = 1e-3, .norm = &norm },
                                  unmixed = {
                                      .n = 3, .eps = 1e-3, .norm = &norm, .write_scale = 1.5
                                  };
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    d.hyper = &hyper;
    d.gate_bound = 0.5;
    check_family(&d);
    d.hyper = &unmixed;
    check_family(&d);
    d = tiny_family_of(a, "Gemma4TextDecoderLayer");
    d.hyper = &hyper;
    d.per_layer = NULL;
    check_family(&d);
    arena_free(a);
}

/* Of Gemma 3n, whose factors come from bounded weights, where each rank has part of a sequence. */
TEST(streams_of_sequences_that_ranks_share_are_learnt_as_on_one)
{
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Gemma3nTextDecoderLayer");
    Streams streams = *d.streams;
    d.streams = &streams;
    for (int k = 0; k < 2; k++, streams.bound = 0) {
        equals_one_rank_fsdp_and_cp(&d);
        equals_one_rank(&d,
                        (LayoutCase){ .size[MESH_CP] = 2,
                                      .size[MESH_PP] = 2,
                                      .sharding = { .context = true, .method = CONTEXT_GATHER },
                                      .data_parallel.stage = ZERO_STATES,
                                      .accumulation = 2,
                                      .compute = F64 },
                        1e-11);
    }
    arena_free(a);
}

/* What reads a bounded weight first in the backward pass is of its gradient, which these schedules
 * make later. */
TEST(bounded_weights_that_ranks_of_a_pipeline_share_are_learnt_as_on_one)
{
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Gemma3nTextDecoderLayer");
    Streams streams = *d.streams;
    streams.bound = 0.05;
    streams.scales = false;
    d.per_layer = NULL;
    d.streams = &streams;
    equals_one_rank(&d,
                    (LayoutCase){ .size[MESH_DP_SHARD] = 2,
                                  .size[MESH_PP] = 2,
                                  .schedule = "InterleavedZeroBubble",
                                  .per_rank = 2,
                                  .data_parallel.stage = ZERO_PARAMETERS,
                                  .accumulation = 4,
                                  .compute = F64 },
                    1e-11);
    arena_free(a);
}

/* With keys that ranks share, and in latent attention. */
TEST(attention_with_sinks_learns_on_ranks_what_it_learns_on_one)
{
    static const char *const class[] = { "Qwen2DecoderLayer", "YoutuDecoderLayer" };
    Arena *a = arena_new();
    for (int k = 0; k < 2; k++) {
        Decoder d = tiny_family_of(a, class[k]);
        d.attention_sinks = true;
        check_family(&d);
    }
    arena_free(a);
}

/* However ranks divide tokens or heads; the second and third have layers that share an
 * indexer, the third sinks beside what is selected. */
TEST(tokens_that_indexers_select_are_the_same_on_ranks)
{
    static const char *const class[] = { "DeepseekV32DecoderLayer", "GlmMoeDsaDecoderLayer",
                                         "HYV4DecoderLayer" };
    Arena *a = arena_new();
    for (int k = 0; k < 3; k++) {
        const Decoder d = tiny_family_of(a, class[k]);
        for (int method = CONTEXT_GATHER; method <= CONTEXT_ULYSSES; method++)
            for (int layout = CONTIGUOUS; layout <= ZIGZAG; layout++)
                for (int tp = 1; tp <= 2; tp++)
                    equals_one_rank(&d,
                                    (LayoutCase){ .size[MESH_CP] = 2,
                                                  .size[MESH_TP] = tp,
                                                  .sharding = { .tensor = tp > 1,
                                                                .context = true,
                                                                .layout = (Layout)layout,
                                                                .method = (ContextMethod)method },
                                                  .compute = F64 },
                                    1e-11);
        equals_one_rank_fsdp_and_cp(&d);
    }
    arena_free(a);
}

/* A family whose indexers are trained. */
static Decoder with_trained_indexers(Arena *a, const char *class)
{
    Decoder d = tiny_family_of(a, class);
    SparseAttention *s = arena_copy(a, d.sparse, sizeof *s);
    s->index_loss = 0.7;
    d.sparse = s;
    return d;
}

/* Of the second, blocks whose attention an indexer learns from are stages of their own. */
TEST(indexers_learn_on_ranks_what_they_learn_on_one)
{
    static const char *const class[] = { "DeepseekV32DecoderLayer", "GlmMoeDsaDecoderLayer",
                                         "HYV4DecoderLayer" };
    Arena *a = arena_new();
    for (int k = 0; k < 3; k++) {
        const Decoder d = with_trained_indexers(a, class[k]);
        check_family(&d);
        for (int method = CONTEXT_GATHER; method <= CONTEXT_ULYSSES; method++)
            equals_one_rank(&d,
                            (LayoutCase){ .size[MESH_CP] = 2,
                                          .size[MESH_TP] = 2,
                                          .sharding = { .tensor = true,
                                                        .sequence = method == CONTEXT_GATHER,
                                                        .context = true,
                                                        .layout = ZIGZAG,
                                                        .method = (ContextMethod)method },
                                          .global_tokens = true,
                                          .accumulation = 2,
                                          .compute = F64 },
                            1e-11);
        equals_one_rank_fsdp_and_cp(&d);
    }
    arena_free(a);
}

static const LayoutParam *param_of(const LayoutResult *r, const char *name)
{
    for (int64_t i = 0; i < r->n_params; i++)
        if (!strcmp(r->param[i].name, name)) return &r->param[i];
    fail_msg("there is no %s", name);
    return NULL;
}

/* Every other parameter has the bits that it has without their loss. */
static void check_others(Dtype compute)
{
    Arena *a = arena_new();
    const Decoder learns = with_trained_indexers(a, "GlmMoeDsaDecoderLayer"),
                  stays = tiny_family_of(a, "GlmMoeDsaDecoderLayer");
    LayoutCase l = { .decoder = &learns, .vocabulary = (int)learns.vocab_size, .compute = compute };
    const LayoutResult with = layout_run_alone(a, &l);
    l.decoder = &stays;
    const LayoutResult without = layout_run_alone(a, &l);
    int n_indexers = 0;
    for (int64_t i = 0; i < with.n_params; i++) {
        const LayoutParam *x = &with.param[i], *y = param_of(&without, x->name);
        const bool of_indexer = strstr(x->name, ".index_"),
                   same = !memcmp(x->after, y->after, sizeof *x->after * (size_t)x->n);
        if (same == of_indexer) fail_msg("%s: %s", x->name, same ? "stays" : "changes");
        n_indexers += of_indexer;
    }
    assert_int_equal(n_indexers, 2 * 5);
    arena_free(a);
}

TEST(indexers_that_are_trained_change_nothing_else)
{
    check_others(F32);
    check_others(BF16);
}

/* With pairs of keys that ranks share, or divide. */
TEST(differential_attention_learns_on_ranks_what_it_learns_on_one)
{
    static const Norm norm = { .type = NORM_RMS, .eps = 1e-6 };
    static const Differential differential = { .std = 0.3, .norm = &norm };
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "LlamaDecoderLayer");
    d.differential = &differential;
    d.attention_sinks = true;
    d.attention_gate = GATE_HEAD;
    check_family(&d);
    d = tiny_family_of(a, "Qwen2DecoderLayer");
    d.differential = &differential;
    d.n_head_kv = d.n_head_q = 4;
    d.value_width = d.head_width + 2;
    d.attention_gate = GATE_FEATURE;
    check_family(&d);
    arena_free(a);
}

/* With keys that ranks share. */
TEST(values_wider_than_keys_learn_on_ranks_what_they_learn_on_one)
{
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    d.value_width = d.head_width + 2;
    check_family(&d);
    arena_free(a);
}

/* Heads that exchange tokens, ranks that have both some heads and some tokens, and keys that heads
 * share. */
TEST(scores_fall_with_distance_on_ranks_as_on_one)
{
    static const char *const class[] = { "BloomBlock", "Qwen2DecoderLayer" };
    Arena *a = arena_new();
    for (int k = 0; k < 2; k++) {
        Decoder d = tiny_family_of(a, class[k]);
        d.alibi = 6;
        for (int method = CONTEXT_GATHER; method <= CONTEXT_ULYSSES; method++)
            for (int layout = CONTIGUOUS; layout <= ZIGZAG; layout++)
                for (int tp = 1; tp <= (method == CONTEXT_ULYSSES ? 1 : 2); tp++)
                    equals_one_rank(&d,
                                    (LayoutCase){ .size[MESH_CP] = 2,
                                                  .size[MESH_TP] = tp,
                                                  .sharding = { .tensor = tp > 1,
                                                                .context = true,
                                                                .layout = (Layout)layout,
                                                                .method = (ContextMethod)method },
                                                  .compute = F64 },
                                    1e-11);
    }
    arena_free(a);
}

/* Of OLMo 2, whose queries are whole behind their norm. */
TEST(a_head_of_keys_that_ranks_repeat_goes_round_a_ring)
{
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Olmo2DecoderLayer");
    assert_non_null(d.qk_norm_width);
    d.n_head_kv = 1;
    for (int sequence = 0; sequence < 2; sequence++) {
        const Sharding s = { .tensor = true,
                             .sequence = sequence,
                             .context = true,
                             .layout = ZIGZAG,
                             .method = CONTEXT_RING };
        equals_one_rank(
            &d,
            (LayoutCase){ .size[MESH_CP] = 2, .size[MESH_TP] = 2, .sharding = s, .compute = F64 },
            1e-11);
    }
    arena_free(a);
}

/* In two of three. */
static void with_linear_layers(Arena *a, Decoder *d, const LinearAttention *linear)
{
    DecoderLayer *layer = arena_copy(a, d->layer, sizeof *layer * (size_t)d->n_layer);
    for (int64_t i = 0; i < d->n_layer; i++) {
        if (i % 3 == 2) continue;
        layer[i].mixer = MIXER_LINEAR;
        layer[i].n_rope = layer[i].window = 0;
    }
    d->layer = layer;
    d->linear = linear;
}

/* Of Qwen 2 and of a mixture, in two of three layers. */
static void check_linear(const LinearAttention *linear)
{
    static const char *const class[] = { "Qwen2DecoderLayer", "Qwen3MoeDecoderLayer" };
    Arena *a = arena_new();
    for (int k = 0; k < 2; k++) {
        Decoder d = tiny_family_of(a, class[k]);
        with_linear_layers(a, &d, linear);
        check_family(&d);
        equals_one_rank(&d,
                        (LayoutCase){ .size[MESH_CP] = 2,
                                      .sharding = { .context = true, .method = CONTEXT_ULYSSES },
                                      .compute = F64 },
                        1e-11);
        equals_one_rank_fsdp_and_cp(&d);
    }
    arena_free(a);
}

/* In one block of two, and in two of three, one behind the other; each block is a stage of the
 * pipeline. */
TEST(mixtures_with_shortcuts_learn_on_ranks_what_they_learn_on_one)
{
    static const char *const layers[] = {
        "n_layer: 4, layers: [{sparse: true, shortcut: true}, {}]",
        "n_layer: 6, norm_behind: true, residual_scale: 0.5, layers: [{count: 2, sparse: true, "
        "shortcut: true}, {no_ffn: true}]",
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        Model *m;
        assert_no_error(decoder_model(
            a,
            arena_printf(a,
                         "sample_key: input_ids, prediction_key: logits, vocab_size: 16, "
                         "sequence_length: 32, n_embd: 16, n_head_q: 4, n_head_kv: 2, ffn_hidden: "
                         "24, rope: {}, mixture: {n_experts: 4, zero_experts: 2, top_k: 3, hidden: "
                         "8, factor: 1.5, normalize: false, aux_loss: 0.02}, %s",
                         layers[i]),
            &m));
        const Decoder *d = decoder_of(m);
        check_family(d);
        equals_one_rank(d,
                        (LayoutCase){ .size[MESH_PP] = 2,
                                      .per_rank = (int)d->n_layer / 2,
                                      .schedule = "Interleaved1F1B",
                                      .accumulation = 4,
                                      .recompute_every = 2,
                                      .compute = F64 },
                        1e-11);
    }
    arena_free(a);
}

/* Without norms in front of it a mixture reads embeddings while ranks of tp still owe their sum,
 * and tokens that come back as they are are split as the choice of experts is. */
TEST(mixtures_that_read_embeddings_learn_on_ranks_what_they_learn_on_one)
{
    Arena *a = arena_new();
    Model *m;
    assert_no_error(decoder_model(
        a,
        "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, "
        "n_layer: 2, n_embd: 16, n_head_q: 4, n_head_kv: 2, ffn_hidden: 24, rope: {}, residual: "
        "two_norms, norm_in_front: false, norm_behind: true, layers: [{sparse: true}], mixture: "
        "{n_experts: 4, zero_experts: 2, top_k: 2, hidden: 8}",
        &m));
    check_family(decoder_of(m));
    arena_free(a);
}

static const Norm linear_norm = { .type = NORM_RMS, .width = 6, .eps = 1e-6, .has_weight = true };

static const LinearAttention delta_net = { .key_heads = 2,
                                           .value_heads = 4,
                                           .key_width = 4,
                                           .value_width = 6,
                                           .conv_width = 3,
                                           .most_rate = 1,
                                           .norm = &linear_norm };

TEST(linear_attention_learns_on_ranks_what_it_learns_on_one)
{
    check_linear(&delta_net);
}

TEST(linear_attention_whose_rows_fade_by_themselves_learns_on_ranks_what_it_learns_on_one)
{
    LinearAttention l = delta_net;
    l.row_decays = l.sigmoid_gates = true;
    l.decay_rank = 5;
    l.gate_rank = 3;
    check_linear(&l);
    l.decay_bound = 5;
    check_linear(&l);
}

TEST(linear_attention_with_fixed_decays_learns_on_ranks_what_it_learns_on_one)
{
    LinearAttention l = delta_net;
    l.fixed_decays = l.norm_of_all = l.sigmoid_gates = true;
    l.conv_width = 0;
    check_linear(&l);
}

/* Of Qwen 2, in two of three layers: groups are divided, with their heads. */
TEST(state_spaces_learn_on_ranks_what_they_learn_on_one)
{
    const Norm norm = { .type = NORM_RMS, .width = 12, .eps = 1e-6, .has_weight = true };
    LinearAttention linear = { .key_heads = 2,
                               .value_heads = 4,
                               .key_width = 4,
                               .value_width = 6,
                               .conv_width = 3,
                               .norm = &norm,
                               .is_state_space = true,
                               .conv_bias = true,
                               .bias = true,
                               .has_skip = true };
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    with_linear_layers(a, &d, &linear);
    check_family(&d);
    equals_one_rank(&d,
                    (LayoutCase){ .size[MESH_CP] = 2,
                                  .sharding = { .context = true, .method = CONTEXT_ULYSSES },
                                  .compute = F64 },
                    1e-11);
    equals_one_rank_fsdp_and_cp(&d);
    arena_free(a);
}

/* Of Qwen 2, in two of three layers: ranks divide features, which share what goes in and out. */
TEST(selective_state_spaces_learn_on_ranks_what_they_learn_on_one)
{
    const Norm norm = { .type = NORM_RMS, .eps = 1e-6, .has_weight = true };
    const Sharding both = { .tensor = true, .context = true, .layout = ZIGZAG };
    Selective selective = { .width = 12,
                            .state_width = 5,
                            .step_rank = 3,
                            .conv_width = 3,
                            .conv_bias = true,
                            .bias = true };
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    with_linear_layers(a, &d, NULL);
    d.selective = &selective;
    for (int k = 0; k < 2; k++, selective.norm = &norm) {
        check_family(&d);
        for (int method = CONTEXT_GATHER; method <= CONTEXT_ULYSSES; method++)
            equals_one_rank(
                &d,
                (LayoutCase){ .size[MESH_CP] = 2,
                              .sharding = { .context = true, .method = (ContextMethod)method },
                              .compute = F64 },
                1e-11);
        equals_one_rank_fsdp_and_cp(&d);
        equals_one_rank(
            &d,
            (LayoutCase){
                .size[MESH_CP] = 2, .size[MESH_TP] = 2, .sharding = both, .compute = F64 },
            1e-11);
    }
    arena_free(a);
}

/* Of Qwen 2, in two of three layers: ranks divide groups of features. */
TEST(gated_recurrences_learn_on_ranks_what_they_learn_on_one)
{
    const Sharding both = { .tensor = true, .context = true, .layout = ZIGZAG };
    Recurrent recurrent = { .width = 12, .n_groups = 4, .conv_width = 3, .conv_bias = true };
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    with_linear_layers(a, &d, NULL);
    d.recurrent = &recurrent;
    check_family(&d);
    for (int method = CONTEXT_GATHER; method <= CONTEXT_ULYSSES; method++)
        equals_one_rank(
            &d,
            (LayoutCase){ .size[MESH_CP] = 2,
                          .sharding = { .context = true, .method = (ContextMethod)method },
                          .compute = F64 },
            1e-11);
    recurrent.bias = true;
    equals_one_rank_fsdp_and_cp(&d);
    equals_one_rank(
        &d,
        (LayoutCase){ .size[MESH_CP] = 2, .size[MESH_TP] = 2, .sharding = both, .compute = F64 },
        1e-11);
    arena_free(a);
}

/* Of Qwen 2 and of a mixture: attention, linear attention and feed-forward layers alone. */
TEST(blocks_of_one_layer_learn_on_ranks_what_they_learn_on_one)
{
    static const char *const class[] = { "Qwen2DecoderLayer", "Qwen3MoeDecoderLayer" };
    const Norm norm = { .type = NORM_RMS, .width = 6, .eps = 1e-6, .has_weight = true };
    const LinearAttention linear = { .key_heads = 2,
                                     .value_heads = 4,
                                     .key_width = 4,
                                     .value_width = 6,
                                     .conv_width = 3,
                                     .most_rate = 1,
                                     .norm = &norm };
    Arena *a = arena_new();
    for (int k = 0; k < 2; k++) {
        Decoder d = tiny_family_of(a, class[k]);
        const DecoderLayer *of_class = d.layer;
        DecoderLayer layer[] = { of_class[0], of_class[2], of_class[2], of_class[1] };
        layer[0].mixer = MIXER_LINEAR;
        layer[1].mixer = layer[3].mixer = MIXER_NONE;
        for (int i = 0; i < 4; i += 2) layer[i].no_ffn = true, layer[i].is_sparse = false;
        for (int i = 0; i < 4; i++)
            if (layer[i].mixer != MIXER_ATTENTION) layer[i].n_rope = layer[i].window = 0;
        d.layer = layer;
        d.linear = &linear;
        check_family(&d);
        equals_one_rank_fsdp_and_cp(&d);
    }
    arena_free(a);
}

/* Of Qwen 2, in two of four layers. */
TEST(short_convolutions_learn_on_ranks_what_they_learn_on_one)
{
    Arena *a = arena_new();
    for (int bias = 0; bias < 2; bias++) {
        const ShortConv conv = { .width = 3, .bias = bias };
        Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
        DecoderLayer layer[4];
        memcpy(layer, d.layer, sizeof layer);
        for (int i = 0; i < 4; i += 3) {
            layer[i].mixer = MIXER_CONV;
            layer[i].n_rope = layer[i].window = 0;
        }
        d.layer = layer;
        d.short_conv = &conv;
        check_family(&d);
        equals_one_rank_fsdp_and_cp(&d);
    }
    arena_free(a);
}

/* Of Qwen 2: more ranks than groups, each with some heads of one. */
TEST(ranks_share_a_group_of_linear_attention)
{
    const Norm norm = { .type = NORM_RMS, .width = 24, .eps = 1e-6, .has_weight = true };
    LinearAttention linear = { .key_heads = 1,
                               .value_heads = 4,
                               .key_width = 4,
                               .value_width = 6,
                               .conv_width = 3,
                               .norm = &norm,
                               .is_state_space = true,
                               .conv_bias = true,
                               .bias = true,
                               .has_skip = true };
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    with_linear_layers(a, &d, &linear);
    check_family(&d);
    linear.norm_first = true;
    linear.bias = false;
    check_family(&d);
    equals_one_rank_fsdp_and_cp(&d);
    const Sharding both = { .tensor = true, .context = true, .layout = ZIGZAG };
    equals_one_rank(
        &d,
        (LayoutCase){ .size[MESH_CP] = 2, .size[MESH_TP] = 2, .sharding = both, .compute = F64 },
        1e-11);
    linear.key_heads = 2;
    equals_one_rank(&d,
                    (LayoutCase){ .size[MESH_TP] = 4,
                                  .sharding = { .tensor = true, .sequence = true },
                                  .compute = F64 },
                    1e-11);
    linear = (LinearAttention){ .key_heads = 1,
                                .value_heads = 4,
                                .key_width = 4,
                                .value_width = 6,
                                .conv_width = 3,
                                .most_rate = 1,
                                .norm = &linear_norm };
    check_family(&d);
    linear.row_decays = linear.sigmoid_gates = true;
    linear.decay_rank = linear.gate_rank = 4;
    check_family(&d);
    linear = (LinearAttention){ .key_heads = 1,
                                .value_heads = 4,
                                .key_width = 4,
                                .value_width = 6,
                                .fixed_decays = true,
                                .norm_of_all = true,
                                .norm = &linear_norm };
    check_family(&d);
    arena_free(a);
}

/* A single head cannot be shared. */
TEST(a_head_of_state_spaces_is_not_divided)
{
    const LinearAttention linear = { .key_heads = 1,
                                     .value_heads = 1,
                                     .key_width = 4,
                                     .value_width = 6,
                                     .conv_width = 3,
                                     .is_state_space = true };
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    LayoutResult out;
    with_linear_layers(a, &d, &linear);
    const LayoutCase l = { .size[MESH_TP] = 2,
                           .sharding.tensor = true,
                           .decoder = &d,
                           .vocabulary = (int)d.vocab_size,
                           .compute = F64 };
    assert_error_has(layout_try(a, &l, &out),
                     "q_attn.weight: 1 units of 4 do not divide among 2 ranks of tp");
    arena_free(a);
}

/* Two tokens more by plain blocks, and one by a mixture with latent attention, behind the head's
 * norm. */
TEST(tokens_ahead_are_learnt_on_ranks_as_on_one)
{
    static const char *const class[] = { "Qwen2DecoderLayer", "DeepseekV3DecoderLayer" };
    Arena *a = arena_new();
    for (int k = 0; k < 2; k++) {
        Decoder d = tiny_family_of(a, class[k]);
        const MultiToken ahead = { .depth = 2 - k, .weight = 0.7, .behind_norm = k };
        DecoderLayer *layer = NEW_N(a, DecoderLayer, d.n_layer + ahead.depth);
        memcpy(layer, d.layer, sizeof *layer * (size_t)d.n_layer);
        for (int64_t i = 0; i < ahead.depth; i++) layer[d.n_layer + i] = layer[d.n_layer - 1];
        d.layer = layer;
        d.multi_token = &ahead;
        check_family(&d);
    }
    arena_free(a);
}

/* The head and a block for a later token read the same stream from stages of their own, of which
 * one goes back long before the other: the gradients of both meet on the stage of the last. */
/* Both products are outside of blocks; the first is read on the first stage and for tokens ahead.
 */
TEST(narrow_embeddings_and_norms_of_sums_are_learnt_on_ranks_as_on_one)
{
    static const MultiToken ahead = { .depth = 1, .weight = 0.3 };
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    d.embedding_width = 10;
    d.residual = RESIDUAL_NORM_OF_SUM;
    check_family(&d);
    d.is_tied = true;
    d.multi_token = &ahead;
    DecoderLayer *layer = NEW_N(a, DecoderLayer, d.n_layer + 1);
    memcpy(layer, d.layer, sizeof *layer * (size_t)d.n_layer);
    layer[d.n_layer] = layer[d.n_layer - 1];
    d.layer = layer;
    check_family(&d);
    arena_free(a);
}

/* Its parameters are read on the last stage, and by tokens ahead, which may be on the one before.
 */
TEST(a_product_in_front_of_the_head_is_learnt_on_ranks_as_on_one)
{
    static const MultiToken ahead = { .depth = 1, .weight = 0.3 };
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    const HeadTransform transform = { ACTIVATE_GELU, true, d.usual_norm };
    DecoderLayer *layer = NEW_N(a, DecoderLayer, d.n_layer + 1);
    memcpy(layer, d.layer, sizeof *layer * (size_t)d.n_layer);
    layer[d.n_layer] = layer[d.n_layer - 1];
    layer[0].no_mixer_norm = true;
    d.layer = layer;
    d.head_transform = &transform;
    check_family(&d);
    d.is_tied = true;
    d.embedding_width = 10;
    d.multi_token = &ahead;
    check_family(&d);
    arena_free(a);
}

TEST(tokens_ahead_on_stages_before_the_head_are_learnt_as_on_one_rank)
{
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "Qwen2DecoderLayer");
    const MultiToken ahead = { .depth = 3, .weight = 0.7 };
    DecoderLayer *layer = NEW_N(a, DecoderLayer, 4 + ahead.depth);
    for (int64_t i = 0; i < 4 + ahead.depth; i++) layer[i] = d.layer[d.n_layer - 1];
    d.layer = layer;
    d.multi_token = &ahead;
    for (d.n_layer = 2; d.n_layer <= 4; d.n_layer++)
        equals_one_rank(&d,
                        (LayoutCase){ .size[MESH_PP] = 2,
                                      .schedule = "Interleaved1F1B",
                                      .per_rank = (int)d.n_layer / 2 + 1,
                                      .accumulation = 4,
                                      .compute = F64 },
                        1e-11);
    /* One rank has the first stage and the last, which gather the embedding each for itself. */
    d.n_layer = 4;
    equals_one_rank(&d,
                    (LayoutCase){ .size[MESH_PP] = 2,
                                  .size[MESH_DP_SHARD] = 2,
                                  .data_parallel.stage = ZERO_PARAMETERS,
                                  .schedule = "ZBVZeroBubble",
                                  .per_rank = 2,
                                  .accumulation = 4,
                                  .compute = F64 },
                    1e-11);
    arena_free(a);
}
