/* decoder_difference.c - compares descriptions of decoders option by option. */
#include "models/decoder_difference.h"

static const char *number(Arena *a, const char *name, double x, double y)
{
    return x == y ? NULL : arena_printf(a, "%s: %.10g instead of %.10g", name, x, y);
}

static const char *flag(Arena *a, const char *name, bool x, bool y)
{
    return x == y ? NULL : arena_printf(a, "%s: %s", name, x ? "is there" : "is missing");
}

static const char *kind_of(const Norm *n)
{
    return !n ? "none" : n->type == NORM_LAYER ? "a layer norm" : "an RMS norm";
}

static const char *norms(Arena *a, const char *name, const Norm *x, const Norm *y)
{
    const bool same = !x == !y && (!x || (x->type == NORM_LAYER) == (y->type == NORM_LAYER));
    if (!same) return arena_printf(a, "%s: %s instead of %s", name, kind_of(x), kind_of(y));
    if (!x) return NULL;
    if (x->has_weight != y->has_weight) return arena_printf(a, "%s: no weight", name);
    if (x->has_bias != y->has_bias)
        return arena_printf(a, "%s: %s bias", name, x->has_bias ? "a" : "no");
    if (x->from_one != y->from_one) return arena_printf(a, "%s: the weight less 1", name);
    return number(a, arena_printf(a, "%s eps", name), x->eps, y->eps);
}

static const char *factors(Arena *a, const FloatList *x, const FloatList *y)
{
    const char *e = number(a, "rope factors", (double)x->n, (double)y->n);
    for (int64_t i = 0; !e && i < x->n; i++) e = number(a, "rope factor", x->item[i], y->item[i]);
    return e;
}

static const char *ropes(Arena *a, const RopeScaling *x, const RopeScaling *y)
{
    const char *e = flag(a, "positions that turn", !x->still, !y->still);
    if (!e && !x->still) e = number(a, "rope base", x->base, y->base);
    if (!e && x->kind != y->kind)
        e = arena_printf(a, "rope scaling: %s instead of %s", rope_scaling_choices[x->kind],
                         rope_scaling_choices[y->kind]);
    if (!e) e = number(a, "features of a head that turn", (double)x->width, (double)y->width);
    if (!e) e = flag(a, "rope by whole heads", x->proportional, y->proportional);
    if (!e) e = number(a, "rope growth", x->growth, y->growth);
    if (!e && x->growth != 0)
        e = number(a, "rope original length", (double)x->original, (double)y->original);
    if (!e) e = number(a, "rope growth offset", (double)x->growth_offset, (double)y->growth_offset);
    if (e || x->kind == ROPE_PLAIN) return e;
    const bool llama3 = x->kind == ROPE_LLAMA3, yarn = x->kind == ROPE_YARN;
    if (x->kind != ROPE_LONG) e = number(a, "rope factor", x->factor, y->factor);
    if (!e) e = number(a, "rope attention_factor", x->attention, y->attention);
    if (!e && llama3) e = number(a, "rope low_freq_factor", x->low_freq, y->low_freq);
    if (!e && llama3) e = number(a, "rope high_freq_factor", x->high_freq, y->high_freq);
    if (!e && yarn) e = number(a, "rope beta_fast", x->beta_fast, y->beta_fast);
    if (!e && yarn) e = number(a, "rope beta_slow", x->beta_slow, y->beta_slow);
    if (!e && yarn) e = flag(a, "rope truncate", x->truncate, y->truncate);
    if (!e && x->kind == ROPE_LONG) e = factors(a, &x->short_factors, &y->short_factors);
    if (!e && x->kind == ROPE_LONG) e = factors(a, &x->long_factors, &y->long_factors);
    if (e || x->kind == ROPE_LINEAR) return e;
    return number(a, "rope original length", (double)x->original, (double)y->original);
}

static double factor_of(double given)
{
    return given != 0 ? given : 1;
}

