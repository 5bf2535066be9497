/* decoder_layer_settings.c - settings of model.decoder's kinds of blocks: which of them cannot be,
 * in blocks with attention and short convolutions. */
#include "models/decoder_settings.h"

bool decoder_layer_attends(const LayerSettings *x)
{
    return !x->linear && !x->conv && !x->no_mixer;
}

int64_t decoder_kind_of_block(const DecoderSettings *s, int64_t i)
{
    int64_t period = 0, k = 0;
    for (int64_t n = 0; n < s->layers.n; n++) period += s->layers.item[n].count;
    CHECK(period > 0); /* each kind has a block */
    for (i %= period; i >= s->layers.item[k].count; k++) i -= s->layers.item[k].count;
    return k;
}

int64_t decoder_layer_head_width(const DecoderSettings *s, const LayerSettings *x)
{
    return x->head_width ? *x->head_width : decoder_head_width(s);
}

static int64_t key_heads(const DecoderSettings *s, const LayerSettings *x)
{
    return x->n_head_kv ? *x->n_head_kv : s->n_head_kv;
}

/* What of attention differs from block to block. */
static Error *check_attention(const DecoderSettings *s)
{
    const bool after = s->qk_norm && s->qk_norm != QK_WIDTH && !s->qk_norm_before_rope;
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        const RopeScaling *r = x->no_rope ? NULL : x->rope ? x->rope : s->rope;
        if (x->chunks && !x->window)
            return error_new("layers.%lld: chunks needs a window, which is their length",
                             (long long)i);
        if (x->no_qk_norm && (!s->qk_norm || !decoder_layer_attends(x)))
            return error_new("layers.%lld: no_qk_norm: the blocks have no such norm anyway",
                             (long long)i);
        if (x->no_sinks && (!s->attention_sinks || !decoder_layer_attends(x)))
            return error_new("layers.%lld: no_sinks: the blocks have none anyway", (long long)i);
        if (x->no_out_bias && (!s->out_bias || !decoder_layer_attends(x)))
            return error_new("layers.%lld: no_out_bias: the blocks have none anyway", (long long)i);
        if (s->value_width && (x->head_width || x->keys_as_values))
            return error_new("layers.%lld: value_width of the model is beside heads of one width, "
                             "so head_width must be null and keys_as_values false",
                             (long long)i);
        const bool has_own = x->head_width || x->n_head_q || x->n_head_kv || x->keys_as_values;
        const int64_t queries = x->n_head_q ? *x->n_head_q : s->n_head_q;
        if (has_own && (!decoder_layer_attends(x) || s->latent || s->joint_attention))
            return error_new(
                "layers.%lld: head_width, n_head_q, n_head_kv and keys_as_values are of blocks "
                "with attention, and not of a latent or joint one",
                (long long)i);
        if (has_own && queries % key_heads(s, x))
            return error_new("layers.%lld: n_head_kv %lld does not divide n_head_q %lld",
                             (long long)i, (long long)key_heads(s, x), (long long)queries);
        if (r && r->growth != 0 && after && !x->no_qk_norm && decoder_layer_attends(x))
            return error_new("layers.%lld: a norm behind rope takes its growth away; "
                             "qk_norm_before_rope must be true",
                             (long long)i);
    }
    return NULL;
}

/* Whose keys and values the kind's block i reads; NULL: there is none. `kind` is that of blocks. */
static const LayerSettings *keys_before(const DecoderSettings *s, const LayerSettings *x,
                                        const int64_t *kind, int64_t i)
{
    while (i-- > 0) {
        const LayerSettings *y = &s->layers.item[kind[i]];
        if (decoder_layer_attends(y) && !y->shared_kv && y->window == x->window &&
            y->chunks == x->chunks)
            return y;
    }
    return NULL;
}

