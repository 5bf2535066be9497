/* config_moe.c - mixtures of experts, of two kinds of routers. */
#include "models/hf/config_parts.h"
#include <string.h>

/* What a list has for each layer must be the same in all; NULL: there is none. */
static Error *same_in_all(const HfReading *r, const char *key, const int64_t **out)
{
    const Yaml *v = yaml_get(r->root, key);
    *out = hf_count(r, key);
    if (!v || v->type != YAML_LIST) return NULL;
    for (int64_t i = 0; i < v->n; i++)
        if (v->item[i]->integer != v->item[0]->integer)
            return hf_unknown(r, key, "only the same number in all layers is");
    *out = &v->item[0]->integer;
    return NULL;
}

/* That the weights of a token's experts are multiplied by. */
static double factor_of(const HfReading *r)
{
    const HfFamily *f = r->family;
    const double silent = f->factor > 0 ? f->factor : 1;
    return f->factor_key ? hf_number(r->root, f->factor_key, silent) : silent;
}

static double aux_loss_of(const HfReading *r)
{
    const double *given = r->c.router_aux_loss_coef, of_class = r->family->aux_loss;
    return given ? *given : of_class > 0 ? of_class : 0.001;
}

/* Sizes of a mixture with experts that every token goes through. */
static Error *read_sizes(const HfReading *r, Moe *m)
{
    const HfFamily *f = r->family;
    static const int64_t none = 0;
    const int64_t *n, *n_shared = &none, *top_k, *hidden;
    const struct {
        const char *key, *other;
        const int64_t **out;
    } needed[] = { { f->experts_key, f->other_experts_key, &n },
                   { f->shared_key, f->other_shared_key, &n_shared },
                   { f->top_k_key ? f->top_k_key : "num_experts_per_tok", NULL, &top_k },
                   { "moe_intermediate_size", NULL, &hidden } };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!needed[i].key) continue;
        TRY(same_in_all(r, needed[i].key, needed[i].out));
        if (!*needed[i].out && needed[i].other) TRY(same_in_all(r, needed[i].other, needed[i].out));
        if (!*needed[i].out) return hf_unknown(r, needed[i].key, "the class needs it");
    }
    if (f->always_shared && *n_shared < 1)
        return hf_unknown(r, f->shared_key, "only numbers from 1 on are");
    m->n_experts = *n;
    m->top_k = *top_k;
    m->hidden = *hidden;
    m->shared_hidden = *n_shared * *hidden;
    const int64_t *width = f->shared_width_key ? hf_count(r, f->shared_width_key) : NULL;
    if (f->shared_width_key && !width)
        return hf_unknown(r, f->shared_width_key, "the class needs it");
    if (width) m->shared_hidden = *width;
    return NULL;
}

/* A softmax with biases for the choice, and experts that every token goes through. */
static Error *read_ernie_router(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    TRY(read_sizes(r, m));
    if (c->use_bias && *c->use_bias)
        return hf_unknown(r, "use_bias", "only false is: shared experts have no biases");
    if (c->moe_norm_min > 1e-12) return hf_unknown(r, "moe_norm_min", "only up to 1e-12 is");
    m->normalize = m->has_biases = true;
    m->aux_loss = aux_loss_of(r);
    return NULL;
}

/* An expert that every token goes through beside a softmax. */
static Error *read_shared(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    if (f->shared_alone) m->shared_hidden = r->d->hidden;
    if (f->shared_beside && c->shared_intermediate_size)
        m->shared_hidden = *c->shared_intermediate_size;
    const char *key = f->gated_expert ? "shared_expert_intermediate_size" : f->shared_width_key;
    const int64_t *width = key ? hf_count(r, key) : NULL;
    if (key && !width) return hf_unknown(r, key, "the class needs it");
    if (width) m->shared_hidden = *width;
    m->shared_gate = f->gated_expert;
    if (!f->shared_alike) return NULL;
    const int64_t *n;
    TRY(same_in_all(r, f->shared_key, &n));
    if (n && *n != 1) return hf_unknown(r, f->shared_key, "only 1 is");
    if (m->hidden != *c->intermediate_size)
        return hf_unknown(r, "moe_intermediate_size", "it must equal intermediate_size");
    m->shared_hidden = m->hidden;
    return NULL;
}

/* A softmax over the experts, or sigmoids with biases for the choice. */
static Error *read_plain_router(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    const int64_t *n = c->num_local_experts ? c->num_local_experts : c->num_experts, *hidden,
                  *top_k = NULL;
    TRY(same_in_all(r, "moe_intermediate_size", &hidden));
    if (f->top_k_key) TRY(same_in_all(r, f->top_k_key, &top_k));
    if ((!hidden && !f->shared_width_key) || f->keys.layer_periods) hidden = c->intermediate_size;
    if (!top_k) top_k = c->num_experts_per_tok ? c->num_experts_per_tok : &f->top_k;
    if (!n || !*n) return hf_unknown(r, "num_experts", "a mixture of experts needs it");
    if (!hidden) return hf_unknown(r, "moe_intermediate_size", "a mixture of experts needs it");
    if (!*top_k)
        return hf_unknown(r, f->top_k_key ? f->top_k_key : "num_experts_per_tok",
                          "a token needs an expert");
    m->n_experts = *n;
    m->top_k = *top_k;
    m->hidden = *hidden;
    const bool of_sum_1 = c->norm_topk_prob ? *c->norm_topk_prob : f->norm_topk_prob;
    m->normalize = f->normalized || (of_sum_1 && !f->keys.layer_periods);
    m->aux_loss = aux_loss_of(r);
    m->bias = f->expert_bias;
    if (f->sigmoids && c->scoring_func && strcmp(c->scoring_func, "sigmoid") != 0)
        return hf_unknown(r, "scoring_func", "only sigmoid is");
    if (f->sigmoids) m->score = SCORE_SIGMOID;
    m->has_biases =
        f->sigmoids && !f->no_choice_biases && (!f->keys.use_expert_bias || c->use_expert_bias);
    if (m->normalize) m->sum_eps = f->sum_eps;
    if (f->factor_key) m->factor = factor_of(r);
    if (f->mixer) {
        m->score = SCORE_MIXER;
        m->near = hf_number(r->root, "router_jitter_noise", 0.01);
        return m->top_k == 2 ? NULL : hf_unknown(r, "num_experts_per_tok", "only 2 is");
    }
    if (c->router_jitter_noise > 0)
        return hf_unknown(r, "router_jitter_noise", "only 0.0 is: there is no noise in the router");
    TRY(read_shared(r, m));
    return f->dialect && f->dialect->router ? f->dialect->router(r, m) : NULL;
}

