/* decoder_component.c - model.decoder: a decoder-only transformer described option by option. */
#include "config/builder.h"
#include "models/decoder_attention_settings.h"
#include "ops/moe_route.h"
#include <string.h>

typedef struct NormSettings {
    int type; /* as in norm_types */
    double eps;
    bool weight, bias, from_one;
} NormSettings;

typedef struct LayerSettings {
    int64_t count, window;
    const RopeScaling *rope;
    bool no_rope, sparse, linear, side_by_side, conv, no_mixer, no_ffn;
} LayerSettings;

typedef struct LayerList {
    LayerSettings *item;
    int64_t n;
} LayerList;

typedef enum QkNorm { QK_NONE, QK_HEAD, QK_EACH_HEAD, QK_WIDTH } QkNorm;

typedef struct Settings {
    const char *sample_key, *prediction_key, *document_key;
    int64_t vocab_size, sequence_length, n_layer, n_embd, n_head_q, n_head_kv, ffn_hidden;
    const int64_t *head_width;
    int64_t seed;
    const double *embedding_dropout;
    double dropout, attention_dropout, embedding_scale, attention_scale, attention_cap, logit_cap,
        residual_scale, logit_divisor, qkv_clip;
    bool scale_by_layer, learned_positions, use_weight_tying, qkv_bias, out_bias, ffn_bias,
        head_bias, gated;
    int activation;
    NormSettings norm;
    bool norm_in_front, norm_behind;
    int residual, qk_norm, attention_gate;
    bool attention_sinks;
    bool qk_norm_before_rope;
    const RopeScaling *rope;
    LayerList layers;
    const LatentSettings *latent;
    const LinearSettings *linear_attention;
    const StateSpaceSettings *state_space;
    const ShortConv *short_conv;
    const Multipliers *multipliers;
    const Moe *mixture;
    const MultiToken *multi_token;
} Settings;

static const char *const norm_types[] = { "rms", "layer", NULL };
static const char *const qk_norms[] = { "none", "head", "each_head", "width", NULL };
static const char *const scores[] = { "softmax", "sigmoid", NULL };
static const char *const overflows[] = { "drop", "stop", NULL };

