/* gpt2.c - model.gpt2: decoder-only transformer with pre-norm blocks (Radford et al. 2019), and
 * with RoPE, grouped-query attention, SwiGLU and RMS norms the Llama family. Parameters are named
 * as in the original's state dict. */
#include "models/gpt2.h"
#include "base/log.h"
#include "config/builder.h"
#include "models/layers.h"
#include "ops/attention.h"
#include "ops/cache_write.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/positions.h"
#include "ops/reshape.h"
#include "ops/rope.h"

typedef struct Gpt2 {
    Model base;
    const Gpt2Settings *settings;
    ModelInput inputs[3]; /* token ids, and numbers of documents */
} Gpt2;

/* While one forward pass is built. */
typedef struct Build {
    const Gpt2Settings *s;
    const ForwardSettings *f;
    Graph *g;
    double dropout;
    int64_t salt;     /* of the next dropout */
    Value **table;    /* of each rotary transform, made at its first use */
    Value *documents; /* of the tokens; NULL: all are one */
} Build;

static Norm norm_of(const NormChoice *c)
{
    const NormSettings *n = &c->config;
    switch (c->norm_type) {
    case NORM_RMS:
        return (Norm){ .type = NORM_RMS,
                       .width = n->rms.ndim,
                       .eps = n->rms.epsilon,
                       .has_weight = true,
                       .has_bias = n->rms.bias };
    case NORM_PYTORCH_RMS:
        return (Norm){ .type = NORM_PYTORCH_RMS,
                       .width = n->pytorch_rms.normalized_shape,
                       .eps = n->pytorch_rms.eps,
                       .has_weight = true };
    default:
        if (n->which == 1) /* neither bias nor elementwise_affine named */
            return (Norm){ .type = NORM_LAYER,
                           .width = n->pytorch_rms.normalized_shape,
                           .eps = n->pytorch_rms.eps,
                           .has_weight = true,
                           .has_bias = true };
        return (Norm){ .type = NORM_LAYER,
                       .width = n->layer.normalized_shape,
                       .eps = n->layer.eps,
                       .has_weight = n->layer.elementwise_affine,
                       .has_bias = n->layer.elementwise_affine && n->layer.bias };
    }
}

static Value *transform(Build *b, Value *x)
{
    const QkvTransforms *t = &b->s->attention_config.qkv_transforms;
    int64_t n_positions = b->f->cache_length ? b->f->cache_length : b->f->sequence;
    for (int64_t i = 0; i < t->n; i++) {
        if (t->item[i].type_hint != 0) continue;
        const struct RotarySettings *r = &t->item[i].config.rotary;
        if (!b->table[i])
            b->table[i] = rope_table(b->g, F32, n_positions, r->n_embd / r->n_head,
                                     (double)r->base_freq, b->f->rounded_buffers);
        x = rope(b->g, x, b->table[i]);
    }
    return x;
}

static Value *cached(Build *b, const char *name, Value *x)
{
    if (!b->f->cache_length) return x;
    Dim d[] = { x->dim[0], { .size = b->f->cache_length }, x->dim[2], x->dim[3] };
    Value *cache = graph_cache(b->g, graph_name(b->g, name), x->dtype, 4, d);
    return cache_write(b->g, cache, x);
}

static Value *attention_layer(Build *b, Value *x)
{
    const Gpt2Settings *s = b->s;
    Graph *g = b->g;
    int64_t head = s->n_embd / s->n_head_q, kv_width = head * s->n_head_kv;
    const char *sizes =
        arena_printf(g->arena, "d=%lld g=%lld", (long long)head, (long long)s->n_head_kv);
    const Linear queries = { s->n_embd, "heads", "embed", s->bias, ROLE_LINEAR },
                 keys = { kv_width, "heads", "embed", s->bias, ROLE_LINEAR },
                 out = { s->n_embd, "embed", "heads", s->bias, ROLE_RESIDUAL };
    Value *q = reshape(g, "bs(grd)->bsgrd", sizes, linear(g, "q_attn", x, &queries));
    Value *k = reshape(g, "bs(gd)->bsgd", sizes, linear(g, "k_attn", x, &keys));
    Value *v = reshape(g, "bs(gd)->bsgd", sizes, linear(g, "v_attn", x, &keys));
    q = transform(b, q);
    k = transform(b, k);
    if (s->attention_config.qk_norm_config) {
        Norm n = norm_of(s->attention_config.qk_norm_config);
        q = norm(g, "q_norm", q, &n);
        k = norm(g, "k_norm", k, &n);
    }
    Attention attrs = { .causal = true, .dropout = b->dropout, .salt = b->salt++ };
    Value *o =
        attention(g, q, cached(b, "k_cache", k), cached(b, "v_cache", v), b->documents, &attrs);
    Value *y = linear(g, "c_proj", reshape(g, "bsgrd->bs(grd)", NULL, o), &out);
    return maybe_dropout(g, y, b->dropout, b->salt++);
}

