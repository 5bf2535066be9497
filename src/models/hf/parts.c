/* parts.c - language models of larger ones, of images or speech, that compute what a family of text
 * does: of text alone all coordinates of a position are the same. Each is read as that family, with
 * what its own class has where config.json is silent. */
#include "models/hf/config_parts.h"
#include <string.h>

/* What a head_dim that config.json has means. */
typedef enum PartHeads { HEADS_OF_FAMILY, HEADS_MAY_DIVIDE, HEADS_DIVIDE } PartHeads;

typedef struct HfPart {
    const char *type, *whole; /* model_type of text_config, and of a file that has all options side
                                 by side, or NULL */
    const char *family;
    const HfRenamed *renamed;
    const HfSilent *silent, *fixed; /* what the class has where config.json is silent, and always */
    PartHeads heads;  /* heads are the width divided by their number: where head_dim is
                         missing, or always */
    bool base_layers; /* files may have adapters beside them, for images and speech */
    Error *(*take)(HfReading *r, Yaml *root); /* NULL, or: does more to its options */
    const HfName *names; /* of tensors in its files, in front of Llama's; NULL: the family's */
} HfPart;

static const HfRenamed no_names[] = { { 0 } },
                       hunyuan_names[] = { { "attention_head_dim", "head_dim" }, { 0 } },
                       paddle_names[] = { { "use_bias", "attention_bias" },
                                          { "use_bias", "mlp_bias" },
                                          { 0 } },
                       molmo2_names[] = { { "qkv_bias", "attention_bias" },
                                          { "layer_norm_eps", "rms_norm_eps" },
                                          { 0 } },
                       emu3_names[] = { { "attention_bias", "attention_out_bias" },
                                        { "attention_dropout", "residual_dropout" },
                                        { 0 } },
                       mllama_names[] = { { "dropout", "attention_dropout" }, { 0 } };

static const HfSilent
    nothing[] = { { 0 } },
    of_qwen2[] = { { "vocab_size", "152064" },
                   { "num_attention_heads", "64" },
                   { "num_key_value_heads", "8" },
                   { "rms_norm_eps", "1e-5" },
                   { "rope_theta", "1000000.0" },
                   { "max_window_layers", "80" },
                   { 0 } },
    of_qwen2_omni[] = { { "vocab_size", "152064" },
                        { "num_attention_heads", "28" },
                        { "num_key_value_heads", "4" },
                        { "rope_theta", "1000000.0" },
                        { 0 } },
    of_qwen3[] = { { "max_position_embeddings", "128000" }, { "rope_theta", "500000.0" }, { 0 } },
    of_qwen3_moe[] = { { "max_position_embeddings", "128000" },
                       { "rope_theta", "500000.0" },
                       { "num_attention_heads", "16" },
                       { "num_key_value_heads", "16" },
                       { "head_dim", "128" },
                       { "num_experts", "60" },
                       { "num_experts_per_tok", "4" },
                       { 0 } },
    always_of_qwen3_moe[] = { { "norm_topk_prob", "true" }, { 0 } },
    of_qwen3_omni[] = { { "rope_theta", "1000000.0" },  { "num_attention_heads", "28" },
                        { "num_key_value_heads", "4" }, { "num_experts", "128" },
                        { "norm_topk_prob", "true" },   { 0 } },
    of_glm4v[] = { { "max_position_embeddings", "32768" },
                   { "rms_norm_eps", "1e-5" },
                   { "partial_rotary_factor", "1.0" },
                   { 0 } },
    always_of_glm4v[] = { { "attention_bias", "true" }, { 0 } },
    of_glm_ocr[] = { { "vocab_size", "59392" },          { "num_attention_heads", "16" },
                     { "num_key_value_heads", "8" },     { "rms_norm_eps", "1e-5" },
                     { "partial_rotary_factor", "1.0" }, { 0 } },
    always_of_glm_ocr[] = { { "attention_bias", "false" }, { 0 } },
    of_glm4v_moe[] = { { "vocab_size", "151424" },
                       { "max_position_embeddings", "65536" },
                       { "attention_bias", "true" },
                       { 0 } },
    always_of_glm4v_moe[] = { { "use_qk_norm", "false" }, { 0 } },
    of_docling[] = { { "vocab_size", "133800" },
                     { "num_attention_heads", "16" },
                     { "num_key_value_heads", "4" },
                     { "max_position_embeddings", "32768" },
                     { "rms_norm_eps", "1e-5" },
                     { "tie_word_embeddings", "true" },
                     { "embedding_multiplier", "12.0" },
                     { "attention_multiplier", "0.015625" },
                     { "residual_multiplier", "0.263" },
                     { "logits_scaling", "4.0" },
                     { 0 } },
    of_hunyuan[] = { { "vocab_size", "290943" },
                     { "num_attention_heads", "32" },
                     { "tie_word_embeddings", "true" },
                     { 0 } },
    of_paddle[] = { { "vocab_size", "103424" },
                    { "num_attention_heads", "16" },
                    { "num_key_value_heads", "2" },
                    { "head_dim", "128" },
                    { "max_position_embeddings", "131072" },
                    { "rms_norm_eps", "1e-5" },
                    { "rope_theta", "500000.0" },
                    { "tie_word_embeddings", "true" },
                    { 0 } },
    of_phi4[] = { { "vocab_size", "200064" },
                  { "num_attention_heads", "32" },
                  { "num_key_value_heads", "8" },
                  { "max_position_embeddings", "131072" },
                  { 0 } },
    of_mllama[] = { { "vocab_size", "128256" },
                    { "num_hidden_layers", "40" },
                    { "num_attention_heads", "32" },
                    { "num_key_value_heads", "8" },
                    { "max_position_embeddings", "131072" },
                    { "rms_norm_eps", "1e-5" },
                    { "rope_theta", "500000.0" },
                    { 0 } },
    of_ernie[] = { { "vocab_size", "103424" },
                   { "hidden_size", "2560" },
                   { "intermediate_size", "12288" },
                   { "num_hidden_layers", "28" },
                   { "num_attention_heads", "20" },
                   { "moe_num_experts", "64" },
                   { "moe_k", "6" },
                   { "moe_num_shared_experts", "2" },
                   { "moe_intermediate_size", "1536" },
                   { 0 } },
    of_molmo2[] = { { "vocab_size", "151936" },
                    { "hidden_size", "4096" },
                    { "intermediate_size", "12288" },
                    { "num_hidden_layers", "36" },
                    { "num_attention_heads", "32" },
                    { "num_key_value_heads", "8" },
                    { "max_position_embeddings", "36864" },
                    { 0 } },
    always_of_molmo2[] = { { "use_sliding_window", "false" }, { 0 } },
    of_emu3[] = { { "vocab_size", "184622" },
                  { "hidden_size", "4096" },
                  { "intermediate_size", "14336" },
                  { "num_hidden_layers", "32" },
                  { "num_attention_heads", "32" },
                  { "num_key_value_heads", "8" },
                  { "max_position_embeddings", "9216" },
                  { "rms_norm_eps", "1e-5" },
                  { "rope_theta", "1000000.0" },
                  { "attention_bias", "false" },
                  { "attention_out_bias", "false" },
                  { "attention_dropout", "0.1" },
                  { "residual_dropout", "0.1" },
                  { 0 } },
    of_apertus[] = { { "vocab_size", "266752" },       { "hidden_size", "4096" },
                     { "intermediate_size", "14336" }, { "num_hidden_layers", "32" },
                     { "num_attention_heads", "32" },  { 0 } };

