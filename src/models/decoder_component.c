/* decoder_component.c - model.decoder: a decoder-only transformer described option by option. */
#include "config/builder.h"
#include "models/decoder_settings.h"

static const Norm *norm_of(Arena *a, const DecoderSettings *s, int64_t width, bool wanted)
{
    if (!wanted) return NULL;
    Norm *n = NEW(a, Norm);
    *n = (Norm){ .type = s->norm.type == 0 ? NORM_RMS : NORM_LAYER,
                 .width = width,
                 .eps = s->norm.eps,
                 .has_weight = s->norm.weight,
                 .has_bias = s->norm.bias,
                 .from_one = s->norm.from_one };
    return n;
}

static const Norm *without_weight(Arena *a, const Norm *usual)
{
    Norm *n = arena_copy(a, usual, sizeof *usual);
    n->has_weight = n->has_bias = n->from_one = false;
    return n;
}

static const Norm *value_norm_of(Arena *a, const DecoderSettings *s, int64_t width)
{
    return s->value_norm ? without_weight(a, norm_of(a, s, width, true)) : NULL;
}

/* `width`: of what a pair gives. */
static const Differential *differential_of(Arena *a, const DecoderSettings *s, int64_t width)
{
    if (!s->differential) return NULL;
    Differential *x = arena_copy(a, s->differential, sizeof *x);
    x->norm = without_weight(a, norm_of(a, s, width, true));
    return x;
}

static const Norm *qk_norm_of(Arena *a, const DecoderSettings *s, int64_t width, bool wanted)
{
    const Norm *usual = norm_of(a, s, width, wanted);
    if (!usual) return NULL;
    if (!s->qk_norm_weight) return without_weight(a, usual);
    Norm *n = arena_copy(a, usual, sizeof *usual);
    n->has_bias &= s->qk_norm_bias;
    return n;
}

/* Of heads of that width. */
static RopeScaling *rope_of(Arena *a, const DecoderSettings *s, const RopeScaling *given,
                            int64_t width)
{
    if (!given) return NULL;
    RopeScaling *r = arena_copy(a, given, sizeof *given);
    if (r->width == width) r->width = r->proportional = 0;
    if (s->latent) r->width = s->latent->rope_width;
    if (r->original == 0) r->original = s->sequence_length;
    if (r->attention == 0)
        r->attention = r->kind == ROPE_YARN   ? rope_yarn_attention(r->factor, 1)
                       : r->kind == ROPE_LONG ? rope_long_attention(r->factor, r->original)
                                              : 1;
    return r;
}

/* 0: that of the model */
static int64_t own_size(const int64_t *given, int64_t otherwise)
{
    return given && *given != otherwise ? *given : 0;
}

/* Blocks of one kind share their rotary table. */
static const DecoderLayer *layers_of(Arena *a, const DecoderSettings *s)
{
    const int64_t n = s->n_layer + (s->multi_token ? s->multi_token->depth : 0);
    DecoderLayer *layer = NEW_N(a, DecoderLayer, n);
    const RopeScaling *common = rope_of(a, s, s->rope, decoder_head_width(s));
    RopeScaling **own = NEW_N(a, RopeScaling *, s->layers.n);
    for (int64_t k = 0; k < s->layers.n; k++) {
        const LayerSettings *x = &s->layers.item[k];
        const RopeScaling *given = !x->rope && x->head_width ? s->rope : x->rope;
        own[k] = rope_of(a, s, given, decoder_layer_head_width(s, x));
    }
    for (int64_t i = 0; i < s->n_layer; i++) {
        const int64_t k = decoder_kind_of_block(s, i);
        const LayerSettings *x = &s->layers.item[k];
        const RopeScaling *rope = own[k] ? own[k] : common;
        layer[i] = (DecoderLayer){ .mixer = x->linear         ? MIXER_LINEAR
                                            : x->side_by_side ? MIXER_BOTH
                                            : x->conv         ? MIXER_CONV
                                            : x->no_mixer     ? MIXER_NONE
                                                              : MIXER_ATTENTION,
                                   .window = x->window,
                                   .chunks = x->chunks,
                                   .no_qk_norm = x->no_qk_norm,
                                   .no_sinks = x->no_sinks,
                                   .no_out_bias = x->no_out_bias,
                                   .no_mixer_norm = x->no_mixer_norm,
                                   .head_width = own_size(x->head_width, decoder_head_width(s)),
                                   .n_head_q = own_size(x->n_head_q, s->n_head_q),
                                   .n_head_kv = own_size(x->n_head_kv, s->n_head_kv),
                                   .keys_as_values = x->keys_as_values,
                                   .compress = x->compress,
                                   .overlaps = x->overlaps,
                                   .selects = x->selects,
                                   .shared_kv = x->shared_kv,
                                   .shared_index = x->shared_index,
                                   .rope = rope,
                                   .n_rope = rope && !x->no_rope && decoder_layer_attends(x),
                                   .is_sparse = x->sparse,
                                   .by_id = x->by_id,
                                   .shortcut = x->shortcut,
                                   .no_ffn = x->no_ffn,
                                   .hidden = own_size(x->ffn_hidden, s->ffn_hidden),
                                   .sparsity = x->sparsity };
    }
    for (int64_t i = s->n_layer; i < n; i++) layer[i] = layer[i - 1];
    return layer;
}

