/* config_parts.h - what the files that read config.json share. */
#ifndef MODELS_HF_CONFIG_PARTS_H
#define MODELS_HF_CONFIG_PARTS_H
#include "config/field.h"
#include "models/hf/config.h"

/* The options of all families but those of a dialect, each by its newest name. Those whose key a
 * row of family.c names are checked here, and read by that key. */
typedef struct HfConfig {
    const char *model_type;
    int64_t hidden_size;
    const int64_t *num_hidden_layers, *vocab_size, *num_attention_heads, *intermediate_size,
        *num_key_value_heads, *head_dim, *max_position_embeddings;
    const double *rms_norm_eps, *layer_norm_epsilon, *layer_norm_eps, *norm_epsilon, *norm_eps;
    const char *hidden_act, *hidden_activation;
    const bool *tie_word_embeddings;
    const bool *attention_bias, *attention_out_bias, *mlp_bias, *use_bias, *use_qkv_bias;
    const int64_t *shared_expert_intermediate_size;
    const Yaml *sliding_window;
    const bool *use_sliding_window;
    const Yaml *sliding_window_pattern;
    const int64_t *max_window_layers, *global_attn_every_n_layers;
    const StringList *layer_types;
    const double *attn_logit_softcapping, *final_logit_softcapping, *query_pre_attn_scalar;
    const IntList *moe_intermediate_size, *moe_topk, *moe_k, *num_shared_expert;
    const int64_t *moe_num_experts, *moe_num_shared_experts;
    int64_t moe_layer_start_index, moe_layer_end_index, moe_layer_interval;
    double moe_norm_min;
    const int64_t *num_experts_per_tok, *num_local_experts, *num_experts, *n_routed_experts,
        *n_shared_experts, *first_k_dense_replace, *num_shared_experts, *num_dense_layers;
    double route_scale;
    const double *router_scaling_factor;
    bool mup_enabled;
    const int64_t *num_nextn_predict_layers;
    const int64_t *n_group, *topk_group;
    const char *topk_method, *scoring_func;
    const Yaml *moe_layer_freq;
    const StringList *mlp_layer_types;
    const int64_t *kv_lora_rank, *q_lora_rank, *qk_nope_head_dim, *qk_rope_head_dim, *v_head_dim;
    const bool *rope_interleave;
    const double *routed_scaling_factor;
    const bool *norm_topk_prob;
    int64_t decoder_sparse_step;
    const IntList *mlp_only_layers;
    const double *router_aux_loss_coef;
    const double *attention_dropout, *resid_pdrop, *embd_pdrop, *hidden_dropout, *residual_dropout,
        *embedding_dropout;
    bool add_cross_attention;
    const double *rope_theta, *rope_local_base_freq, *partial_rotary_factor, *rotary_emb_base,
        *rotary_pct;
    const int64_t *rotary_dim;
    const Yaml *rope_parameters, *rope_scaling, *quantization_config, *use_bidirectional_attention;
    const char *dtype;
    double router_jitter_noise;
    const double *clip_qkv;
    double embedding_multiplier, residual_multiplier, logits_scaling;
    const double *attention_multiplier, *scale_depth;
    double scale_emb;
    const int64_t *dim_model_base;
    IntList no_rope_layers; /* 1: positions turn */
    int64_t no_rope_layer_interval;
    const FloatList *layer_rope_theta;
    bool use_post_norm;
    const bool *use_parallel_residual;
    const bool *qk_layernorm;
    bool use_qk_norm;
    double swiglu_limit, swiglu_alpha;
    const Yaml *logit_scale;
    const int64_t *linear_num_key_heads, *linear_num_value_heads, *linear_key_head_dim,
        *linear_value_head_dim, *linear_conv_kernel_dim;
    int64_t full_attention_interval;
    const int64_t *mamba_n_heads, *mamba_d_state, *mamba_n_groups, *mamba_d_conv, *mamba_expand,
        *num_heads, *state_size, *n_groups, *conv_kernel, *expand, *mamba_num_heads,
        *mamba_head_dim, *ssm_state_size, *moe_shared_expert_intermediate_size, *moe_latent_size;
    const Yaml *mamba_d_head, *time_step_limit;
    const bool *mamba_conv_bias, *mamba_proj_bias, *use_conv_bias;
    bool projectors_bias, mamba_rms_norm, mamba_norm_before_gate;
    const int64_t *mamba_d_ssm;
    double lm_head_multiplier, key_multiplier, attention_in_multiplier, attention_out_multiplier,
        ssm_in_multiplier, ssm_out_multiplier;
    const FloatList *ssm_multipliers, *mlp_multipliers;
    const double *time_step_min;
    const Yaml *time_step_rank, *mamba_dt_rank;
    double mixer_rms_eps;
    int64_t attn_layer_period, attn_layer_offset, expert_layer_period, expert_layer_offset;
    const char *mamba_hidden_act, *mlp_hidden_act, *hybrid_override_pattern;
    const StringList *layers_block_type;
    const int64_t *shared_intermediate_size;
    const char *position_embedding_type;
    IntList attn_layer_indices;
    const IntList *full_attn_idxs;
    bool lm_head_bias;
    double input_jitter_noise;
    int64_t conv_L_cache, block_multiple_of;
    bool conv_bias, use_expert_bias, block_auto_adjust_ff_dim;
    const int64_t *block_ff_dim;
    const double *block_ffn_dim_multiplier;
    const bool *tie_embedding;
} HfConfig;