/* The groups that a token's experts are chosen from; none where that is all of them. */
static Error *read_groups(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    const bool by_method = f->keys.topk_method;
    const char *method = c->topk_method ? c->topk_method : by_method ? "greedy" : "noaux_tc";
    const bool is_limited = !strcmp(method, by_method ? "group_limited_greedy" : "noaux_tc");
    if (!is_limited && (!by_method || strcmp(method, "greedy") != 0))
        return hf_unknown(r, "topk_method",
                          by_method ? "known are greedy and group_limited_greedy"
                                    : "only noaux_tc is");
    const int64_t of_class = f->n_groups ? f->n_groups : 1,
                  of_token = f->top_groups ? f->top_groups : 1,
                  n = c->n_group ? *c->n_group : of_class,
                  top = c->topk_group ? *c->topk_group : of_token;
    if (n != top && f->no_expert_groups)
        return hf_unknown(r, "topk_group", "it must equal n_group: all experts are chosen from");
    if (is_limited && n != top) m->n_groups = n, m->top_groups = top;
    const char *why = moe_groups_wrong(m);
    return why ? hf_unknown(r, "n_group", why) : NULL;
}

/* What the file says of the router, and the class does not ask. */
static Error *check_router(const HfReading *r)
{
    const HfConfig *c = &r->c;
    const bool by_method = r->family->keys.topk_method, softmax = by_method || r->family->softmax;
    if (by_method && c->norm_topk_prob && *c->norm_topk_prob)
        return hf_unknown(r, "norm_topk_prob",
                          "only false is: the class leaves weights as they are");
    if (c->scoring_func && strcmp(c->scoring_func, softmax ? "softmax" : "sigmoid") != 0)
        return hf_unknown(r, "scoring_func", softmax ? "only softmax is" : "only sigmoid is");
    const Yaml *every = c->moe_layer_freq;
    if (every && (every->type != YAML_INT || every->integer != 1))
        return hf_unknown(r, "moe_layer_freq", "only 1 is");
    if (r->family->keys.mlp_bias && !r->family->one_layer && c->mlp_bias && *c->mlp_bias)
        return hf_unknown(r, "mlp_bias", "only false is: shared experts have no biases");
    return NULL;
}

/* Sigmoids with biases for the choice, or a softmax without, and experts that every token goes
 * through. */
static Error *read_shared_router(const HfReading *r, Moe *m)
{
    const HfConfig *c = &r->c;
    const HfFamily *f = r->family;
    const bool by_method = f->keys.topk_method, softmax = by_method || f->softmax,
               no_first = f->keys.mlp_layer_types;
    TRY(read_sizes(r, m));
    if (!no_first && f->first_sparse_key && !hf_count(r, f->first_sparse_key))
        return hf_unknown(r, f->first_sparse_key, "the class needs it");
    const bool may_be_silent = f->normalized || f->norm_topk_prob || softmax || f->by_logits;
    if (!may_be_silent && !c->norm_topk_prob)
        return hf_unknown(r, "norm_topk_prob", "the class needs it");
    if (f->norm_topk_prob && !c->norm_topk_prob && yaml_get(r->root, "norm_topk_prob"))
        return hf_unknown(r, "norm_topk_prob", "allowed are true and false");
    if (!m->top_k) return hf_unknown(r, "num_experts_per_tok", "a token needs an expert");
    TRY(check_router(r));
    m->score = softmax ? SCORE_SOFTMAX : SCORE_SIGMOID;
    m->normalize = f->normalized ||
                   (!by_method && (c->norm_topk_prob ? *c->norm_topk_prob : f->norm_topk_prob));
    m->factor = factor_of(r);
    m->has_biases = !softmax;
    m->by_logits = f->by_logits;
    if (m->top_k > m->n_experts) return NULL; /* told by the caller */
    return read_groups(r, m);
}

Error *hf_read_moe(HfReading *r)
{
    Moe *m = NEW(r->arena, Moe);
    *m = (Moe){ .activation = r->d->activation,
                .is_plain = r->family->plain,
                .norm_behind = r->family->norm_behind_experts };
    TRY(r->family->shared_experts ? read_shared_router(r, m)
        : r->family->ernie_moe    ? read_ernie_router(r, m)
                                  : read_plain_router(r, m));
    if (m->top_k > moe_all_experts(m))
        return hf_unknown(r, "num_experts_per_tok", "it is more than there are experts");
    if (r->family->one_layer && r->c.moe_latent_size) m->latent = *r->c.moe_latent_size;
    r->d->moe = m;
    return NULL;
}
