/* test_families.c - every family of Hugging Face's models is trained on ranks as on one: each
 * layout, recomputation and mixed precision with each family's norms, windows, caps and experts. */
#include "layout.h"
#include "models/hf_config.h"
#include "test.h"
#include <string.h>

#define MEMBERS                                                                                    \
    "\"vocab_size\": 16, \"hidden_size\": 16, \"intermediate_size\": 12, \"num_hidden_layers\": "  \
    "4, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"max_position_embeddings\": 32, " \
    "\"rms_norm_eps\": 1e-6, "
#define GEMMA                                                                                      \
    MEMBERS "\"head_dim\": 4, \"query_pre_attn_scalar\": 9, \"sliding_window\": 3, "               \
            "\"hidden_activation\": \"gelu_pytorch_tanh\", "
#define ROPE(kind)                                                                                 \
    "\"rope_scaling\": {\"rope_type\": \"" kind "\", \"factor\": 4.0, \"low_freq_factor\": 1.0, "  \
    "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8}, "

static const char *const families[] = {
    "\"model_type\": \"gpt2\", \"vocab_size\": 16, \"n_embd\": 16, \"n_layer\": 4, \"n_head\": 4, "
    "\"n_positions\": 32, \"resid_pdrop\": 0.0, \"embd_pdrop\": 0.0, \"attn_pdrop\": 0.0",
    MEMBERS ROPE("llama3") "\"model_type\": \"llama\", \"attention_bias\": true, \"mlp_bias\": "
                           "true, \"tie_word_embeddings\": true",
    MEMBERS "\"model_type\": \"mistral\", \"sliding_window\": 5",
    MEMBERS "\"model_type\": \"qwen2\", \"use_sliding_window\": true, \"sliding_window\": 3, "
            "\"max_window_layers\": 2",
    MEMBERS "\"model_type\": \"qwen3\", \"head_dim\": 6",
    MEMBERS "\"model_type\": \"olmo2\"",
    MEMBERS "\"model_type\": \"gemma\", \"head_dim\": 4",
    GEMMA "\"model_type\": \"gemma2\", \"attn_logit_softcapping\": 5.0, "
          "\"final_logit_softcapping\": 3.0",
    GEMMA "\"model_type\": \"gemma3_text\", \"sliding_window_pattern\": 2, "
          "\"rope_local_base_freq\": 100.0",
    MEMBERS "\"model_type\": \"mixtral\", \"num_local_experts\": 4, \"num_experts_per_tok\": 2, "
            "\"sliding_window\": null, \"router_aux_loss_coef\": 0.02",
    MEMBERS "\"model_type\": \"qwen3_moe\", \"head_dim\": 6, \"num_experts\": 4, "
            "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 6, \"norm_topk_prob\": true, "
            "\"decoder_sparse_step\": 1, \"mlp_only_layers\": [1], \"router_aux_loss_coef\": 0.02",
};

static const Decoder *family_decoder(Arena *a, const char *members)
{
    Yaml *root;
    HfModel hf;
    assert_no_error(yaml_parse(a, str_of(arena_printf(a, "{%s}", members)), "config.json", &root));
    assert_no_error(hf_config_parse(a, root, "config.json", &hf));
    Decoder *d = NEW(a, Decoder);
    *d = *hf.decoder;
    d->sample_key = "input_ids";
    d->prediction_key = "logits";
    return d;
}

/* What is the same of all families. */
static void equals_one_rank(const Decoder *d, LayoutCase l, double most)
{
    l.decoder = d;
    l.vocabulary = (int)d->vocab_size;
    layout_equals_one_rank(l, most);
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
    const bool has_windows = d->layer[2].window > 0;
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
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        check_family(family_decoder(a, families[i]));
    arena_free(a);
}
