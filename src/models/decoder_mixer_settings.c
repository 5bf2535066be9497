/* decoder_mixer_settings.c - settings of model.decoder that cannot be, of what mixes tokens: kinds
 * of attention beside the usual one, and linear layers. */
#include "models/decoder_settings.h"

static bool any_rope_width(const DecoderSettings *s)
{
    bool any = s->rope && s->rope->width;
    for (int64_t i = 0; i < s->layers.n; i++)
        any |= s->layers.item[i].rope && s->layers.item[i].rope->width;
    return any;
}

static Error *check_latent(const DecoderSettings *s)
{
    const LatentSettings *l = s->latent;
    if (!l) return NULL;
    TRY(latent_settings_check(l, decoder_head_width(s)));
    if (s->n_head_kv != s->n_head_q)
        return error_new("latent: each query head has a key head, so n_head_kv %lld must be "
                         "n_head_q %lld",
                         (long long)s->n_head_kv, (long long)s->n_head_q);
    if (s->qk_norm != QK_NONE)
        return error_new("latent: it has norms of its own; qk_norm must be none");
    if (s->value_width)
        return error_new("latent: it has a value_width of its own; that of the model must be null");
    if (s->value_norm) return error_new("latent: values have no norm; value_norm must be false");
    if (s->qkv_clip > 0)
        return error_new("latent: keys and values have no bound; qkv_clip must be 0");
    if (any_rope_width(s))
        return error_new("latent: its rope_width says what turns; width of rope must be 0");
    return NULL;
}

/* What joint attention does without. */
static Error *check_joint(const DecoderSettings *s)
{
    const JointSettings *j = s->joint_attention;
    if (!j) return NULL;
    const struct {
        const char *key;
        bool given;
    } other[] = { { "latent", s->latent },
                  { "differential", s->differential },
                  { "qk_norm", s->qk_norm != QK_NONE },
                  { "value_norm", s->value_norm },
                  { "value_width", s->value_width },
                  { "qkv_bias", s->qkv_bias },
                  { "qkv_clip", s->qkv_clip > 0 },
                  { "attention_cap", s->attention_cap > 0 },
                  { "alibi", s->alibi > 0 } };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].given)
            return error_new("joint_attention: it has one key and value of its own, with norms and "
                             "plain scores; %s must be left out",
                             other[i].key);
    if (s->n_head_kv != 1)
        return error_new("joint_attention: all heads share one key; n_head_kv %lld must be 1",
                         (long long)s->n_head_kv);
    if (!j->output_groups != !j->output_rank)
        return error_new(
            "joint_attention: output_groups %lld and output_rank %lld need each other; "
            "both are at least 1, or both 0",
            (long long)j->output_groups, (long long)j->output_rank);
    if (j->output_groups && s->n_head_q % j->output_groups)
        return error_new("joint_attention: output_groups %lld does not divide n_head_q %lld",
                         (long long)j->output_groups, (long long)s->n_head_q);
    return NULL;
}

/* Features of a head that turn in blocks of a kind. */
static int64_t turning_of(const DecoderSettings *s, const LayerSettings *x)
{
    const RopeScaling *r = x->no_rope ? NULL : x->rope ? x->rope : s->rope;
    return !r ? 0 : r->width ? r->width : decoder_head_width(s);
}

/* Blocks that see windows of tokens. */
static Error *check_windows(const DecoderSettings *s)
{
    bool selects = false;
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        const SparseSettings *index = s->sparse_attention;
        const RopeScaling *r = x->no_rope ? NULL : x->rope ? x->rope : s->rope;
        const bool is_joint = s->joint_attention && decoder_layer_attends(x);
        const char *wrong =
            !is_joint && x->compress ? "compress is of blocks with joint_attention"
            : is_joint && r && r->growth != 0
                ? "joint_attention turns values, too, so that rope must be without growth"
            : !x->compress && (x->overlaps || x->selects) ? "overlaps and selects need compress"
            : x->compress && x->chunks
                ? "compress and chunks exclude each other: a token sees windows of all parts of "
                  "the text before it, but with chunks nothing of another part"
            : x->compress == 1 ? "compress 1: a window has at least 2 tokens; 0: there are none"
            : x->compress && s->document_key
                ? "compress: windows do not end where documents do; document_key must be null"
            : x->selects && !index ? "selects needs sparse_attention, whose indexer does"
            : x->selects && r && r->proportional && index->width != decoder_head_width(s)
                ? "selects: heads of the indexer turn as those of attention, which are not as "
                  "wide, so that rope must not be proportional"
                : NULL;
        if (wrong) return error_new("layers.%lld: %s", (long long)i, wrong);
        if (x->selects && (index->width % 2 || index->width < turning_of(s, x)))
            return error_new("layers.%lld: selects: width %lld of sparse_attention must be an even "
                             "number, and at least %lld, the features of a head that turn",
                             (long long)i, (long long)index->width, (long long)turning_of(s, x));
        selects |= x->selects;
    }
    if (s->joint_attention && s->sparse_attention && !selects)
        return error_new("sparse_attention: with joint_attention it is of blocks with selects, and "
                         "there is none");
    return NULL;
}