extern const Field hf_config_fields[];

typedef struct HfReading {
    Arena *arena;
    const char *path;  /* of config.json */
    const Yaml *root;  /* of the language model */
    const Yaml *whole; /* of the model that it is a part of, or the same */
    const HfFamily *family;
    const HfFamily *of_files; /* as in HfModel; NULL: the family */
    HfConfig c;
    Decoder *d;
    void *own;               /* what the dialect's fields were read into */
    bool bare_norms;         /* without weights and biases */
    bool no_experts;         /* although the class may have some */
    const Yaml *hidden;      /* intermediate_size, where it is a list: of each layer */
    const int64_t *layer_of; /* the layer of the files that each block is; NULL: they count alike */
    int64_t rows_beyond;     /* of embeddings, which files have behind those of token ids */
    bool base_layers;        /* as in HfModel */
    double theta;            /* of positions, if config.json is silent; 0: that of the family */
    const char *blocks; /* a letter for each, of a class whose blocks are one layer: M is a state
                           space, * attention, - a feed-forward layer, E a mixture; else NULL */
} HfReading;

/* A row of fields: a whole number of at least 1. */
#define HF_COUNT(S, m, def, text, ...) FIELD_INT(S, m, def, 1, 2147483647, text, __VA_ARGS__)

/* Reads the options that `fields` lists into the struct at `to`; others are skipped. */
Error *hf_read_fields(const HfReading *r, const Field *fields, void *to);
/* The error for a value that is not known; `allowed` says what is. */
Error *hf_unknown(const HfReading *r, const char *key, const char *allowed);
/* A value, as JSON, of an option that config.json is silent about. */
typedef struct HfSilent {
    const char *key, *value;
} HfSilent;
/* Puts a copy of the options in the place of r->root, which has those of other names by ours, too,
 * and the values of the class where it is silent; both lists end with an empty row. */