static const char *latents(Arena *a, const Latent *x, const Latent *y)
{
    if (!x || !y) return flag(a, "latent attention", x, y);
    const char *e = number(a, "latent key_rank", (double)x->key_rank, (double)y->key_rank);
    if (!e) e = number(a, "latent query_rank", (double)x->query_rank, (double)y->query_rank);
    if (!e) e = number(a, "latent rope_width", (double)x->turning, (double)y->turning);
    if (!e) e = number(a, "latent value_width", (double)x->value_width, (double)y->value_width);
    if (!e) e = number(a, "latent key_scale", factor_of(x->key_scale), factor_of(y->key_scale));
    if (!e)
        e = number(a, "latent query_scale", factor_of(x->query_scale), factor_of(y->query_scale));
    if (!e) e = flag(a, "both vectors of queries", x->query_joined, y->query_joined);
    if (!e) e = norms(a, "norm of latent keys", x->key_norm, y->key_norm);
    return e ? e : norms(a, "norm of latent queries", x->query_norm, y->query_norm);
}

static const char *joints(Arena *a, const Joint *x, const Joint *y)
{
    if (!x || !y) return flag(a, "joint attention", x, y);
    const char *e = number(a, "rank of queries", (double)x->query_rank, (double)y->query_rank);
    if (!e)
        e = number(a, "groups of attention's outputs", (double)x->output_groups,
                   (double)y->output_groups);
    if (!e) e = number(a, "rank of these groups", (double)x->output_rank, (double)y->output_rank);
    if (!e) e = norms(a, "norm of the vector of queries", x->query_norm, y->query_norm);
    if (!e) e = norms(a, "norm of joint keys", x->key_norm, y->key_norm);
    return e ? e : norms(a, "norm of joint queries", x->head_norm, y->head_norm);
}

static const char *sparse_attentions(Arena *a, const SparseAttention *x, const SparseAttention *y)
{
    if (!x || !y) return flag(a, "sparse attention", x, y);
    const char *e = number(a, "heads of indexers", (double)x->heads, (double)y->heads);
    if (!e) e = number(a, "width of indexers", (double)x->width, (double)y->width);
    if (!e) e = number(a, "tokens that indexers select", (double)x->top_k, (double)y->top_k);
    return e ? e : norms(a, "norm of indexers", x->norm, y->norm);
}

static const char *linears(Arena *a, const LinearAttention *x, const LinearAttention *y)
{
    if (!x || !y) return flag(a, "linear attention", x, y);
    const char *e = number(a, "linear key_heads", (double)x->key_heads, (double)y->key_heads);
    if (!e) e = number(a, "linear value_heads", (double)x->value_heads, (double)y->value_heads);
    if (!e) e = number(a, "linear key_width", (double)x->key_width, (double)y->key_width);
    if (!e) e = number(a, "linear value_width", (double)x->value_width, (double)y->value_width);
    if (!e) e = number(a, "linear conv_width", (double)x->conv_width, (double)y->conv_width);
    if (!e) e = flag(a, "state space", x->is_state_space, y->is_state_space);
    if (!e) e = number(a, "largest linear rate", x->most_rate, y->most_rate);
    if (!e) e = flag(a, "decays of each row of linear attention", x->row_decays, y->row_decays);
    if (!e) e = number(a, "bound of linear decays", x->decay_bound, y->decay_bound);
    if (!e) e = flag(a, "fixed decays of linear attention", x->fixed_decays, y->fixed_decays);
    if (!e) e = flag(a, "norm of all linear heads together", x->norm_of_all, y->norm_of_all);
    if (!e) e = number(a, "rank of linear decays", (double)x->decay_rank, (double)y->decay_rank);
    if (!e) e = number(a, "rank of linear gates", (double)x->gate_rank, (double)y->gate_rank);
    if (!e) e = flag(a, "sigmoids in linear gates", x->sigmoid_gates, y->sigmoid_gates);
    if (!e) e = flag(a, "bias of linear convolutions", x->conv_bias, y->conv_bias);
    if (!e) e = flag(a, "bias of linear layers", x->bias, y->bias);
    if (!e && x->norm) e = flag(a, "norm in front of gates", x->norm_first, y->norm_first);
    if (!e) e = flag(a, "skip of state spaces", x->has_skip, y->has_skip);
    if (!e) e = number(a, "smallest step", x->least_step, y->least_step);
    if (!e) e = number(a, "largest step", x->most_step, y->most_step);
    if (!e) e = norms(a, "norm in front of linear layers alone", x->front_norm, y->front_norm);
    return e ? e : norms(a, "norm of linear attention", x->norm, y->norm);
}

