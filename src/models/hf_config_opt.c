/* hf_config_opt.c - the options of OPT. */
#include "models/hf_config_parts.h"

Error *hf_read_opt(HfReading *r)
{
    static const double none = 0;
    HfConfig *c = &r->c;
    if (!c->do_layer_norm_before)
        return hf_unknown(r, "do_layer_norm_before", "only true is: norms are in front of layers");
    if (c->remove_final_layer_norm)
        return hf_unknown(r, "_remove_final_layer_norm", "only false is");
    if (c->word_embed_proj_dim && *c->word_embed_proj_dim != c->hidden_size)
        return hf_unknown(r, "word_embed_proj_dim",
                          "it must be hidden_size: embeddings are as wide as the stream");
    if (c->layerdrop > 0) return hf_unknown(r, "layerdrop", "only 0.0 is");
    c->intermediate_size = &c->ffn_dim;
    c->use_bias = &c->enable_bias;
    if (!c->attention_dropout) c->attention_dropout = &none;
    return NULL;
}
