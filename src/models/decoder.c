/* decoder.c - decoder-only transformers (Radford et al. 2019 and what followed), built from a
 * description. */
#include "models/decoder_build.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/reshape.h"
#include "ops/row_gate.h"
#include "ops/scale_heads.h"
#include "ops/sequence.h"

const char *const residual_choices[] = { "serial", "two_norms",   "one_norm",
                                         "normed", "norm_of_sum", NULL };

typedef struct DecoderModel {
    Model base;
    const Decoder *decoder;
    ModelInput inputs[3]; /* token ids, and numbers of documents */
    BlockClass blocks[2];
} DecoderModel;

Value *maybe_norm(Graph *g, const char *name, Value *x, const Norm *n)
{
    return n ? norm(g, name, x, n) : x;
}

Value *inner_norm(Build *b, const char *module, const char *name, Value *x)
{
    if (!b->d->inner_norm) return x;
    Norm n = *b->d->inner_norm;
    n.width = value_width(x);
    graph_leave(b->g);
    x = norm(b->g, name, x, &n);
    graph_enter(b->g, module, -1);
    return x;
}

const Multipliers *decoder_multipliers(const Decoder *d)
{
    static const Multipliers ones = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    return d->multipliers ? d->multipliers : &ones;
}

int64_t decoder_hidden_of(const Decoder *d, const DecoderLayer *layer)
{
    return layer->hidden ? layer->hidden : d->hidden;
}

bool decoder_is_dense(const Decoder *d, const DecoderLayer *layer)
{
    if (layer->no_ffn) return false;
    return !layer->is_sparse || layer->shortcut || d->moe->beside_ffn;
}

static Value *dense(Build *b, const DecoderLayer *layer, Value *x)
{
    const Decoder *d = b->d;
    const int64_t hidden = decoder_hidden_of(d, layer);
    const double sparsity = layer->sparsity;
    Value *y = d->is_gated ? gated_hidden(b->g, x, d->activation, hidden, d->ffn_bias,
                                          decoder_multipliers(d)->ffn_gate, sparsity, d->gate_bound)
                           : plain_hidden(b->g, x, d->activation, hidden, d->ffn_bias, sparsity);
    y = inner_norm(b, "mlp", "hidden_norm", y);
    return mlp_out(b->g, d->is_gated ? "W_2" : "c_proj", y, d->width, d->ffn_bias);
}

static Value *mixture(Build *b, const DecoderLayer *layer, Value *x, Value *routed)
{
    const MoeIds by_id = { b->ids, b->d->vocab_size };
    graph_enter(b->g, "mlp", -1);
    Value *y = moe_layer(b->g, x, routed, b->d->moe, layer->by_id ? &by_id : NULL, &b->moe);
    graph_leave(b->g);
    return y;
}

/* A feed-forward layer of x beside a mixture of the stream. */
static Value *dense_and_mixture(Build *b, const DecoderLayer *layer, Value *x, Value *stream)
{
    const Norm *n = b->d->usual_norm;
    Graph *g = b->g;
    graph_enter(g, "mlp", -1);
    Value *own = dense(b, layer, x);
    graph_leave(g);
    Value *read = norm(g, "experts_norm", stream, n), *routed = read;
    if (b->d->moe->router_norm)
        routed = scale(g, norm(g, "router_norm", stream, n), 1 / sqrt((double)b->d->width));
    Value *mixed = norm(g, "mixture_norm", mixture(b, layer, read, routed), n);
    return add(g, norm(g, "dense_norm", own, n), mixed);
}

static Value *behind_ffn(Build *b, bool is_gated, Value *y)
{
    if (is_gated && (b->d->keeps_gated || b->dropout == 0)) return y;
    return maybe_dropout(b->g, y, b->dropout, b->salt++);
}

/* x is the stream behind the norm in front. */
static Value *feed_forward(Build *b, const DecoderLayer *layer, Value *x, Value *stream)
{
    const Decoder *d = b->d;
    const bool mixes = layer->is_sparse && !layer->shortcut;
    Value *y;
    if (mixes) {
        y = d->moe->beside_ffn ? dense_and_mixture(b, layer, x, stream) : mixture(b, layer, x, x);
    } else {
        graph_enter(b->g, "mlp", -1);
        y = dense(b, layer, x);
        graph_leave(b->g);
    }
    return behind_ffn(b, mixes || d->is_gated, y);
}