static const char *selectives(Arena *a, const Selective *x, const Selective *y)
{
    if (!x || !y) return flag(a, "selective state space", x, y);
    const char *e = number(a, "selective width", (double)x->width, (double)y->width);
    if (!e) e = number(a, "selective state_width", (double)x->state_width, (double)y->state_width);
    if (!e) e = number(a, "selective step_rank", (double)x->step_rank, (double)y->step_rank);
    if (!e) e = number(a, "selective conv_width", (double)x->conv_width, (double)y->conv_width);
    if (!e) e = flag(a, "bias of selective convolutions", x->conv_bias, y->conv_bias);
    if (!e) e = flag(a, "bias of selective layers", x->bias, y->bias);
    return e ? e : norms(a, "norms within selective layers", x->norm, y->norm);
}

static const char *recurrences(Arena *a, const Recurrent *x, const Recurrent *y)
{
    if (!x || !y) return flag(a, "gated recurrence", x, y);
    const char *e = number(a, "recurrent width", (double)x->width, (double)y->width);
    if (!e) e = number(a, "groups of recurrent features", (double)x->n_groups, (double)y->n_groups);
    if (!e) e = number(a, "recurrent conv_width", (double)x->conv_width, (double)y->conv_width);
    if (!e) e = flag(a, "bias of recurrent convolutions", x->conv_bias, y->conv_bias);
    return e ? e : flag(a, "bias of recurrent layers", x->bias, y->bias);
}

static const char *const mixer_names[] = { "attention", "linear attention",
                                           "attention and linear attention side by side",
                                           "a short convolution", "a feed-forward layer alone" };

static const char *multipliers(Arena *a, const Multipliers *x, const Multipliers *y)
{
    const char *e = number(a, "multiplier in front of attention", x->attention_in, y->attention_in);
    if (!e) e = number(a, "multiplier behind attention", x->attention_out, y->attention_out);
    if (!e) e = number(a, "multiplier in front of linear layers", x->linear_in, y->linear_in);
    if (!e) e = number(a, "multiplier behind linear layers", x->linear_out, y->linear_out);
    if (!e) e = number(a, "multiplier of gates", x->gates, y->gates);
    if (!e) e = number(a, "multiplier of values", x->values, y->values);
    if (!e) e = number(a, "multiplier of keys", x->keys, y->keys);
    if (!e) e = number(a, "multiplier of queries", x->queries, y->queries);
    if (!e) e = number(a, "multiplier of steps", x->steps, y->steps);
    if (!e) e = number(a, "multiplier of feed-forward gates", x->ffn_gate, y->ffn_gate);
    if (!e) e = number(a, "multiplier behind feed-forward layers", x->ffn_out, y->ffn_out);
    if (!e)
        e = number(a, "multiplier of what attention adds to", x->attention_stream,
                   y->attention_stream);
    if (!e)
        e = number(a, "multiplier of what linear layers add to", x->linear_stream,
                   y->linear_stream);
    return e ? e
             : number(a, "multiplier of what feed-forward layers add to", x->ffn_stream,
                      y->ffn_stream);
}

static const char *convolutions(Arena *a, const ShortConv *x, const ShortConv *y)
{
    if (!x || !y) return flag(a, "short convolutions", x, y);
    const char *e = number(a, "width of short convolutions", (double)x->width, (double)y->width);
    return e ? e : flag(a, "biases of short convolutions", x->bias, y->bias);
}

static const char *per_layer(Arena *a, const PerLayerEmbedding *x, const PerLayerEmbedding *y)
{
    if (!x || !y) return flag(a, "embeddings of each block", x, y);
    const char *e = number(a, "width of these embeddings", (double)x->width, (double)y->width);
    if (!e) e = number(a, "rows of their table", (double)x->vocab_size, (double)y->vocab_size);
    if (!e) e = number(a, "scale of their table", x->scale, y->scale);
    if (!e) e = norms(a, "norm of their products", x->norm, y->norm);
    return e ? e : norms(a, "norm of what they add", x->post_norm, y->post_norm);
}

