/* decoder_attention_settings.c - latent and sparse attention, linear attention and state spaces of
 * both kinds as settings say them. */
#include "models/decoder_attention_settings.h"

/* Beyond any model: products of two fit in 64 bits. */
#define MOST 2147483647
/* clang-format off */
const Field latent_settings[] = {
    FIELD_INT(LatentSettings, key_rank, NULL, 1, MOST, "width of the vector that keys and values are products of"),
    FIELD_INT(LatentSettings, query_rank, "0", 0, MOST, "likewise of queries; 0: they are products of the token itself"),
    FIELD_INT(LatentSettings, rope_width, NULL, 2, MOST, "features of a head that turn, the same in all keys of a token; an even number below head_width"),
    FIELD_INT(LatentSettings, value_width, NULL, 1, MOST, "width of a value; head_width is that of queries and keys"),
    FIELD_FLOAT(LatentSettings, key_scale, "1.0", 0, INFINITY, "multiplies the vector of keys and values behind its norm", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(LatentSettings, query_scale, "1.0", 0, INFINITY, "likewise, that of queries", .flags = FIELD_OPEN_MIN),
    FIELD_BOOL(LatentSettings, query_joined, "false", "queries, and gates of attention_gate, are products of both, the vector of queries behind its norm and as it is, side by side"),
    FIELD_FLOAT(LatentSettings, eps, "1e-6", 0, 1, "of the norms of these vectors, which are those of the model else", .flags = FIELD_OPEN_MIN),
    { 0 },
};
const Field joint_settings[] = {
    FIELD_INT(JointSettings, query_rank, "0", 0, MOST, "width of the vector that queries are products of; 0: they are products of the token itself"),
    FIELD_INT(JointSettings, output_groups, "0", 0, MOST, "the last product reads products of so many groups of neighbouring heads; divides n_head_q; 0: it reads all heads"),
    FIELD_INT(JointSettings, output_rank, "0", 0, MOST, "width of each of these products"),
    { 0 },
};
const Field sparse_settings[] = {
    FIELD_INT(SparseSettings, heads, NULL, 1, MOST, "heads of the indexer"),
    FIELD_INT(SparseSettings, width, NULL, 2, MOST, "width of each; rope_width of latent, or width of rope, says how many of its features turn"),
    FIELD_INT(SparseSettings, top_k, NULL, 1, MOST, "tokens that a token sees, at most, itself included; of joint_attention: windows"),
    FIELD_FLOAT(SparseSettings, eps, "null", 0, 1, "of the layer norm of the indexer's keys; null: 1e-6, and of windows, which have a norm of the model's, that of this", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(SparseSettings, index_loss, "1.0", 0, INFINITY, "weight of the loss that trains indexers: how far their scores are from what attention makes of the tokens that they select; 0: they stay as they are"),
    { 0 },
};
enum { DECAY_HEAD, DECAY_FEATURE, DECAY_FIXED };
static const char *const linear_decays[] = { "head", "feature", "fixed", NULL };
static const char *const linear_norms[] = { "head", "width", NULL };
static const char *const linear_gates[] = { "silu", "sigmoid", NULL };
const Field linear_settings[] = {
    FIELD_INT(LinearSettings, key_heads, NULL, 1, MOST, "heads of queries and keys"),
    FIELD_INT(LinearSettings, value_heads, NULL, 1, MOST, "heads of values, a multiple: neighbours share a head of queries and keys"),
    FIELD_INT(LinearSettings, key_width, NULL, 1, MOST, "width of a query and a key"),
    FIELD_INT(LinearSettings, value_width, NULL, 1, MOST, "width of a value"),
    FIELD_INT(LinearSettings, conv_width, "4", 0, 1024, "tokens that the convolutions of queries, keys and values see; 0: there are none"),
    FIELD_CHOICE(LinearSettings, decay, "head", linear_decays, "what fades by itself: the matrix of a head, or each of its rows, one for each feature of keys; fixed: the matrix, alike with each token, which adds to it and corrects nothing"),
    FIELD_INT(LinearSettings, decay_rank, "0", 0, MOST, "width of the vector that decays are products of; 0: they are products of the token itself"),
    FIELD_FLOAT(LinearSettings, decay_bound, "0.0", 0, INFINITY, "logarithms of what is left with a token are above minus that, as sigmoids; 0: there is no bound"),
    FIELD_CHOICE(LinearSettings, gate, "silu", linear_gates, "what multiplies what heads give, of a product of the token"),
    FIELD_INT(LinearSettings, gate_rank, "0", 0, MOST, "width of the vector that gates are products of; 0: they are products of the token itself"),
    FIELD_BOOL(LinearSettings, negative, "false", "a token may correct by up to twice what is wrong, so that matrices may have negative eigenvalues"),
    FIELD_BOOL(LinearSettings, norm_in_front, "false", "linear blocks have norms in front of their layers alone, whatever others have"),
    FIELD_CHOICE(LinearSettings, norm, "head", linear_norms, "of what each head gives, or of what all give together"),
    FIELD_FLOAT(LinearSettings, eps, "1e-6", 0, 1, "of that norm, which has a weight that is stored as it is", .flags = FIELD_OPEN_MIN),
    { 0 },
};
const Field state_space_settings[] = {
    FIELD_INT(StateSpaceSettings, heads, NULL, 1, MOST, "heads, each with a matrix"),
    FIELD_INT(StateSpaceSettings, head_width, NULL, 1, MOST, "width of what a head reads and gives"),
    FIELD_INT(StateSpaceSettings, state_width, NULL, 1, MOST, "width of B and C: numbers that are kept of each feature of a head"),
    FIELD_INT(StateSpaceSettings, n_groups, "1", 1, MOST, "groups of neighbouring heads, which share B and C, and a norm; divides heads"),
    FIELD_INT(StateSpaceSettings, conv_width, "4", 2, 1024, "tokens that the convolutions see"),
    FIELD_BOOL(StateSpaceSettings, conv_bias, "true", "biases of the convolutions"),
    FIELD_BOOL(StateSpaceSettings, bias, "false", "biases of products"),
    FIELD_BOOL(StateSpaceSettings, skip, "true", "a head gives its input, too, times a learned number (D)"),
    FIELD_BOOL(StateSpaceSettings, norm, "true", "a norm of what a group gives"),
    FIELD_BOOL(StateSpaceSettings, norm_first, "false", "it comes in front of the gate, else behind"),
    FIELD_BOOL(StateSpaceSettings, norm_in_front, "false", "linear blocks have norms in front of their layers alone, whatever others have"),
    FIELD_FLOAT(StateSpaceSettings, least_step, "0.0", 0, INFINITY, "smaller steps are that"),
    FIELD_FLOAT(StateSpaceSettings, most_step, "0.0", 0, INFINITY, "larger steps are that; 0: none are"),
    FIELD_FLOAT(StateSpaceSettings, eps, "1e-5", 0, 1, "of the norm of what a group gives", .flags = FIELD_OPEN_MIN),
    { 0 },
};
static const char *const selective_norms[] = { "none", "plain", "weight", NULL };
const Field selective_settings[] = {
    FIELD_INT(SelectiveSettings, width, NULL, 1, MOST, "features, each with a state of its own"),
    FIELD_INT(SelectiveSettings, state_width, "16", 1, MOST, "numbers that are kept of each feature"),
    FIELD_INT(SelectiveSettings, step_rank, "0", 0, MOST, "width of the vector that steps are products of; 0: n_embd / 16, rounded up"),
    FIELD_INT(SelectiveSettings, conv_width, "4", 2, 1024, "tokens that the convolution sees"),
    FIELD_BOOL(SelectiveSettings, conv_bias, "true", "bias of the convolution"),
    FIELD_BOOL(SelectiveSettings, bias, "false", "biases of the products at both ends"),
    FIELD_CHOICE(SelectiveSettings, norms, "none", selective_norms, "root mean square norms of that vector, of B and of C, without weights or with them"),
    FIELD_FLOAT(SelectiveSettings, eps, "1e-6", 0, 1, "of these norms", .flags = FIELD_OPEN_MIN),
    { 0 },
};
const Field recurrent_settings[] = {
    FIELD_INT(RecurrentSettings, width, NULL, 1, MOST, "features, each of which keeps a number"),
    FIELD_INT(RecurrentSettings, n_groups, "1", 1, MOST, "groups of neighbouring features, whose gates read the features of the group alone; divides width"),
    FIELD_INT(RecurrentSettings, conv_width, "4", 2, 1024, "tokens that the convolution sees"),
    FIELD_BOOL(RecurrentSettings, conv_bias, "true", "bias of the convolution"),
    FIELD_BOOL(RecurrentSettings, bias, "true", "biases of the products at both ends"),
    { 0 },
};
/* clang-format on */

Error *latent_settings_check(const LatentSettings *s, int64_t head_width)
{
    if (s->query_scale != 1 && !s->query_rank)
        return error_new("latent: query_scale: queries have no vector, as query_rank is 0");
    if (s->query_joined && !s->query_rank)
        return error_new("latent: query_joined: queries have no vector, as query_rank is 0");
    if (s->rope_width % 2 == 0 && s->rope_width < head_width && head_width % 2 == 0) return NULL;
    return error_new("latent: rope_width %lld and head_width %lld must be even numbers, head_width "
                     "the larger one",
                     (long long)s->rope_width, (long long)head_width);
}

Error *linear_settings_check(const LinearSettings *s)
{
    const bool is_fixed = s->decay == DECAY_FIXED;
    if (s->value_heads % s->key_heads)
        return error_new("linear_attention: key_heads %lld does not divide value_heads %lld",
                         (long long)s->key_heads, (long long)s->value_heads);
    if (s->conv_width == 1)
        return error_new("linear_attention: conv_width 1: a convolution sees at least 2 tokens; 0: "
                         "there is none");
    if (is_fixed && s->decay_rank)
        return error_new("linear_attention: decay_rank: with decay: fixed there is no product that "
                         "decays come from");
    if (is_fixed && s->decay_bound > 0)
        return error_new("linear_attention: decay_bound: with decay: fixed they do not depend on "
                         "the token");
    if (is_fixed && s->negative)
        return error_new("linear_attention: negative: with decay: fixed nothing is corrected");
    return NULL;
}

Error *state_space_settings_check(const StateSpaceSettings *s)
{
    if (s->norm_first && !s->norm) return error_new("state_space: norm_first needs norm");
    if (s->heads % s->n_groups)
        return error_new("state_space: n_groups %lld does not divide heads %lld",
                         (long long)s->n_groups, (long long)s->heads);
    if (s->most_step > 0 && s->most_step < s->least_step)
        return error_new("state_space: most_step %g is below least_step %g", s->most_step,
                         s->least_step);
    return NULL;
}

Error *recurrent_settings_check(const RecurrentSettings *s)
{
    if (s->width % s->n_groups == 0) return NULL;
    return error_new("gated_recurrence: n_groups %lld does not divide width %lld",
                     (long long)s->n_groups, (long long)s->width);
}

static const Norm *latent_norm(Arena *a, const Norm *norm, int64_t width, double eps)
{
    if (!width) return NULL;
    Norm *n = arena_copy(a, norm, sizeof *norm);
    n->width = width;
    n->eps = eps;
    return n;
}

const Latent *latent_settings_make(Arena *a, const LatentSettings *s, const Norm *norm)
{
    const Latent made = { .key_rank = s->key_rank,
                          .query_rank = s->query_rank,
                          .turning = s->rope_width,
                          .value_width = s->value_width,
                          .key_scale = s->key_scale,
                          .query_scale = s->query_scale,
                          .query_joined = s->query_joined,
                          .key_norm = latent_norm(a, norm, s->key_rank, s->eps),
                          .query_norm = latent_norm(a, norm, s->query_rank, s->eps) };
    return arena_copy(a, &made, sizeof made);
}

const Joint *joint_settings_make(Arena *a, const JointSettings *s, const Norm *norm,
                                 int64_t head_width)
{
    Norm plain = *latent_norm(a, norm, head_width, norm->eps);
    plain.has_weight = plain.has_bias = plain.from_one = false;
    const Joint made = { .query_rank = s->query_rank,
                         .output_groups = s->output_groups,
                         .output_rank = s->output_rank,
                         .query_norm = latent_norm(a, norm, s->query_rank, norm->eps),
                         .key_norm = latent_norm(a, norm, head_width, norm->eps),
                         .head_norm = arena_copy(a, &plain, sizeof plain) };
    return arena_copy(a, &made, sizeof made);
}

const SparseAttention *sparse_settings_make(Arena *a, const SparseSettings *s, const Norm *given)
{
    const Norm of_tokens = { .type = NORM_LAYER,
                             .width = s->width,
                             .eps = s->eps ? *s->eps : 1e-6,
                             .has_weight = true,
                             .has_bias = true };
    Norm norm = given ? *given : of_tokens;
    norm.width = s->width;
    const SparseAttention made = { s->heads, s->width, s->top_k, arena_copy(a, &norm, sizeof norm),
                                   s->index_loss };
    return arena_copy(a, &made, sizeof made);
}

const LinearAttention *linear_settings_make(Arena *a, const LinearSettings *s,
                                            const Norm *front_norm)
{
    const Norm norm = { .type = NORM_RMS,
                        .width = s->norm ? s->value_heads * s->value_width : s->value_width,
                        .eps = s->eps,
                        .has_weight = true };
    const LinearAttention made = { .key_heads = s->key_heads,
                                   .value_heads = s->value_heads,
                                   .key_width = s->key_width,
                                   .value_width = s->value_width,
                                   .conv_width = s->conv_width,
                                   .most_rate = s->negative ? 2 : 1,
                                   .row_decays = s->decay == DECAY_FEATURE,
                                   .fixed_decays = s->decay == DECAY_FIXED,
                                   .decay_bound = s->decay_bound,
                                   .decay_rank = s->decay_rank,
                                   .gate_rank = s->gate_rank,
                                   .sigmoid_gates = s->gate > 0,
                                   .norm = arena_copy(a, &norm, sizeof norm),
                                   .norm_of_all = s->norm > 0,
                                   .front_norm = s->norm_in_front ? front_norm : NULL };
    return arena_copy(a, &made, sizeof made);
}

const LinearAttention *state_space_settings_make(Arena *a, const StateSpaceSettings *s,
                                                 const Norm *front_norm)
{
    const Norm norm = { .type = NORM_RMS,
                        .width = s->heads / s->n_groups * s->head_width,
                        .eps = s->eps,
                        .has_weight = true };
    const LinearAttention made = { .key_heads = s->n_groups,
                                   .value_heads = s->heads,
                                   .key_width = s->state_width,
                                   .value_width = s->head_width,
                                   .conv_width = s->conv_width,
                                   .norm = s->norm ? arena_copy(a, &norm, sizeof norm) : NULL,
                                   .norm_first = s->norm_first,
                                   .is_state_space = true,
                                   .conv_bias = s->conv_bias,
                                   .bias = s->bias,
                                   .has_skip = s->skip,
                                   .least_step = s->least_step,
                                   .most_step = s->most_step,
                                   .front_norm = s->norm_in_front ? front_norm : NULL };
    return arena_copy(a, &made, sizeof made);
}

const Selective *selective_settings_make(Arena *a, const SelectiveSettings *s, int64_t width)
{
    enum { NONE, PLAIN };
    const Norm norm = { .type = NORM_RMS, .eps = s->eps, .has_weight = s->norms > PLAIN };
    const Selective made = { .width = s->width,
                             .state_width = s->state_width,
                             .step_rank = s->step_rank ? s->step_rank : (width + 15) / 16,
                             .conv_width = s->conv_width,
                             .conv_bias = s->conv_bias,
                             .bias = s->bias,
                             .norm = s->norms > NONE ? arena_copy(a, &norm, sizeof norm) : NULL };
    return arena_copy(a, &made, sizeof made);
}

const Recurrent *recurrent_settings_make(Arena *a, const RecurrentSettings *s)
{
    const Recurrent made = { s->width, s->n_groups, s->conv_width, s->conv_bias, s->bias };
    return arena_copy(a, &made, sizeof made);
}