/* The stream, times `kept`, with what a layer gives. */
static Value *added(Build *b, Value *x, double kept, Value *y)
{
    const double factor = b->d->residual_scale;
    x = multiplied(b->g, x, kept);
    return add(b->g, x, factor != 0 ? scale(b->g, y, factor) : y);
}

/* Of a block, in front of its layers and behind them. */
typedef struct BlockNorms {
    const Norm *attention, *attention_post, *ffn, *ffn_post, *late_post;
} BlockNorms;

static BlockNorms norms_of(const Decoder *d, const DecoderLayer *layer)
{
    const Norm *front = layer->mixer == MIXER_LINEAR && d->linear ? d->linear->front_norm : NULL;
    const Norm *own = layer->is_sparse && d->moe->norm_behind ? d->usual_norm : NULL;
    BlockNorms n = { .attention = d->attention_norm,
                     .attention_post = d->attention_post_norm,
                     .ffn = d->ffn_norm,
                     .ffn_post = d->ffn_post_norm };
    if (front) n = (BlockNorms){ .attention = front, .ffn = front };
    if (layer->no_mixer_norm) n.attention = NULL;
    n.late_post = own ? own : n.ffn_post;
    if (!layer->shortcut) n.ffn_post = n.late_post;
    return n;
}

static Value *linear_layer(Build *b, const DecoderLayer *layer, Value *x)
{
    if (b->d->selective) return selective_layer(b, x);
    if (b->d->recurrent) return recurrent_layer(b, x);
    return linear_attention_layer(b, x, layer - b->d->layer);
}

/* Behind its norms; n is the stream behind the one in front. */
static Value *mixed(Build *b, const DecoderLayer *layer, const BlockNorms *norms, Value *n)
{
    Graph *g = b->g;
    const Multipliers *m = decoder_multipliers(b->d);
    Value *y = NULL;
    if (layer->mixer == MIXER_LINEAR || layer->mixer == MIXER_BOTH)
        y = multiplied(g, linear_layer(b, layer, multiplied(g, n, m->linear_in)), m->linear_out);
    if (layer->mixer == MIXER_CONV) y = short_conv_layer(b, n);
    if (layer->mixer == MIXER_ATTENTION || layer->mixer == MIXER_BOTH) {
        graph_enter(g, "attn", -1);
        Value *o = attention_layer(b, layer, multiplied(g, n, m->attention_in));
        graph_leave(g);
        o = multiplied(g, o, m->attention_out);
        y = y ? add(g, y, o) : o;
    }
    return maybe_norm(g, "attention_post_norm", y, norms->attention_post);
}

static Value *fed_forward(Build *b, const DecoderLayer *layer, const BlockNorms *norms, Value *n,
                          Value *stream)
{
    Value *y = feed_forward(b, layer, n, stream);
    y = multiplied(b->g, y, decoder_multipliers(b->d)->ffn_out);
    return maybe_norm(b->g, "ffn_post_norm", y, norms->ffn_post);
}

/* What a mixture gives of x, to be added behind the next block. */
static Value *late_mixture(Build *b, const DecoderLayer *layer, const BlockNorms *norms, Value *x)
{
    Value *y = behind_ffn(b, true, mixture(b, layer, x, x));
    y = multiplied(b->g, y, decoder_multipliers(b->d)->ffn_out);
    return maybe_norm(b->g, "mixture_norm", y, norms->late_post);
}

/* Of the stream that the block's mixer adds to. */
static double stream_factor(const Decoder *d, const DecoderLayer *layer)
{
    const Multipliers *m = decoder_multipliers(d);
    const bool attends = layer->mixer == MIXER_ATTENTION || layer->mixer == MIXER_BOTH;
    return attends ? m->attention_stream : layer->mixer == MIXER_LINEAR ? m->linear_stream : 1;
}

/* The stream behind a mixer, with a product of what that read, and this itself. */
static Value *with_laurel(Build *b, Value *x, Value *read)
{
    Graph *g = b->g;
    const Linear narrow = { b->d->laurel_rank, NULL, "embed", false, ROLE_LINEAR },
                 wide = { b->d->width, "embed", NULL, false, ROLE_RESIDUAL };
    Value *y = linear(g, "laurel_right", linear(g, "laurel_left", read, &narrow), &wide);
    y = add(g, read, norm(g, "laurel_norm", y, b->d->usual_norm));
    return scale(g, add(g, x, y), 1 / sqrt(2.0));
}

