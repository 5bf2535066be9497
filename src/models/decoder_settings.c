/* decoder_settings.c - settings of model.decoder that cannot be, alone or beside each other. */
#include "models/decoder_settings.h"
#include <stdio.h>

int64_t decoder_head_width(const DecoderSettings *s)
{
    return s->head_width ? *s->head_width : s->n_head_q ? s->n_embd / s->n_head_q : 0;
}

/* A number for each pair that turns. */
static Error *check_factors(const DecoderSettings *s, const char *key, const RopeScaling *r,
                            int64_t head)
{
    const int64_t turning = s->latent  ? s->latent->rope_width
                            : r->width ? r->width
                                       : head,
                  n = r->kind == ROPE_LONG ? turning / 2 : 0;
    const FloatList *list[] = { &r->short_factors, &r->long_factors };
    for (int k = 0; k < 2; k++) {
        if (list[k]->n != n)
            return error_new("%s: %s are %lld numbers, but kind %s takes %lld", key,
                             k ? "long_factors" : "short_factors", (long long)list[k]->n,
                             rope_scaling_choices[r->kind], (long long)n);
        for (int64_t i = 0; i < n; i++)
            if (!(list[k]->item[i] > 0)) return error_new("%s: a factor is not above 0", key);
    }
    return NULL;
}

/* Of heads of that width. */
static Error *check_rope(const DecoderSettings *s, const char *key, const RopeScaling *r,
                         int64_t head)
{
    if (!r) return NULL;
    if (head % 2)
        return error_new("%s: rotary positions need an even head width, not %lld", key,
                         (long long)head);
    if (r->width % 2 || r->width > head)
        return error_new("%s: width %lld is odd, or above the head width %lld", key,
                         (long long)r->width, (long long)head);
    if (r->proportional && (!r->width || r->kind > ROPE_LINEAR))
        return error_new("%s: proportional needs a width, and kind none or linear", key);
    if (r->kind == ROPE_PLAIN && (r->factor != 1 || r->attention != 0))
        return error_new("%s: kind none takes no factor or attention", key);
    if (r->growth == 0 && (r->still || r->growth_offset))
        return error_new("%s: %s needs growth", key, r->still ? "still" : "growth_offset");
    if (r->still && (r->kind != ROPE_PLAIN || r->width))
        return error_new("%s: where nothing turns kind is none and width 0", key);
    if (r->kind == ROPE_LLAMA3 && r->high_freq <= r->low_freq)
        return error_new("%s: high_freq %g must be above low_freq %g", key, r->high_freq,
                         r->low_freq);
    return check_factors(s, key, r, head);
}

static Error *check_shortcuts(const DecoderSettings *s)
{
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        if (!x->shortcut) continue;
        const bool is_last = decoder_kind_of_block(s, s->n_layer - 1) == i;
        const char *wrong = !x->sparse ? "is of sparse blocks"
                            : s->mixture && s->mixture->beside_ffn
                                ? "and beside_ffn of the mixture exclude each other"
                            : s->residual != RESIDUAL_SERIAL ? "needs residual: serial"
                            : is_last ? "needs a block behind, but the last block is of this kind"
                                      : NULL;
        if (wrong) return error_new("layers.%lld: shortcut %s", (long long)i, wrong);
    }
    return NULL;
}

static Error *check_ids(const DecoderSettings *s)
{
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        if (!x->by_id) continue;
        const bool is_last = decoder_kind_of_block(s, s->n_layer - 1) == i;
        if (!x->sparse) return error_new("layers.%lld: by_id is of sparse blocks", (long long)i);
        if (s->mixture && s->mixture->score == SCORE_MIXER)
            return error_new("layers.%lld: by_id: experts that a table has are not chosen one "
                             "after the other; score of the mixture must not be mixer",
                             (long long)i);
        if (s->multi_token && is_last)
            return error_new(
                "multi_token: its blocks are of the last kind, whose experts are those "
                "of the id of one token (by_id)");
    }
    return NULL;
}

