/* exaone.c - what EXAONE 3 and 3.5 call as GPT-2 does, though they compute what Llama does. */
#include "models/hf/config_parts.h"
#include "models/hf/names.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

const HfName hf_exaone_names[] = {
    { "transformer.wte.*", "transformer.wte.*", HF_SAME },
    { "transformer.h.%.attention_norm.*", "transformer.h.%.ln_1.*", HF_SAME },
    { "transformer.h.%.ffn_norm.*", "transformer.h.%.ln_2.*", HF_SAME },
    { "transformer.h.%.attn.q_attn.*", "transformer.h.%.attn.attention.q_proj.*", HF_SAME },
    { "transformer.h.%.attn.k_attn.*", "transformer.h.%.attn.attention.k_proj.*", HF_SAME },
    { "transformer.h.%.attn.v_attn.*", "transformer.h.%.attn.attention.v_proj.*", HF_SAME },
    { "transformer.h.%.attn.c_proj.*", "transformer.h.%.attn.attention.out_proj.*", HF_SAME },
    { "transformer.h.%.mlp.W.*", "transformer.h.%.mlp.c_fc_0.*", HF_SAME },
    { "transformer.h.%.mlp.V.*", "transformer.h.%.mlp.c_fc_1.*", HF_SAME },
    { "transformer.h.%.mlp.W_2.*", "transformer.h.%.mlp.c_proj.*", HF_SAME },
    { "transformer.lm_head_norm.*", "transformer.ln_f.*", HF_SAME },
    { 0 },
};

typedef struct Options {
    const int64_t *num_layers;
    const char *activation_function;
    double embed_dropout;
} Options;

static const Field fields[] = {
    FIELD_INT(Options, num_layers, "null", 1, 1000, "blocks"),
    FIELD_STRING(Options, activation_function, "null", "activation"),
    FIELD_FLOAT(Options, embed_dropout, "0.0", 0, 1, "dropout of embeddings"),
    { 0 },
};

static Error *read_options(HfReading *r)
{
    const Options *o = r->own;
    if (o->embed_dropout > 0) return hf_unknown(r, "embed_dropout", "only 0.0 is");
    if (o->num_layers) r->c.num_hidden_layers = o->num_layers;
    if (o->activation_function) r->c.hidden_act = o->activation_function;
    return NULL;
}

static void write_options(Text *t, const Decoder *d)
{
    hf_put_int(t, "num_layers", d->n_layer);
    hf_put_text(t, "activation_function", hf_activation_name(d));
}

/* transformers reads the files as models of Llama's class, and writes that name. */
const HfDialect hf_exaone = { .fields = fields,
                              .size = sizeof(Options),
                              .read = read_options,
                              .add = write_options,
                              .other_class = "LlamaForCausalLM" };