/* Beyond any model: products of two fit in 64 bits. */
#define MOST 2147483647
/* clang-format off */
static const Field norm_fields[] = {
    FIELD_CHOICE(NormSettings, type, "rms", norm_types, "root mean square, or mean and variance"),
    FIELD_FLOAT(NormSettings, eps, "1e-5", 0, 1, "added to the mean square or the variance", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(NormSettings, weight, "true", "has a learned weight"),
    FIELD_BOOL(NormSettings, bias, "false", "has a learned bias"),
    FIELD_BOOL(NormSettings, from_one, "false", "the weight is stored as its distance to 1"),
    { 0 },
};
static const Field rope_fields[] = {
    FIELD_FLOAT(RopeScaling, base, "10000.0", 1, INFINITY, "base of the frequencies"),
    FIELD_CHOICE(RopeScaling, kind, "none", rope_scaling_choices, "how frequencies are changed for longer texts"),
    FIELD_FLOAT(RopeScaling, factor, "1.0", 0, INFINITY, "times the length; not of none", .flags = FIELD_OPEN_MIN),
    FIELD_INT(RopeScaling, original, "0", 0, MOST, "length of text before; 0: sequence_length"),
    FIELD_FLOAT(RopeScaling, low_freq, "1.0", 0, INFINITY, "llama3: rotations within `original` below which all is scaled", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(RopeScaling, high_freq, "4.0", 0, INFINITY, "llama3: above which nothing is", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(RopeScaling, beta_fast, "32.0", 0, INFINITY, "yarn: rotations above which nothing is scaled", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(RopeScaling, beta_slow, "1.0", 0, INFINITY, "yarn: below which all is", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(RopeScaling, attention, "0.0", 0, INFINITY, "multiplies cosines and sines; 0: the own rule of yarn and longrope, else 1"),
    FIELD_BOOL(RopeScaling, truncate, "true", "yarn: bounds are whole features"),
    FIELD_FLOATS(RopeScaling, short_factors, "[]", 0, 0, "longrope: divide each frequency in texts of at most `original` tokens"),
    FIELD_FLOATS(RopeScaling, long_factors, "[]", 0, 0, "longrope: in longer texts"),
    FIELD_INT(RopeScaling, width, "0", 0, MOST, "features of a head that turn, an even number; 0: all"),
    { 0 },
};
static const Field layer_fields[] = {
    FIELD_INT(LayerSettings, count, "1", 1, MOST, "so many blocks in a row"),
    FIELD_INT(LayerSettings, window, "0", 0, MOST, "keys that a token sees, its own included; 0: all earlier ones"),
    FIELD_STRUCT(LayerSettings, rope, RopeScaling, rope_fields, "null", "of these blocks; null: the model's"),
    FIELD_BOOL(LayerSettings, no_rope, "false", "positions of these blocks do not turn"),
    FIELD_BOOL(LayerSettings, sparse, "false", "the mixture in the place of the feed-forward layer"),
    FIELD_BOOL(LayerSettings, linear, "false", "linear attention, or a state space, in the place of attention"),
    FIELD_BOOL(LayerSettings, side_by_side, "false", "attention and the layer of linear side by side behind one norm; what they give is added up"),
    FIELD_BOOL(LayerSettings, conv, "false", "a short convolution in the place of attention"),
    FIELD_BOOL(LayerSettings, no_mixer, "false", "neither attention nor what may be in its place: these blocks are a feed-forward layer, or the mixture, behind one norm"),
    FIELD_BOOL(LayerSettings, no_ffn, "false", "no feed-forward layer: these blocks are attention, or what is in its place, behind one norm"),
    { 0 },
};
#define FACTOR(m, text) FIELD_FLOAT(Multipliers, m, "1.0", 0, INFINITY, text, .flags = FIELD_OPEN_MIN)
static const Field multiplier_fields[] = {
    FACTOR(attention_in, "what attention reads"),
    FACTOR(attention_out, "what it gives"),
    FACTOR(linear_in, "what the layers of linear read"),
    FACTOR(linear_out, "what they give"),
    FACTOR(gates, "of a state space, its gates"),
    FACTOR(values, "its inputs"),
    FACTOR(keys, "its B"),
    FACTOR(queries, "its C"),
    FACTOR(steps, "what its steps come from"),
    FACTOR(ffn_gate, "what the activation of gated feed-forward layers reads"),
    FACTOR(ffn_out, "what feed-forward layers give"),
    { 0 },
};
#undef FACTOR
static const Field short_conv_fields[] = {
    FIELD_INT(ShortConv, width, "3", 2, 1024, "tokens that a convolution sees"),
    FIELD_BOOL(ShortConv, bias, "false", "biases of products and of convolutions"),
    { 0 },
};
static const Field multi_token_fields[] = {
    FIELD_INT(MultiToken, depth, "1", 1, MAX_AHEAD, "so many tokens after the next one, with a block for each"),
    FIELD_FLOAT(MultiToken, weight, "0.3", 0, INFINITY, "of the mean of their losses in what is lowered", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(MultiToken, behind_norm, "false", "blocks read the stream behind the norm in front of the head, as the weights of DeepSeek V3 want it; exports have the blocks then"),
    { 0 },
};
static const Field mixture_fields[] = {
    FIELD_INT(Moe, n_experts, NULL, 1, 65536, "number of experts"),
    FIELD_INT(Moe, top_k, NULL, 1, 65536, "experts of a token"),
    FIELD_INT(Moe, hidden, NULL, 1, MOST, "width of an expert"),
    FIELD_CHOICE(Moe, score, "softmax", scores, "of the router's logits"),
    FIELD_BOOL(Moe, normalize, "true", "the weights of a token's experts add up to 1"),
    FIELD_FLOAT(Moe, sum_eps, "0.0", 0, 1, "added to the sum that they are divided by then"),
    FIELD_FLOAT(Moe, factor, "1.0", 0, INFINITY, "multiplies the weights", .flags = FIELD_OPEN_MIN),
    FIELD_INT(Moe, n_groups, "0", 0, MOST_EXPERT_GROUPS, "groups of neighbouring experts, of which a token's experts are in the best ones; 0: none"),
    FIELD_INT(Moe, top_groups, "0", 0, MOST_EXPERT_GROUPS, "so many of them: those with the largest score, with sigmoids with the largest sum of two"),
    FIELD_FLOAT(Moe, capacity, "0.0", 0, INFINITY, "an expert takes so many times its fair share of a microbatch; 0: all that come"),
    FIELD_CHOICE(Moe, overflow, "drop", overflows, "what is done with more: dropped and counted, or the training stops"),
    FIELD_BOOL(Moe, bias, "false", "biases of the router and of the experts"),
    FIELD_INT(Moe, shared_hidden, "0", 0, MOST, "width of an expert that every token goes through; 0: none"),
    FIELD_BOOL(Moe, shared_gate, "false", "what that one gives counts by the sigmoid of a product of the token"),
    FIELD_FLOAT(Moe, aux_loss, "0.0", 0, INFINITY, "weight of the penalty for uneven load"),
    FIELD_FLOAT(Moe, balance_rate, "0.0", 0, INFINITY, "routers have biases, for the choice alone, that change by so much with each step: up for experts that were chosen too seldom; 0: they have none"),
    FIELD_FLOAT(Moe, z_loss, "0.0", 0, INFINITY, "weight of the penalty for large router logits"),
    { 0 },
};
#define COUNT(m, text) FIELD_INT(Settings, m, NULL, 1, MOST, text, .flags = FIELD_STRICT)
static const Field fields[] = {
    FIELD_STRING(Settings, sample_key, NULL, "name of the token ids in a batch"),
    FIELD_STRING(Settings, prediction_key, NULL, "name of the logits"),
    FIELD_STRING(Settings, document_key, "null", "name of the documents in a batch: tokens attend within their own; null: to all earlier tokens"),
    COUNT(vocab_size, "number of token ids"),
    COUNT(sequence_length, "longest sequence"),
    FIELD_INT(Settings, n_layer, NULL, 1, 1000, "number of blocks", .flags = FIELD_STRICT),
    COUNT(n_embd, "width of the residual stream"),
    FIELD_INT(Settings, n_head_q, "0", 0, MOST, "number of query heads; 0: no block has attention", .flags = FIELD_STRICT),
    FIELD_INT(Settings, n_head_kv, "0", 0, MOST, "number of key and value heads; divides n_head_q", .flags = FIELD_STRICT),
    FIELD_INT(Settings, ffn_hidden, "0", 0, MOST, "width of the feed-forward layer; 0: no block has one, but for mixtures", .flags = FIELD_STRICT),
    FIELD_INT(Settings, head_width, "null", 1, MOST, "width of a head; null: n_embd / n_head_q"),
    FIELD_INT(Settings, seed, "0", 0, 0, "of the initial weights"),
    FIELD_FLOAT(Settings, dropout, "0.0", 0, 1, "after attention and feed-forward layers", .flags = FIELD_OPEN_MAX),
    FIELD_FLOAT(Settings, embedding_dropout, "null", 0, 1, "after embeddings; null: as dropout", .flags = FIELD_OPEN_MAX),
    FIELD_FLOAT(Settings, attention_dropout, "0.0", 0, 1, "of attention's probabilities", .flags = FIELD_OPEN_MAX),
    FIELD_FLOAT(Settings, embedding_scale, "0.0", 0, INFINITY, "multiplies embeddings; 0: nothing does"),
    FIELD_FLOAT(Settings, attention_scale, "0.0", 0, INFINITY, "multiplies scores; 0: 1 / sqrt(head_width)"),
    FIELD_BOOL(Settings, scale_by_layer, "false", "scores are divided by the number of the block, too"),
    FIELD_FLOAT(Settings, attention_cap, "0.0", 0, INFINITY, "scores are bent to stay within it; 0: they are not"),
    FIELD_FLOAT(Settings, logit_cap, "0.0", 0, INFINITY, "logits likewise"),
    FIELD_FLOAT(Settings, residual_scale, "0.0", 0, INFINITY, "multiplies what attention and feed-forward layers add to the stream; 0: nothing does"),
    FIELD_FLOAT(Settings, logit_divisor, "0.0", 0, INFINITY, "logits are divided by it; 0: they are not"),
    FIELD_BOOL(Settings, learned_positions, "false", "a learned vector for each position"),
    FIELD_BOOL(Settings, use_weight_tying, "false", "the head uses the embedding's weight"),
    FIELD_BOOL(Settings, qkv_bias, "false", "biases of queries, keys and values"),
    FIELD_BOOL(Settings, out_bias, "false", "bias after attention"),
    FIELD_BOOL(Settings, ffn_bias, "false", "biases of feed-forward layers"),
    FIELD_BOOL(Settings, head_bias, "false", "bias of the head: one number for each token id"),
    FIELD_BOOL(Settings, gated, "true", "the activation of one product multiplies another, in experts too"),
    FIELD_CHOICE(Settings, activation, "silu", activation_choices, "of feed-forward layers and experts"),
    FIELD_STRUCT(Settings, norm, NormSettings, norm_fields, "{}", "all norms of the model"),
    FIELD_BOOL(Settings, norm_in_front, "true", "norms in front of attention and feed-forward layers"),
    FIELD_BOOL(Settings, norm_behind, "false", "norms of what they give, before it is added"),
    FIELD_CHOICE(Settings, residual, "serial", residual_choices, "feed-forward layers read the stream behind attention; or where attention does, behind norms of their own, or behind its norm"),
    FIELD_FLOAT(Settings, qkv_clip, "0.0", 0, INFINITY, "queries, keys and values are kept from -x to x, behind a norm of all heads together; 0: they are not"),
    FIELD_CHOICE(Settings, qk_norm, "none", qk_norms, "norm of queries and keys: of each head, by weights that all heads share or with its own, or of all together"),
    FIELD_CHOICE(Settings, attention_gate, "none", attention_gates, "what heads give counts by sigmoids of products of the token: one of each head, or of each of its features"),
    FIELD_BOOL(Settings, attention_sinks, "false", "each head has a learned logit in its softmax beside those of the keys, so that it may look at nothing"),
    FIELD_BOOL(Settings, qk_norm_before_rope, "true", "a norm of each head comes before positions turn it, else after"),
    FIELD_STRUCT(Settings, rope, RopeScaling, rope_fields, "null", "rotary positions; null: none"),
    FIELD_STRUCTS(Settings, layers, LayerList, layer_fields, "[{}]", 1, 1000, "kinds of blocks in order, again from the first after the last"),
    FIELD_STRUCT(Settings, latent, LatentSettings, latent_settings, "null", "Multi-Head Latent Attention: keys and values of all heads come from a narrow vector of the token; null: from the token itself"),
    FIELD_STRUCT(Settings, linear_attention, LinearSettings, linear_settings, "null", "Gated DeltaNet, of linear blocks: heads keep a matrix of what they have read, whatever the length of the text; null: no block is"),
    FIELD_STRUCT(Settings, state_space, StateSpaceSettings, state_space_settings, "null", "Mamba-2, of linear blocks, in the place of linear_attention; null: no block is"),
    FIELD_STRUCT(Settings, short_conv, ShortConv, short_conv_fields, "null", "gated short convolutions, of conv blocks; null: no block is"),
    FIELD_STRUCT(Settings, multipliers, Multipliers, multiplier_fields, "null", "numbers that parts of blocks are multiplied by; null: all are 1"),
    FIELD_STRUCT(Settings, mixture, Moe, mixture_fields, "null", "experts of sparse blocks; null: no block is"),
    FIELD_STRUCT(Settings, multi_token, MultiToken, multi_token_fields, "null", "Multi-Token Prediction: further blocks, of the last kind, predict the tokens after the next one while the model is trained; null: none do"),
    { 0 },
};
#undef COUNT
/* clang-format on */

static bool attends(const LayerSettings *x)
{
    return !x->linear && !x->conv && !x->no_mixer;
}

static int64_t head_width(const Settings *s)
{
    return s->head_width ? *s->head_width : s->n_head_q ? s->n_embd / s->n_head_q : 0;
}

/* A number for each pair that turns. */
static Error *check_factors(const Settings *s, const char *key, const RopeScaling *r)
{
    const int64_t turning = s->latent  ? s->latent->rope_width
                            : r->width ? r->width
                                       : head_width(s),
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

static Error *check_rope(const Settings *s, const char *key, const RopeScaling *r)
{
    if (!r) return NULL;
    if (head_width(s) % 2)
        return error_new("%s: rotary positions need an even head width, not %lld", key,
                         (long long)head_width(s));
    if (r->width % 2 || r->width > head_width(s))
        return error_new("%s: width %lld is odd, or above the head width %lld", key,
                         (long long)r->width, (long long)head_width(s));
    if (r->kind == ROPE_PLAIN && (r->factor != 1 || r->attention != 0))
        return error_new("%s: kind none takes base and width alone, not factor or attention", key);
    if (r->kind == ROPE_LLAMA3 && r->high_freq <= r->low_freq)
        return error_new("%s: high_freq %g must be above low_freq %g", key, r->high_freq,
                         r->low_freq);
    return check_factors(s, key, r);
}

static Error *check_mixture(const Settings *s)
{
    bool any = false;
    for (int64_t i = 0; i < s->layers.n; i++) any |= s->layers.item[i].sparse;
    if (s->mixture && s->mixture->shared_gate && !s->mixture->shared_hidden)
        return error_new("mixture: shared_gate needs shared_hidden");
    if (any && !s->mixture) return error_new("layers: a sparse block needs the settings `mixture`");
    if (!s->mixture) return NULL;
    if (!any) return error_new("mixture: no block of `layers` is sparse");
    if (s->mixture->top_k > s->mixture->n_experts)
        return error_new("mixture: top_k %lld is above n_experts %lld",
                         (long long)s->mixture->top_k, (long long)s->mixture->n_experts);
    const char *why = moe_groups_wrong(s->mixture);
    return why ? error_new("mixture: %s", why) : NULL;
}

static bool any_rope_width(const Settings *s)
{
    bool any = s->rope && s->rope->width;
    for (int64_t i = 0; i < s->layers.n; i++)
        any |= s->layers.item[i].rope && s->layers.item[i].rope->width;
    return any;
}

static Error *check_latent(const Settings *s)
{
    const LatentSettings *l = s->latent;
    if (!l) return NULL;
    TRY(latent_settings_check(l, head_width(s)));
    if (s->n_head_kv != s->n_head_q)
        return error_new("latent: each query head has a key head, so n_head_kv %lld must be "
                         "n_head_q %lld",
                         (long long)s->n_head_kv, (long long)s->n_head_q);
    if (s->qk_norm != QK_NONE)
        return error_new("latent: it has norms of its own; qk_norm must be none");
    if (s->qkv_clip > 0)
        return error_new("latent: keys and values have no bound; qkv_clip must be 0");
    if (any_rope_width(s))
        return error_new("latent: its rope_width says what turns; width of rope must be 0");
    return NULL;
}

static Error *check_conv(const Settings *s)
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

static Error *check_multipliers(const Settings *s)
{
    const Multipliers *m = s->multipliers;
    bool linear = false, attention = false, gate = false;
    if (!m) return NULL;
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        linear |= x->linear || x->side_by_side;
        attention |= attends(x);
        gate |= s->gated && !x->sparse && !x->no_ffn;
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
                { "ffn_gate", m->ffn_gate, gate } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].value != 1 && !row[i].counts)
            return error_new("multipliers: %s: no block has what it multiplies", row[i].key);
    return NULL;
}

static Error *check_linear(const Settings *s)
{
    const LinearSettings *l = s->linear_attention;
    bool any = false;
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        any |= x->linear || x->side_by_side;
        if (x->side_by_side && (x->linear || x->conv || x->no_mixer))
            return error_new("layers.%lld: side_by_side has attention; linear, conv and no_mixer "
                             "have none",
                             (long long)i);
        if (x->side_by_side &&
            ((l && l->norm_in_front) || (s->state_space && s->state_space->norm_in_front)))
            return error_new(
                "layers.%lld: side_by_side has the norms of other blocks, not those of "
                "norm_in_front",
                (long long)i);
        if (x->linear && (x->window || x->rope))
            return error_new("layers.%lld: a linear block has neither window nor rope",
                             (long long)i);
    }
    if (any && !l && !s->state_space)
        return error_new("layers: a linear block needs the settings `linear_attention`, or "
                         "`state_space`");
    if (!any && (l || s->state_space))
        return error_new("%s: no block of `layers` is linear",
                         l ? "linear_attention" : "state_space");
    if (l && s->state_space)
        return error_new("state_space: linear blocks are of one kind; linear_attention must be "
                         "null");
    const bool in_front =
        (l && l->norm_in_front) || (s->state_space && s->state_space->norm_in_front);
    if (in_front && s->residual != RESIDUAL_SERIAL)
        return error_new("%s: norm_in_front needs residual: serial",
                         l ? "linear_attention" : "state_space");
    if (s->state_space) return state_space_settings_check(s->state_space);
    return l ? linear_settings_check(l) : NULL;
}

static Error *check_halves(const Settings *s)
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
                            : s->residual != RESIDUAL_SERIAL ? "needs residual: serial"
                                                             : NULL;
        if (wrong) return error_new("layers.%lld: %s %s", (long long)i, key, wrong);
    }
    return NULL;
}

static Error *check_heads(const Settings *s)
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
static Error *check_sizes(const Settings *s)
{
    bool any_attends = false, feeds = false, is_dense = false;
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        any_attends |= attends(x);
        feeds |= !x->no_ffn;
        is_dense |= !x->no_ffn && !x->sparse;
    }
    const struct {
        const char *key;
        bool given;
    } of_attention[] = { { "n_head_q", s->n_head_q },
                         { "n_head_kv", s->n_head_kv },
                         { "head_width", s->head_width },
                         { "rope", s->rope },
                         { "latent", s->latent } };
    for (size_t i = 0; i < sizeof of_attention / sizeof *of_attention && !any_attends; i++)
        if (of_attention[i].given)
            return error_new("%s: no block of `layers` has attention", of_attention[i].key);
    if (is_dense && !s->ffn_hidden)
        return error_new("ffn_hidden: a block with a feed-forward layer needs it");
    if (!feeds && s->ffn_hidden)
        return error_new("ffn_hidden: no block of `layers` has a feed-forward layer");
    return any_attends ? check_heads(s) : NULL;
}

static Error *check(const void *settings)
{
    const Settings *s = settings;
    TRY(check_halves(s));
    TRY(check_sizes(s));
    if (!s->norm_in_front && !s->norm_behind)
        return error_new(
            "norm_in_front and norm_behind are false; allowed is one of them, or both");
    if (s->residual == RESIDUAL_ONE_NORM && !s->norm_in_front)
        return error_new("residual: one_norm needs norm_in_front");
    TRY(check_rope(s, "rope", s->rope));
    for (int64_t i = 0; i < s->layers.n; i++) {
        char key[64];
        snprintf(key, sizeof key, "layers.%lld.rope", (long long)i);
        TRY(check_rope(s, key, s->layers.item[i].rope));
        if (s->layers.item[i].rope && s->layers.item[i].no_rope)
            return error_new("%s: the blocks have no_rope", key);
    }
    if (s->activation == ACTIVATE_CLAMPED_SWIGLU && !s->gated)
        return error_new("activation: clamped_swiglu is of gated layers; gated is false");
    if (s->activation == ACTIVATE_XIELU && (s->gated || s->mixture))
        return error_new(
            "activation: xielu is of layers without a gate; it needs gated: false, and "
            "no mixture");
    if (s->qk_norm == QK_EACH_HEAD && (s->norm.bias || s->norm.from_one || !s->norm.weight))
        return error_new("qk_norm: each_head has weights, and neither biases nor weights from 1; "
                         "norm asks for others");
    TRY(check_latent(s));
    TRY(check_conv(s));
    TRY(check_multipliers(s));
    TRY(check_linear(s));
    return check_mixture(s);
}

static const Norm *norm_of(Arena *a, const Settings *s, int64_t width, bool wanted)
{
    if (!wanted) return NULL;
    Norm *n = NEW(a, Norm);
    *n = (Norm){ .type = s->norm.type == 0 ? NORM_RMS : NORM_LAYER,
                 .width = width,
                 .eps = s->norm.eps,
                 .has_weight = s->norm.weight,
                 .has_bias = s->norm.bias,
                 .from_one = s->norm.from_one };
    return n;
}

static RopeScaling *rope_of(Arena *a, const Settings *s, const RopeScaling *given)
{
    if (!given) return NULL;
    RopeScaling *r = arena_copy(a, given, sizeof *given);
    if (r->width == head_width(s)) r->width = 0;
    if (s->latent) r->width = s->latent->rope_width;
    if (r->original == 0) r->original = s->sequence_length;
    if (r->attention == 0)
        r->attention = r->kind == ROPE_YARN   ? rope_yarn_attention(r->factor, 1)
                       : r->kind == ROPE_LONG ? rope_long_attention(r->factor, r->original)
                                              : 1;
    return r;
}

/* Blocks of one kind share their rotary table. */
static const DecoderLayer *layers_of(Arena *a, const Settings *s)
{
    const int64_t n = s->n_layer + (s->multi_token ? s->multi_token->depth : 0);
    DecoderLayer *layer = NEW_N(a, DecoderLayer, n);
    const RopeScaling *common = rope_of(a, s, s->rope);
    RopeScaling **own = NEW_N(a, RopeScaling *, s->layers.n);
    for (int64_t k = 0; k < s->layers.n; k++) own[k] = rope_of(a, s, s->layers.item[k].rope);
    for (int64_t i = 0, k = 0, of_kind = 0; i < s->n_layer; i++) {
        const LayerSettings *x = &s->layers.item[k];
        const RopeScaling *rope = own[k] ? own[k] : common;
        layer[i] = (DecoderLayer){ .mixer = x->linear         ? MIXER_LINEAR
                                            : x->side_by_side ? MIXER_BOTH
                                            : x->conv         ? MIXER_CONV
                                            : x->no_mixer     ? MIXER_NONE
                                                              : MIXER_ATTENTION,
                                   .window = x->window,
                                   .rope = rope,
                                   .n_rope = rope && !x->no_rope && attends(x),
                                   .is_sparse = x->sparse,
                                   .no_ffn = x->no_ffn };
        if (++of_kind < x->count) continue;
        of_kind = 0;
        k = (k + 1) % s->layers.n;
    }
    for (int64_t i = s->n_layer; i < n; i++) layer[i] = layer[i - 1];
    return layer;
}

static const LinearAttention *linear_of(Arena *a, const Settings *s)
{
    const Norm *front = norm_of(a, s, s->n_embd, true);
    if (s->state_space) return state_space_settings_make(a, s->state_space, front);
    return s->linear_attention ? linear_settings_make(a, s->linear_attention, front) : NULL;
}

static const Moe *mixture_of(Arena *a, const Settings *s)
{
    if (!s->mixture) return NULL;
    Moe *m = arena_copy(a, s->mixture, sizeof *s->mixture);
    m->activation = (Activation)s->activation;
    m->is_plain = !s->gated;
    return m;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    Decoder *d = NEW(a, Decoder);
    const int64_t width = head_width(s);
    const Norm *head_norm = norm_of(a, s, s->n_embd, true);
    *d = (Decoder){
        .name = "decoder",
        .block_class = "DecoderBlock",
        .sample_key = s->sample_key,
        .prediction_key = s->prediction_key,
        .document_key = s->document_key,
        .vocab_size = s->vocab_size,
        .sequence_length = s->sequence_length,
        .n_layer = s->n_layer,
        .width = s->n_embd,
        .n_head_q = s->n_head_q,
        .n_head_kv = s->n_head_kv,
        .head_width = width,
        .hidden = s->ffn_hidden,
        .seed = s->seed,
        .dropout = s->dropout,
        .embedding_dropout = s->embedding_dropout ? *s->embedding_dropout : s->dropout,
        .attention_dropout = s->attention_dropout,
        .embedding_scale = s->embedding_scale,
        .attention_scale = s->attention_scale,
        .scale_by_layer = s->scale_by_layer,
        .attention_cap = s->attention_cap,
        .logit_cap = s->logit_cap,
        .attention_gate = (AttentionGate)s->attention_gate,
        .attention_sinks = s->attention_sinks,
        .residual = (Residual)s->residual,
        .residual_scale = s->residual_scale,
        .logit_divisor = s->logit_divisor,
        .learned_positions = s->learned_positions,
        .is_tied = s->use_weight_tying,
        .qkv_bias = s->qkv_bias,
        .out_bias = s->out_bias,
        .ffn_bias = s->ffn_bias,
        .head_bias = s->head_bias,
        .activation = (Activation)s->activation,
        .is_gated = s->gated,
        .attention_norm = norm_of(a, s, s->n_embd, s->norm_in_front),
        .attention_post_norm = norm_of(a, s, s->n_embd, s->norm_behind),
        .ffn_norm = norm_of(a, s, s->n_embd, s->norm_in_front && s->residual != RESIDUAL_ONE_NORM),
        .ffn_post_norm = norm_of(a, s, s->n_embd, s->norm_behind),
        .head_norm = head_norm,
        .qkv_clip = s->qkv_clip,
        .qk_norm = norm_of(a, s, width, s->qk_norm == QK_HEAD || s->qk_norm == QK_EACH_HEAD),
        .qk_norm_by_head = s->qk_norm == QK_EACH_HEAD,
        .qk_norm_before_rope = s->qk_norm_before_rope,
        .qk_norm_width = norm_of(a, s, width * s->n_head_q, s->qk_norm == QK_WIDTH),
        .latent = s->latent ? latent_settings_make(a, s->latent, head_norm) : NULL,
        .short_conv = s->short_conv,
        .multipliers = s->multipliers,
        .linear = linear_of(a, s),
        .layer = layers_of(a, s),
        .moe = mixture_of(a, s),
        .multi_token = s->multi_token,
    };
    *out = decoder_new(a, d);
    return NULL;
}

const ComponentDef model_decoder = {
    .kind = "model",
    .variant = "decoder",
    .doc = "decoder-only transformer option by option, mixtures of experts included; the families "
           "of Hugging Face are such descriptions",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