static Error *check_mixture(const DecoderSettings *s)
{
    bool any = false;
    for (int64_t i = 0; i < s->layers.n; i++) any |= s->layers.item[i].sparse;
    if (s->mixture && s->mixture->shared_gate && !s->mixture->shared_hidden)
        return error_new("mixture: shared_gate needs shared_hidden");
    if (s->mixture && s->mixture->shared_factor != 1 && !s->mixture->shared_hidden)
        return error_new("mixture: shared_factor needs shared_hidden");
    if (s->mixture && s->mixture->beside_ffn && s->residual != RESIDUAL_SERIAL)
        return error_new("mixture: beside_ffn needs residual: serial");
    if (s->mixture && s->mixture->router_norm && !s->mixture->beside_ffn)
        return error_new("mixture: router_norm needs beside_ffn");
    if (s->mixture && s->mixture->norm_behind && s->norm_behind)
        return error_new("mixture: norm_behind: with norm_behind of the model all blocks have it");
    if (any && !s->mixture) return error_new("layers: a sparse block needs the settings `mixture`");
    if (!s->mixture) return NULL;
    if (!any) return error_new("mixture: no block of `layers` is sparse");
    if (s->mixture->top_k > moe_all_experts(s->mixture))
        return error_new("mixture: top_k %lld is above n_experts %lld%s",
                         (long long)s->mixture->top_k, (long long)s->mixture->n_experts,
                         s->mixture->zero_experts ? " and zero_experts together" : "");
    const Moe *m = s->mixture;
    const bool mixes = m->score == SCORE_MIXER;
    if (!mixes && m->near > 0) return error_new("mixture: near is of score: mixer");
    if (mixes && (m->normalize || m->factor != 1 || m->n_groups || moe_has_biases(m)))
        return error_new("mixture: score mixer gives weights as they are: it needs normalize: "
                         "false, factor: 1.0, and neither n_groups nor balance_rate");
    if (m->by_logits && !moe_has_biases(m))
        return error_new("mixture: by_logits: the router has no biases; it needs balance_rate");
    const char *why = moe_groups_wrong(s->mixture);
    return why ? error_new("mixture: %s", why) : NULL;
}

static Error *check_multipliers(const DecoderSettings *s)
{
    const Multipliers *m = s->multipliers;
    bool linear = false, alone = false, attention = false, gate = false, feeds = false;
    if (!m) return NULL;
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        linear |= x->linear || x->side_by_side;
        alone |= x->linear;
        feeds |= !x->no_ffn;
        attention |= decoder_layer_attends(x);
        gate |= s->gated && (!x->sparse || x->shortcut) && !x->no_ffn;
    }
    const struct {
        const char *key;
        double value;
        bool counts;
    } row[] = { { "attention_in", m->attention_in, attention },
                { "attention_out", m->attention_out, attention },
                { "linear_in", m->linear_in, linear },
                { "linear_out", m->linear_out, linear },
                { "gates", m->gates, s->state_space },
                { "values", m->values, s->state_space },
                { "keys", m->keys, s->state_space },
                { "queries", m->queries, s->state_space },
                { "steps", m->steps, s->state_space },
                { "ffn_gate", m->ffn_gate, gate },
                { "ffn_out", m->ffn_out, feeds },
                { "attention_stream", m->attention_stream, attention },
                { "linear_stream", m->linear_stream, alone },
                { "ffn_stream", m->ffn_stream, feeds } };
    const bool of_stream = m->attention_stream != 1 || m->linear_stream != 1 || m->ffn_stream != 1;
    if (of_stream && !residual_is_serial((Residual)s->residual))
        return error_new("multipliers: attention_stream, linear_stream and ffn_stream need "
                         "residual: serial, normed or norm_of_sum");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].value != 1 && !row[i].counts)
            return error_new("multipliers: %s: no block has what it multiplies", row[i].key);
    return NULL;
}

static Error *check_per_layer(const DecoderSettings *s)
{
    const PerLayerSettings *p = s->per_layer_embedding;
    if (!p) return NULL;
    if (s->activation == ACTIVATE_XIELU)
        return error_new("per_layer_embedding: its gates have no numbers that xielu learns; "
                         "activation must be another");
    return NULL;
}

