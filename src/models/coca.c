/* coca.c - model.coca: a vision encoder, a text decoder, and a decoder that reads both (Yu et al.
 * 2022). Parameters are named as in the original's state dict. */
#include "config/builder.h"
#include "models/vision_transformer.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/positions.h"
#include "ops/reshape.h"
#include "ops/sequence.h"

enum { TEXT_GELU, TEXT_SWIGLU, SWIGLU_MULTIPLE = 256 };

typedef struct TextSettings {
    const char *sample_key, *prediction_key;
    int64_t block_size, vocab_size, n_layer_text, n_layer_multimodal_text, n_head, n_embd,
        ffn_hidden;
    double dropout;
    bool bias;
    AttentionEngine attention_config;
    int activation;
    double epsilon;
} TextSettings;

typedef struct CocaSettings {
    const char *prediction_key, *vision_embd_prediction_key, *text_embd_prediction_key,
        *vision_cls_prediction_key, *text_cls_prediction_key;
    VisionSettings vision_encoder_config;
    TextSettings text_decoder_config;
    int64_t n_pool_head, n_vision_queries;
    bool bias_attn_pool;
    double epsilon_attn_pool;
    const int64_t *seed;
} CocaSettings;

typedef struct Coca {
    Model base;
    const CocaSettings *settings;
    ModelInput inputs[3];
} Coca;

/* While one forward pass is built. */
typedef struct Build {
    const CocaSettings *s;
    Graph *g;
    double dropout; /* of the text */
    int64_t salt;
} Build;

static Value *text_norm(Build *b, const char *name, Value *x)
{
    const TextSettings *t = &b->s->text_decoder_config;
    const Norm n = layer_norm_of(t->n_embd, t->epsilon, t->bias);
    return norm(b->g, name, x, &n);
}

static Value *text_mlp(Build *b, const char *name, Value *x)
{
    const TextSettings *t = &b->s->text_decoder_config;
    if (t->activation == TEXT_GELU)
        return fc_mlp(b->g, name, x, t->ffn_hidden, t->bias, b->dropout, &b->salt);
    graph_enter(b->g, name, -1);
    Value *y = gated_mlp(b->g, x, ACTIVATE_SILU, swiglu_hidden(t->ffn_hidden, SWIGLU_MULTIPLE),
                         t->bias, 1, 0);
    graph_leave(b->g);
    return y;
}

/* `context`: rows of the image that are read, too; NULL: text alone. */
static Value *text_block(Build *b, Value *x, Value *context, int i)
{
    const TextSettings *t = &b->s->text_decoder_config;
    const MultiHead self = { t->n_head, t->bias, true, b->dropout, &b->salt },
                    cross = { t->n_head, t->bias, false, b->dropout, &b->salt };
    Graph *g = b->g;
    graph_enter(g, "h", i);
    x = add(g, x, multi_head(g, "attn", text_norm(b, "ln_1", x), NULL, &self));
    if (context) {
        x = add(g, x, multi_head(g, "cross_attn", text_norm(b, "ln_3", x), context, &cross));
        x = add(g, x, text_mlp(b, "mlp_2", text_norm(b, "ln_4", x)));
    } else {
        x = add(g, x, text_mlp(b, "mlp", text_norm(b, "ln_2", x)));
    }
    graph_leave(g);
    return x;
}

/* Text and, as the last row, its class token; *wte is the embedding, which is the head, too. */
static Value *read_text(Build *b, Value *ids, Value **wte)
{
    const TextSettings *t = &b->s->text_decoder_config;
    Graph *g = b->g;
    graph_enter(g, "text_decoder", -1);
    Value *cls = learned_token(g, "cls_token", t->n_embd, 0.02);
    graph_enter(g, "transformer", -1);
    *wte = embedding_table(g, "wte", t->vocab_size, t->n_embd, "vocab", ROLE_EMBEDDING);
    Value *wpe = embedding_table(g, "wpe", t->block_size + 1, t->n_embd, NULL, ROLE_POSITION);
    Value *x = add_positions(g, join_row(g, embed(g, ids, *wte), cls, false), wpe, 0);
    x = maybe_dropout(g, x, b->dropout, ++b->salt);
    for (int i = 0; i < t->n_layer_text; i++) x = text_block(b, x, NULL, i);
    graph_leave(g);
    graph_leave(g);
    return x;
}

