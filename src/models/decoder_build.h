/* decoder_build.h - what the files that build a decoder's forward pass share. */
#ifndef MODELS_DECODER_BUILD_H
#define MODELS_DECODER_BUILD_H
#include "comm/mesh.h"
#include "models/decoder.h"
#include "ops/attention.h"

/* A rotary table for heads of a width, and what it was made for. */
typedef struct Table {
    const RopeScaling *of;
    int64_t width;
    bool grows; /* for queries that grow with their position */
    Value *value;
} Table;

/* Keys and values of all heads [b s g d], as attention reads them. */
typedef struct KeysValues {
    Value *k, *v; /* NULL: not made */
} KeysValues;

/* Of an indexer (decoder_sparse.c). */
typedef struct Index {
    Value *selected;  /* keys of each token; NULL: there was no indexer */
    Value *q, *k, *w; /* what its scores come from, where it is trained */
    Value *share;     /* of these keys in the attention of blocks so far; NULL: of none */
} Index;

/* Of the indexers so far. */
typedef struct IndexLosses {
    Value *sum; /* scalar; NULL: there are none */
    int64_t n;
} IndexLosses;

/* While one forward pass is built. */
typedef struct Build {
    const Decoder *d;
    const ForwardSettings *f;
    Graph *g;
    double dropout;
    bool has_adapters; /* low-rank ones, beside products with weights */
    int64_t salt;      /* of the next dropout */
    Table *table;      /* of each rotary transform, made at its first use */
    int64_t n_tables, cap_tables;
    Value *ids;                  /* of the tokens */
    Value *documents;            /* likewise; NULL: all are one */
    Value *embed_in, *embed_out; /* weights of an embedding_width; NULL: it has none */
    struct {
        Value *weight, *bias; /* NULL: it has none */
        NormParams norm;
    } head_transform;
    KeysValues *made; /* by block; NULL: no block reads those of another */
    Index index;      /* the last one */
    IndexLosses index_losses;
    MoeSums moe; /* over the layers so far */
    Value *late; /* what a mixture of the last block gives behind the next one; NULL: nothing */
} Build;

/* x where there is no norm. */
Value *maybe_norm(Graph *g, const char *name, Value *x, const Norm *n);
/* A norm of what the last product of a module reads, beside that module, where the model has such.
 */
Value *inner_norm(Build *b, const char *module, const char *name, Value *x);
/* decoder_positions.c: embeddings x [b s width] with what their positions add, if anything. */
Value *decoder_with_positions(Build *b, Value *x);
/* decoder_head.c: the width of the table, and of what the head reads. */
int64_t decoder_table_width(const Decoder *d);
/* Makes the weights between table, stream and head: first, as blocks for later tokens share them.
 */
void decoder_head_begin(Build *b);
/* What the head reads of the stream behind its norm. */
Value *decoder_head_input(Build *b, Value *x);
/* The head's weight, that of the table where they are tied, and bias, into `out`. */
void decoder_head(Build *b, Value *table, ModelOutput *out);
/* decoder_attention.c: what attention gives to the stream [b s width], before any norm behind it.
 */
Value *attention_layer(Build *b, const DecoderLayer *layer, Value *x);
/* decoder_attention.c: queries or keys [b s ... d] turned by their positions, as the block's rope
 * says. */
Value *decoder_turned(Build *b, const DecoderLayer *layer, Value *x, bool is_query);
/* decoder_attention.c: the table by which heads of that width turn; `grows`: queries grow. */
Value *decoder_rotary_table(Build *b, const RopeScaling *s, int64_t width, bool grows);
/* decoder_attention.c: what attention gives, o, with the place beside all keys that heads may have.
 */
Value *decoder_with_sinks(Build *b, const DecoderLayer *layer, Value *o);
/* What heads give, with the place beside all keys that they may have. `selected` is NULL where all
 * earlier keys count. */
Value *decoder_attended(Build *b, const DecoderLayer *layer, Value *q, Value *k, Value *v,
                        Value *selected, const Attention *attrs);
/* Heads as wide as the wider of keys and values, as attention has one width; and what is of values
 * in what heads give. */
Value *decoder_widened(Build *b, const DecoderLayer *layer, Value *x);
Value *decoder_narrowed(Build *b, const DecoderLayer *layer, Value *o);
/* decoder_latent.c: what heads of latent attention give, [b s g r d]; and, where products for gates
 * read another vector than x, that into *gates. */
Value *latent_attention(Build *b, const DecoderLayer *layer, const Attention *attrs, Value *x,
                        Value **gates);
/* decoder_joint.c: what heads of joint attention give, [b s g r d], turned back; and what the last
 * product reads of what all heads give, o [b s (h d)]: that itself, or products of groups. */
Value *joint_attention(Build *b, const DecoderLayer *layer, const Attention *attrs, Value *x);
Value *joint_outputs(Build *b, Value *o);
/* The keys of windows of x, turned, [b t 1 width], as wide as their norm `n`: all that there are
 * of a text. Parameters "<name>_{k,gate}.weight", "<name>_bias" and "<name>_norm.weight". */