/* What a norm in front of a layer gives, x, behind its gate; `down` and `up` make it. */
static Value *norm_gated(Build *b, const char *down, const char *up, Value *x)
{
    Graph *g = b->g;
    const Linear narrow = { b->d->norm_gate_rank, NULL, "embed", false, ROLE_LINEAR },
                 wide = { b->d->width, "embed", NULL, false, ROLE_LINEAR };
    if (!b->d->norm_gate_rank) return x;
    Value *gate = linear(g, up, silu(g, linear(g, down, x, &narrow)), &wide);
    x = sigmoid_gate(g, reshape(g, "bsn->bsno", "o=1", x), gate);
    return reshape(g, "bsno->bs(no)", NULL, x);
}

/* What a layer reads of the stream, or of several. *weights: those that it is written back by;
 * NULL: there is one stream. */
static Value *seen(Build *b, const char *name, Value *x, Value **weights)
{
    *weights = NULL;
    return b->d->hyper ? hyper_front(b, name, x, weights) : x;
}

/* The stream, times `kept`, or all streams, with what a layer gives. */
static Value *written(Build *b, Value *x, double kept, Value *y, Value *weights)
{
    const double factor = b->d->residual_scale;
    if (!weights) return added(b, x, kept, y);
    return hyper_behind(b, x, factor != 0 ? scale(b->g, y, factor) : y, weights);
}

/* Layers add to the stream, or to what the norm in front of them gives, or that norm is of the sum.
 */
static Value *serial_layers(Build *b, const DecoderLayer *layer, const BlockNorms *norms, Value *x)
{
    const bool normed = b->d->residual == RESIDUAL_NORMED,
               of_sum = b->d->residual == RESIDUAL_NORM_OF_SUM;
    Graph *g = b->g;
    Value *late = b->late, *weights;
    b->late = NULL;
    if (layer->mixer != MIXER_NONE) {
        Value *stream = seen(b, "hyper_mixer", x, &weights);
        Value *read = of_sum ? stream : maybe_norm(g, "attention_norm", stream, norms->attention);
        if (norms->attention) read = norm_gated(b, "mixer_gate_down", "mixer_gate_up", read);
        x = written(b, normed ? read : x, stream_factor(b->d, layer), mixed(b, layer, norms, read),
                    weights);
        if (b->d->laurel_rank) x = with_laurel(b, x, read);
        if (of_sum) x = maybe_norm(g, "attention_norm", x, norms->attention);
    }
    if (!layer->no_ffn) {
        Value *stream = seen(b, "hyper_ffn", x, &weights);
        Value *read = of_sum ? stream : maybe_norm(g, "ffn_norm", stream, norms->ffn);
        if (layer->is_sparse) read = norm_gated(b, "mixture_gate_down", "mixture_gate_up", read);
        if (layer->shortcut) b->late = late_mixture(b, layer, norms, read);
        x = written(b, normed ? read : x, decoder_multipliers(b->d)->ffn_stream,
                    fed_forward(b, layer, norms, read, stream), weights);
        if (of_sum) x = maybe_norm(g, "ffn_norm", x, norms->ffn);
    }
    return late ? added(b, x, 1, late) : x;
}

static Value *layers_of_block(Build *b, Value *x, int64_t i)
{
    Graph *g = b->g;
    const Decoder *d = b->d;
    const DecoderLayer *layer = &d->layer[i];
    const BlockNorms norms = norms_of(d, layer);
    if (residual_is_serial(d->residual)) return serial_layers(b, layer, &norms, x);
    Value *n = maybe_norm(g, "attention_norm", x, norms.attention),
          *attended = mixed(b, layer, &norms, n);
    if (d->residual == RESIDUAL_TWO_NORMS) n = maybe_norm(g, "ffn_norm", x, norms.ffn);
    return added(b, x, 1, add(g, attended, fed_forward(b, layer, &norms, n, x)));
}

/* What is behind a block, times the block's number. */
static Value *block_scaled(Build *b, Value *x)
{
    Graph *g = b->g;
    const Dim one = { .size = 1 };
    if (!b->d->block_scale) return x;
    Value *factor = graph_param(g, "block_scale", 1, &one);
    factor->role = ROLE_NORM;
    factor->init = (Init){ .kind = INIT_ONES };
    factor->is_frozen = true;
    x = scale_heads(g, reshape(g, "bs(hd)->bshd", "h=1", x), factor);
    return reshape(g, "bshd->bs(hd)", NULL, x);
}