static const char *streams(Arena *a, const Streams *x, const Streams *y)
{
    if (!x || !y) return flag(a, "several streams", x, y);
    const char *e = number(a, "streams", (double)x->n, (double)y->n);
    if (!e) e = number(a, "active stream", (double)x->active, (double)y->active);
    if (!e) e = number(a, "bound of factors of streams", x->bound, y->bound);
    return e ? e : flag(a, "scale of the active stream", x->scales, y->scales);
}

static const char *hyper(Arena *a, const HyperConnections *x, const HyperConnections *y)
{
    if (!x || !y) return flag(a, "hyper-connections", x, y);
    const char *e = number(a, "streams of hyper-connections", (double)x->n, (double)y->n);
    if (!e)
        e = number(a, "iterations of hyper-connections", (double)x->iterations,
                   (double)y->iterations);
    if (!e) e = number(a, "eps of hyper-connections", x->eps, y->eps);
    if (!e)
        e = number(a, "scale of what layers give to streams",
                   x->write_scale != 0 ? x->write_scale : 2,
                   y->write_scale != 0 ? y->write_scale : 2);
    return e ? e : norms(a, "norm of hyper-connections", x->norm, y->norm);
}

static const char *transforms(Arena *a, const HeadTransform *x, const HeadTransform *y)
{
    const char *e = flag(a, "transform in front of the head", x, y);
    if (e || !x) return e;
    if (x->activation != y->activation)
        return arena_printf(a, "activation in front of the head: %s instead of %s",
                            activation_choices[x->activation], activation_choices[y->activation]);
    e = flag(a, "bias in front of the head", x->bias, y->bias);
    return e ? e : norms(a, "norm of what the head reads", x->norm, y->norm);
}

static bool attends(const DecoderLayer *l)
{
    return l->mixer == MIXER_ATTENTION || l->mixer == MIXER_BOTH;
}

static const char *attention_layers(Arena *a, const DecoderLayer *p, const DecoderLayer *q)
{
    const char *e = flag(a, "keys in the place of values", p->keys_as_values, q->keys_as_values);
    if (!e) e = flag(a, "keys and values of another block", p->shared_kv, q->shared_kv);
    if (!e) e = flag(a, "indexer of another block", p->shared_index, q->shared_index);
    if (!e) e = number(a, "tokens of a window", (double)p->compress, (double)q->compress);
    if (!e) e = flag(a, "windows that overlap", p->overlaps, q->overlaps);
    if (!e) e = flag(a, "windows that are selected", p->selects, q->selects);
    if (!e) e = flag(a, "chunks in the place of a window", p->chunks, q->chunks);
    if (!e) e = flag(a, "attention sinks", !p->no_sinks, !q->no_sinks);
    if (!e) e = flag(a, "bias after attention", !p->no_out_bias, !q->no_out_bias);
    return e ? e : flag(a, "norm of queries and keys", !p->no_qk_norm, !q->no_qk_norm);
}

static const char *layers(Arena *a, const Decoder *x, const Decoder *y)
{
    for (int64_t i = 0; i < x->n_layer; i++) {
        const DecoderLayer *p = &x->layer[i], *q = &y->layer[i];
        const char *e =
            p->mixer == q->mixer
                ? NULL
                : arena_printf(a, "%s instead of %s", mixer_names[p->mixer], mixer_names[q->mixer]);
        if (!e) e = flag(a, "feed-forward layer", !p->no_ffn, !q->no_ffn);
        if (!e && decoder_is_dense(x, p) && decoder_is_dense(y, q))
            e = number(a, "feed-forward width", (double)decoder_hidden_of(x, p),
                       (double)decoder_hidden_of(y, q));
        if (!e) e = number(a, "sparsity", p->sparsity, q->sparsity);
        if (!e && p->mixer != MIXER_NONE)
            e = flag(a, "norm in front of attention", !p->no_mixer_norm, !q->no_mixer_norm);
        if (!e) e = number(a, "window", (double)p->window, (double)q->window);
        if (!e && attends(p)) e = attention_layers(a, p, q);
        if (!e) e = number(a, "rotary transforms", (double)p->n_rope, (double)q->n_rope);
        if (!e) e = flag(a, "mixture of experts", p->is_sparse, q->is_sparse);
        if (!e) e = flag(a, "experts by token ids", p->by_id, q->by_id);
        if (!e)
            e = flag(a, "mixture that is added behind the next block", p->shortcut, q->shortcut);
        for (int64_t k = 0; !e && k < p->n_rope; k++) e = ropes(a, &p->rope[k], &q->rope[k]);
        if (e) return arena_printf(a, "layer %lld: %s", (long long)i, e);
    }
    return NULL;
}