/* Several streams, and what is added beside a mixer. */
static Error *check_streams(const DecoderSettings *s)
{
    const StreamSettings *x = s->alternating_updates;
    bool mixes = false;
    for (int64_t i = 0; i < s->layers.n; i++) mixes |= !s->layers.item[i].no_mixer;
    if (s->laurel_rank && !residual_is_serial((Residual)s->residual))
        return error_new("laurel_rank: it needs residual: serial, normed or norm_of_sum");
    if (s->laurel_rank && !mixes)
        return error_new(
            "laurel_rank: no block of `layers` has attention, or what is in its place");
    if (!x) return NULL;
    if (x->active >= x->streams)
        return error_new("alternating_updates: active %lld must be below streams %lld",
                         (long long)x->active, (long long)x->streams);
    if (x->scale && !s->per_layer_embedding)
        return error_new("alternating_updates: scale is of what the gates of per_layer_embedding "
                         "read, which is null");
    if (s->multi_token)
        return error_new("multi_token: its blocks read one stream; alternating_updates must be "
                         "null");
    return NULL;
}

/* Gates are of norms in front of single layers. */
static Error *check_norm_gates(const DecoderSettings *s)
{
    bool shortcut = false, mixes = false;
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        shortcut |= x->shortcut;
        mixes |= x->sparse || (!x->no_mixer && !x->no_mixer_norm);
    }
    if (!s->norm_gate_rank) return NULL;
    if (s->residual != RESIDUAL_SERIAL && s->residual != RESIDUAL_NORMED)
        return error_new("norm_gate_rank: it needs residual: serial or normed");
    if (!s->norm_in_front)
        return error_new("norm_gate_rank: it is of norms in front; norm_in_front must be true");
    if (s->mixture && s->mixture->beside_ffn)
        return error_new("norm_gate_rank: a mixture that is beside_ffn reads another norm");
    if (shortcut)
        return error_new("norm_gate_rank: in blocks with shortcut a feed-forward layer reads the "
                         "norm of a mixture, too");
    if (mixes) return NULL;
    return error_new("norm_gate_rank: no block of `layers` has a norm in front of attention, or of "
                     "what is in its place, or a mixture");
}

/* Of several streams: what is of one alone. */
static Error *check_hyper(const DecoderSettings *s)
{
    if (!s->hyper_connections) return NULL;
    const Multipliers *m = s->multipliers;
    bool shortcut = false;
    for (int64_t i = 0; i < s->layers.n; i++) shortcut |= s->layers.item[i].shortcut;
    const struct {
        const char *key;
        bool given;
    } other[] = { { "alternating_updates", s->alternating_updates },
                  { "per_layer_embedding", s->per_layer_embedding },
                  { "laurel_rank", s->laurel_rank },
                  { "multi_token", s->multi_token },
                  { "shortcut of layers", shortcut },
                  { "attention_stream, linear_stream and ffn_stream of multipliers",
                    m && (m->attention_stream != 1 || m->linear_stream != 1 ||
                          m->ffn_stream != 1) } };
    if (s->residual != RESIDUAL_SERIAL)
        return error_new("hyper_connections: layers add to all streams; residual must be serial");
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].given)
            return error_new("hyper_connections: %s must be left out, which is of one stream",
                             other[i].key);
    return NULL;
}

static Error *check_halves(const DecoderSettings *s)
{
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        const char *key = x->no_mixer ? "no_mixer" : "no_ffn";
        if (!x->no_mixer && !x->no_ffn) continue;
        const char *wrong = x->no_mixer && x->no_ffn ? "and no_ffn leave nothing of the block"
                            : x->no_ffn && x->sparse ? "leaves no place for the mixture of sparse"
                            : x->no_mixer && (x->linear || x->conv)
                                ? "leaves no place for the layer of linear or conv"
                            : x->no_mixer && (x->window || x->rope || x->no_rope)
                                ? "leaves nothing that has window, rope or no_rope"
                            : !residual_is_serial((Residual)s->residual)
                                ? "needs residual: serial, normed or norm_of_sum"
                                : NULL;
        if (wrong) return error_new("layers.%lld: %s %s", (long long)i, key, wrong);
    }
    return NULL;
}

static Error *check_heads(const DecoderSettings *s)
{
    if (!s->n_head_q || !s->n_head_kv)
        return error_new("%s: a block with attention needs it",
                         s->n_head_q ? "n_head_kv" : "n_head_q");
    if (s->n_head_q % s->n_head_kv)
        return error_new("n_head_kv %lld does not divide n_head_q %lld", (long long)s->n_head_kv,
                         (long long)s->n_head_q);
    if (!s->head_width && s->n_embd % s->n_head_q)
        return error_new("n_head_q %lld does not divide n_embd %lld; head_width may say another "
                         "width than n_embd / n_head_q",
                         (long long)s->n_head_q, (long long)s->n_embd);
    return NULL;
}

