/* test_decoder_difference.c - each option in which two descriptions differ is found, and named. */
#include "models/decoder_difference.h"
#include "models/families.h"
#include "test.h"
#include <stddef.h>
#include <string.h>

typedef enum Kind { WHOLE, REAL, FLAG } Kind;

/* A member that is changed, and the part of a description that it is a member of. */
typedef struct Member {
    const char *name, *said; /* in the difference */
    size_t at;
    Kind kind;
} Member;

#define WHOLE_OF(S, m, said)                                                                       \
    {                                                                                              \
#m, said, offsetof(S, m), WHOLE                                                            \
    }
#define REAL_OF(S, m, said)                                                                        \
    {                                                                                              \
#m, said, offsetof(S, m), REAL                                                             \
    }
#define FLAG_OF(S, m, said)                                                                        \
    {                                                                                              \
#m, said, offsetof(S, m), FLAG                                                             \
    }
/* clang-format off */
static const Member of_decoder[] = {
    WHOLE_OF(Decoder, vocab_size, "vocab_size"), WHOLE_OF(Decoder, sequence_length, "longest sequence"), WHOLE_OF(Decoder, width, "width"),
    WHOLE_OF(Decoder, n_head_q, "query heads"), WHOLE_OF(Decoder, n_head_kv, "key and value heads"), WHOLE_OF(Decoder, head_width, "width of a head"),
    WHOLE_OF(Decoder, value_width, "width of a value"), WHOLE_OF(Decoder, hidden, "feed-forward width"), WHOLE_OF(Decoder, unused_positions, "unused positions"), WHOLE_OF(Decoder, embedding_width, "width of embeddings"),
    FLAG_OF(Decoder, learned_positions, "learned positions"), REAL_OF(Decoder, sinusoidal_base, "base of sines"), FLAG_OF(Decoder, block_scale, "scale of each block"),
    FLAG_OF(Decoder, attention_sinks, "attention sinks"), FLAG_OF(Decoder, qkv_bias, "bias of queries"), FLAG_OF(Decoder, out_bias, "bias after attention"),
    FLAG_OF(Decoder, ffn_bias, "bias of the feed-forward layer"), FLAG_OF(Decoder, head_bias, "bias of the head"),
    FLAG_OF(Decoder, is_gated, "gate of the feed-forward layer"), FLAG_OF(Decoder, is_tied, "tied head"),
    WHOLE_OF(Decoder, laurel_rank, "rank beside attention"), WHOLE_OF(Decoder, norm_gate_rank, "rank of gates behind norms"), FLAG_OF(Decoder, scale_by_layer, "scale of scores by the layer"),
    REAL_OF(Decoder, embedding_scale, "scale of the embedding"), REAL_OF(Decoder, attention_scale, "scale of scores"),
    REAL_OF(Decoder, residual_scale, "scale of what layers add"), REAL_OF(Decoder, logit_divisor, "divisor of logits"),
    REAL_OF(Decoder, attention_cap, "bound of scores"), REAL_OF(Decoder, alibi, "alibi"), REAL_OF(Decoder, alibi_scale, "scale of these slopes"), REAL_OF(Decoder, qkv_clip, "bound of queries"),
    REAL_OF(Decoder, logit_cap, "bound of logits"), REAL_OF(Decoder, gate_bound, "bound of gated layers"), { 0 },
},
of_layer[] = {
    WHOLE_OF(DecoderLayer, window, "layer 1: window"), WHOLE_OF(DecoderLayer, head_width, "width of a head"),
    WHOLE_OF(DecoderLayer, n_head_q, "query heads"), WHOLE_OF(DecoderLayer, n_head_kv, "key and value heads"), WHOLE_OF(DecoderLayer, hidden, "layer 1: feed-forward width"),
    FLAG_OF(DecoderLayer, keys_as_values, "layer 1: keys in the place of values"), FLAG_OF(DecoderLayer, shared_kv, "layer 1: keys and values of another block"),
    FLAG_OF(DecoderLayer, shared_index, "layer 1: indexer of another block"), WHOLE_OF(DecoderLayer, compress, "layer 1: tokens of a window"),
    FLAG_OF(DecoderLayer, overlaps, "layer 1: windows that overlap"), FLAG_OF(DecoderLayer, selects, "layer 1: windows that are selected"),
    REAL_OF(DecoderLayer, sparsity, "layer 1: sparsity"),
    FLAG_OF(DecoderLayer, chunks, "layer 1: chunks"), FLAG_OF(DecoderLayer, no_qk_norm, "layer 1: norm of queries and keys"),
    FLAG_OF(DecoderLayer, no_sinks, "layer 1: attention sinks"), FLAG_OF(DecoderLayer, no_out_bias, "layer 1: bias after attention"), FLAG_OF(DecoderLayer, no_mixer_norm, "layer 1: norm in front of attention"), FLAG_OF(DecoderLayer, no_ffn, "layer 1: feed-forward layer"), { 0 },
},
of_rope[] = {
    REAL_OF(RopeScaling, base, "layer 1: rope base"), REAL_OF(RopeScaling, factor, "layer 1: rope factor"), REAL_OF(RopeScaling, attention, "layer 1: rope attention_factor"),
    REAL_OF(RopeScaling, growth, "layer 1: rope growth"), WHOLE_OF(RopeScaling, width, "layer 1: features of a head that turn"),
    FLAG_OF(RopeScaling, proportional, "layer 1: rope by whole heads"), FLAG_OF(RopeScaling, still, "layer 1: positions that turn"), { 0 },
},
of_transform[] = { FLAG_OF(HeadTransform, bias, "bias in front of the head"), { 0 } },
of_differential[] = { REAL_OF(Differential, std, "std of what the share of second heads begins with"), { 0 } },
of_sparse_layer[] = { FLAG_OF(DecoderLayer, is_sparse, "layer 1: mixture of experts"), FLAG_OF(DecoderLayer, by_id, "layer 1: experts by token ids"), FLAG_OF(DecoderLayer, shortcut, "layer 1: mixture that is added behind the next block"), { 0 } },
of_moe[] = {
    WHOLE_OF(Moe, n_experts, "experts"), WHOLE_OF(Moe, top_k, "experts of a token"), WHOLE_OF(Moe, hidden, "width of an expert"), WHOLE_OF(Moe, latent, "width of what experts read"),
    WHOLE_OF(Moe, zero_experts, "experts without weights"), REAL_OF(Moe, experts_bound, "bound of experts alone"), REAL_OF(Moe, logit_cap, "bound of router logits"), REAL_OF(Moe, near, "distance of experts"), REAL_OF(Moe, sum_eps, "added to that sum"), REAL_OF(Moe, factor, "router factor"), REAL_OF(Moe, capacity, "capacity"),
    REAL_OF(Moe, shared_factor, "factor of shared experts"), WHOLE_OF(Moe, n_groups, "groups of experts"), WHOLE_OF(Moe, top_groups, "groups of a token"),
    WHOLE_OF(Moe, shared_hidden, "shared experts' width"), FLAG_OF(Moe, is_plain, "gate of experts"), FLAG_OF(Moe, weigh_inputs, "what experts read"),
    FLAG_OF(Moe, normalize, "sum 1"), FLAG_OF(Moe, expert_scale, "factors of experts"), FLAG_OF(Moe, router_norm, "norm of the router"), FLAG_OF(Moe, norm_behind, "norm behind experts"), FLAG_OF(Moe, bias, "biases of experts"),
    FLAG_OF(Moe, has_biases, "router biases"), FLAG_OF(Moe, by_logits, "router biases of logits"), FLAG_OF(Moe, shared_gate, "gate of shared experts"), { 0 },
},
of_linear[] = {
    WHOLE_OF(LinearAttention, key_heads, "linear key_heads"), WHOLE_OF(LinearAttention, value_heads, "linear value_heads"),
    WHOLE_OF(LinearAttention, key_width, "linear key_width"), WHOLE_OF(LinearAttention, value_width, "linear value_width"),
    WHOLE_OF(LinearAttention, conv_width, "linear conv_width"), REAL_OF(LinearAttention, most_rate, "largest linear rate"), REAL_OF(LinearAttention, decay_bound, "bound of linear decays"),
    FLAG_OF(LinearAttention, fixed_decays, "fixed decays"), FLAG_OF(LinearAttention, norm_of_all, "norm of all linear heads together"), { 0 },
},
of_selective[] = {
    WHOLE_OF(Selective, width, "selective width"), WHOLE_OF(Selective, state_width, "selective state_width"), WHOLE_OF(Selective, step_rank, "selective step_rank"),
    WHOLE_OF(Selective, conv_width, "selective conv_width"), FLAG_OF(Selective, conv_bias, "bias of selective convolutions"), FLAG_OF(Selective, bias, "bias of selective layers"), { 0 },
},
of_recurrent[] = {
    WHOLE_OF(Recurrent, width, "recurrent width"), WHOLE_OF(Recurrent, n_groups, "groups of recurrent features"), WHOLE_OF(Recurrent, conv_width, "recurrent conv_width"),
    FLAG_OF(Recurrent, conv_bias, "bias of recurrent convolutions"), FLAG_OF(Recurrent, bias, "bias of recurrent layers"), { 0 },
},
of_latent[] = {
    WHOLE_OF(Latent, key_rank, "latent key_rank"), WHOLE_OF(Latent, query_rank, "latent query_rank"), WHOLE_OF(Latent, turning, "latent rope_width"),
    WHOLE_OF(Latent, value_width, "latent value_width"), REAL_OF(Latent, key_scale, "latent key_scale"), REAL_OF(Latent, query_scale, "latent query_scale"), FLAG_OF(Latent, query_joined, "both vectors of queries"), { 0 },
},
of_sparse[] = {
    WHOLE_OF(SparseAttention, heads, "heads of indexers"), WHOLE_OF(SparseAttention, width, "width of indexers"),
    WHOLE_OF(SparseAttention, top_k, "tokens that indexers select"), { 0 },
},
of_joint[] = {
    WHOLE_OF(Joint, query_rank, "rank of queries"), WHOLE_OF(Joint, output_groups, "groups of attention's outputs"),
    WHOLE_OF(Joint, output_rank, "rank of these groups"), { 0 },
},
of_hyper[] = {
    WHOLE_OF(HyperConnections, n, "streams of hyper-connections"), WHOLE_OF(HyperConnections, iterations, "iterations of hyper-connections"),
    REAL_OF(HyperConnections, eps, "eps of hyper-connections"), REAL_OF(HyperConnections, write_scale, "scale of what layers give to streams"), { 0 },
},
of_streams[] = {
    WHOLE_OF(Streams, n, "streams"), WHOLE_OF(Streams, active, "active stream"), REAL_OF(Streams, bound, "bound of factors of streams"),
    FLAG_OF(Streams, scales, "scale of the active stream"), { 0 },
};
/* clang-format on */