/* As many rows as there are queries, however many the image has. */
static Value *pool(Build *b, Value *image, int64_t batch)
{
    const CocaSettings *s = b->s;
    const int64_t width = s->vision_encoder_config.n_embd;
    const Dim d[] = { { .size = s->n_vision_queries + 1 }, { .size = width, .axis = "embed" } };
    const Norm n = layer_norm_of(width, s->epsilon_attn_pool, s->bias_attn_pool);
    const MultiHead m = { .n_head = s->n_pool_head, .bias = true, .salt = &b->salt };
    Value *queries = graph_param(b->g, "vision_queries", 2, d);
    queries->role = ROLE_TOKEN;
    queries->init = (Init){ .kind = INIT_NORMAL, .std = 1 };
    graph_enter(b->g, "attn_pool", -1);
    Value *x = multi_head(b->g, "attn", repeat_rows(b->g, queries, batch),
                          norm(b->g, "ln_1", image, &n), &m);
    x = norm(b->g, "ln_2", x, &n);
    graph_leave(b->g);
    return x;
}

static Error *forward(const Model *self, Graph *g, const ForwardSettings *f, ModelOutput *out)
{
    const CocaSettings *s = ((const Coca *)self)->settings;
    const TextSettings *t = &s->text_decoder_config;
    const int64_t n_queries = s->n_vision_queries;
    Build b = { .s = s, .g = g, .dropout = f->training ? t->dropout : 0 };
    if (f->sequence > t->block_size)
        return error_new("a text of %lld tokens is longer than the model's block_size %lld",
                         (long long)f->sequence, (long long)t->block_size);
    graph_enter(g, "vision_encoder", -1);
    Value *image = vision_encode(g, &s->vision_encoder_config, model_input(g, &self->inputs[0], f),
                                 f->training, &b.salt);
    graph_leave(g);
    Value *pooled = pool(&b, image, f->batch), *wte;
    Value *text = read_text(&b, model_input(g, &self->inputs[1], f), &wte);
    Value *seen = slice_rows(g, pooled, 0, n_queries);
    *out = (ModelOutput){ .head = wte, .n_named = 2 };
    out->named[0] =
        (NamedOutput){ s->vision_cls_prediction_key, slice_rows(g, pooled, n_queries, 1) };
    out->named[1] =
        (NamedOutput){ s->text_cls_prediction_key, slice_rows(g, text, f->sequence, 1) };
    Value *x = slice_rows(g, text, 0, f->sequence);
    graph_enter(g, "multimodal_decoder", -1);
    graph_enter(g, "transformer", -1);
    for (int i = 0; i < t->n_layer_multimodal_text; i++) x = text_block(&b, x, seen, i);
    out->hidden = text_norm(&b, "ln_f", x);
    graph_leave(g);
    graph_leave(g);
    return graph_finish(g);
}

static Error *check(const void *settings)
{
    const CocaSettings *s = settings;
    const VisionSettings *v = &s->vision_encoder_config;
    const TextSettings *t = &s->text_decoder_config;
    TRY(error_wrap(vision_check(v), "vision_encoder_config"));
    if (v->n_classes)
        return error_new(
            "vision_encoder_config.n_classes %lld: the encoder's rows are read, not its "
            "classes; allowed is null",
            (long long)*v->n_classes);
    if (v->n_embd != t->n_embd)
        return error_new("vision_encoder_config.n_embd %lld and text_decoder_config.n_embd %lld "
                         "must be equal: text attends to the image",
                         (long long)v->n_embd, (long long)t->n_embd);
    if (t->n_embd % t->n_head)
        return error_new("text_decoder_config.n_head %lld does not divide n_embd %lld",
                         (long long)t->n_head, (long long)t->n_embd);
    if (v->n_embd % s->n_pool_head)
        return error_new("n_pool_head %lld does not divide n_embd %lld", (long long)s->n_pool_head,
                         (long long)v->n_embd);
    if (t->dropout >= 1)
        return error_new("text_decoder_config.dropout %g: allowed are 0 <= dropout < 1",
                         t->dropout);
    return NULL;
}

