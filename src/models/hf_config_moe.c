/* hf_config_moe.c - mixtures of experts, of two kinds of routers. */
#include "models/hf_config_parts.h"
#include <string.h>

/* What a list has for each layer must be the same in all; NULL: there is none. */
static Error *same_in_all(const HfReading *r, const char *key, const IntList *list,
                          const int64_t **out)
{
    *out = list ? list->item : NULL;
    for (int64_t i = 0; list && i < list->n; i++)
        if (list->item[i] != list->item[0])
            return hf_unknown(r, key, "only the same number in all layers is");
    return NULL;
}

/* Hunyuan's, beside those that are read already. */
static Error *read_hunyuan(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const int64_t *top_k, *n_shared;
    TRY(same_in_all(r, "moe_topk", c->moe_topk, &top_k));
    TRY(same_in_all(r, "num_shared_expert", c->num_shared_expert, &n_shared));
    if (!top_k && !c->num_experts_per_tok) return hf_unknown(r, "moe_topk", "the class needs it");
    if (n_shared && *n_shared != 1) return hf_unknown(r, "num_shared_expert", "only 1 is");
    if (m->hidden != *c->intermediate_size)
        return hf_unknown(r, "moe_intermediate_size", "it must equal intermediate_size");
    m->top_k = top_k ? *top_k : *c->num_experts_per_tok;
    m->shared_hidden = m->hidden;
    return NULL;
}

/* A softmax with biases for the choice, and experts that every token goes through. */
static Error *read_ernie_router(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const int64_t *hidden, *top_k;
    TRY(same_in_all(r, "moe_intermediate_size", c->moe_intermediate_size, &hidden));
    TRY(same_in_all(r, "moe_k", c->moe_topk, &top_k));
    const struct {
        const char *key;
        const void *given;
    } needed[] = { { "moe_num_experts", c->moe_num_experts },
                   { "moe_num_shared_experts", c->moe_num_shared_experts },
                   { "moe_k", top_k },
                   { "moe_intermediate_size", hidden } };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].given) return hf_unknown(r, needed[i].key, "the class needs it");
    if (c->use_bias && *c->use_bias)
        return hf_unknown(r, "use_bias", "only false is: shared experts have no biases");
    if (c->moe_norm_min > 1e-12) return hf_unknown(r, "moe_norm_min", "only up to 1e-12 is");
    *m = (Moe){ .n_experts = *c->moe_num_experts,
                .top_k = *top_k,
                .hidden = *hidden,
                .normalize = true,
                .has_biases = true,
                .shared_hidden = *c->moe_num_shared_experts * *hidden,
                .aux_loss = c->router_aux_loss_coef };
    return NULL;
}

/* A softmax over the experts. */
static Error *read_softmax_router(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const int64_t *n = c->num_local_experts ? c->num_local_experts : c->num_experts, *hidden;
    TRY(same_in_all(r, "moe_intermediate_size", c->moe_intermediate_size, &hidden));
    if (!hidden) hidden = c->intermediate_size;
    if (!n || !*n) return hf_unknown(r, "num_experts", "a mixture of experts needs it");
    if (!hidden) return hf_unknown(r, "moe_intermediate_size", "a mixture of experts needs it");
    m->n_experts = *n;
    m->top_k = c->num_experts_per_tok ? *c->num_experts_per_tok : 2;
    if (!m->top_k) return hf_unknown(r, "num_experts_per_tok", "a token needs an expert");
    m->hidden = *hidden;
    m->normalize = r->family->flags & HF_NORMALIZED || (c->norm_topk_prob && *c->norm_topk_prob);
    m->aux_loss = c->router_aux_loss_coef;
    m->bias = r->family->options & HF_GPT_OSS;
    if (r->family->options & HF_HUNYUAN_MOE) TRY(read_hunyuan(r, m));
    if (r->family->options & HF_SIGMOIDS) {
        if (!c->num_experts_per_tok)
            return hf_unknown(r, "num_experts_per_tok", "a mixture of experts needs it");
        if (c->scoring_func && strcmp(c->scoring_func, "sigmoid") != 0)
            return hf_unknown(r, "scoring_func", "only sigmoid is");
        m->score = SCORE_SIGMOID;
        m->has_biases = true;
    }
    if (r->family->flags & HF_SHARED_EXPERT) {
        if (!c->shared_expert_intermediate_size)
            return hf_unknown(r, "shared_expert_intermediate_size", "the class needs it");
        m->shared_hidden = *c->shared_expert_intermediate_size;
        m->shared_gate = true;
    }
    if (r->family->options & HF_SHARED_ALONE) m->shared_hidden = r->d->hidden;
    if (c->router_jitter_noise > 0)
        return hf_unknown(r, "router_jitter_noise", "only 0.0 is: there is no noise in the router");
    return NULL;
}

