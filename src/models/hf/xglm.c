/* xglm.c - the options of XGLM, whose positions are sines and cosines. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

typedef struct Options {
    const double *dropout;
    double activation_dropout, layerdrop;
    bool scale_embedding;
} Options;

/* clang-format off */
static const Field fields[] = {
    FIELD_FLOAT(Options, dropout, "null", 0, 1, "dropout of embeddings and layers"),
    FIELD_FLOAT(Options, activation_dropout, "0.0", 0, 1, "dropout within feed-forward layers"),
    FIELD_FLOAT(Options, layerdrop, "0.0", 0, 1, "share of the blocks that are left out"),
    FIELD_BOOL(Options, scale_embedding, "true", "embeddings are multiplied by the root of the width"),
    { 0 },
};
/* clang-format on */

static const HfRenamed renamed[] = { { "d_model", "hidden_size" },
                                     { "num_layers", "num_hidden_layers" },
                                     { "attention_heads", "num_attention_heads" },
                                     { "ffn_dim", "intermediate_size" },
                                     { 0 } };

static const HfSilent silent[] = {
    { "hidden_size", "1024" }, { "num_hidden_layers", "24" }, { "intermediate_size", "4096" }, { 0 }
};

static Error *read_options(HfReading *r)
{
    const Options *o = r->own;
    hf_rename_options(r, renamed, silent);
    TRY(hf_read_fields(r, hf_config_fields, &r->c));
    if (o->layerdrop > 0) return hf_unknown(r, "layerdrop", "only 0.0 is");
    if (o->activation_dropout > 0) return hf_unknown(r, "activation_dropout", "only 0.0 is");
    return NULL;
}

/* The lowest frequency is 1/10000, where that of a rotary table would be the next one. */
static double base_of(int64_t width)
{
    const double half = (double)width / 2;
    return pow(10000, half / (half - 1));
}

/* The class has zeros in the place of the row of the position table that is the padding's id. */
static Error *adjust(HfReading *r)
{
    Decoder *d = r->d;
    const int64_t *padding = hf_count(r, "pad_token_id");
    if (padding && *padding >= d->unused_positions)
        return hf_unknown(r, "pad_token_id",
                          "only 0, 1 and null are: of others the class leaves out a position");
    if (d->width % 2 || d->width < 4)
        return hf_unknown(r, "hidden_size", "only even numbers from 4 on are");
    d->sinusoidal_base = base_of(d->width);
    if (((const Options *)r->own)->scale_embedding) d->embedding_scale = sqrt((double)d->width);
    return NULL;
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    hf_put_sizes(t, d, f, "d_model", "num_layers", "attention_heads", "max_position_embeddings");
    hf_put_int(t, "ffn_dim", d->hidden);
    hf_put_text(t, f->activation_key, hf_activation_name(d));
    hf_put_bool(t, "scale_embedding", d->embedding_scale != 0);
    hf_put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
}

const HfDialect hf_xglm = { .fields = fields,
                            .size = sizeof(Options),
                            .renamed = renamed,
                            .read = read_options,
                            .adjust = adjust,
                            .write = write_options };