/* `vector` is the block's own embedding; NULL: none. */
static Value *block(Build *b, Value *x, int i, Value *vector)
{
    graph_enter(b->g, "h", i);
    if (b->d->streams) {
        x = streams_predicted(b, x);
        x = streams_corrected(b, x, layers_of_block(b, streams_active(b, x), i));
        if (vector) x = streams_given(b, x, vector);
    } else {
        x = layers_of_block(b, x, i);
        if (vector) x = add(b->g, x, per_layer_given(b, x, vector));
    }
    x = block_scaled(b, x);
    graph_leave(b->g);
    return x;
}

static Value *embedded(Build *b, Value *ids, Value *table)
{
    Value *x = embed(b->g, ids, table);
    if (b->embed_in) x = contract(b->g, "*k,nk->*n", x, b->embed_in);
    if (b->d->embedding_scale != 0) x = scale(b->g, x, b->d->embedding_scale);
    return maybe_norm(b->g, "embedding_norm", x, b->d->embedding_norm);
}

/* From the stream x behind the last block, or as the head's norm gives it; that is computed again
 * in the block, where a pipeline has the stream. */
static void predict_ahead(Build *b, Value *ids, Value *table, Value *x, NormParams last,
                          ModelOutput *out)
{
    const Decoder *d = b->d;
    const bool behind_norm = d->multi_token->behind_norm;
    Graph *g = b->g;
    const Linear same = { d->width, "embed", "embed", false, ROLE_LINEAR };
    Value *token[MAX_AHEAD];
    const int n = (int)d->multi_token->depth;
    /* outside of the blocks, where the table is */
    for (int i = 0; i < n; i++) token[i] = embedded(b, later_ids(g, ids, i + 1, 0), table);
    for (int i = 0; i < n; i++) {
        graph_enter(g, "h", (int)d->n_layer + i);
        graph_enter(g, "mtp", -1);
        if (behind_norm) x = norm_by(g, last, x, d->head_norm);
        Value *stream = linear(g, "stream", norm(g, "stream_norm", x, d->usual_norm), &same),
              *next = linear(g, "token", norm(g, "token_norm", token[i], d->usual_norm), &same);
        graph_leave(g);
        x = layers_of_block(b, add(g, stream, next), d->n_layer + i);
        graph_enter(g, "mtp", -1);
        last = norm_params(g, "ahead_norm", d->head_norm);
        out->ahead[i] = decoder_head_input(b, norm_by(g, last, x, d->head_norm));
        graph_leave(g);
        graph_leave(g);
    }
    out->n_ahead = n;
    out->ahead_weight = d->multi_token->weight;
}

/* A place for those of each block, where a block reads those of another. */
static KeysValues *keys_to_share(Arena *a, const Decoder *d)
{
    bool any = false;
    for (int64_t i = 0; i < d->n_layer; i++) any |= d->layer[i].shared_kv;
    return any ? NEW_N(a, KeysValues, d->n_layer) : NULL;
}

static Error *forward(const Model *self, Graph *g, const ForwardSettings *f, ModelOutput *out)
{
    const Decoder *d = ((const DecoderModel *)self)->decoder;
    Build b = { .d = d,
                .f = f,
                .g = g,
                .dropout = f->training ? d->dropout : 0,
                .has_adapters = self->adapters,
                .moe.inspect = f->inspect,
                .moe.training = f->training,
                .moe.continues = f->cache_length > 0 };
    int64_t longest = f->cache_length > f->sequence ? f->cache_length : f->sequence;
    /* `model run` is compared with transformers, which goes on beyond max_position_embeddings */
    const bool is_bounded =
        !self->hf || !f->inspect || d->learned_positions || d->sinusoidal_base > 0;
    if (is_bounded && longest > d->sequence_length)
        return error_new(
            "a sequence of %lld tokens is longer than the model's sequence_length %lld",
            (long long)longest, (long long)d->sequence_length);
    graph_enter(g, "transformer", -1);
    Value *wte =
        embedding_table(g, "wte", d->vocab_size, decoder_table_width(d), "vocab", ROLE_EMBEDDING);
    decoder_head_begin(&b);
    Value *ids = model_input(g, &self->inputs[0], f), *x = embedded(&b, ids, wte);
    b.ids = ids;
    if (f->documents && d->document_key) b.documents = model_input(g, &self->inputs[1], f);
    b.made = keys_to_share(g->arena, d);
    Value **vectors = per_layer_embeddings(&b, ids, x);
    x = decoder_with_positions(&b, x);
    x = maybe_dropout(g, x, f->training ? d->embedding_dropout : 0, b.salt++);
    x = streams_begun(&b, x);
    for (int i = 0; i < d->n_layer; i++) x = block(&b, x, i, vectors ? vectors[i] : NULL);
    x = streams_joined(&b, x);
    *out = (ModelOutput){ .hidden = decoder_head_input(
                              &b, maybe_norm(g, "lm_head_norm", x, d->head_norm)),
                          .logit_cap = d->logit_cap };
    const bool looks_ahead = d->multi_token && (f->training || f->ahead);
    if (looks_ahead)
        predict_ahead(&b, ids, wte, x, norm_params(g, "lm_head_norm", d->head_norm), out);
    for (int i = 0; d->multi_token && !looks_ahead && i < d->multi_token->depth; i++)
        graph_leave_out(g, "h", (int)d->n_layer + i);
    decoder_head(&b, wte, out);
    graph_leave(g);
    if (d->moe) moe_finish(g, d->moe, &b.moe, f, out);
    decoder_finish_index(&b, out);
    return graph_finish(g);
}

