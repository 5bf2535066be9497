/* decoder.c - decoder-only transformers (Radford et al. 2019 and what followed), built from a
 * description. */
#include "models/decoder.h"
#include "comm/mesh.h"
#include "ops/attention.h"
#include "ops/cache_write.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/positions.h"
#include "ops/repeat_heads.h"
#include "ops/reshape.h"
#include "ops/rope.h"
#include "ops/sigmoid_gate.h"

const char *const residual_choices[] = { "serial", "two_norms", "one_norm", NULL };

const char *const attention_gates[] = { "none", "head", "feature", NULL };

typedef struct DecoderModel {
    Model base;
    const Decoder *decoder;
    ModelInput inputs[3]; /* token ids, and numbers of documents */
    BlockClass blocks[2];
} DecoderModel;

/* A rotary table and what it was made for. */
typedef struct Table {
    const RopeScaling *of;
    Value *value;
} Table;

/* While one forward pass is built. */
typedef struct Build {
    const Decoder *d;
    const ForwardSettings *f;
    Graph *g;
    double dropout;
    int64_t salt; /* of the next dropout */
    Table *table; /* of each rotary transform, made at its first use */
    int64_t n_tables, cap_tables;
    Value *documents; /* of the tokens; NULL: all are one */
    MoeSums moe;      /* over the layers so far */
} Build;

static Value *rotary_table(Build *b, const RopeScaling *s)
{
    for (int64_t i = 0; i < b->n_tables; i++)
        if (b->table[i].of == s) return b->table[i].value;
    const int64_t n = b->f->cache_length ? b->f->cache_length : b->f->sequence,
                  width = b->d->head_width;
    const bool rounded = b->f->rounded_buffers;
    if (s->kind == ROPE_DYNAMIC && b->f->cache_length > s->original)
        graph_fail(b->g, error_new("rope scaling dynamic changes all positions as a text grows, so "
                                   "texts can be continued up to %lld tokens, not %lld",
                                   (long long)s->original, (long long)b->f->cache_length));
    Value *v = s->kind == ROPE_PLAIN && !s->width
                   ? rope_table(b->g, F32, n, width, s->base, rounded)
                   : rope_scaled_table(b->g, F32, n, width, s, rounded);
    b->table = arena_grow(b->g->arena, b->table, b->n_tables, &b->cap_tables, sizeof *b->table);
    b->table[b->n_tables++] = (Table){ s, v };
    return v;
}

static Value *transform(Build *b, const DecoderLayer *layer, Value *x)
{
    for (int64_t i = 0; i < layer->n_rope; i++) x = rope(b->g, x, rotary_table(b, &layer->rope[i]));
    return x;
}

static Value *cached(Build *b, const char *name, Value *x)
{
    if (!b->f->cache_length) return x;
    Dim d[] = { x->dim[0], { .size = b->f->cache_length }, x->dim[2], x->dim[3] };
    /* several texts have caches beside that of a single one, from which they are filled */
    const long long n = (long long)x->dim[0].size;
    if (n > 1) name = arena_printf(b->g->arena, "%s.%lld", name, n);
    Value *cache = graph_cache(b->g, graph_name(b->g, name), x->dtype, 4, d);
    return cache_write(b->g, cache, x);
}

static Value *maybe_norm(Graph *g, const char *name, Value *x, const Norm *n)
{
    return n ? norm(g, name, x, n) : x;
}

/* One of queries and keys, not yet split into heads. */
static Value *wide_norm(Build *b, const char *name, Value *x)
{
    if (!b->d->qk_norm_width) return x;
    Norm n = *b->d->qk_norm_width;
    n.width = value_width(x);
    return norm(b->g, name, x, &n);
}

/* Where more ranks share matrices than there are heads of keys, each has one of its own: the keys
 * of all are computed by everyone, and repeated. */
static int64_t key_heads(const Build *b)
{
    const Decoder *d = b->d;
    const int64_t ranks = b->g->mesh ? b->g->mesh->size[MESH_TP] : 1;
    const bool fits = ranks % d->n_head_kv == 0 && d->n_head_q % ranks == 0;
    return ranks > d->n_head_kv && fits ? ranks : d->n_head_kv;
}

static Value *repeated(Build *b, Value *x, int64_t n)
{
    return n == b->d->n_head_kv ? x : repeat_heads(b->g, x, n);
}