static Error *check_sparse(const DecoderSettings *s)
{
    const SparseSettings *x = s->sparse_attention;
    if (!x) return NULL;
    if (s->joint_attention ? !s->joint_attention->query_rank : !s->latent || !s->latent->query_rank)
        return error_new("sparse_attention: its indexer reads the narrow vector of queries; it "
                         "needs latent or joint_attention with a query_rank");
    if (s->joint_attention && x->eps)
        return error_new("sparse_attention: eps: with joint_attention the indexer has norms of the "
                         "model; eps must be null");
    if (s->joint_attention) return NULL;
    if (x->width % 2 || x->width < s->latent->rope_width)
        return error_new("sparse_attention: width %lld must be an even number, rope_width %lld of "
                         "latent or above",
                         (long long)x->width, (long long)s->latent->rope_width);
    const struct {
        const char *key;
        bool given;
    } other[] = { { "attention_cap", s->attention_cap > 0 }, { "alibi", s->alibi > 0 } };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].given)
            return error_new("sparse_attention: attention to selected tokens has plain scores; %s "
                             "must be left out",
                             other[i].key);
    return NULL;
}

/* Heads of keys come in pairs. */
static Error *check_differential(const DecoderSettings *s)
{
    if (!s->differential) return NULL;
    if (s->latent)
        return error_new("differential: heads of keys come in pairs; those of latent attention are "
                         "as many as its queries have, and have features in common");
    if (s->n_head_kv % 2)
        return error_new("differential: heads of keys come in pairs; n_head_kv %lld must be even",
                         (long long)s->n_head_kv);
    for (int64_t i = 0; i < s->layers.n; i++) {
        const LayerSettings *x = &s->layers.item[i];
        if (x->n_head_kv && *x->n_head_kv % 2)
            return error_new("layers.%lld: differential: heads of keys come in pairs; n_head_kv "
                             "%lld must be even",
                             (long long)i, (long long)*x->n_head_kv);
    }
    return NULL;
}

/* `any`: a block is linear. */
static Error *check_linear_kind(const DecoderSettings *s, bool any)
{
    const struct {
        const char *key;
        bool given;
    } kind[] = { { "linear_attention", s->linear_attention },
                 { "state_space", s->state_space },
                 { "selective_scan", s->selective_scan },
                 { "gated_recurrence", s->gated_recurrence } };
    const char *first = NULL;
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        if (!kind[i].given) continue;
        if (!any) return error_new("%s: no block of `layers` is linear", kind[i].key);
        if (first)
            return error_new("%s: linear blocks are of one kind; %s must be null", kind[i].key,
                             first);
        first = kind[i].key;
    }
    if (!any || first) return NULL;
    return error_new("layers: a linear block needs the settings `linear_attention`, "
                     "`state_space`, `selective_scan` or `gated_recurrence`");
}

static Error *check_recurrence(const DecoderSettings *s)
{
    if (!s->gated_recurrence) return NULL;
    if (s->activation == ACTIVATE_XIELU)
        return error_new("gated_recurrence: what its features count by has no numbers that xielu "
                         "learns; activation must be another");
    return recurrent_settings_check(s->gated_recurrence);
}

static Error *check_linear(const DecoderSettings *s)
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
    TRY(check_linear_kind(s, any));
    TRY(check_recurrence(s));
    const bool in_front =
        (l && l->norm_in_front) || (s->state_space && s->state_space->norm_in_front);
    const bool may = s->residual == RESIDUAL_SERIAL || s->residual == RESIDUAL_NORMED;
    if (in_front && !may)
        return error_new("%s: norm_in_front needs residual: serial or normed",
                         l ? "linear_attention" : "state_space");
    if (s->state_space) return state_space_settings_check(s->state_space);
    return l ? linear_settings_check(l) : NULL;
}

Error *decoder_mixers_check(const DecoderSettings *s)
{
    TRY(check_latent(s));
    TRY(check_joint(s));
    TRY(check_windows(s));
    TRY(check_sparse(s));
    TRY(check_differential(s));
    return check_linear(s);
}