/* The groups that a token's experts are chosen from; none where that is all of them. */
static Error *read_groups(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const bool by_method = r->family->options & HF_TOPK_METHOD;
    const char *method = c->topk_method ? c->topk_method : by_method ? "greedy" : "noaux_tc";
    const bool is_limited = !strcmp(method, by_method ? "group_limited_greedy" : "noaux_tc");
    if (!is_limited && (!by_method || strcmp(method, "greedy") != 0))
        return hf_unknown(r, "topk_method",
                          by_method ? "known are greedy and group_limited_greedy"
                                    : "only noaux_tc is");
    const int64_t n = c->n_group ? *c->n_group : 1, top = c->topk_group ? *c->topk_group : 1;
    if (n != top && r->family->flags & HF_AFMOE)
        return hf_unknown(r, "topk_group", "it must equal n_group: all experts are chosen from");
    if (is_limited && n != top) m->n_groups = n, m->top_groups = top;
    const char *why = moe_groups_wrong(m);
    return why ? hf_unknown(r, "n_group", why) : NULL;
}

/* What the file says of the router, and the class does not ask. */
static Error *check_router(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const bool softmax = r->family->options & HF_TOPK_METHOD;
    if (softmax && c->norm_topk_prob && *c->norm_topk_prob)
        return hf_unknown(r, "norm_topk_prob",
                          "only false is: the class leaves weights as they are");
    if (c->scoring_func && strcmp(c->scoring_func, softmax ? "softmax" : "sigmoid") != 0)
        return hf_unknown(r, "scoring_func", softmax ? "only softmax is" : "only sigmoid is");
    if (c->moe_layer_freq != 1) return hf_unknown(r, "moe_layer_freq", "only 1 is");
    return NULL;
}

/* Sigmoids with biases for the choice, or a softmax without, and experts that every token goes
 * through. */
static Error *read_shared_router(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const unsigned flags = r->family->flags, options = r->family->options;
    const bool is_afmoe = flags & HF_AFMOE, softmax = options & HF_TOPK_METHOD;
    const bool no_first = options & HF_MLP_LAYER_TYPES, no_norm = flags & HF_NORMALIZED || softmax;
    const int64_t *n = is_afmoe ? c->num_experts : c->n_routed_experts,
                  *n_shared = is_afmoe ? c->num_shared_experts : c->n_shared_experts, *hidden;
    TRY(same_in_all(r, "moe_intermediate_size", c->moe_intermediate_size, &hidden));
    const struct {
        const char *key;
        const void *given;
    } needed[] = { { is_afmoe ? "num_experts" : "n_routed_experts", n },
                   { is_afmoe ? "num_shared_experts" : "n_shared_experts", n_shared },
                   { "num_experts_per_tok", c->num_experts_per_tok },
                   { "moe_intermediate_size", hidden },
                   { is_afmoe ? "num_dense_layers" : "first_k_dense_replace",
                     no_first ? (const void *)c : hf_first_sparse(r) },
                   { "norm_topk_prob", no_norm ? (const void *)c : c->norm_topk_prob } };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].given) return hf_unknown(r, needed[i].key, "the class needs it");
    if (!*c->num_experts_per_tok)
        return hf_unknown(r, "num_experts_per_tok", "a token needs an expert");
    TRY(check_router(r));
    *m = (Moe){ .n_experts = *n,
                .top_k = *c->num_experts_per_tok,
                .hidden = *hidden,
                .score = softmax ? SCORE_SOFTMAX : SCORE_SIGMOID,
                .normalize = flags & HF_NORMALIZED || (!softmax && *c->norm_topk_prob),
                .factor = is_afmoe ? c->route_scale : c->routed_scaling_factor,
                .has_biases = !softmax,
                .shared_hidden = *n_shared * *hidden };
    if (m->top_k > m->n_experts) return NULL; /* told by the caller */
    return read_groups(r, m);
}

Error *hf_read_moe(HfReading *r)
{
    Moe *m = NEW(r->arena, Moe);
    *m = (Moe){ 0 };
    TRY(r->family->flags & HF_SIGMOID_ROUTER ? read_shared_router(r, m)
        : r->family->options & HF_ERNIE_MOE  ? read_ernie_router(r, m)
                                             : read_softmax_router(r, m));
    m->activation = r->d->activation;
    if (m->top_k > m->n_experts)
        return hf_unknown(r, "num_experts_per_tok", "it is more than there are experts");
    r->d->moe = m;
    return NULL;
}