static const BlockClass blocks[] = {
    { "VisionTransformerBlock", "vision_encoder.blocks" },
    { "TransformerBlock", "text_decoder.transformer.h" },
    { "TransformerBlock", "multimodal_decoder.transformer.h" },
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    const CocaSettings *s = settings;
    const TextSettings *t = &s->text_decoder_config;
    Coca *m = NEW(builder_arena(b), Coca);
    *m = (Coca){
        .base = { .forward = forward,
                  .name = "coca",
                  .blocks = blocks,
                  .inputs = m->inputs,
                  .prediction_key = s->prediction_key,
                  .vocab_size = t->vocab_size,
                  .sequence_length = t->block_size,
                  .n_layer = t->n_layer_text + t->n_layer_multimodal_text,
                  .width = t->n_embd,
                  .seed = s->seed ? *s->seed : 0,
                  .compute = F32,
                  .weights_dtype = F32,
                  .passes = { .arena = builder_arena(b) } },
        .settings = s,
        .inputs = { vision_input(&s->vision_encoder_config, "vision_encoder_config.sample_key"),
                    model_token_ids(t->sample_key, "text_decoder_config.sample_key",
                                    t->vocab_size) },
    };
    *out = m;
    return NULL;
}

/* clang-format off */
static const char *const activations[] = { "gelu|GELU", "swiglu|SWIGLU", NULL };
static const char UNUSED[] = "a part of the model hands it to the next; the result has no such key";
#define COUNT(m, text) FIELD_INT(TextSettings, m, NULL, 1, 2147483647, text)
static const Field text_fields[] = {
    FIELD_STRING(TextSettings, sample_key, NULL, "name of the token ids in a batch"),
    FIELD_STRING(TextSettings, prediction_key, NULL, "name of the decoder's result", .no_effect = UNUSED),
    COUNT(block_size, "longest text"),
    COUNT(vocab_size, "number of token ids"),
    FIELD_INT(TextSettings, n_layer_text, NULL, 1, 1000, "blocks that read text alone"),
    FIELD_INT(TextSettings, n_layer_multimodal_text, NULL, 1, 1000, "blocks that read the image, too"),
    COUNT(n_head, "number of heads"),
    COUNT(n_embd, "width"),
    COUNT(ffn_hidden, "width of the feed-forward layer (of swiglu: two thirds of it, rounded up to a multiple of 256)"),
    FIELD_FLOAT(TextSettings, dropout, NULL, 0, INFINITY, "dropout probability"),
    FIELD_BOOL(TextSettings, bias, NULL, "biases in attention, feed-forward layers and norms"),
    FIELD_STRUCT(TextSettings, attention_config, AttentionEngine, attention_engine_fields, NULL, "how attention is computed"),
    FIELD_CHOICE(TextSettings, activation, NULL, activations, "activation of the feed-forward layer"),
    FIELD_FLOAT(TextSettings, epsilon, NULL, 0, INFINITY, "added to the variance by norms"),
    { 0 },
};
#undef COUNT
static const Field fields[] = {
    FIELD_STRING(CocaSettings, prediction_key, "logits", "name of the logits"),
    FIELD_STRING(CocaSettings, vision_embd_prediction_key, NULL, "name of the image's rows", .no_effect = UNUSED),
    FIELD_STRING(CocaSettings, text_embd_prediction_key, NULL, "name of the text's rows", .no_effect = UNUSED),
    FIELD_STRING(CocaSettings, vision_cls_prediction_key, NULL, "name of the image's class token"),
    FIELD_STRING(CocaSettings, text_cls_prediction_key, NULL, "name of the text's class token"),
    FIELD_STRUCT(CocaSettings, vision_encoder_config, VisionSettings, vision_part_fields, NULL, "the vision encoder, as model.vision_transformer"),
    FIELD_STRUCT(CocaSettings, text_decoder_config, TextSettings, text_fields, NULL, "both text decoders"),
    FIELD_INT(CocaSettings, n_pool_head, NULL, 1, 2147483647, "heads of the attention that pools the image"),
    FIELD_INT(CocaSettings, n_vision_queries, NULL, 1, 2147483647, "rows that the image is pooled to"),
    FIELD_BOOL(CocaSettings, bias_attn_pool, NULL, "biases in the norms of the pooling"),
    FIELD_FLOAT(CocaSettings, epsilon_attn_pool, NULL, 0, INFINITY, "added to the variance by them"),
    FIELD_INT(CocaSettings, seed, "null", 0, 0, "seed of the initial weights"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_coca = {
    .kind = "model",
    .variant = "coca",
    .doc = "captions of images, and rows of image and text that belong together",
    .fields = fields,
    .settings_size = sizeof(CocaSettings),
    .check = check,
    .build = build,
};