/* What no block reads is not given. */
static Error *check_sizes(const DecoderSettings *s)
{
    bool any_attends = false, feeds = false, is_dense = false, has_dense = false;
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        const bool beside = x->shortcut || (s->mixture && s->mixture->beside_ffn),
                   has_own = !x->no_ffn && (!x->sparse || beside);
        if (x->ffn_hidden && !has_own)
            return error_new("layers.%lld: ffn_hidden: the blocks have no feed-forward layer "
                             "beside the mixture",
                             (long long)i);
        if (x->sparsity > 0 && !has_own)
            return error_new(
                "layers.%lld: sparsity: it is of feed-forward layers beside a mixture, "
                "and the blocks have none",
                (long long)i);
        any_attends |= decoder_layer_attends(x);
        feeds |= !x->no_ffn;
        is_dense |= has_own && !x->ffn_hidden;
        has_dense |= has_own;
        if (s->norm_inside && x->sparse)
            return error_new("norm_inside: experts have no norms within; no block may be sparse");
    }
    const struct {
        const char *key;
        bool given;
    } of_attention[] = { { "n_head_q", s->n_head_q },
                         { "n_head_kv", s->n_head_kv },
                         { "head_width", s->head_width },
                         { "rope", s->rope },
                         { "alibi", s->alibi > 0 },
                         { "latent", s->latent },
                         { "joint_attention", s->joint_attention },
                         { "value_norm", s->value_norm },
                         { "value_width", s->value_width },
                         { "differential", s->differential } };
    for (size_t i = 0; i < sizeof of_attention / sizeof *of_attention && !any_attends; i++)
        if (of_attention[i].given)
            return error_new("%s: no block of `layers` has attention", of_attention[i].key);
    if (s->norm_inside && !any_attends && !has_dense)
        return error_new("norm_inside: no block of `layers` has attention or a feed-forward layer");
    if (is_dense && !s->ffn_hidden)
        return error_new("ffn_hidden: a block with a feed-forward layer needs it");
    if (!feeds && s->ffn_hidden)
        return error_new("ffn_hidden: no block of `layers` has a feed-forward layer");
    return any_attends ? check_heads(s) : NULL;
}

/* Of other layers weights are multiplied otherwise, or by classes of transformers that leave them
 * as they are. */
static Error *check_ternary(const DecoderSettings *s)
{
    const struct {
        const char *key;
        bool given;
    } other[] = { { "mixture", s->mixture },
                  { "latent", s->latent },
                  { "joint_attention", s->joint_attention },
                  { "linear_attention", s->linear_attention },
                  { "state_space", s->state_space },
                  { "selective_scan", s->selective_scan },
                  { "gated_recurrence", s->gated_recurrence },
                  { "short_conv", s->short_conv },
                  { "per_layer_embedding", s->per_layer_embedding },
                  { "alternating_updates", s->alternating_updates },
                  { "hyper_connections", s->hyper_connections },
                  { "laurel_rank", s->laurel_rank },
                  { "norm_gate_rank", s->norm_gate_rank } };
    for (size_t i = 0; i < sizeof other / sizeof *other && s->linear == LINEAR_TERNARY; i++)
        if (other[i].given)
            return error_new("linear: ternary is of blocks of attention and dense feed-forward "
                             "layers; %s must be left out",
                             other[i].key);
    return NULL;
}

static Error *check_norms(const DecoderSettings *s)
{
    const bool of_norm = s->residual == RESIDUAL_ONE_NORM || s->residual == RESIDUAL_NORMED ||
                         s->residual == RESIDUAL_NORM_OF_SUM;
    if (!s->norm_in_front && !s->norm_behind)
        return error_new(
            "norm_in_front and norm_behind are false; allowed is one of them, or both");
    if (of_norm && !s->norm_in_front)
        return error_new("residual: %s needs norm_in_front", residual_choices[s->residual]);
    if (s->multi_token && !s->head_norm)
        return error_new("multi_token: its blocks have norms in front of the head; head_norm must "
                         "be true");
    return NULL;
}

