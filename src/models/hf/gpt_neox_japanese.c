/* gpt_neox_japanese.c - the options of GPT-NeoX Japanese, whose last block alone has a bias. */
#include "models/hf/config_parts.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

typedef struct Options {
    int64_t intermediate_multiple_size;
} Options;

/* clang-format off */
static const Field fields[] = {
    HF_COUNT(Options, intermediate_multiple_size, "4", "width of the feed-forward layer, as a multiple of that of the model"),
    { 0 },
};
/* clang-format on */

static Error *read_options(HfReading *r)
{
    static const double of_class = 0.1;
    HfConfig *c = &r->c;
    const int64_t multiple = ((const Options *)r->own)->intermediate_multiple_size;
    if (c->hidden_size > 0 && multiple > INT32_MAX / c->hidden_size)
        return hf_unknown(r, "intermediate_multiple_size",
                          "times hidden_size it must be at most 2147483647");
    int64_t *hidden = NEW(r->arena, int64_t);
    *hidden = multiple * c->hidden_size;
    c->intermediate_size = hidden;
    if (!c->attention_dropout) c->attention_dropout = &of_class;
    return NULL;
}

static Error *read_biases(HfReading *r, DecoderLayer *layer)
{
    for (int64_t i = 0; i < r->d->n_layer - 1; i++) layer[i].no_out_bias = true;
    return NULL;
}

static void write_options(Text *t, const Decoder *d, const HfFamily *f)
{
    hf_put_sizes(t, d, f, "hidden_size", "num_hidden_layers", "num_attention_heads",
                 "max_position_embeddings");
    hf_put_int(t, "intermediate_multiple_size", d->hidden / d->width);
    hf_put_text(t, "hidden_act", hf_activation_name(d));
    hf_put_dropout(t, d, f);
    hf_put_double(t, "attention_dropout", d->attention_dropout);
    hf_put_layers(t, d, f);
}

const HfDialect hf_gpt_neox_japanese = { .fields = fields,
                                         .size = sizeof(Options),
                                         .read = read_options,
                                         .layers = read_biases,
                                         .write = write_options };
