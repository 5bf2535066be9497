/* decoder.h - a decoder-only transformer as data: which layers it has, and with what options. Every
 * language model here is a row of them; parameters are named as in the original's state dict. */
#ifndef MODELS_DECODER_H
#define MODELS_DECODER_H
#include "models/layers.h"
#include "models/model.h"
#include "models/moe.h"
#include "ops/rope_scaled.h"

/* Where a block's feed-forward layer reads the stream. */
typedef enum Residual {
    RESIDUAL_SERIAL,     /* behind attention */
    RESIDUAL_TWO_NORMS,  /* where attention does, behind a norm of its own */
    RESIDUAL_ONE_NORM,   /* and behind attention's norm; ffn_norm is NULL */
    RESIDUAL_NORMED,     /* behind attention; layers add to what the norms in front of them give, so
                            that these have no way around them */
    RESIDUAL_NORM_OF_SUM /* behind attention; layers read the stream as it is, and norms that others
                            have in front are of the stream and what was added to it */
} Residual;
/* Whether layers of a block follow each other. */
static inline bool residual_is_serial(Residual r)
{
    return r == RESIDUAL_SERIAL || r == RESIDUAL_NORMED || r == RESIDUAL_NORM_OF_SUM;
}
extern const char *const residual_choices[];

/* What heads give counts by the sigmoid of a product of the token (Qiu et al. 2025), or by softplus
 * of it. */
typedef enum AttentionGate { GATE_NONE, GATE_HEAD, GATE_FEATURE } AttentionGate;
extern const char *const attention_gates[];

/* What reads other tokens in a block. */
typedef enum Mixer {
    MIXER_ATTENTION,
    MIXER_LINEAR, /* `linear`, `selective` or `recurrent`: no window, and nothing turns */
    MIXER_BOTH,   /* both read the stream side by side, and what they give is added up */
    MIXER_CONV,   /* `short_conv`, likewise */
    MIXER_NONE    /* the block is a feed-forward layer */
} Mixer;

/* What may differ from block to block. A block has a mixer, a feed-forward layer, or both. */
typedef struct DecoderLayer {
    Mixer mixer;
    int64_t window; /* a token sees so many: itself and earlier ones; 0: all earlier */
    bool chunks;    /* of these, only those of its own part of the text, all parts as long
                       as the window */
    bool no_qk_norm, no_sinks, no_out_bias;  /* whatever other blocks have */
    bool no_mixer_norm;                      /* in front of its mixer, likewise */
    int64_t head_width, n_head_q, n_head_kv; /* of its attention alone; 0: as of the model */
    bool keys_as_values; /* values are what the product of keys gives, in front of norms
                            and of what turns */
    bool shared_index;   /* its attention sees the keys that the indexer of an earlier
                            block selected, and it has none */
    int64_t compress;    /* joint attention sees windows of so many tokens that have ended, too; 0:
                            it does not */
    bool overlaps;       /* windows have the tokens of the one before, too */
    bool selects;        /* of the windows those that its indexer scores highest */
    bool shared_kv;      /* its attention reads the keys and values of an earlier block,
                            decoder_keys_of, and makes none */
    const RopeScaling *rope; /* applied in order to queries and keys */
    int64_t n_rope;
    bool is_sparse; /* `moe` instead of one feed-forward layer */
    bool shortcut;  /* of a sparse block: it has the feed-forward layer, too, `moe` reads what that
                       reads, and what it gives is added behind the next block */
    bool by_id; /* of a sparse block: the experts of a token are those that a table has for its id
                 */
    bool no_ffn;
    int64_t hidden;  /* width of its feed-forward layer; 0: as of the model */
    double sparsity; /* share of what its activation reads that is 0 instead, above 0 and below 1:
                        the smallest (ops/gaussian_top_k.h); 0: all is read */
} DecoderLayer;

/* Whether positions turn queries and keys, and do not only make queries grow. */
static inline bool decoder_layer_turns(const DecoderLayer *l)
{
    return l->n_rope && !l->rope->still;
}

/* Keys and values of all heads are products of one narrow vector of the token, behind a norm, and
 * keys have features in front that all heads share; these alone turn (Multi-Head Latent Attention,
 * DeepSeek-AI 2024). Queries may have such a vector, too. */
typedef struct Latent {
    int64_t key_rank, query_rank; /* widths of the vectors; query_rank 0: queries have none */
    int64_t turning;              /* of the features of a head, an even number, as the others */
    int64_t value_width;
    const Norm *key_norm, *query_norm; /* of the vectors; there always where those are */
    double key_scale, query_scale;     /* multiply the vectors behind the norms; 0: as 1 */
    bool query_joined; /* queries, and gates of what heads give, are products of both, the vector
                          behind its norm and as it is, side by side */
} Latent;