static Error *check_ropes(const DecoderSettings *s)
{
    TRY(check_rope(s, "rope", s->rope, decoder_head_width(s)));
    for (int64_t i = 0; i < s->layers.n; i++) {
        char key[64];
        const LayerSettings *x = &s->layers.item[i];
        snprintf(key, sizeof key, "layers.%lld.rope", (long long)i);
        TRY(check_rope(s, key, x->rope || !x->head_width ? x->rope : s->rope,
                       decoder_layer_head_width(s, x)));
        if (x->rope && x->no_rope) return error_new("%s: the blocks have no_rope", key);
    }
    return NULL;
}

static Error *check_positions(const DecoderSettings *s)
{
    if (s->sinusoidal_base > 0 && s->learned_positions)
        return error_new("sinusoidal_base: positions are learned; learned_positions must be false");
    if (s->sinusoidal_base > 0 && s->n_embd % 2)
        return error_new("sinusoidal_base: there are as many sines as cosines; n_embd %lld must be "
                         "even",
                         (long long)s->n_embd);
    if (s->unused_positions && !s->learned_positions && s->sinusoidal_base == 0)
        return error_new("unused_positions: they are rows of learned_positions, which is false, or "
                         "of sinusoidal_base, which is 0");
    if (s->alibi > 0 && s->attention_cap > 0)
        return error_new("alibi: scores that fall with distance are not bent; attention_cap must "
                         "be 0");
    if (s->alibi_scale > 0 && s->alibi == 0)
        return error_new("alibi_scale: it is of the slopes of alibi, which is 0");
    return check_ropes(s);
}

static Error *check_activation(const DecoderSettings *s)
{
    const TransformSettings *t = s->head_transform;
    if (t && (t->activation == ACTIVATE_XIELU || t->activation == ACTIVATE_CLAMPED_SWIGLU))
        return error_new("head_transform: activation %s is of feed-forward layers alone",
                         activation_choices[t->activation]);
    if (s->activation == ACTIVATE_CLAMPED_SWIGLU && !s->gated)
        return error_new("activation: clamped_swiglu is of gated layers; gated is false");
    if (s->gate_bound > 0 && (s->activation != ACTIVATE_SILU || !s->gated))
        return error_new("gate_bound: it is of gated layers with activation: silu");
    if (s->mixture && s->mixture->experts_bound > 0 &&
        (s->activation != ACTIVATE_SILU || !s->gated))
        return error_new("mixture: experts_bound: it is of gated experts with activation: silu");
    if (s->activation == ACTIVATE_XIELU && (s->gated || s->mixture))
        return error_new(
            "activation: xielu is of layers without a gate; it needs gated: false, and "
            "no mixture");
    return NULL;
}

static Error *check_qk_norm(const DecoderSettings *s)
{
    if (!s->qk_norm_weight && (!s->qk_norm || !s->norm.weight))
        return error_new("qk_norm_weight: there is no weight anyway");
    if (!s->qk_norm_bias && (!s->qk_norm || !s->norm.bias || !s->qk_norm_weight))
        return error_new("qk_norm_bias: there is no bias anyway");
    if (!s->qk_norm_before_rope && s->qk_norm != QK_HEAD && s->qk_norm != QK_EACH_HEAD)
        return error_new("qk_norm_before_rope: there is no norm of each head that could come after "
                         "rope; it needs qk_norm: head or each_head");
    if (s->qk_norm == QK_EACH_HEAD && ((s->norm.bias && s->qk_norm_bias) || s->norm.from_one ||
                                       !s->norm.weight || !s->qk_norm_weight))
        return error_new("qk_norm: each_head has weights, and neither biases nor weights from 1; "
                         "norm, qk_norm_weight or qk_norm_bias asks for others");
    return NULL;
}

Error *decoder_settings_check(const void *settings)
{
    const DecoderSettings *s = settings;
    TRY(check_halves(s));
    TRY(check_sizes(s));
    TRY(check_norms(s));
    TRY(check_positions(s));
    TRY(check_activation(s));
    TRY(check_qk_norm(s));
    TRY(check_ternary(s));
    if (s->attention_gate_by != GATE_BY_SIGMOID && !s->attention_gate)
        return error_new("attention_gate_by: there are no gates; attention_gate is none");
    TRY(decoder_layers_check(s));
    TRY(check_per_layer(s));
    TRY(check_streams(s));
    TRY(check_norm_gates(s));
    TRY(check_hyper(s));
    TRY(decoder_mixers_check(s));
    TRY(check_multipliers(s));
    TRY(check_shortcuts(s));
    TRY(check_ids(s));
    return check_mixture(s);
}
