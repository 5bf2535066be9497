/* gpt2.c - model.gpt2: the original's settings as a description of a decoder. */
#include "models/gpt2.h"
#include "base/log.h"
#include "config/builder.h"
#include "models/decoder.h"
#include "ops/rope.h"

static Norm norm_of(const NormChoice *c)
{
    const NormSettings *n = &c->config;
    switch (c->norm_type) {
    case NORM_RMS:
        return (Norm){ .type = NORM_RMS,
                       .width = n->rms.ndim,
                       .eps = n->rms.epsilon,
                       .has_weight = true,
                       .has_bias = n->rms.bias };
    case NORM_PYTORCH_RMS:
        return (Norm){ .type = NORM_PYTORCH_RMS,
                       .width = n->pytorch_rms.normalized_shape,
                       .eps = n->pytorch_rms.eps,
                       .has_weight = true };
    default:
        if (n->which == 1) /* neither bias nor elementwise_affine named */
            return (Norm){ .type = NORM_LAYER,
                           .width = n->pytorch_rms.normalized_shape,
                           .eps = n->pytorch_rms.eps,
                           .has_weight = true,
                           .has_bias = true };
        return (Norm){ .type = NORM_LAYER,
                       .width = n->layer.normalized_shape,
                       .eps = n->layer.eps,
                       .has_weight = n->layer.elementwise_affine,
                       .has_bias = n->layer.elementwise_affine && n->layer.bias };
    }
}

static const Norm *norm_copy(Arena *a, const NormChoice *c)
{
    if (!c) return NULL;
    const Norm n = norm_of(c);
    return arena_copy(a, &n, sizeof n);
}

/* The same transforms in every layer. */
static const DecoderLayer *layers_of(Arena *a, const Gpt2Settings *s)
{
    const QkvTransforms *t = &s->attention_config.qkv_transforms;
    RopeScaling *rope = NEW_N(a, RopeScaling, t->n);
    DecoderLayer *layer = NEW_N(a, DecoderLayer, s->n_layer);
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++)
        if (t->item[i].type_hint == 0) rope[n++].base = (double)t->item[i].config.rotary.base_freq;
    for (int64_t i = 0; i < s->n_layer; i++) layer[i] = (DecoderLayer){ .rope = rope, .n_rope = n };
    return layer;
}

static void give_hint(const Gpt2Settings *s)
{
    const struct {
        const char *key;
        int64_t value;
    } size[] = {
        { "vocab_size", s->vocab_size },
        { "n_embd", s->n_embd },
        { "ffn_hidden", s->ffn_hidden },
    };
    for (int i = 0; i < 3; i++)
        if (size[i].value % 128) {
            log_info("hint: %s %lld is not a multiple of 128; multiples of 128 run faster",
                     size[i].key, (long long)size[i].value);
            return;
        }
}

/* The frequencies of rotary embeddings, of each layer. */
static int64_t buffers_of(Arena *a, const Gpt2Settings *s, const ModelBuffer **out)
{
    const QkvTransforms *t = &s->attention_config.qkv_transforms;
    ModelBuffer *all = NEW_N(a, ModelBuffer, s->n_layer * t->n);
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        if (t->item[i].type_hint != 0) continue;
        const struct RotarySettings *r = &t->item[i].config.rotary;
        int64_t d = r->n_embd / r->n_head;
        float *x = NEW_N(a, float, d / 2);
        for (int64_t j = 0; j < d / 2; j++) x[j] = rope_frequency((double)r->base_freq, j, d);
        for (int64_t layer = 0; layer < s->n_layer; layer++)
            all[n++] = (ModelBuffer){
                .name = arena_printf(a, "transformer.h.%lld.attn.qkv_transforms.%lld.inv_freq",
                                     (long long)layer, (long long)i),
                .tensor = { .data = x, .dtype = F32, .n_dims = 1, .size = { d / 2 } }
            };
    }
    *out = all;
    return n;
}

Model *gpt2_new(Arena *a, const Gpt2Settings *s)
{
    Decoder *d = NEW(a, Decoder);
    const bool is_gated = s->activation_type == ACTIVATION_SWIGLU;
    *d = (Decoder){
        .name = "gpt2",
        .block_class = "GPT2Block",
        .sample_key = s->sample_key,
        .prediction_key = s->prediction_key,
        .document_key = s->document_key,
        .vocab_size = s->vocab_size,
        .sequence_length = s->sequence_length,
        .n_layer = s->n_layer,
        .width = s->n_embd,
        .n_head_q = s->n_head_q,
        .n_head_kv = s->n_head_kv,
        .head_width = s->n_embd / s->n_head_q,
        .hidden = is_gated ? swiglu_hidden(s->ffn_hidden, s->enforce_swiglu_hidden_dim_multiple_of)
                           : s->ffn_hidden,
        .seed = s->seed ? *s->seed : 0,
        .dropout = s->dropout,
        .embedding_dropout = s->dropout,
        .attention_dropout = s->dropout,
        .keeps_gated = true,
        .learned_positions = s->poe_type == POE_ABSOLUTE,
        .is_tied = s->use_weight_tying,
        .qkv_bias = s->bias,
        .out_bias = s->bias,
        .ffn_bias = s->bias,
        .activation = is_gated ? ACTIVATE_SILU : ACTIVATE_GELU,
        .is_gated = is_gated,
        .attention_norm = norm_copy(a, &s->attention_norm_config),
        .ffn_norm = norm_copy(a, &s->ffn_norm_config),
        .head_norm = norm_copy(a, &s->lm_head_norm_config),
        .usual_norm = norm_copy(a, &s->lm_head_norm_config),
        .qk_norm = norm_copy(a, s->attention_config.qk_norm_config),
        .layer = layers_of(a, s),
    };
    give_hint(s);
    Model *m = decoder_new(a, d);
    m->n_buffers = buffers_of(a, s, &m->buffers);
    return m;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    *out = gpt2_new(builder_arena(b), settings);
    return NULL;
}

const ComponentDef model_gpt2 = {
    .kind = "model",
    .variant = "gpt2",
    .doc = "decoder-only transformer: GPT-2, and with RoPE, GQA, SwiGLU and RMS norms the Llama "
           "family",
    .fields = gpt2_fields,
    .settings_size = sizeof(Gpt2Settings),
    .check = gpt2_check,
    .build = build,
};
