/* opt.c - the options of OPT. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

typedef struct Options {
    int64_t ffn_dim;
    const int64_t *word_embed_proj_dim;
    bool do_layer_norm_before, remove_final_layer_norm, enable_bias, layer_norm_elementwise_affine;
    const double *dropout;
    double layerdrop;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, ffn_dim, "3072", "width of the feed-forward layer"),
    HF_COUNT(Options, word_embed_proj_dim, "null", "width of embeddings; null: hidden_size"),
    FIELD_BOOL(Options, do_layer_norm_before, "true", "norms in front of layers"),
    FIELD_BOOL(Options, remove_final_layer_norm, "false", "no norm in front of the head", .alias = "_remove_final_layer_norm"),
    FIELD_BOOL(Options, enable_bias, "true", "biases of all linear layers"),
    FIELD_BOOL(Options, layer_norm_elementwise_affine, "true", "weights and biases of norms"),
    FIELD_FLOAT(Options, dropout, "null", 0, 1, "dropout of layers"),
    FIELD_FLOAT(Options, layerdrop, "0.0", 0, 1, "share of the blocks that are left out"),
    { 0 },
};
/* clang-format on */

static Error *read_options(HfReading *r)
{
    static const double none = 0;
    HfConfig *c = &r->c;
    const Options *o = r->own;
    if (!o->do_layer_norm_before) r->d->residual = RESIDUAL_NORM_OF_SUM;
    if (o->word_embed_proj_dim && *o->word_embed_proj_dim != c->hidden_size)
        r->d->embedding_width = *o->word_embed_proj_dim;
    if (o->layerdrop > 0) return hf_unknown(r, "layerdrop", "only 0.0 is");
    c->intermediate_size = &o->ffn_dim;
    c->use_bias = &o->enable_bias;
    r->bare_norms = !o->layer_norm_elementwise_affine;
    if (!c->attention_dropout) c->attention_dropout = &none;
    return NULL;
}

/* Norms of sums leave nothing to do in front of the head. */
static Error *adjust(HfReading *r)
{
    const Options *o = r->own;
    if (!o->do_layer_norm_before || o->remove_final_layer_norm) r->d->head_norm = NULL;
    return NULL;
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    hf_put_sizes(t, d, f, "hidden_size", "num_hidden_layers", "num_attention_heads",
                 "max_position_embeddings");
    hf_put_int(t, "ffn_dim", d->hidden);
    if (d->embedding_width) hf_put_int(t, "word_embed_proj_dim", d->embedding_width);
    hf_put_bool(t, "do_layer_norm_before", d->residual != RESIDUAL_NORM_OF_SUM);
    hf_put_bool(t, "_remove_final_layer_norm", !d->head_norm);
    hf_put_text(t, f->activation_key, hf_activation_name(d));
    hf_put_bool(t, "enable_bias", d->ffn_bias);
    hf_put_bool(t, "layer_norm_elementwise_affine", d->usual_norm->has_weight);
    hf_put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
}

const HfDialect hf_opt = { .fields = fields,
                           .size = sizeof(Options),
                           .read = read_options,
                           .adjust = adjust,
                           .write = write_options };
