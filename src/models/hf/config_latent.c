/* config_latent.c - attention whose keys and values come from a narrow vector of the token. */
#include "models/hf/config_parts.h"

/* The class has it for the norms of the vectors, whatever config.json says. */
#define LATENT_EPS 1e-6

static Error *refuse(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const bool given = yaml_get(r->root, "rope_interleave");
    if (r->family->interleaved && given && !(c->rope_interleave && *c->rope_interleave))
        return hf_unknown(r, "rope_interleave", "only true is");
    if (r->family->keys.topk_method && c->mlp_bias && *c->mlp_bias)
        return hf_unknown(r, "mlp_bias", "only false is: shared experts have no biases");
    return NULL;
}

static const Norm *norm_of(const HfReading *r, int64_t width)
{
    const Norm n = {
        .type = NORM_PYTORCH_RMS, .width = width, .eps = LATENT_EPS, .has_weight = true
    };
    return width ? arena_copy(r->arena, &n, sizeof n) : NULL;
}

Error *hf_read_latent(HfReading *r)
{
    const HfConfig *c = &r->c;
    Decoder *d = r->d;
    const int64_t share = d->width / d->n_head_q;
    const bool may_be_silent = r->family->keys.scale_depth && share > 0;
    const int64_t *of_values = c->v_head_dim || !may_be_silent ? c->v_head_dim : &share;
    const struct {
        const char *key;
        const int64_t *given;
    } needed[] = { { "kv_lora_rank", c->kv_lora_rank },
                   { "qk_nope_head_dim", c->qk_nope_head_dim },
                   { "qk_rope_head_dim", c->qk_rope_head_dim },
                   { "v_head_dim", of_values } };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].given) return hf_unknown(r, needed[i].key, "the class needs it");
    if (!yaml_get(r->root, "q_lora_rank") && !r->family->own_queries)
        return hf_unknown(r, "q_lora_rank", "the class needs it; null means that there is none");
    if (r->family->latent_queries && !c->q_lora_rank)
        return hf_unknown(r, "q_lora_rank", "the class always has such a vector");
    if (*c->qk_nope_head_dim % 2) return hf_unknown(r, "qk_nope_head_dim", "only even numbers are");
    if (*c->qk_rope_head_dim % 2)
        return hf_unknown(r, "qk_rope_head_dim", "features turn in pairs");
    if (d->n_head_kv != d->n_head_q)
        return hf_unknown(r, "num_key_value_heads", "it must equal num_attention_heads");
    TRY(refuse(r));
    Latent *l = NEW(r->arena, Latent);
    *l = (Latent){ .key_rank = *c->kv_lora_rank,
                   .query_rank = c->q_lora_rank ? *c->q_lora_rank : 0,
                   .turning = *c->qk_rope_head_dim,
                   .value_width = *of_values };
    l->key_norm = norm_of(r, l->key_rank);
    l->query_norm = norm_of(r, l->query_rank);
    d->head_width = *c->qk_nope_head_dim + l->turning;
    d->latent = l;
    return NULL;
}
