/* gpt2.h - settings of model.gpt2, the original's decoder-only transformer. */
#ifndef MODELS_GPT2_H
#define MODELS_GPT2_H
#include "config/field.h"
#include "models/model.h"

/* The three kinds of norm settings; which one a mapping fits decides the default epsilon (a bare
 * layer_norm gets that of pytorch_rms_norm, as in the original). */
typedef struct NormSettings {
    int which;
    struct RmsNormSettings {
        int64_t ndim;
        double epsilon;
        bool bias;
    } rms;
    struct PytorchRmsNormSettings {
        int64_t normalized_shape;
        double eps;
    } pytorch_rms;
    struct LayerNormSettings {
        int64_t normalized_shape;
        double eps;
        bool elementwise_affine, bias;
    } layer;
} NormSettings;

extern const Field rms_norm_fields[], pytorch_rms_norm_fields[], layer_norm_fields[];

typedef struct NormChoice {
    int norm_type; /* NormType */
    NormSettings config;
} NormChoice;

typedef struct QkvTransform {
    int type_hint; /* 0 RotaryTransform, 1 IdentityTransform */
    struct TransformSettings {
        int which; /* 0 rotary, 1 identity */
        struct RotarySettings {
            int64_t n_embd, n_head, seq_length_dim, base_freq;
        } rotary;
        struct IdentitySettings {
            char nothing;
        } identity;
    } config;
} QkvTransform;

typedef struct QkvTransforms {
    QkvTransform *item;
    int64_t n;
} QkvTransforms;

typedef struct AttentionSettings {
    QkvTransforms qkv_transforms;
    const NormChoice *qk_norm_config;
} AttentionSettings;

enum { POE_ABSOLUTE, POE_NOPE };
enum { ACTIVATION_GELU, ACTIVATION_SWIGLU };

typedef struct Gpt2Settings {
    const char *sample_key, *prediction_key;
    const bool *use_meta_device;
    int poe_type;
    int64_t sequence_length, vocab_size, n_layer, n_head_q, n_head_kv, n_embd, ffn_hidden;
    double dropout;
    bool bias;
    AttentionSettings attention_config;
    int attention_implementation;
    int activation_type;
    NormChoice attention_norm_config, ffn_norm_config, lm_head_norm_config;
    bool use_weight_tying;
    const int64_t *seed;
    int64_t enforce_swiglu_hidden_dim_multiple_of;
    const char *document_key; /* NULL: a sequence is one document */
} Gpt2Settings;

extern const Field gpt2_fields[];
/* Rules over several fields. */
Error *gpt2_check(const void *settings);
/* A model that refers to the settings, which must stay as long. */
Model *gpt2_new(Arena *a, const Gpt2Settings *settings);
#endif