Value *decoder_windows(Build *b, const DecoderLayer *layer, const char *name, Value *x,
                       const Norm *n, bool is_frozen);
/* decoder_sparse.c: the windows that attention of a token x may see, by the block's indexer. */
Value *decoder_selected_windows(Build *b, const DecoderLayer *layer, Value *x, Value *query_vector);
/* decoder_attention.c: x [b s ...], or, while a text is continued, the block's cache of that name,
 * with x written into it. */
Value *decoder_cached(Build *b, const char *name, Value *x);
/* decoder_attention.c: `own` and what is in front of it, both [b s h d], in one row per head. */
Value *joined_heads(Graph *g, Value *own, Value *front);
/* decoder_differential.c: heads of queries [b s g r d], pairs of neighbours among the r, each as
 * wide as two: [b s g r 2d]. */
Value *differential_queries(Build *b, Value *q);
/* Pairs of neighbouring heads of keys or values [b s h d] as one head each: [b s h/2 2d]. */
Value *differential_keys(Build *b, Value *k);
/* What pairs give, of what their heads give, o [b s g r d]: [b s g r/2 d]. */
Value *differential_heads(Build *b, const DecoderLayer *layer, Value *o);
/* decoder_sparse.c: the keys that attention of a token x may see (ops/select_keys.h), by the
 * block's indexer or an earlier one; NULL: all earlier ones. `query_vector` is what its queries are
 * products of. */
Value *decoder_selected(Build *b, const DecoderLayer *layer, Value *x, Value *query_vector);
/* Takes what attention o [b s g r d] of the block makes of the keys that it may see into the
 * indexer's loss: of q [b s g r d] and k [b t g d], whose products are multiplied by `scale`. */
void decoder_train_index(Build *b, const DecoderLayer *layer, const Value *o, Value *q, Value *k,
                         double scale);
/* The losses of all indexers, by their weight, into out->penalty, and their mean as the output
 * INDEX_LOSS; nothing where none is trained. */
void decoder_finish_index(Build *b, ModelOutput *out);
/* Heads of keys that `readers` heads of queries or values share in this program, where n are
 * learned: n, or one for each of `ranks` where these are more. Then all ranks compute the n, and
 * repeat them. */
int64_t decoder_key_heads(int64_t n, int64_t readers, int64_t ranks);
/* Ranks along an axis of the program's mesh. */
int64_t decoder_ranks(const Build *b, MeshAxis axis);
/* decoder_linear.c: the same of a layer of linear attention, that of block i. It names its modules
 * itself. */
Value *linear_attention_layer(Build *b, Value *x, int64_t i);
/* decoder_selective.c: likewise, of a selective state space. */
Value *selective_layer(Build *b, Value *x);
/* decoder_recurrent.c: likewise, of a gated recurrence. */
Value *recurrent_layer(Build *b, Value *x);
/* decoder_conv.c: the same of a short convolution. */
Value *short_conv_layer(Build *b, Value *x);
/* x [b s width] behind a convolution over the last `taps` tokens of its document, whose weight (and
 * bias) are "<name>_conv.weight"; while a text is continued "<name>_tail" has its last tokens. */
Value *decoder_conv(Build *b, const char *name, Value *x, int64_t taps, bool bias);
/* decoder_per_layer.c: for each block the vector [b s width] of its own, of the embeddings x of the
 * ids; NULL: the model has none. */
Value **per_layer_embeddings(Build *b, Value *ids, Value *x);
/* What a block's vector adds to the stream, behind a gate that x [b s width] opens. */
Value *per_layer_given(Build *b, Value *x, Value *vector);
/* decoder_streams.c: all streams [b s (k width)] of a model that has several, from embeddings x [b
 * s width]; and one stream of them behind the last block. Both give x where the model has one. */
Value *streams_begun(Build *b, Value *x);
Value *streams_joined(Build *b, Value *x);
/* All streams as a block predicts them; of them the one that its layers read, [b s width]; all as
 * they are corrected by what the layers made of that one; and with what a block's own embedding
 * gives, in all but the first. */
Value *streams_predicted(Build *b, Value *x);
Value *streams_active(Build *b, Value *x);
Value *streams_corrected(Build *b, Value *x, Value *active);
Value *streams_given(Build *b, Value *x, Value *vector);
/* decoder_hyper.c: likewise, of a model with hyper-connections, from embeddings x and of the
 * streams behind the last block. */
Value *hyper_begun(Build *b, Value *x);
Value *hyper_joined(Build *b, Value *x);
/* What a layer of a block reads of all streams x, with the weights "<name>.*" that *weights gives;
 * and all streams with what it gave, y [b s width]. */
Value *hyper_front(Build *b, const char *name, Value *x, Value **weights);
Value *hyper_behind(Build *b, Value *x, Value *y, Value *weights);
/* decoder_attention.c: the cache of that name for what is kept of texts, [texts ...]. What has a
 * second dimension of 1 is kept of a text as a whole, else that is its positions. */
Value *decoder_cache(Build *b, const char *name, const Value *x, int n_dims, const Dim *dims);
#endif
