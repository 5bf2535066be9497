/* decoder_attention_settings.h - settings of model.decoder for latent attention, linear attention,
 * state spaces of both kinds and gated recurrences. */
#ifndef MODELS_DECODER_ATTENTION_SETTINGS_H
#define MODELS_DECODER_ATTENTION_SETTINGS_H
#include "config/field.h"
#include "models/decoder.h"

typedef struct LatentSettings {
    int64_t key_rank, query_rank, rope_width, value_width;
    bool query_joined;
    double key_scale, query_scale, eps;
} LatentSettings;

typedef struct JointSettings {
    int64_t query_rank, output_groups, output_rank;
} JointSettings;

typedef struct SparseSettings {
    int64_t heads, width, top_k;
    const double *eps;
    double index_loss;
} SparseSettings;

typedef struct LinearSettings {
    int64_t key_heads, value_heads, key_width, value_width, conv_width;
    int decay, gate, norm; /* as in linear_decays, linear_gates and linear_norms */
    int64_t decay_rank, gate_rank;
    double decay_bound;
    bool negative, norm_in_front;
    double eps;
} LinearSettings;

typedef struct StateSpaceSettings {
    int64_t heads, head_width, state_width, n_groups, conv_width;
    bool conv_bias, bias, skip, norm, norm_first, norm_in_front;
    double least_step, most_step, eps;
} StateSpaceSettings;

typedef struct SelectiveSettings {
    int64_t width, state_width, step_rank, conv_width;
    bool conv_bias, bias;
    int norms; /* as in selective_norms */
    double eps;
} SelectiveSettings;

typedef struct RecurrentSettings {
    int64_t width, n_groups, conv_width;
    bool conv_bias, bias;
} RecurrentSettings;

extern const Field joint_settings[], latent_settings[], sparse_settings[], linear_settings[],
    state_space_settings[], selective_settings[], recurrent_settings[];

/* What cannot be, by itself and beside the width of a head. */
Error *latent_settings_check(const LatentSettings *s, int64_t head_width);
Error *linear_settings_check(const LinearSettings *s);
Error *state_space_settings_check(const StateSpaceSettings *s);
Error *recurrent_settings_check(const RecurrentSettings *s);

/* The norms of the vectors are as `norm`, but for width and eps. */
const Latent *latent_settings_make(Arena *a, const LatentSettings *s, const Norm *norm);
/* Norms are as `norm`, but for their widths. */
const Joint *joint_settings_make(Arena *a, const JointSettings *s, const Norm *norm,
                                 int64_t head_width);
/* `norm`: as others of the model, where keys are windows of joint attention; NULL: they are tokens.
 */
const SparseAttention *sparse_settings_make(Arena *a, const SparseSettings *s, const Norm *norm);
/* `front_norm` counts where norm_in_front asks for one. */
const LinearAttention *linear_settings_make(Arena *a, const LinearSettings *s,
                                            const Norm *front_norm);
const LinearAttention *state_space_settings_make(Arena *a, const StateSpaceSettings *s,
                                                 const Norm *front_norm);
/* In a model of this width. */
const Selective *selective_settings_make(Arena *a, const SelectiveSettings *s, int64_t width);
const Recurrent *recurrent_settings_make(Arena *a, const RecurrentSettings *s);
#endif
