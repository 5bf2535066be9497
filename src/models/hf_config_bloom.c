/* hf_config_bloom.c - the options of BLOOM, which has few. */
#include "models/hf_config_parts.h"

Error *hf_read_bloom(HfReading *r)
{
    HfConfig *c = &r->c;
    int64_t *hidden = NEW(r->arena, int64_t);
    if (c->apply_residual_connection_post_layernorm)
        return hf_unknown(r, "apply_residual_connection_post_layernorm", "only false is");
    if (c->n_embed) c->hidden_size = *c->n_embed;
    *hidden = 4 * c->hidden_size;
    c->intermediate_size = hidden;
    c->max_position_embeddings = c->seq_length;
    c->hidden_act = NULL; /* the class has one activation */
    return NULL;
}