static const char *mixtures(Arena *a, const Moe *x, const Moe *y)
{
    if (!x || !y) return flag(a, "mixture of experts", x, y);
    const char *e = number(a, "experts", (double)x->n_experts, (double)y->n_experts);
    if (!e)
        e = number(a, "experts without weights", (double)x->zero_experts, (double)y->zero_experts);
    if (!e) e = number(a, "experts of a token", (double)x->top_k, (double)y->top_k);
    if (!e) e = number(a, "width of an expert", (double)x->hidden, (double)y->hidden);
    if (!e) e = number(a, "width of what experts read", (double)x->latent, (double)y->latent);
    if (!e) e = number(a, "bound of experts alone", x->experts_bound, y->experts_bound);
    if (!e) e = number(a, "router score", x->score, y->score);
    if (!e) e = number(a, "bound of router logits", x->logit_cap, y->logit_cap);
    if (!e) e = number(a, "distance of experts that count", x->near, y->near);
    if (!e) e = flag(a, "gate of experts", !x->is_plain, !y->is_plain);
    if (!e) e = flag(a, "router weights of what experts read", x->weigh_inputs, y->weigh_inputs);
    if (!e) e = flag(a, "router weights of sum 1", x->normalize, y->normalize);
    if (!e) e = number(a, "what is added to that sum", x->sum_eps, y->sum_eps);
    if (!e) e = number(a, "router factor", factor_of(x->factor), factor_of(y->factor));
    if (!e) e = flag(a, "factors of experts", x->expert_scale, y->expert_scale);
    if (!e) e = flag(a, "feed-forward layer beside experts", x->beside_ffn, y->beside_ffn);
    if (!e) e = flag(a, "norm of the router", x->router_norm, y->router_norm);
    if (!e) e = flag(a, "norm behind experts", x->norm_behind, y->norm_behind);
    if (!e) e = flag(a, "biases of experts", x->bias, y->bias);
    if (!e) e = number(a, "groups of experts", (double)x->n_groups, (double)y->n_groups);
    if (!e) e = number(a, "groups of a token", (double)x->top_groups, (double)y->top_groups);
    if (!e) e = flag(a, "router biases", moe_has_biases(x), moe_has_biases(y));
    if (!e) e = flag(a, "router biases of logits", x->by_logits, y->by_logits);
    if (!e) e = number(a, "capacity", x->capacity, y->capacity);
    if (!e)
        e = number(a, "factor of shared experts", factor_of(x->shared_factor),
                   factor_of(y->shared_factor));
    if (!e) e = flag(a, "gate of shared experts", x->shared_gate, y->shared_gate);
    if (!e)
        e = number(a, "shared experts' width", (double)x->shared_hidden, (double)y->shared_hidden);
    return e;
}

static const char *differentials(Arena *a, const Differential *x, const Differential *y)
{
    if (!x || !y) return flag(a, "differential attention", x, y);
    const char *e = norms(a, "norm of pairs of heads", x->norm, y->norm);
    return e ? e : number(a, "std of what the share of second heads begins with", x->std, y->std);
}

static bool any_layer(const Decoder *d, bool (*is)(const DecoderLayer *))
{
    bool any = false;
    for (int64_t i = 0; i < d->n_layer; i++) any |= is(&d->layer[i]);
    return any;
}

/* The usual scale follows the width of a block's heads. */
static const char *score_scales(Arena *a, const Decoder *x, const Decoder *y, bool own_widths)
{
    static const char name[] = "scale of scores";
    const bool both = x->attention_scale == 0 && y->attention_scale == 0;
    if (both) return NULL;
    if (own_widths && (x->attention_scale == 0 || y->attention_scale == 0))
        return number(a, name, x->attention_scale, y->attention_scale);
    return number(a, name, decoder_attention_scale(x), decoder_attention_scale(y));
}