static void change(void *part, const Member *m)
{
    char *at = (char *)part + m->at;
    if (m->kind == FLAG) *(bool *)at = !*(bool *)at;
    if (m->kind == REAL) *(double *)at += 0.25;
    if (m->kind == WHOLE) *(int64_t *)at += 1;
}

/* What is said of two descriptions of which one has another part. */
typedef void Put(Decoder *d, void *part);

static void check(Arena *a, const Decoder *d, const void *part, size_t size, Put *put,
                  const Member *members)
{
    for (const Member *m = members; m->name; m++) {
        Decoder other = *d;
        DecoderLayer *layer = NEW_N(a, DecoderLayer, d->n_layer);
        memcpy(layer, d->layer, sizeof *layer * (size_t)d->n_layer);
        other.layer = layer;
        void *changed = arena_copy(a, part, size);
        put(&other, changed);
        assert_null(decoder_difference(a, d, &other));
        change(changed, m);
        put(&other, changed);
        const char *said = decoder_difference(a, d, &other);
        if (!said || !strstr(said, m->said))
            fail_msg("%s: %s, not \"%s\"", m->name, said ? said : "no difference", m->said);
    }
}

static void put_decoder(Decoder *d, void *part)
{
    const DecoderLayer *layer = d->layer;
    *d = *(Decoder *)part;
    d->layer = layer;
}