static const LinearAttention *linear_of(Arena *a, const DecoderSettings *s)
{
    const Norm *front = norm_of(a, s, s->n_embd, true);
    if (s->state_space) return state_space_settings_make(a, s->state_space, front);
    return s->linear_attention ? linear_settings_make(a, s->linear_attention, front) : NULL;
}

static const Moe *mixture_of(Arena *a, const DecoderSettings *s)
{
    if (!s->mixture) return NULL;
    Moe *m = arena_copy(a, s->mixture, sizeof *s->mixture);
    m->activation = (Activation)s->activation;
    m->is_plain = !s->gated;
    m->gate_bound = s->gate_bound;
    return m;
}

static const PerLayerEmbedding *per_layer_of(Arena *a, const DecoderSettings *s)
{
    const PerLayerSettings *given = s->per_layer_embedding;
    if (!given) return NULL;
    PerLayerEmbedding *p = NEW(a, PerLayerEmbedding);
    *p = (PerLayerEmbedding){ .width = given->width,
                              .vocab_size = given->vocab_size ? *given->vocab_size : s->vocab_size,
                              .scale = given->scale,
                              .norm = norm_of(a, s, given->width, true),
                              .post_norm = norm_of(a, s, s->n_embd, true) };
    return p;
}

static const Streams *streams_of(Arena *a, const DecoderSettings *s)
{
    const StreamSettings *given = s->alternating_updates;
    if (!given) return NULL;
    const Streams made = { given->streams, given->active, given->bound, given->scale };
    return arena_copy(a, &made, sizeof made);
}

static const HyperConnections *hyper_of(Arena *a, const DecoderSettings *s)
{
    const HyperSettings *given = s->hyper_connections;
    if (!given) return NULL;
    const HyperConnections made = { given->streams, given->iterations, given->eps,
                                    without_weight(a, norm_of(a, s, s->n_embd, true)),
                                    given->write_scale };
    return arena_copy(a, &made, sizeof made);
}

static const HeadTransform *transform_of(Arena *a, const DecoderSettings *s)
{
    const TransformSettings *given = s->head_transform;
    if (!given) return NULL;
    const HeadTransform made = { (Activation)given->activation, given->bias,
                                 norm_of(a, s, s->n_embd, true) };
    return arena_copy(a, &made, sizeof made);
}

static void set_norms(Arena *a, const DecoderSettings *s, Decoder *d)
{
    const bool two = s->residual != RESIDUAL_ONE_NORM;
    d->embedding_norm = norm_of(a, s, s->n_embd, s->embedding_norm);
    d->attention_norm = norm_of(a, s, s->n_embd, s->norm_in_front);
    d->attention_post_norm = norm_of(a, s, s->n_embd, s->norm_behind);
    d->ffn_norm = norm_of(a, s, s->n_embd, s->norm_in_front && two);
    d->ffn_post_norm = norm_of(a, s, s->n_embd, s->norm_behind);
    d->inner_norm = norm_of(a, s, s->n_embd, s->norm_inside);
    d->head_norm = norm_of(a, s, s->n_embd, s->head_norm);
}