Yaml *hf_rename_options(HfReading *r, const HfRenamed *renamed, const HfSilent *silent);
/* kimi_linear.c: what its authors, and those of Ling 3, call otherwise. */
extern const HfRenamed hf_kimi_renamed[];
/* A copy of the value, which stands where it does in the file. */
void hf_set_option(Arena *a, Yaml *root, const char *key, const Yaml *value);
/* A value as JSON, which stands where the options do. */
void hf_put_option(Arena *a, Yaml *root, const char *key, const char *value);
/* The number at a key; what is missing or none gives `otherwise`. */
double hf_number(const Yaml *map, const char *key, double otherwise);
/* The whole number at a key; NULL: there is none. */
const int64_t *hf_count(const HfReading *r, const char *key);
/* Likewise, and a flag, or what the class has where config.json is silent. */
int64_t hf_size(const HfReading *r, const char *key, int64_t of_class);
bool hf_flag(const HfReading *r, const char *key, bool of_class);
/* The text at a key; NULL: there is none. */
const char *hf_text(const HfReading *r, const char *key);
/* config.c: the activation of that name, which stands at the key. */
Error *hf_read_activation(const HfReading *r, const char *key, const char *name, Activation *out);
/* config_blocks.c: which layer each block is, and how many blocks there are. */
Error *hf_read_blocks(HfReading *r);
/* config_family.c: sets the family by model_type and class. */
Error *hf_find_family(HfReading *r);
/* parts.c: sets the family of a model_type, of text alone or of the language model of a larger one,
 * and the options as the family has them; NULL: there is none. */
Error *hf_take_part(HfReading *r, const char *type);
/* ernie_vl.c, molmo2.c: the options of such a model, `root`, as those of its family. */
Error *hf_take_ernie_vl(HfReading *r, Yaml *root);
Error *hf_take_molmo2(HfReading *r, Yaml *root);
/* config_layers.c: each layer, after the sizes are known. */
Error *hf_read_layers(HfReading *r);
/* Blocks for later tokens, of a class that has them. */
int64_t hf_n_ahead(const HfReading *r);
/* config_latent.c: sizes of latent attention, after the number of heads and the width. */
Error *hf_read_latent(HfReading *r);
/* config_linear.c: sizes of linear attention, after the norms and the activation. */
Error *hf_read_linear(HfReading *r);
/* What reads other tokens in a layer, in a class that has not attention alone. */
Error *hf_read_mixer(const HfReading *r, int64_t i, Mixer *out);
/* layer_types of a class where config.json is silent: what layer i of n is. */
Error *hf_types_of_class(HfReading *r, const char *(*type)(int64_t i, int64_t n));
/* config_multipliers.c: those of Falcon-H1. */
Error *hf_read_multipliers(HfReading *r);
/* Those of MiniCPM, after the sizes. */
void hf_read_scales(HfReading *r);
/* config_conv.c: sizes of short convolutions. */
Error *hf_read_conv(HfReading *r);
/* The width of feed-forward layers beside them. */
Error *hf_adjust_hidden(HfReading *r);
/* config_selective.c: sizes of selective state spaces, likewise. */
Error *hf_read_selective(HfReading *r);
/* What Jamba says of which layers are of what kind. */
Error *hf_read_periods(HfReading *r);
/* config_state_space.c: sizes of state spaces, likewise. */
Error *hf_read_state_space(HfReading *r);
/* config_moe.c: the mixture of experts of a class that has one. */
Error *hf_read_moe(HfReading *r);
/* config_packing.c: how weights are packed. */
Error *hf_read_packing(const HfReading *r, HfPacking *out);
/* config_rope.c: how positions turn in layers that see all, and in those with a window. */
Error *hf_read_ropes(const HfReading *r, RopeScaling *full, RopeScaling *local);
/* One set of parameters, with the base and the share of a head that turns where it is silent; `p`
 * may be NULL. */
Error *hf_read_rope(const HfReading *r, const Yaml *p, double theta, double share,
                    RopeScaling *out);
/* What a type of layer has where rope_parameters are silent: the base, and the share of a head that
 * turns by the frequencies of whole ones; 0: all of it turns. */
typedef struct HfTypedRope {
    const char *type;
    double theta, share;
} HfTypedRope;
/* How positions turn in a type of layer with heads so wide, in classes where each type has a rope
 * and a share of a head may turn so. */
Error *hf_read_typed_rope(const HfReading *r, const HfTypedRope *silent, int64_t head,
                          RopeScaling *out);
#endif