static Error *check_shared_kv(const DecoderSettings *s)
{
    int64_t kind_of[MOST_BLOCKS];
    for (int64_t i = 0; i < s->n_layer; i++) {
        const int64_t kind = kind_of[i] = decoder_kind_of_block(s, i);
        const LayerSettings *x = &s->layers.item[kind];
        if (!x->shared_kv) continue;
        const LayerSettings *y = keys_before(s, x, kind_of, i);
        if (!decoder_layer_attends(x) || s->latent || s->joint_attention)
            return error_new("layers.%lld: shared_kv is of blocks with attention, and not of a "
                             "latent or joint one",
                             (long long)kind);
        if (x->keys_as_values)
            return error_new("layers.%lld: with shared_kv there is no product of keys; "
                             "keys_as_values must be false",
                             (long long)kind);
        if (!y)
            return error_new("layers.%lld: shared_kv: no block before block %lld has keys of its "
                             "own and the same window",
                             (long long)kind, (long long)i);
        if (decoder_layer_head_width(s, x) != decoder_layer_head_width(s, y) ||
            key_heads(s, x) != key_heads(s, y))
            return error_new("layers.%lld: shared_kv: head_width and n_head_kv must be those of "
                             "layers.%lld, whose keys it reads",
                             (long long)kind, (long long)(y - s->layers.item));
        if (s->multi_token && i == s->n_layer - 1)
            return error_new("multi_token: its blocks are of the last kind, which has no keys of "
                             "its own (shared_kv)");
    }
    return NULL;
}

static Error *check_shared_index(const DecoderSettings *s)
{
    bool any = false; /* a block so far has an indexer */
    for (int64_t i = 0; i < s->n_layer; i++) {
        const int64_t kind = decoder_kind_of_block(s, i);
        const LayerSettings *x = &s->layers.item[kind];
        const bool attends = decoder_layer_attends(x);
        if (s->sparse_attention && !s->joint_attention && x->window)
            return error_new("layers.%lld: window: with sparse_attention an indexer says what a "
                             "token sees",
                             (long long)kind);
        if (x->shared_index && (!s->sparse_attention || s->joint_attention || !attends))
            return error_new(
                "layers.%lld: shared_index is of blocks with sparse_attention of latent",
                (long long)kind);
        if (x->shared_index && !any)
            return error_new("layers.%lld: shared_index: no block before block %lld has an indexer",
                             (long long)kind, (long long)i);
        if (x->shared_index && s->multi_token && i == s->n_layer - 1)
            return error_new(
                "multi_token: its blocks are of the last kind, which has no indexer of "
                "its own (shared_index)");
        any |= attends && !x->shared_index;
    }
    return NULL;
}

static Error *check_conv(const DecoderSettings *s)
{
    bool any = false;
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        any |= x->conv;
        if (x->conv && x->linear)
            return error_new("layers.%lld: conv and linear are each in the place of attention",
                             (long long)i);
        if (x->conv && (x->window || x->rope || x->no_rope))
            return error_new("layers.%lld: a conv block has no window, rope or no_rope",
                             (long long)i);
    }
    if (any && !s->short_conv)
        return error_new("layers: a conv block needs the settings `short_conv`");
    if (!any && s->short_conv) return error_new("short_conv: no block of `layers` is conv");
    return NULL;
}

static Error *check_norms(const DecoderSettings *s)
{
    const bool of_linear = (s->linear_attention && s->linear_attention->norm_in_front) ||
                           (s->state_space && s->state_space->norm_in_front);
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        if (x->no_mixer_norm && (x->no_mixer || !(s->norm_in_front || (x->linear && of_linear))))
            return error_new("layers.%lld: no_mixer_norm: the blocks have none anyway",
                             (long long)i);
    }
    return NULL;
}

Error *decoder_layers_check(const DecoderSettings *s)
{
    TRY(check_norms(s));
    TRY(check_attention(s));
    TRY(check_shared_kv(s));
    TRY(check_shared_index(s));
    return check_conv(s);
}