static void divide_heads(HfReading *r, Yaml *root)
{
    const int64_t *width = hf_count(r, "hidden_size"), *n = hf_count(r, "num_attention_heads");
    if (!width || !n || *n < 1 || *width % *n) return; /* told of where sizes are read */
    hf_put_option(r->arena, root, "head_dim",
                  arena_printf(r->arena, "%lld", (long long)(*width / *n)));
}

/* Layers that see nothing but images do nothing to a text. */
static Error *leave_out_crossed(HfReading *r, Yaml *root)
{
    static const char key[] = "cross_attention_layers";
    const Yaml *list = yaml_get(root, key);
    const int64_t *all = hf_count(r, "num_hidden_layers");
    const bool silent = !list || list->type == YAML_NULL;
    if (!all || *all < 1 || *all > 1000)
        return hf_unknown(r, "num_hidden_layers", "allowed are 1 to 1000");
    if (!silent && list->type != YAML_LIST) return hf_unknown(r, key, "it is a list of layers");
    bool *left_out = NEW_N(r->arena, bool, *all);
    int64_t *layer_of = NEW_N(r->arena, int64_t, *all), n = 0;
    for (int64_t i = 3; silent && i < *all && i < 40; i += 5) left_out[i] = true;
    for (int64_t i = 0; !silent && i < list->n; i++) {
        const Yaml *x = list->item[i];
        if (x->type != YAML_INT || x->integer < 0)
            return hf_unknown(r, key, "each is the number of a layer, from 0 on");
        if (x->integer < *all) left_out[x->integer] = true;
    }
    for (int64_t i = 0; i < *all; i++)
        if (!left_out[i]) layer_of[n++] = i;
    if (!n) return hf_unknown(r, key, "it leaves no layer");
    hf_put_option(r->arena, root, "num_hidden_layers",
                  arena_printf(r->arena, "%lld", (long long)n));
    r->layer_of = layer_of;
    r->rows_beyond = 8; /* the class has so many rows of embeddings more than token ids */
    return NULL;
}

/* Token ids that the head cannot give are those of images and speech; they have the last rows of
 * embeddings. */