/* What is made of several settings. */
static void set_parts(Arena *a, const DecoderSettings *s, Decoder *d)
{
    const int64_t width = d->head_width;
    const bool by_head = s->qk_norm == QK_HEAD || s->qk_norm == QK_EACH_HEAD;
    d->usual_norm = norm_of(a, s, s->n_embd, true);
    d->qk_norm = qk_norm_of(a, s, width, by_head);
    d->qk_norm_width = qk_norm_of(a, s, width * s->n_head_q, s->qk_norm == QK_WIDTH);
    d->value_norm = value_norm_of(a, s, d->value_width ? d->value_width : width);
    d->differential = differential_of(a, s, 2 * (d->value_width ? d->value_width : width));
    if (s->latent) d->latent = latent_settings_make(a, s->latent, d->usual_norm);
    if (s->joint_attention)
        d->joint = joint_settings_make(a, s->joint_attention, d->usual_norm, width);
    if (s->sparse_attention)
        d->sparse =
            sparse_settings_make(a, s->sparse_attention, s->joint_attention ? d->usual_norm : NULL);
    d->linear = linear_of(a, s);
    if (s->selective_scan) d->selective = selective_settings_make(a, s->selective_scan, s->n_embd);
    if (s->gated_recurrence) d->recurrent = recurrent_settings_make(a, s->gated_recurrence);
    d->layer = layers_of(a, s);
    d->moe = mixture_of(a, s);
    d->per_layer = per_layer_of(a, s);
    d->streams = streams_of(a, s);
    d->hyper = hyper_of(a, s);
    d->head_transform = transform_of(a, s);
    d->short_conv = s->short_conv;
    d->multipliers = s->multipliers;
    d->laurel_rank = s->laurel_rank;
    d->norm_gate_rank = s->norm_gate_rank;
    d->multi_token = s->multi_token;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const DecoderSettings *s = settings;
    Arena *a = builder_arena(b);
    Decoder *d = NEW(a, Decoder);
    *d = (Decoder){
        .name = "decoder",
        .block_class = "DecoderBlock",
        .sample_key = s->sample_key,
        .prediction_key = s->prediction_key,
        .document_key = s->document_key,
        .vocab_size = s->vocab_size,
        .sequence_length = s->sequence_length,
        .n_layer = s->n_layer,
        .width = s->n_embd,
        .n_head_q = s->n_head_q,
        .n_head_kv = s->n_head_kv,
        .head_width = decoder_head_width(s),
        .value_width = own_size(s->value_width, decoder_head_width(s)),
        .embedding_width = own_size(s->embedding_width, s->n_embd),
        .hidden = s->ffn_hidden,
        .seed = s->seed,
        .dropout = s->dropout,
        .embedding_dropout = s->embedding_dropout ? *s->embedding_dropout : s->dropout,
        .attention_dropout = s->attention_dropout,
        .embedding_scale = s->embedding_scale,
        .attention_scale = s->attention_scale,
        .scale_by_layer = s->scale_by_layer,
        .attention_cap = s->attention_cap,
        .alibi = s->alibi,
        .alibi_scale = s->alibi_scale,
        .logit_cap = s->logit_cap,
        .attention_gate = (AttentionGate)s->attention_gate,
        .softplus_gates = s->attention_gate_by == GATE_BY_SOFTPLUS,
        .attention_sinks = s->attention_sinks,
        .residual = (Residual)s->residual,
        .residual_scale = s->residual_scale,
        .logit_divisor = s->logit_divisor,
        .learned_positions = s->learned_positions,
        .sinusoidal_base = s->sinusoidal_base,
        .unused_positions = s->unused_positions,
        .is_tied = s->use_weight_tying,
        .qkv_bias = s->qkv_bias,
        .out_bias = s->out_bias,
        .ffn_bias = s->ffn_bias,
        .head_bias = s->head_bias,
        .is_ternary = s->linear == LINEAR_TERNARY,
        .activation = (Activation)s->activation,
        .is_gated = s->gated,
        .gate_bound = s->gate_bound,
        .qkv_clip = s->qkv_clip,
        .qk_norm_by_head = s->qk_norm == QK_EACH_HEAD,
        .qk_norm_before_rope = s->qk_norm_before_rope,
        .block_scale = s->block_scale,
    };
    set_parts(a, s, d);
    set_norms(a, s, d);
    *out = decoder_new(a, d);
    return NULL;
}

const ComponentDef model_decoder = {
    .kind = "model",
    .variant = "decoder",
    .doc = "decoder-only transformer option by option, mixtures of experts included; the families "
           "of Hugging Face are such descriptions",
    .fields = decoder_fields,
    .settings_size = sizeof(DecoderSettings),
    .check = decoder_settings_check,
    .build = build,
};
