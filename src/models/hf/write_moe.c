/* write_moe.c - mixtures of experts, and which layers are. */
#include "models/hf/source.h"
#include "models/hf/write_members.h"
#include "models/hf/write_values.h"

static void put_ffn_type(Text *item, const DecoderLayer *l, int64_t i)
{
    (void)i;
    text_puts(item, l->is_sparse ? "\"sparse\"" : "\"dense\"");
}

static void put_dense_index(Text *item, const DecoderLayer *l, int64_t i)
{
    if (!l->is_sparse) text_printf(item, "%lld", (long long)i);
}

/* An expert that every token goes through, beside others or not. */
static void put_shared_alone(Text *t, const Decoder *d)
{
    hf_put_int(t, "shared_intermediate_size", d->moe ? d->moe->shared_hidden : d->hidden);
    if (d->moe) return;
    hf_put_int(t, "num_local_experts", 0);
    hf_put_int(t, "num_experts_per_tok", 0);
}

static int64_t first_sparse(const Decoder *d)
{
    int64_t first = 0;
    while (first < d->n_layer && !d->layer[first].is_sparse) first++;
    return first;
}

/* Of layers that are sparse from one on. */
static void put_shared_router(Text *t, const Decoder *d, const HfFamily *f)
{
    const Moe *m = d->moe;
    hf_put_int(t, f->experts_key, m->n_experts);
    if (f->shared_key)
        hf_put_int(t, f->shared_key, f->shared_width_key ? 1 : m->shared_hidden / m->hidden);
    if (f->shared_width_key) hf_put_int(t, f->shared_width_key, m->shared_hidden);
    if (f->one_layer) hf_put_optional_int(t, "moe_latent_size", m->latent);
    hf_put_int(t, "num_experts_per_tok", m->top_k);
    hf_put_int(t, "moe_intermediate_size", m->hidden);
    if (f->first_sparse_key) hf_put_int(t, f->first_sparse_key, first_sparse(d));
    if (f->factor_key) hf_put_double(t, f->factor_key, m->factor != 0 ? m->factor : 1);
    if (f->keys.mlp_layer_types) hf_put_of_layers(t, "mlp_layer_types", d, put_ffn_type);
    if (!f->normalized) hf_put_bool(t, "norm_topk_prob", m->normalize);
    if (f->no_expert_groups) return;
    const char *why;
    const int64_t n_ahead = hf_takes_ahead(f, d, &why) ? d->multi_token->depth : 0;
    if (f->keys.num_nextn_predict_layers) hf_put_int(t, "num_nextn_predict_layers", n_ahead);
    hf_put_int(t, "n_group", m->n_groups ? m->n_groups : 1);
    hf_put_int(t, "topk_group", m->n_groups ? m->top_groups : 1);
    if (f->keys.topk_method)
        hf_put_text(t, "topk_method", m->n_groups ? "group_limited_greedy" : "greedy");
}

/* Sparse layers are those of an interval, from one on and up to another. */
static void put_ernie_moe(Text *t, const Decoder *d, const HfFamily *f)
{
    const Moe *m = d->moe;
    int64_t first = 0, last = d->n_layer - 1, interval = 1;
    while (first < last && !d->layer[first].is_sparse) first++;
    while (last > first && !d->layer[last].is_sparse) last--;
    while (first + interval < last && !d->layer[first + interval].is_sparse) interval++;
    hf_put_int(t, f->experts_key, m->n_experts);
    hf_put_int(t, f->top_k_key, m->top_k);
    hf_put_int(t, "moe_intermediate_size", m->hidden);
    hf_put_int(t, f->shared_key, m->shared_hidden / m->hidden);
    hf_put_int(t, "moe_layer_start_index", first);
    hf_put_int(t, "moe_layer_end_index", last);
    hf_put_int(t, "moe_layer_interval", interval);
    hf_put_double(t, "router_aux_loss_coef", m->aux_loss);
}

static void put_plain_router(Text *t, const Decoder *d, const HfFamily *f)
{
    const Moe *m = d->moe;
    if (f->top_k_key) hf_put_int(t, f->top_k_key, m->top_k);
    hf_put_int(t, "num_local_experts", m->n_experts);
    hf_put_int(t, "num_experts", m->n_experts);
    hf_put_int(t, "num_experts_per_tok", m->top_k);
    if (!f->keys.layer_periods) hf_put_int(t, "moe_intermediate_size", m->hidden);
    if (f->shared_beside) hf_put_int(t, "shared_intermediate_size", m->shared_hidden);
    if (m->shared_hidden) hf_put_int(t, "shared_expert_intermediate_size", m->shared_hidden);
    hf_put_bool(t, "norm_topk_prob", m->normalize);
    hf_put_double(t, "router_aux_loss_coef", m->aux_loss);
    if (f->mixer) hf_put_double(t, "router_jitter_noise", m->near);
    if (f->keys.use_expert_bias) hf_put_bool(t, "use_expert_bias", moe_has_biases(m));
    if (f->factor_key) hf_put_double(t, f->factor_key, m->factor != 0 ? m->factor : 1);
    if (f->first_sparse_key) hf_put_int(t, f->first_sparse_key, first_sparse(d));
    if (f->keys.mlp_layer_types)
        hf_put_of_layers(t, "mlp_layer_types", d, put_ffn_type);
    else if (!f->keys.layer_periods && !(f->dialect && f->dialect->layers))
        hf_put_of_layers(t, "mlp_only_layers", d, put_dense_index);
}

void hf_put_moe(Text *t, const Decoder *d, const HfFamily *f)
{
    if (f->shared_alone) put_shared_alone(t, d);
    if (!f->sparse || !d->moe) return;
    if (f->shared_experts)
        put_shared_router(t, d, f);
    else if (f->ernie_moe)
        put_ernie_moe(t, d, f);
    else
        put_plain_router(t, d, f);
}
