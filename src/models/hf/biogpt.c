/* biogpt.c - the options of BioGPT. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

typedef struct Options {
    const double *attention_probs_dropout_prob, *hidden_dropout_prob;
    double activation_dropout, layerdrop;
    bool scale_embedding;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_BOOL(Options, scale_embedding, "true", "embeddings are multiplied by the root of the width"),
    FIELD_FLOAT(Options, attention_probs_dropout_prob, "null", 0, 1, "dropout of probabilities"),
    FIELD_FLOAT(Options, hidden_dropout_prob, "null", 0, 1, "dropout of embeddings and layers"),
    FIELD_FLOAT(Options, activation_dropout, "0.0", 0, 1, "dropout within feed-forward layers"),
    FIELD_FLOAT(Options, layerdrop, "0.0", 0, 1, "share of the blocks that are left out"),
    { 0 },
};
/* clang-format on */

static Error *read_options(HfReading *r)
{
    const Options *o = r->own;
    if (o->layerdrop > 0) return hf_unknown(r, "layerdrop", "only 0.0 is");
    if (o->activation_dropout > 0) return hf_unknown(r, "activation_dropout", "only 0.0 is");
    r->c.attention_dropout = o->attention_probs_dropout_prob;
    return NULL;
}

static Error *adjust(HfReading *r)
{
    if (((const Options *)r->own)->scale_embedding)
        r->d->embedding_scale = sqrt((double)r->d->width);
    return NULL;
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    hf_put_sizes(t, d, f, "hidden_size", "num_hidden_layers", "num_attention_heads",
                 "max_position_embeddings");
    hf_put_int(t, "intermediate_size", d->hidden);
    hf_put_text(t, "hidden_act", hf_activation_name(d));
    hf_put_bool(t, "scale_embedding", d->embedding_scale != 0);
    hf_put_dropout(t, d, f);
    hf_put_double(t, "attention_probs_dropout_prob", d->attention_dropout);
}

const HfDialect hf_biogpt = { .fields = fields,
                              .size = sizeof(Options),
                              .read = read_options,
                              .adjust = adjust,
                              .write = write_options };