/* One vector of a token, behind a norm, is the key and the value of all heads, and what they give
 * is turned back by the position of the query. Queries have norms without weights, and may be
 * products of a narrow vector (models/decoder_joint.c). */
typedef struct Joint {
    int64_t query_rank; /* width of that vector; 0: queries are products of the token */
    int64_t output_groups, output_rank; /* the last product reads products of so many groups of
                                           neighbouring heads, each of that width; 0: all heads */
    const Norm *query_norm;             /* of the narrow vector; there always where that is */
    const Norm *key_norm, *head_norm;   /* of keys, and of queries, without weights; there always */
} Joint;

/* A token sees at most top_k earlier tokens, itself included: those that an indexer of narrow
 * heads, which share a key, scores highest (models/decoder_sparse.c). As many of its features turn
 * as of the latent ones. Of joint attention: windows, in blocks that select them. */
typedef struct SparseAttention {
    int64_t heads, width, top_k;
    const Norm *norm;  /* a layer norm of its keys; of windows, one as others; there always */
    double index_loss; /* weight of what trains it; 0: it is not trained */
} SparseAttention;

/* Attention whose heads keep a matrix of what they have read, by the gated delta rule
 * (ops/gated_delta.h). Neighbouring heads of values share one of keys. Kimi Delta Attention (Kimi
 * Team 2025) lets each row of a matrix fade by itself, and has sigmoids in its gates.
 *
 * Or a state space (Mamba-2), by the rule that adds: heads of values are those of its input x,
 * keys are B and queries C, which the heads of a group share, and rates are the steps that decays
 * come from, too. Queries and keys keep their lengths, and the gate comes in front of the norm. */
typedef struct LinearAttention {
    int64_t key_heads, value_heads, key_width, value_width;
    int64_t conv_width; /* tokens that a convolution sees, at least 2; 0: there is none */
    double most_rate;   /* what corrections are below: 1, or 2 */
    bool row_decays;    /* a head has key_width decays in the place of one */
    double decay_bound; /* of decays, as in ops/delta_gates.h; 0: there is none */
    /* A head's decay is the same for all tokens, its number of powers from 2^(-8/n) to 2^-8, less
     * in higher blocks, and values are added as they are: queries and keys keep their lengths
     * (Lightning Attention, Qin et al. 2024). */
    bool fixed_decays;
    /* Decays and gates are products of a vector of so many numbers, which is one of the token; 0:
     * of the token itself. */
    int64_t decay_rank, gate_rank;
    bool sigmoid_gates; /* what a head gives counts by sigmoids, else by silu */
    const Norm *norm;   /* of what each head gives; there always; of a state space, of what each
                           group gives, and with a weight for each feature of all; or NULL */
    bool norm_of_all;   /* it is one of what all heads give together, and as wide */
    bool is_state_space;
    /* Of state spaces alone: */
    bool conv_bias, bias;         /* biases of convolutions, and of products */
    bool norm_first;              /* the norm comes in front of the gates */
    bool has_skip;                /* each head gives its input, too, times a number of its own */
    double least_step, most_step; /* as in ops/delta_gates.h */
    /* In front of the layers of a linear block, which then has no norms behind them, whatever
     * other blocks have; NULL: as those. */
    const Norm *front_norm;
} LinearAttention;

/* State spaces of each feature by itself, whose steps, and what goes in and out, depend on the
 * token (Mamba, ops/selective_scan.h). */
typedef struct Selective {
    int64_t width;        /* features */
    int64_t state_width;  /* numbers that are kept of each */
    int64_t step_rank;    /* of the product that gives steps */
    int64_t conv_width;   /* tokens that a convolution sees, at least 2 */
    bool conv_bias, bias; /* of the convolution; of the products at both ends */
    const Norm *norm;     /* of what steps come from, and of what goes in and out, each with its own
                             width; NULL: there is none */
} Selective;

/* Each feature keeps a number that gates let fade and add to (Griffin, ops/gated_recurrence.h), and
 * what it is counts by the model's activation of a product of the token. Gates read the features of
 * their group, which are neighbours. */
typedef struct Recurrent {
    int64_t width;        /* features */
    int64_t n_groups;     /* of equal size */
    int64_t conv_width;   /* tokens that a convolution sees, at least 2 */
    bool conv_bias, bias; /* of the convolution; of the products at both ends */
} Recurrent;

/* What parts of blocks are multiplied by, as those of Falcon-H1 are (Zuo et al. 2025),
 * and what they add to (MiniMax 2025). */
typedef struct Multipliers {
    double attention_in, attention_out, linear_in, linear_out;
    double gates, values, keys, queries, steps; /* products of a state space */
    double ffn_gate, ffn_out;
    double attention_stream, linear_stream, ffn_stream; /* the stream that they add to */
} Multipliers;