static const char *heads(Arena *a, const Decoder *x, const Decoder *y)
{
    bool own_widths = false;
    const char *e = NULL;
    for (int64_t i = 0; !e && i < x->n_layer; i++) {
        const DecoderLayer *p = &x->layer[i], *q = &y->layer[i];
        if (!attends(p) || !attends(q)) continue;
        own_widths |= p->head_width || q->head_width;
        e = number(a, "query heads", (double)decoder_query_heads_of(x, p),
                   (double)decoder_query_heads_of(y, q));
        if (!e)
            e = number(a, "key and value heads", (double)decoder_key_heads_of(x, p),
                       (double)decoder_key_heads_of(y, q));
        if (!e)
            e = number(a, "width of a head", (double)decoder_head_width_of(x, p),
                       (double)decoder_head_width_of(y, q));
    }
    if (!e)
        e = number(a, "width of a value (0: of a key)", (double)x->value_width,
                   (double)y->value_width);
    return e ? e : score_scales(a, x, y, own_widths);
}

static const char *sizes(Arena *a, const Decoder *x, const Decoder *y)
{
    const char *e = number(a, "vocab_size", (double)x->vocab_size, (double)y->vocab_size);
    if (!e) e = number(a, "n_layer", (double)x->n_layer, (double)y->n_layer);
    if (!e) e = number(a, "width", (double)x->width, (double)y->width);
    if (!e)
        e = number(a, "longest sequence", (double)x->sequence_length, (double)y->sequence_length);
    if (!e && any_layer(x, attends)) e = heads(a, x, y);
    return e;
}

/* Positions, what stands around blocks, and all norms. */
static const char *embeddings_and_norms(Arena *a, const Decoder *x, const Decoder *y)
{
    const char *e = NULL;
    if (!e) e = flag(a, "learned positions", x->learned_positions, y->learned_positions);
    if (!e) e = number(a, "base of sines", x->sinusoidal_base, y->sinusoidal_base);
    if (!e)
        e = number(a, "unused positions", (double)x->unused_positions, (double)y->unused_positions);
    if (!e)
        e = number(a, "width of embeddings (0: of the stream)", (double)x->embedding_width,
                   (double)y->embedding_width);
    if (!e) e = norms(a, "norm of embeddings", x->embedding_norm, y->embedding_norm);
    if (!e) e = norms(a, "norm in front of attention", x->attention_norm, y->attention_norm);
    if (!e) e = norms(a, "norm after attention", x->attention_post_norm, y->attention_post_norm);
    if (!e) e = norms(a, "norm in front of the feed-forward layer", x->ffn_norm, y->ffn_norm);
    if (!e) e = norms(a, "norm after the feed-forward layer", x->ffn_post_norm, y->ffn_post_norm);
    if (!e) e = norms(a, "norm within layers", x->inner_norm, y->inner_norm);
    if (!e) e = norms(a, "norm in front of the head", x->head_norm, y->head_norm);
    if (!e) e = transforms(a, x->head_transform, y->head_transform);
    if (!e) e = norms(a, "norms of the model", x->usual_norm, y->usual_norm);
    if (!e) e = norms(a, "norm of queries and keys", x->qk_norm, y->qk_norm);
    if (!e) e = norms(a, "norm of values", x->value_norm, y->value_norm);
    if (!e) e = flag(a, "scale of each block", x->block_scale, y->block_scale);
    if (!e && x->qk_norm)
        e = flag(a, "weights of each head in that", x->qk_norm_by_head, y->qk_norm_by_head);
    if (!e) e = norms(a, "norm of all heads together", x->qk_norm_width, y->qk_norm_width);
    if (!e && x->qk_norm && x->layer[0].n_rope)
        e = flag(a, "norm of queries and keys before rope", x->qk_norm_before_rope,
                 y->qk_norm_before_rope);
    return e;
}

