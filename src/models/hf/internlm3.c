/* internlm3.c - what InternLM 3 calls its biases. */
#include "models/hf/config_parts.h"
#include "models/hf/write_values.h"

typedef struct Options {
    const bool *bias;
} Options;

static const Field fields[] = {
    FIELD_BOOL(Options, bias, "null", "biases of feed-forward layers and behind attention"),
    { 0 },
};

/* Its authors let the biases of queries, keys and values differ from the others; Llama's class,
 * which transformers makes of it, does not. */
static Error *read_options(HfReading *r)
{
    HfConfig *c = &r->c;
    const Options *o = r->own;
    const bool *qkv = c->use_qkv_bias ? c->use_qkv_bias : c->attention_bias,
               *others = o->bias ? o->bias : c->mlp_bias;
    if ((qkv && *qkv) != (others && *others))
        return hf_unknown(r, "qkv_bias", "it must be what bias is");
    c->attention_bias = qkv;
    c->mlp_bias = others;
    return NULL;
}

static void write_options(Text *t, const Decoder *d)
{
    hf_put_bool(t, "qkv_bias", d->qkv_bias);
    hf_put_bool(t, "bias", d->ffn_bias);
}

const HfDialect hf_internlm3 = { .fields = fields,
                                 .size = sizeof(Options),
                                 .read = read_options,
                                 .add = write_options,
                                 .other_class = "LlamaForCausalLM" };