double decoder_attention_scale(const Decoder *d)
{
    return d->attention_scale != 0 ? d->attention_scale : 1 / sqrt((double)d->head_width);
}

/* 0: the usual one */
static double score_scale(const Decoder *d, const DecoderLayer *layer)
{
    if (!d->scale_by_layer) return d->attention_scale;
    return decoder_attention_scale(d) / (double)(layer - d->layer + 1);
}

/* What heads o [b s g r d] give to the next product, behind the gates that x opens. */
static Value *gated(Build *b, Value *o, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const bool of_heads = d->attention_gate == GATE_HEAD;
    const Linear gates = { of_heads ? d->n_head_q : d->head_width * d->n_head_q, "heads", "embed",
                           false, ROLE_LINEAR };
    if (d->attention_gate == GATE_NONE) return reshape(g, "bsgrd->bs(grd)", NULL, o);
    Value *gate = linear(g, "g_attn", x, &gates);
    if (of_heads) {
        const char *groups = arena_printf(g->arena, "g=%lld", (long long)o->dim[2].size);
        o = sigmoid_gate(g, o, reshape(g, "bs(gr)->bsgr", groups, gate));
        return reshape(g, "bsgrd->bs(grd)", NULL, o);
    }
    Value *flat = reshape(g, "bsgrd->bs(grd)", NULL, o);
    flat = sigmoid_gate(g, reshape(g, "bs(no)->bsno", "o=1", flat), gate);
    return reshape(g, "bsno->bs(no)", NULL, flat);
}

static Value *attention_layer(Build *b, const DecoderLayer *layer, Value *x)
{
    const Decoder *d = b->d;
    Graph *g = b->g;
    const int64_t n_keys = key_heads(b);
    const char *axis = n_keys == d->n_head_kv ? "heads" : NULL;
    const char *groups =
        arena_printf(g->arena, "d=%lld g=%lld", (long long)d->head_width, (long long)n_keys);
    const char *sizes =
        arena_printf(g->arena, "d=%lld g=%lld", (long long)d->head_width, (long long)d->n_head_kv);
    const Linear queries = { d->head_width * d->n_head_q, "heads", "embed", d->qkv_bias,
                             ROLE_LINEAR },
                 keys = { d->head_width * d->n_head_kv, axis, "embed", d->qkv_bias, ROLE_LINEAR },
                 out = { d->width, "embed", "heads", d->out_bias, ROLE_RESIDUAL };
    Value *q = reshape(g, "bs(grd)->bsgrd", groups,
                       wide_norm(b, "q_norm", linear(g, "q_attn", x, &queries)));
    Value *k =
        reshape(g, "bs(gd)->bsgd", sizes, wide_norm(b, "k_norm", linear(g, "k_attn", x, &keys)));
    Value *v = reshape(g, "bs(gd)->bsgd", sizes, linear(g, "v_attn", x, &keys));
    if (!d->qk_norm_before_rope) q = transform(b, layer, q), k = transform(b, layer, k);
    q = maybe_norm(g, "q_norm", q, d->qk_norm);
    k = maybe_norm(g, "k_norm", k, d->qk_norm);
    if (d->qk_norm_before_rope) q = transform(b, layer, q), k = transform(b, layer, k);
    const Attention attrs = { .causal = true,
                              .scale = score_scale(d, layer),
                              .soft_cap = d->attention_cap,
                              .window = layer->window,
                              .dropout = b->f->training ? d->attention_dropout : 0,
                              .salt = b->salt++ };
    v = repeated(b, cached(b, "v_cache", v), n_keys);
    k = repeated(b, cached(b, "k_cache", k), n_keys);
    Value *o = attention(g, q, k, v, b->documents, &attrs);
    Value *y = linear(g, "c_proj", gated(b, o, x), &out);
    return maybe_dropout(g, y, b->dropout, b->salt++);
}

static Value *feed_forward(Build *b, const DecoderLayer *layer, Value *x)
{
    const Decoder *d = b->d;
    const bool is_gated = layer->is_sparse || d->is_gated;
    Value *y = layer->is_sparse ? moe_layer(b->g, x, d->moe, &b->moe)
               : d->is_gated    ? gated_mlp(b->g, x, d->activation, d->hidden, d->ffn_bias)
                                : plain_mlp(b->g, x, d->activation, d->hidden, d->ffn_bias);
    if (is_gated && (d->keeps_gated || b->dropout == 0)) return y;
    return maybe_dropout(b->g, y, b->dropout, b->salt++);
}