/* What attention is like, and what stands in its place or beside it. */
static const char *mixers(Arena *a, const Decoder *x, const Decoder *y)
{
    const char *e = NULL;
    if (!e && x->attention_gate != y->attention_gate)
        e = arena_printf(a, "gate of attention: %s instead of %s",
                         attention_gates[x->attention_gate], attention_gates[y->attention_gate]);
    if (!e && x->attention_gate)
        e = flag(a, "softplus of gates of attention", x->softplus_gates, y->softplus_gates);
    if (!e) e = flag(a, "attention sinks", x->attention_sinks, y->attention_sinks);
    if (!e) e = differentials(a, x->differential, y->differential);
    if (!e) e = joints(a, x->joint, y->joint);
    if (!e) e = latents(a, x->latent, y->latent);
    if (!e) e = sparse_attentions(a, x->sparse, y->sparse);
    if (!e) e = linears(a, x->linear, y->linear);
    if (!e) e = selectives(a, x->selective, y->selective);
    if (!e) e = recurrences(a, x->recurrent, y->recurrent);
    if (!e) e = convolutions(a, x->short_conv, y->short_conv);
    if (!e) e = per_layer(a, x->per_layer, y->per_layer);
    if (!e) e = streams(a, x->streams, y->streams);
    if (!e) e = hyper(a, x->hyper, y->hyper);
    if (!e)
        e = number(a, "rank beside attention (laurel)", (double)x->laurel_rank,
                   (double)y->laurel_rank);
    if (!e)
        e = number(a, "rank of gates behind norms", (double)x->norm_gate_rank,
                   (double)y->norm_gate_rank);
    return e;
}

/* Biases, activations, and numbers that others are multiplied with or bounded by. */
static const char *biases_and_bounds(Arena *a, const Decoder *x, const Decoder *y)
{
    const char *e = NULL;
    if (!e) e = multipliers(a, decoder_multipliers(x), decoder_multipliers(y));
    if (!e) e = flag(a, "bias of queries, keys and values", x->qkv_bias, y->qkv_bias);
    if (!e) e = flag(a, "bias after attention", x->out_bias, y->out_bias);
    if (!e) e = flag(a, "bias of the feed-forward layer", x->ffn_bias, y->ffn_bias);
    if (!e) e = flag(a, "bias of the head", x->head_bias, y->head_bias);
    if (!e) e = flag(a, "ternary weights", x->is_ternary, y->is_ternary);
    if (!e) e = flag(a, "gate of the feed-forward layer", x->is_gated, y->is_gated);
    if (!e) e = number(a, "bound of gated layers", x->gate_bound, y->gate_bound);
    if (!e && x->activation != y->activation)
        e = arena_printf(a, "activation: %s instead of %s", activation_choices[x->activation],
                         activation_choices[y->activation]);
    if (!e) e = flag(a, "tied head", x->is_tied, y->is_tied);
    if (!e) e = number(a, "scale of the embedding", x->embedding_scale, y->embedding_scale);
    if (!e) e = flag(a, "scale of scores by the layer", x->scale_by_layer, y->scale_by_layer);
    if (!e && x->residual != y->residual)
        e = arena_printf(a, "residual: %s instead of %s", residual_choices[x->residual],
                         residual_choices[y->residual]);
    if (!e) e = number(a, "scale of what layers add", x->residual_scale, y->residual_scale);
    if (!e) e = number(a, "divisor of logits", x->logit_divisor, y->logit_divisor);
    if (!e) e = number(a, "bound of scores", x->attention_cap, y->attention_cap);
    if (!e) e = number(a, "slopes of scores by distance (alibi)", x->alibi, y->alibi);
    if (!e) e = number(a, "scale of these slopes", x->alibi_scale, y->alibi_scale);
    if (!e) e = number(a, "bound of queries, keys and values", x->qkv_clip, y->qkv_clip);
    if (!e) e = number(a, "bound of logits", x->logit_cap, y->logit_cap);
    return e;
}

const char *decoder_difference(Arena *a, const Decoder *x, const Decoder *y)
{
    const char *e = sizes(a, x, y);
    if (!e) e = embeddings_and_norms(a, x, y);
    if (!e) e = mixers(a, x, y);
    if (!e) e = biases_and_bounds(a, x, y);
    if (!e) e = layers(a, x, y);
    return e ? e : mixtures(a, x->moe, y->moe);
}
