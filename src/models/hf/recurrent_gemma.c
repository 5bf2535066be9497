/* recurrent_gemma.c - the options of RecurrentGemma (Griffin): blocks of gated recurrences, and of
 * attention with a window. */
#include "base/json.h"
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"
#include <string.h>

const HfName hf_recurrent_gemma_names[] = {
    { "transformer.h.%.attention_norm.*", "model.layers.%.temporal_pre_norm.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "model.layers.%.channel_pre_norm.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "model.layers.%.temporal_block.q_proj.*", HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "model.layers.%.temporal_block.k_proj.*", HF_SAME },
    { "transformer.h.%.attn.v_attn.*", "model.layers.%.temporal_block.v_proj.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "model.layers.%.temporal_block.o_proj.*", HF_SAME },
    { "transformer.h.%.linear_attn.v_attn.*", "model.layers.%.temporal_block.linear_x.*", HF_SAME },
    { "transformer.h.%.linear_attn.g_attn.*", "model.layers.%.temporal_block.linear_y.*", HF_SAME },
    { "transformer.h.%.linear_attn.c_proj.*", "model.layers.%.temporal_block.linear_out.*",
      HF_SAME },
    { "transformer.h.%.linear_attn.v_conv.weight", "model.layers.%.temporal_block.conv_1d.weight",
      HF_CONV },
    { "transformer.h.%.linear_attn.v_conv.bias", "model.layers.%.temporal_block.conv_1d.bias",
      HF_SAME },
    { "transformer.h.%.linear_attn.in_gate.weight",
      "model.layers.%.temporal_block.rg_lru.input_gate_weight", HF_STACKED_ROWS },
    { "transformer.h.%.linear_attn.in_gate.bias",
      "model.layers.%.temporal_block.rg_lru.input_gate_bias", HF_SAME },
    { "transformer.h.%.linear_attn.fade_gate.weight",
      "model.layers.%.temporal_block.rg_lru.recurrent_gate_weight", HF_STACKED_ROWS },
    { "transformer.h.%.linear_attn.fade_gate.bias",
      "model.layers.%.temporal_block.rg_lru.recurrent_gate_bias", HF_SAME },
    { "transformer.h.%.delta_gates.speed", "model.layers.%.temporal_block.rg_lru.recurrent_param",
      HF_SAME },
    { "transformer.h.%.mlp.W.*", "model.layers.%.mlp_block.gate_proj.*", HF_SAME },
    { "transformer.h.%.mlp.V.*", "model.layers.%.mlp_block.up_proj.*", HF_SAME },
    { "transformer.h.%.mlp.W_2.*", "model.layers.%.mlp_block.down_proj.*", HF_SAME },
    { "transformer.lm_head_norm.*", "model.final_norm.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    const int64_t *lru_width;
    int64_t conv1d_width;
    double logits_soft_cap;
    const StringList *block_types;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, lru_width, "null", "features of gated recurrences; null: hidden_size"),
    HF_COUNT(Options, conv1d_width, "4", "tokens that convolutions see"),
    FIELD_FLOAT(Options, logits_soft_cap, "30.0", 0, INFINITY, "bound of logits", .flags = FIELD_OPEN_MIN),
    FIELD_LIST(Options, block_types, StringList, &field_string_item, "null", 1, 1000, "kinds of blocks, again from the first after the last"),
    { 0 },
};
/* clang-format on */

static const HfRenamed renamed[] = { { 0 } };
static const HfSilent silent[] = {
    { "hidden_size", "2560" }, { "intermediate_size", "7680" }, { "num_hidden_layers", "26" }, { 0 }
};

/* The class repeats its list so often, and no more. */
enum { REPEATS = 100 };

static Error *read_options(HfReading *r)
{
    HfConfig *c = &r->c;
    hf_rename_options(r, renamed, silent);
    TRY(hf_read_fields(r, hf_config_fields, c));
    TRY(hf_read_fields(r, fields, r->own));
    if (*c->intermediate_size < 2)
        return hf_unknown(r, "intermediate_size", "half of it is the width of feed-forward layers");
    const int64_t half = *c->intermediate_size / 2;
    c->intermediate_size = arena_copy(r->arena, &half, sizeof half);
    return NULL;
}

/* The class keeps it in bf16. */
static double embedding_scale(int64_t width)
{
    return bf16_to_float(bf16_of_float((float)sqrt((double)width)));
}

static Error *adjust(HfReading *r)
{
    const Options *o = r->own;
    Decoder *d = r->d;
    const Recurrent made = { .width = o->lru_width ? *o->lru_width : d->width,
                             .n_groups = d->n_head_q,
                             .conv_width = o->conv1d_width,
                             .conv_bias = true,
                             .bias = true };
    if (made.width % made.n_groups)
        return hf_unknown(r, "lru_width", "it must be a multiple of num_attention_heads");
    if (made.conv_width < 2)
        return hf_unknown(r, "conv1d_width", "a convolution sees at least 2 tokens");
    d->recurrent = arena_copy(r->arena, &made, sizeof made);
    d->embedding_scale = embedding_scale(d->width);
    d->logit_cap = o->logits_soft_cap;
    return NULL;
}

static Error *read_layers(HfReading *r, DecoderLayer *layer)
{
    static const char key[] = "block_types", *const of_class[] = { "recurrent", "recurrent",
                                                                   "attention" };
    const StringList *given = ((const Options *)r->own)->block_types;
    const int64_t n = given ? given->n : 3;
    int64_t n_recurrent = 0;
    if (r->d->n_layer > REPEATS * n)
        return hf_unknown(r, key, "the class repeats it 100 times, which is fewer layers");
    for (int64_t i = 0; i < r->d->n_layer; i++) {
        const char *type = given ? given->item[i % n] : of_class[i % n];
        const bool is_recurrent = !strcmp(type, "recurrent");
        if (!is_recurrent && strcmp(type, "attention") != 0)
            return hf_unknown(r, key, "each is recurrent or attention");
        if (layer[i].rope->kind != ROPE_PLAIN)
            return hf_unknown(r, "rope_parameters", "the class has rope_type default alone");
        if (!is_recurrent) continue;
        layer[i] = (DecoderLayer){ .mixer = MIXER_LINEAR };
        n_recurrent++;
    }
    if (!n_recurrent) r->d->recurrent = NULL;
    return NULL;
}

static void put_type(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_puts(item, l->mixer == MIXER_LINEAR ? "\"recurrent\"" : "\"attention\"");
}

/* Without attention there are as many heads as groups. */
static int64_t heads_of(const Decoder *d, int64_t given)
{
    return !given && d->recurrent ? d->recurrent->n_groups : given;
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    hf_put_int(t, "vocab_size", d->vocab_size);
    hf_put_int(t, "hidden_size", d->width);
    hf_put_int(t, "intermediate_size", 2 * d->hidden);
    hf_put_int(t, "num_hidden_layers", d->n_layer);
    hf_put_int(t, "num_attention_heads", heads_of(d, d->n_head_q));
    hf_put_int(t, "num_key_value_heads", heads_of(d, d->n_head_kv));
    hf_put_int(t, "max_position_embeddings", d->sequence_length);
    hf_put_double(t, "rms_norm_eps", d->usual_norm->eps);
    hf_put_text(t, f->activation_key, hf_activation_name(d));
    hf_put_bool(t, "attention_bias", d->qkv_bias);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
    hf_put_bool(t, "tie_word_embeddings", d->is_tied);
    if (d->logit_cap > 0) hf_put_double(t, "logits_soft_cap", d->logit_cap);
    if (d->recurrent) hf_put_int(t, "lru_width", d->recurrent->width);
    if (d->recurrent) hf_put_int(t, "conv1d_width", d->recurrent->conv_width);
    hf_put_of_layers(t, "block_types", d, put_type);
    hf_put_layers(t, d, f);
}

const HfDialect hf_recurrent_gemma = { .fields = fields,
                                       .size = sizeof(Options),
                                       .read = read_options,
                                       .adjust = adjust,
                                       .layers = read_layers,
                                       .write = write_options };