/* As regular expressions of the original: `.attn` is any character, then "attn". */
static const DecayGroup groups[] = {
    { "linear", (const char *const[]){ "attn",
                                       "mlp",
                                       "short_conv.",
                                       "mtp.stream.",
                                       "mtp.token.",
                                       "per_layer_proj",
                                       "per_layer_gate",
                                       "per_layer_out",
                                       "altup_in.",
                                       "altup_out.",
                                       "altup_router",
                                       "altup_predict",
                                       "altup_correct",
                                       "laurel_left",
                                       "laurel_right",
                                       "mixer_gate_",
                                       "mixture_gate_",
                                       "embed_in.",
                                       "embed_out.",
                                       "head_transform.weight",
                                       "head_transform.bias",
                                       "lm_head.weight",
                                       "lm_head.bias",
                                       "hyper_mixer.weight",
                                       "hyper_ffn.weight",
                                       "hyper_head.weight",
                                       NULL } },
    { "embedding", (const char *const[]){ "wte", "wpe", NULL } },
    { "layernorm", (const char *const[]){ "attention_norm",
                                          "ffn_norm",
                                          "lm_head_norm",
                                          "attention_post_norm",
                                          "ffn_post_norm",
                                          "stream_norm",
                                          "token_norm",
                                          "ahead_norm",
                                          "embedding_norm",
                                          "block_scale",
                                          "dense_norm",
                                          "experts_norm",
                                          "heads_norm",
                                          "hidden_norm",
                                          "mixture_norm",
                                          "router_norm",
                                          "delta_norm",
                                          "delta_gates",
                                          "per_layer_norm",
                                          "per_layer_post_norm",
                                          "altup_norm",
                                          "altup_scale",
                                          "laurel_norm",
                                          "hyper_mixer.base",
                                          "hyper_mixer.scale",
                                          "hyper_ffn.base",
                                          "hyper_ffn.scale",
                                          "hyper_head.base",
                                          "hyper_head.scale",
                                          "head_transform_norm",
                                          NULL } },
    { 0 },
};

Model *decoder_new(Arena *a, const Decoder *d)
{
    DecoderModel *m = NEW(a, DecoderModel);
    *m = (DecoderModel){
        .base = { .forward = forward,
                  .name = d->name,
                  .blocks = m->blocks,
                  .inputs = m->inputs,
                  .prediction_key = d->prediction_key,
                  .vocab_size = d->vocab_size,
                  .sequence_length = d->sequence_length,
                  .n_layer = d->n_layer + (d->multi_token ? d->multi_token->depth : 0),
                  .width = d->width,
                  .seed = d->seed,
                  .groups = groups,
                  .is_ternary = d->is_ternary,
                  .compute = F32,
                  .weights_dtype = F32,
                  .passes = { .arena = a } },
        .decoder = d,
        .blocks = { { d->block_class, "transformer.h" } },
    };
    if (d->moe && d->moe->balance_rate > 0) m->base.balance_rate = &d->moe->balance_rate;
    m->inputs[0] = model_token_ids(d->sample_key, "sample_key", d->vocab_size);
    if (d->document_key) {
        m->inputs[1] = model_token_ids(d->document_key, "document_key", 0);
        m->inputs[1].of_documents = true;
    }
    return &m->base;
}

const Decoder *decoder_of(const Model *m)
{
    return m->forward == forward ? ((const DecoderModel *)m)->decoder : NULL;
}