/* Of each feature a weighted sum over the last tokens, between two gates that the token opens by
 * products without an activation (Liquid AI 2025, LFM2). */
typedef struct ShortConv {
    int64_t width; /* tokens, at least 2 */
    bool bias;     /* of products and of the convolution */
} ShortConv;

/* Heads come in pairs of neighbours, of queries and of keys and values: what the second of two
 * queries sees is taken off what the first sees, times a number of the block, and both read the
 * values of both heads, side by side (Ye et al. 2024, Differential Transformer;
 * models/decoder_differential.c). */
typedef struct Differential {
    double std;       /* that the vectors begin with which make this number */
    const Norm *norm; /* of what each pair gives, without weights; there always */
} Differential;

/* Further blocks, each with the stream of the one before and the embedding of one token more,
 * predict the tokens after the next one while the model is trained (Multi-Token Prediction,
 * DeepSeek-AI 2024). */
typedef struct MultiToken {
    int64_t depth; /* blocks, at most MAX_AHEAD */
    double weight; /* of the mean of their losses */
    /* The stream comes to the next block behind the norm that the head has in front, as in the
     * weights of DeepSeek V3 and GLM 4.5. */
    bool behind_norm;
} MultiToken;

/* A second table of embeddings has a narrow vector of each token id for each block. Its mean with
 * one that is a product of the token's embedding, behind a norm, goes through a gate that the
 * stream behind the block opens, and what a product gives of it is added behind a norm (Gemma 3n,
 * Gemma 4). */
typedef struct PerLayerEmbedding {
    int64_t width, vocab_size; /* of the table; ids from there on have the vectors of id 0 */
    double scale;              /* multiplies what the table gives; 0: nothing does */
    const Norm *norm;          /* of the product, with that width; there always */
    const Norm *post_norm;     /* of what is added; likewise */
} PerLayerEmbedding;

/* There are several streams, and the layers of a block read one (models/decoder_streams.c). */
typedef struct Streams {
    int64_t n, active; /* at least 2; the one that layers read */
    double bound;      /* of weights of factors, while the model is trained; 0: none */
    bool scales;       /* gates of `per_layer` read the active stream times learned numbers */
} Streams;

/* There are several streams, and each layer reads a sum of them and adds to all, by weights of the
 * token (models/decoder_hyper.c). */
typedef struct HyperConnections {
    int64_t n, iterations; /* streams, at least 2; of what makes sums of their mix 1; 0: they are
                              not mixed */
    double eps;            /* added to weights, and to what they are divided by */
    const Norm *norm;      /* of all streams together, without weights; there always */
    double write_scale;    /* that weights of writing are below; 0: 2 */
} HyperConnections;

/* The head reads a norm of an activation of a product of the stream, which stays as wide, behind
 * the norm that the head has in front (BERT's head; ModernBERT). */
typedef struct HeadTransform {
    Activation activation; /* neither XIELU nor CLAMPED_SWIGLU */
    bool bias;             /* of the product */
    const Norm *norm;      /* there always */
} HeadTransform;