static Error *leave_out_inputs(HfReading *r, Yaml *root)
{
    static const char key[] = "output_vocab_size";
    const Yaml *given = yaml_get(root, key), *tied = yaml_get(root, "tie_word_embeddings");
    const int64_t *all = hf_count(r, "vocab_size"), *n = hf_count(r, key);
    if (!given || given->type == YAML_NULL || !all) return NULL;
    if (!n || *n < 1 || *n > *all)
        return hf_unknown(r, key, "allowed are null and 1 to vocab_size");
    if (*n < *all && tied && tied->type == YAML_BOOL && tied->boolean)
        return hf_unknown(r, key, "only null is: a tied head has all rows of the embeddings");
    r->rows_beyond = *all - *n;
    hf_put_option(r->arena, root, "vocab_size", arena_printf(r->arena, "%lld", (long long)*n));
    return NULL;
}

/* clang-format off */
static const HfPart parts[] = {
    { .type = "qwen2_vl_text", .whole = "qwen2_vl", .family = "qwen2", .silent = of_qwen2 },
    { .type = "qwen2_5_vl_text", .whole = "qwen2_5_vl", .family = "qwen2", .silent = of_qwen2 },
    { .type = "qwen2_5_omni_text", .family = "qwen2", .silent = of_qwen2_omni },
    { .type = "qwen3_vl_text", .family = "qwen3", .silent = of_qwen3 },
    { .type = "qwen3_vl_moe_text", .family = "qwen3_moe", .silent = of_qwen3_moe, .fixed = always_of_qwen3_moe },
    { .type = "qwen3_omni_moe_text", .family = "qwen3_moe", .silent = of_qwen3_omni },
    { .type = "glm4v_text", .family = "glm4", .silent = of_glm4v, .fixed = always_of_glm4v, .heads = HEADS_DIVIDE },
    { .type = "glm_ocr_text", .family = "glm4", .silent = of_glm_ocr, .fixed = always_of_glm_ocr, .heads = HEADS_MAY_DIVIDE },
    { .type = "glm4v_moe_text", .family = "glm4_moe", .silent = of_glm4v_moe, .fixed = always_of_glm4v_moe },
    { .type = "granite4_vision_text", .family = "granite" },
    { .type = "granite_docling_text", .family = "granite", .silent = of_docling },
    { .type = "hunyuan_vl_text", .whole = "hunyuan_vl", .family = "hunyuan_v1_dense", .renamed = hunyuan_names, .silent = of_hunyuan },
    { .type = "paddleocr_vl_text", .whole = "paddleocr_vl", .family = "llama", .renamed = paddle_names, .silent = of_paddle },
    { .type = "phi4_multimodal", .whole = "phi4mm", .family = "phi3", .silent = of_phi4, .base_layers = true },
    { .type = "mllama_text_model", .family = "llama", .renamed = mllama_names, .silent = of_mllama, .heads = HEADS_DIVIDE, .take = leave_out_crossed },
    { .type = "apertus1p5_text", .family = "apertus", .silent = of_apertus, .take = leave_out_inputs },
    { .type = "ernie4_5_vl_moe_text", .family = "ernie4_5_moe", .silent = of_ernie, .take = hf_take_ernie_vl, .names = hf_ernie_vl_names },
    { .type = "molmo2_text", .family = "qwen3", .renamed = molmo2_names, .silent = of_molmo2, .fixed = always_of_molmo2, .take = hf_take_molmo2, .names = hf_molmo2_names },
    { .type = "emu3_text_model", .family = "seed_oss", .renamed = emu3_names, .silent = of_emu3, .heads = HEADS_MAY_DIVIDE },
    /* Models of text alone, by another name. */
    { .type = "gpt-sw3", .family = "gpt2" },
    { .type = "kimi_k2", .family = "deepseek_v3" },
};
/* clang-format on */

static const HfPart *find(const char *type)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(parts[i].type, type) || (parts[i].whole && !strcmp(parts[i].whole, type)))
            return &parts[i];
    return NULL;
}

static const HfFamily *with_names(Arena *a, const HfFamily *f, const HfName *names)
{
    HfFamily *own = arena_copy(a, f, sizeof *f);
    own->first = names;
    return own;
}

Error *hf_take_part(HfReading *r, const char *type)
{
    const HfPart *p = find(type);
    if (!p) {
        r->family = hf_family_find(type);
        return NULL;
    }
    r->family = hf_family_find(p->family);
    r->of_files = p->names ? with_names(r->arena, r->family, p->names) : NULL;
    r->base_layers = p->base_layers;
    Yaml *root =
        hf_rename_options(r, p->renamed ? p->renamed : no_names, p->silent ? p->silent : nothing);
    for (const HfSilent *s = p->fixed; s && s->key; s++)
        hf_put_option(r->arena, root, s->key, s->value);
    if (p->heads == HEADS_DIVIDE || (p->heads == HEADS_MAY_DIVIDE && !hf_count(r, "head_dim")))
        divide_heads(r, root);
    return p->take ? p->take(r, root) : NULL;
}