static void put_layer(Decoder *d, void *part)
{
    ((DecoderLayer *)d->layer)[1] = *(DecoderLayer *)part;
}

static void put_rope(Decoder *d, void *part)
{
    ((DecoderLayer *)d->layer)[1].rope = part;
}

static void put_moe(Decoder *d, void *part)
{
    d->moe = part;
}

static void put_linear(Decoder *d, void *part)
{
    d->linear = part;
}

static void put_selective(Decoder *d, void *part)
{
    d->selective = part;
}

static void put_recurrent(Decoder *d, void *part)
{
    d->recurrent = part;
}

static void put_sparse(Decoder *d, void *part)
{
    d->sparse = part;
}

static void put_differential(Decoder *d, void *part)
{
    d->differential = part;
}

static void put_transform(Decoder *d, void *part)
{
    d->head_transform = part;
}

static void put_latent(Decoder *d, void *part)
{
    d->latent = part;
}

static void put_streams(Decoder *d, void *part)
{
    d->streams = part;
}

static void put_joint(Decoder *d, void *part)
{
    d->joint = part;
}

static void put_hyper(Decoder *d, void *part)
{
    d->hyper = part;
}

TEST(each_option_in_which_two_descriptions_differ_is_named)
{
    Arena *a = arena_new();
    Decoder d = tiny_family_of(a, "LlamaDecoderLayer");
    check(a, &d, &d, sizeof d, put_decoder, of_decoder);
    check(a, &d, &d.layer[1], sizeof *d.layer, put_layer, of_layer);
    check(a, &d, d.layer[1].rope, sizeof *d.layer->rope, put_rope, of_rope);
    d = tiny_family_of(a, "MixtralDecoderLayer");
    check(a, &d, &d.layer[1], sizeof *d.layer, put_layer, of_sparse_layer);
    check(a, &d, d.moe, sizeof *d.moe, put_moe, of_moe);
    d = tiny_family_of(a, "Qwen3NextDecoderLayer");
    check(a, &d, d.linear, sizeof *d.linear, put_linear, of_linear);
    d = tiny_family_of(a, "MambaBlock");
    check(a, &d, d.selective, sizeof *d.selective, put_selective, of_selective);
    d = tiny_family_of(a, "RecurrentGemmaDecoderLayer");
    check(a, &d, d.recurrent, sizeof *d.recurrent, put_recurrent, of_recurrent);
    d = tiny_family_of(a, "YoutuDecoderLayer");
    check(a, &d, d.latent, sizeof *d.latent, put_latent, of_latent);
    d = tiny_family_of(a, "DiffLlamaDecoderLayer");
    check(a, &d, d.differential, sizeof *d.differential, put_differential, of_differential);
    d = tiny_family_of(a, "DeepseekV32DecoderLayer");
    check(a, &d, d.sparse, sizeof *d.sparse, put_sparse, of_sparse);
    d = tiny_family_of(a, "Gemma3nTextDecoderLayer");
    check(a, &d, d.streams, sizeof *d.streams, put_streams, of_streams);
    const HyperConnections hyper = { 3, 4, 1e-3, d.usual_norm, 0 };
    d = tiny_family_of(a, "LlamaDecoderLayer");
    d.hyper = &hyper;
    check(a, &d, d.hyper, sizeof *d.hyper, put_hyper, of_hyper);
    const HeadTransform transform = { ACTIVATE_GELU, false, d.usual_norm };
    d.head_transform = &transform;
    check(a, &d, d.head_transform, sizeof transform, put_transform, of_transform);
    const Joint joint = { 3, 2, 4, d.usual_norm, d.usual_norm, d.usual_norm };
    d = tiny_family_of(a, "LlamaDecoderLayer");
    d.joint = &joint;
    check(a, &d, d.joint, sizeof *d.joint, put_joint, of_joint);
    arena_free(a);
}
