/* decoder_settings.h - the settings of model.decoder, and which of them cannot be together. */
#ifndef MODELS_DECODER_SETTINGS_H
#define MODELS_DECODER_SETTINGS_H
#include "models/decoder_attention_settings.h"

enum { MOST_BLOCKS = 1000 };

typedef struct NormSettings {
    int type; /* 0 RMS, 1 layer norm */
    double eps;
    bool weight, bias, from_one;
} NormSettings;

typedef struct LayerSettings {
    int64_t count, window, compress;
    const RopeScaling *rope;
    const int64_t *head_width, *n_head_q, *n_head_kv, *ffn_hidden;
    bool chunks, no_qk_norm, no_sinks, no_out_bias, no_mixer_norm, keys_as_values, shared_kv,
        shared_index, overlaps, selects, no_rope, sparse, by_id, shortcut, linear, side_by_side,
        conv, no_mixer, no_ffn;
    double sparsity;
} LayerSettings;

typedef struct LayerList {
    LayerSettings *item;
    int64_t n;
} LayerList;

typedef struct PerLayerSettings {
    int64_t width;
    const int64_t *vocab_size;
    double scale;
} PerLayerSettings;

typedef struct StreamSettings {
    int64_t streams, active;
    double bound;
    bool scale;
} StreamSettings;

typedef struct HyperSettings {
    int64_t streams, iterations;
    double eps, write_scale;
} HyperSettings;

typedef struct TransformSettings {
    int activation;
    bool bias;
} TransformSettings;

typedef enum LinearKind { LINEAR_PLAIN, LINEAR_TERNARY } LinearKind;
typedef enum GateFunction { GATE_BY_SIGMOID, GATE_BY_SOFTPLUS } GateFunction;
typedef enum QkNorm { QK_NONE, QK_HEAD, QK_EACH_HEAD, QK_WIDTH } QkNorm;

typedef struct DecoderSettings {
    const char *sample_key, *prediction_key, *document_key;
    int64_t vocab_size, sequence_length, n_layer, n_embd, n_head_q, n_head_kv, ffn_hidden;
    const int64_t *head_width, *value_width, *embedding_width;
    int64_t seed, unused_positions;
    const double *embedding_dropout;
    double dropout, attention_dropout, embedding_scale, attention_scale, attention_cap, logit_cap,
        alibi, alibi_scale, sinusoidal_base, residual_scale, logit_divisor, qkv_clip, gate_bound;
    bool scale_by_layer, learned_positions, use_weight_tying, qkv_bias, out_bias, ffn_bias,
        head_bias, gated;
    int linear, activation;
    NormSettings norm;
    bool embedding_norm, norm_in_front, norm_behind, norm_inside, head_norm, value_norm,
        block_scale;
    int residual, qk_norm, attention_gate, attention_gate_by;
    bool attention_sinks;
    bool qk_norm_before_rope, qk_norm_weight, qk_norm_bias;
    const RopeScaling *rope;
    LayerList layers;
    const Differential *differential;
    const JointSettings *joint_attention;
    const LatentSettings *latent;
    const SparseSettings *sparse_attention;
    const LinearSettings *linear_attention;
    const StateSpaceSettings *state_space;
    const SelectiveSettings *selective_scan;
    const RecurrentSettings *gated_recurrence;
    const ShortConv *short_conv;
    const Multipliers *multipliers;
    const Moe *mixture;
    const PerLayerSettings *per_layer_embedding;
    const StreamSettings *alternating_updates;
    const HyperSettings *hyper_connections;
    const TransformSettings *head_transform;
    int64_t laurel_rank, norm_gate_rank;
    const MultiToken *multi_token;
} DecoderSettings;

/* decoder_fields.c */
extern const Field decoder_fields[];

/* Whether blocks of the kind have attention, alone or beside another layer. */
bool decoder_layer_attends(const LayerSettings *x);
/* The index of the kind of block i. */
int64_t decoder_kind_of_block(const DecoderSettings *s, int64_t i);
/* Of a head of queries or keys; 0: no block has attention. */
int64_t decoder_head_width(const DecoderSettings *s);
/* Of such blocks. */
int64_t decoder_layer_head_width(const DecoderSettings *s, const LayerSettings *x);
/* What cannot be of attention and short convolutions in `layers`. */
Error *decoder_layers_check(const DecoderSettings *s);
/* What cannot be of other kinds of attention, and of linear layers. */
Error *decoder_mixers_check(const DecoderSettings *s);
/* What cannot be, by the name of the setting. */
Error *decoder_settings_check(const void *settings);
#endif
