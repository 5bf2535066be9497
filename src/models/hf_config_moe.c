/* hf_config_moe.c - mixtures of experts, of two kinds of routers. */
#include "models/hf_config_parts.h"

/* A softmax over the experts. */
static Error *read_softmax_router(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const int64_t *n = c->num_local_experts ? c->num_local_experts : c->num_experts;
    const int64_t *hidden =
        c->moe_intermediate_size ? c->moe_intermediate_size : c->intermediate_size;
    if (!n) return hf_unknown(r, "num_experts", "a mixture of experts needs it");
    if (!hidden) return hf_unknown(r, "moe_intermediate_size", "a mixture of experts needs it");
    m->n_experts = *n;
    m->top_k = c->num_experts_per_tok ? *c->num_experts_per_tok : 2;
    m->hidden = *hidden;
    m->normalize = r->family->flags & HF_NORMALIZED || (c->norm_topk_prob && *c->norm_topk_prob);
    m->aux_loss = c->router_aux_loss_coef;
    if (r->family->flags & HF_SHARED_EXPERT) {
        if (!c->shared_expert_intermediate_size)
            return hf_unknown(r, "shared_expert_intermediate_size", "the class needs it");
        m->shared_hidden = *c->shared_expert_intermediate_size;
        m->shared_gate = true;
    }
    if (c->router_jitter_noise > 0)
        return hf_unknown(r, "router_jitter_noise", "only 0.0 is: there is no noise in the router");
    return NULL;
}

/* Sigmoids, biases for the choice, and experts that every token goes through. */
static Error *read_sigmoid_router(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const unsigned flags = r->family->flags;
    const bool is_afmoe = flags & HF_AFMOE;
    const int64_t *n = is_afmoe ? c->num_experts : c->n_routed_experts,
                  *n_shared = is_afmoe ? c->num_shared_experts : c->n_shared_experts;
    const struct {
        const char *key;
        const void *given;
    } needed[] = { { is_afmoe ? "num_experts" : "n_routed_experts", n },
                   { is_afmoe ? "num_shared_experts" : "n_shared_experts", n_shared },
                   { "num_experts_per_tok", c->num_experts_per_tok },
                   { "moe_intermediate_size", c->moe_intermediate_size },
                   { is_afmoe ? "num_dense_layers" : "first_k_dense_replace", hf_first_sparse(r) },
                   { "norm_topk_prob", flags & HF_NORMALIZED ? (void *)c : c->norm_topk_prob } };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].given) return hf_unknown(r, needed[i].key, "the class needs it");
    if (c->n_group != c->topk_group)
        return hf_unknown(r, "topk_group", "it must equal n_group: all experts are chosen from");
    *m = (Moe){ .n_experts = *n,
                .top_k = *c->num_experts_per_tok,
                .hidden = *c->moe_intermediate_size,
                .score = SCORE_SIGMOID,
                .normalize = flags & HF_NORMALIZED || *c->norm_topk_prob,
                .factor = is_afmoe ? c->route_scale : c->routed_scaling_factor,
                .has_biases = true,
                .shared_hidden = *n_shared * *c->moe_intermediate_size };
    return NULL;
}

Error *hf_read_moe(HfReading *r)
{
    Moe *m = NEW(r->arena, Moe);
    *m = (Moe){ 0 };
    TRY(r->family->flags & HF_SIGMOID_ROUTER ? read_sigmoid_router(r, m)
                                             : read_softmax_router(r, m));
    m->activation = r->d->activation;
    if (m->top_k > m->n_experts)
        return hf_unknown(r, "num_experts_per_tok", "it is more than there are experts");
    r->d->moe = m;
    return NULL;
}