/* Norms are NULL where there is none; scales and caps are 0. */
typedef struct Decoder {
    const char *name, *block_class; /* "gpt2", "GPT2Block" */
    const char *sample_key, *prediction_key;
    const char *document_key; /* NULL: a sequence is one document */
    int64_t vocab_size, sequence_length, n_layer, width, n_head_q, n_head_kv, head_width, hidden;
    int64_t value_width; /* of a head, where it is not as wide as its key; 0: it is */
    /* Of the table of embeddings and of what the head reads, where products lie between these and
     * the stream (Lan et al. 2020, ALBERT); 0: they are as wide as that. */
    int64_t embedding_width;
    int64_t seed;
    double dropout; /* behind layers; not behind gated ones of the original (keeps_gated) */
    double embedding_dropout, attention_dropout;
    bool keeps_gated;
    double embedding_scale; /* multiplies what the table gives */
    double attention_scale; /* of q k^T; 0: 1/sqrt(head_width) */
    bool scale_by_layer;    /* divided by the number of the layer, from 1 */
    double attention_cap, logit_cap;
    double alibi; /* scores fall with the distance of keys (ops/attention.h); 0: they do not */
    double alibi_scale; /* of what they fall by; 0: 1 */
    Residual residual;
    double residual_scale; /* multiplies what a layer adds to the stream; 0: nothing does */
    double logit_divisor;  /* 0: none */
    bool learned_positions;
    double sinusoidal_base;   /* of a table that is fixed (decoder_positions.c); 0: there is none */
    int64_t unused_positions; /* rows of either table in front of that of the first token */
    bool is_tied;
    bool qkv_bias, out_bias, ffn_bias, head_bias;
    bool is_ternary; /* linear layers of blocks multiply rounded factors (passes/ternary.c) */
    Activation activation;
    bool is_gated;
    double gate_bound;          /* of gated layers with SILU (models/layers.h); 0: there is none */
    const Norm *embedding_norm; /* of what the table gives, behind its scale */
    const Norm *usual_norm;     /* those that are not named here are as this one; there always */
    /* In front of a layer, and after it before its result is added to the stream. */
    const Norm *attention_norm, *attention_post_norm, *ffn_norm, *ffn_post_norm, *head_norm;
    const HeadTransform *head_transform; /* NULL: there is none */
    /* Of what the last product of attention reads, and of dense feed-forward layers, each with the
     * width of that; as nominal width the model's. */
    const Norm *inner_norm;
    double qkv_clip;           /* bound of queries, keys and values, behind norms of all heads
                                  together; 0: none */
    const Norm *qk_norm;       /* of each head */
    bool qk_norm_by_head;      /* with weights of its own, and without biases */
    bool qk_norm_before_rope;  /* else after */
    const Norm *qk_norm_width; /* of all heads together, with the query's width; before rope */
    const Norm *value_norm;    /* of each head's values; without weights */
    bool block_scale; /* the stream behind each block is multiplied by a number of the block, which
                         training keeps */
    AttentionGate attention_gate;
    bool softplus_gates;  /* by softplus, else by sigmoids */
    bool attention_sinks; /* each query head has a learned logit in its softmax that has no value */
    const Differential *differential; /* NULL: each head counts by itself */
    const Joint *joint;               /* NULL: values are others than keys; else `latent` is */
    const Latent *latent; /* NULL: queries, keys and values are products of the token itself;
                             else each query head has a key head, and rope turns `turning` */
    const SparseAttention *sparse;      /* of latent or joint attention with a query_rank; NULL: a
                                           token sees all earlier ones */
    const LinearAttention *linear;      /* NULL: no layer is linear, or such are of another kind: */
    const Selective *selective;         /* linear layers are of this kind; NULL: they are not */
    const Recurrent *recurrent;         /* likewise */
    const Multipliers *multipliers;     /* NULL: all are 1 */
    const ShortConv *short_conv;        /* NULL: no layer is such a convolution */
    const PerLayerEmbedding *per_layer; /* of the n_layer blocks; NULL: there is none */
    const Streams *streams;             /* NULL: there is one */
    const HyperConnections *hyper;      /* likewise; of RESIDUAL_SERIAL, without `streams` */
    /* Beside attention, or what is in its place, a product of so many numbers, which are one of
     * what that reads, is added behind a norm, and so is what it reads; the sum is divided by the
     * root of 2 (Learned Augmented Residual Layers, Menghani et al. 2024). 0: there is none. */
    int64_t laurel_rank;
    /* What norms in front of attention, or of what is in its place, and of mixtures give counts by
     * the sigmoid of a product of so many numbers, which are silu of one of it. 0: there are no
     * such gates. */
    int64_t norm_gate_rank;
    const MultiToken *multi_token; /* NULL: the next token alone is predicted */
    const DecoderLayer *layer;     /* n_layer of them, and one for each block of multi_token */
    const Moe *moe;                /* NULL: no layer is sparse */
} Decoder;

/* Output of training programs where indexers are trained: their mean loss. */
#define INDEX_LOSS "index_loss"
/* A model that refers to the description, which must stay as long. */
Model *decoder_new(Arena *a, const Decoder *d);
/* Of a block's attention. */
int64_t decoder_head_width_of(const Decoder *d, const DecoderLayer *layer);
int64_t decoder_query_heads_of(const Decoder *d, const DecoderLayer *layer);
int64_t decoder_key_heads_of(const Decoder *d, const DecoderLayer *layer);
/* The block whose keys and values the attention of one reads: itself, or, of shared_kv, the last
 * earlier one that has its own and sees as many tokens. NULL: there is none. */
const DecoderLayer *decoder_keys_of(const Decoder *d, const DecoderLayer *layer);
/* Of its feed-forward layer. */
int64_t decoder_hidden_of(const Decoder *d, const DecoderLayer *layer);
/* Whether it has one that all tokens go through. */
bool decoder_is_dense(const Decoder *d, const DecoderLayer *layer);
/* What q k^T is multiplied by, before scale_by_layer. */
double decoder_attention_scale(const Decoder *d);
/* Those of the description, or ones. */
const Multipliers *decoder_multipliers(const Decoder *d);
/* The description of a model that decoder_new made; NULL for others. */
const Decoder *decoder_of(const Model *m);
#endif