static Value *feed_forward(Build *b, Value *x)
{
    const Gpt2Settings *s = b->s;
    if (s->activation_type == ACTIVATION_GELU)
        return gelu_mlp(b->g, x, s->ffn_hidden, s->bias, b->dropout, b->salt++);
    return swiglu_mlp(
        b->g, x, swiglu_hidden(s->ffn_hidden, s->enforce_swiglu_hidden_dim_multiple_of), s->bias);
}

static Value *block(Build *b, Value *x, int i)
{
    Graph *g = b->g;
    Norm attention_norm = norm_of(&b->s->attention_norm_config),
         ffn_norm = norm_of(&b->s->ffn_norm_config);
    graph_enter(g, "h", i);
    Value *n = norm(g, "attention_norm", x, &attention_norm);
    graph_enter(g, "attn", -1);
    x = add(g, x, attention_layer(b, n));
    graph_leave(g);
    n = norm(g, "ffn_norm", x, &ffn_norm);
    graph_enter(g, "mlp", -1);
    x = add(g, x, feed_forward(b, n));
    graph_leave(g);
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
    const Gpt2Settings *s = ((const Gpt2 *)self)->settings;
    Build b = { .s = s,
                .f = f,
                .g = g,
                .dropout = f->training ? s->dropout : 0,
                .table = NEW_N(g->arena, Value *, s->attention_config.qkv_transforms.n) };
    int64_t longest = f->cache_length > f->sequence ? f->cache_length : f->sequence;
    if (longest > s->sequence_length)
        return error_new(
            "a sequence of %lld tokens is longer than the model's sequence_length %lld",
            (long long)longest, (long long)s->sequence_length);
    Norm head_norm = norm_of(&s->lm_head_norm_config);
    graph_enter(g, "transformer", -1);
    Value *wte = embedding_table(g, "wte", s->vocab_size, s->n_embd, "vocab", ROLE_EMBEDDING);
    Value *x = embed(g, model_input(g, &self->inputs[0], f), wte);
    if (f->documents && s->document_key) b.documents = model_input(g, &self->inputs[1], f);
    if (s->poe_type == POE_ABSOLUTE)
        x = add_learned(
            &b, x, embedding_table(g, "wpe", s->sequence_length, s->n_embd, NULL, ROLE_POSITION));
    x = maybe_dropout(g, x, b.dropout, b.salt++);
    for (int i = 0; i < s->n_layer; i++) x = block(&b, x, i);
    out->hidden = norm(g, "lm_head_norm", x, &head_norm);
    const Linear head = { s->vocab_size, "vocab", "embed", false, ROLE_HEAD };
    out->head = s->use_weight_tying ? wte : linear_weight(g, "lm_head", s->n_embd, &head);
    graph_leave(g);
    return graph_finish(g);
}

/* As regular expressions of the original: `.attn` is any character, then "attn". */
static const DecayGroup groups[] = {
    { "linear", (const char *const[]){ "attn", "mlp", "lm_head.weight", NULL } },
    { "embedding", (const char *const[]){ "wte", "wpe", NULL } },
    { "layernorm", (const char *const[]){ "attention_norm", "ffn_norm", "lm_head_norm", NULL } },
    { 0 },
};

static const BlockClass blocks[] = { { "GPT2Block", "transformer.h" }, { 0 } };

static void give_hint(const Gpt2Settings *s)
{
    const struct {
        const char *key;
        int64_t value;
    } size[] = {
        { "vocab_size", s->vocab_size },
        { "n_embd", s->n_embd },
        { "ffn_hidden", s->ffn_hidden },
    };
    for (int i = 0; i < 3; i++)
        if (size[i].value % 128) {
            log_info("hint: %s %lld is not a multiple of 128; multiples of 128 run faster",
                     size[i].key, (long long)size[i].value);
            return;
        }
}

Model *gpt2_new(Arena *a, const Gpt2Settings *s)
{
    Gpt2 *m = NEW(a, Gpt2);
    *m = (Gpt2){
        .base = { .forward = forward,
                  .name = "gpt2",
                  .blocks = blocks,
                  .inputs = m->inputs,
                  .prediction_key = s->prediction_key,
                  .vocab_size = s->vocab_size,
                  .sequence_length = s->sequence_length,
                  .n_layer = s->n_layer,
                  .width = s->n_embd,
                  .seed = s->seed ? *s->seed : 0,
                  .groups = groups,
                  .compute = F32,
                  .weights_dtype = F32,
                  .passes = { .arena = a } },
        .settings = s,
    };
    m->inputs[0] = model_token_ids(s->sample_key, "sample_key", s->vocab_size);
    if (s->document_key) {
        m->inputs[1] = model_token_ids(s->document_key, "document_key", 0);
        m->inputs[1].of_documents = true;
    }
    give_hint(s);
    return &m->base;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    *out = gpt2_new(builder_arena(b), settings);
    return NULL;
}

const ComponentDef model_gpt2 = {
    .kind = "model",
    .variant = "gpt2",
    .doc = "decoder-only transformer: GPT-2, and with RoPE, GQA, SwiGLU and RMS norms the Llama "
           "family",
    .fields = gpt2_fields,
    .settings_size = sizeof(Gpt2Settings),
    .check = gpt2_check,
    .build = build,
};