/* The stream with what a layer gives. */
static Value *added(Build *b, Value *x, Value *y)
{
    const double factor = b->d->residual_scale;
    return add(b->g, x, factor != 0 ? scale(b->g, y, factor) : y);
}

static Value *block(Build *b, Value *x, int i)
{
    Graph *g = b->g;
    const Decoder *d = b->d;
    graph_enter(g, "h", i);
    Value *n = maybe_norm(g, "attention_norm", x, d->attention_norm);
    graph_enter(g, "attn", -1);
    Value *attended = attention_layer(b, &d->layer[i], n);
    graph_leave(g);
    attended = maybe_norm(g, "attention_post_norm", attended, d->attention_post_norm);
    if (d->residual == RESIDUAL_SERIAL) x = added(b, x, attended);
    if (d->residual != RESIDUAL_ONE_NORM) n = maybe_norm(g, "ffn_norm", x, d->ffn_norm);
    graph_enter(g, "mlp", -1);
    Value *y = feed_forward(b, &d->layer[i], n);
    graph_leave(g);
    y = maybe_norm(g, "ffn_post_norm", y, d->ffn_post_norm);
    x = added(b, x, d->residual == RESIDUAL_SERIAL ? y : add(g, attended, y));
    graph_leave(g);
    return x;
}

/* Positions begin again with each document. */
static Value *add_learned(Build *b, Value *x, Value *table)
{
    if (!b->documents) return add_positions(b->g, x, table);
    return add(b->g, x, embed(b->g, document_positions(b->g, b->documents), table));
}

static Error *forward(const Model *self, Graph *g, const ForwardSettings *f, ModelOutput *out)
{
    const Decoder *d = ((const DecoderModel *)self)->decoder;
    Build b = { .d = d,
                .f = f,
                .g = g,
                .dropout = f->training ? d->dropout : 0,
                .moe.inspect = f->inspect,
                .moe.training = f->training,
                .moe.continues = f->cache_length > 0 };
    int64_t longest = f->cache_length > f->sequence ? f->cache_length : f->sequence;
    /* `model run` is compared with transformers, which goes on beyond max_position_embeddings */
    const bool is_bounded = !self->hf || !f->inspect || d->learned_positions;
    if (is_bounded && longest > d->sequence_length)
        return error_new(
            "a sequence of %lld tokens is longer than the model's sequence_length %lld",
            (long long)longest, (long long)d->sequence_length);
    graph_enter(g, "transformer", -1);
    Value *wte = embedding_table(g, "wte", d->vocab_size, d->width, "vocab", ROLE_EMBEDDING);
    Value *x = embed(g, model_input(g, &self->inputs[0], f), wte);
    if (d->embedding_scale != 0) x = scale(g, x, d->embedding_scale);
    if (f->documents && d->document_key) b.documents = model_input(g, &self->inputs[1], f);
    if (d->learned_positions)
        x = add_learned(
            &b, x, embedding_table(g, "wpe", d->sequence_length, d->width, NULL, ROLE_POSITION));
    x = maybe_dropout(g, x, f->training ? d->embedding_dropout : 0, b.salt++);
    for (int i = 0; i < d->n_layer; i++) x = block(&b, x, i);
    const Linear head = { d->vocab_size, "vocab", "embed", false, ROLE_HEAD };
    x = norm(g, "lm_head_norm", x, d->head_norm);
    if (d->logit_divisor != 0) x = scale(g, x, 1 / d->logit_divisor);
    *out = (ModelOutput){ .hidden = x, .logit_cap = d->logit_cap };
    out->head = d->is_tied ? wte : linear_weight(g, "lm_head", d->width, &head);
    graph_leave(g);
    if (d->moe) moe_finish(g, d->moe, &b.moe, f, out);
    return graph_finish(g);
}

/* As regular expressions of the original: `.attn` is any character, then "attn". */
static const DecayGroup groups[] = {
    { "linear", (const char *const[]){ "attn", "mlp", "lm_head.weight", NULL } },
    { "embedding", (const char *const[]){ "wte", "wpe", NULL } },
    { "layernorm", (const char *const[]){ "attention_norm", "ffn_norm", "lm_head_norm",
                                          "attention_post_norm", "ffn_post_norm", NULL } },
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
                  .n_layer = d->n_layer,
                  .width = d->width,
                  .seed = d->seed,
                  .groups = groups,
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
