/* hf_config_falcon.c - the options of Falcon, which are called and combined as in no other class.
 */
#include "models/hf_config_parts.h"

/* Whose layers lie side by side in any case, with as many key heads as it says. */
static Error *read_new(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const int64_t *n = c->num_ln_in_parallel_attn;
    if (!c->parallel_attn)
        return hf_unknown(r, "parallel_attn", "with new_decoder_architecture only true is");
    if (c->num_kv_heads && c->num_attention_heads && *c->num_attention_heads % *c->num_kv_heads)
        return hf_unknown(r, "num_kv_heads", "it must divide num_attention_heads");
    if (n && *n != 1 && *n != 2)
        return hf_unknown(r, "num_ln_in_parallel_attn", "known are 1 and 2");
    return NULL;
}

static Error *read_old(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const int64_t *n = c->num_ln_in_parallel_attn;
    if (n && *n != 1)
        return hf_unknown(r, "num_ln_in_parallel_attn",
                          "without new_decoder_architecture only 1 and null are");
    if (!c->parallel_attn && c->attention_dropout && *c->attention_dropout > 0)
        return hf_unknown(r, "attention_dropout",
                          "where parallel_attn is false only 0.0 is: it is behind attention, too");
    return NULL;
}

Error *hf_read_falcon(HfReading *r)
{
    HfConfig *c = &r->c;
    const bool is_new = c->new_decoder_architecture;
    if (c->alibi) return hf_unknown(r, "alibi", "only false is: positions turn");
    TRY(is_new ? read_new(r) : read_old(r));
    int64_t *hidden = NEW(r->arena, int64_t), *n_keys = NEW(r->arena, int64_t);
    *hidden = c->ffn_hidden_size ? *c->ffn_hidden_size : 4 * c->hidden_size;
    *n_keys = 1;
    c->intermediate_size = hidden;
    c->num_key_value_heads = is_new || !c->multi_query ? c->num_kv_heads : n_keys;
    if (!is_new && !c->multi_query) c->num_key_value_heads = c->num_attention_heads;
    c->hidden_act = c->activation;
    c->use_bias = &c->bias;
    return NULL;
}

Residual hf_falcon_residual(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const int64_t *n = c->num_ln_in_parallel_attn;
    if (!c->parallel_attn) return RESIDUAL_SERIAL;
    return c->new_decoder_architecture && (!n || *n == 2) ? RESIDUAL_TWO_NORMS : RESIDUAL_ONE_NORM;
}
