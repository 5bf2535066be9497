/* vision_transformer.c - model.vision_transformer: images as sequences of patches (Dosovitskiy et
 * al. 2020). Parameters are named as in the original's state dict. */
#include "models/vision_transformer.h"
#include "config/builder.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/patches.h"
#include "ops/positions.h"
#include "ops/reshape.h"
#include "ops/sequence.h"

enum { FFN_HIDDEN = 3072 }; /* not a setting of the original */
static const double norm_eps = 1e-5;

typedef struct Vision {
    Model base;
    const VisionSettings *settings;
    ModelInput inputs[2];
} Vision;

static int64_t height_of(const VisionSettings *s)
{
    return s->img_size.which == 0 ? s->img_size.both : s->img_size.each.item[0];
}

static int64_t width_of(const VisionSettings *s)
{
    return s->img_size.which == 0 ? s->img_size.both : s->img_size.each.item[1];
}

static int64_t n_tokens(const VisionSettings *s)
{
    return patch_count(height_of(s), s->patch_size, s->patch_stride) *
               patch_count(width_of(s), s->patch_size, s->patch_stride) +
           s->add_cls_token;
}

ModelInput vision_input(const VisionSettings *s, const char *key)
{
    return (ModelInput){ .name = s->sample_key,
                         .setting = key,
                         .dtype = F32,
                         .n_dims = 4,
                         .dim = { { .axis = "batch" },
                                  { .size = s->n_img_channels },
                                  { .size = height_of(s) },
                                  { .size = width_of(s) } } };
}

/* A convolution, as the product of its weight with patches. */
static Value *embed_patches(Graph *g, const VisionSettings *s, Value *images)
{
    const int64_t inputs = s->n_img_channels * s->patch_size * s->patch_size;
    const Dim d[] = { { .size = s->n_embd, .axis = "embed" },
                      { .size = s->n_img_channels },
                      { .size = s->patch_size },
                      { .size = s->patch_size } };
    graph_enter(g, "embedding_fn", -1);
    Value *weight = layer_param(g, "conv", "weight", 4, d, ROLE_LINEAR, init_of_linear(inputs));
    Value *bias = layer_param(g, "conv", "bias", 1, d, ROLE_LINEAR, init_of_linear(inputs));
    bias->is_bias = true;
    Value *rows = patches(g, images, s->patch_size, s->patch_stride);
    Value *x = contract(g, "*k,nk->*n", rows, reshape(g, "ncpq->n(cpq)", NULL, weight));
    x = add_bias(g, x, bias);
    if (s->add_cls_token) x = join_row(g, x, learned_token(g, "cls_token", s->n_embd, 0), true);
    graph_leave(g);
    return x;
}

static Value *block(Graph *g, const VisionSettings *s, Value *x, int i, double dropout,
                    int64_t *salt)
{
    const Norm n = layer_norm_of(s->n_embd, norm_eps, true);
    const MultiHead m = { .n_head = s->n_head, .bias = true, .salt = salt };
    graph_enter(g, "blocks", i);
    x = add(g, x, multi_head(g, "attention", norm(g, "norm1", x, &n), NULL, &m));
    x = add(g, x, fc_mlp(g, "mlp", norm(g, "norm2", x, &n), FFN_HIDDEN, s->bias, dropout, salt));
    graph_leave(g);
    return x;
}

Value *vision_encode(Graph *g, const VisionSettings *s, Value *images, bool training, int64_t *salt)
{
    const double dropout = training ? s->dropout : 0;
    Value *x = embed_patches(g, s, images);
    Value *positions =
        embedding_table(g, "positional_embedding_fn", n_tokens(s), s->n_embd, NULL, ROLE_POSITION);
    x = maybe_dropout(g, add_positions(g, x, positions, 0), dropout, ++*salt);
    for (int i = 0; i < s->n_layer; i++) x = block(g, s, x, i, dropout, salt);
    return x;
}

static Error *forward(const Model *self, Graph *g, const ForwardSettings *f, ModelOutput *out)
{
    const VisionSettings *s = ((const Vision *)self)->settings;
    const Norm n = layer_norm_of(s->n_embd, norm_eps, true);
    const Linear head = { *s->n_classes, "vocab", "embed", s->bias, ROLE_HEAD };
    int64_t salt = 0;
    Value *x = vision_encode(g, s, model_input(g, &self->inputs[0], f), f->training, &salt);
    x = s->add_cls_token ? reshape(g, "bsd->(bs)d", NULL, slice_rows(g, x, 0, 1)) : mean_rows(g, x);
    *out = (ModelOutput){ .logits = linear(g, "head", norm(g, "norm", x, &n), &head) };
    return graph_finish(g);
}

Error *vision_check(const void *settings)
{
    const VisionSettings *s = settings;
    if (s->img_size.which == 1 && s->img_size.each.n != 2)
        return error_new("img_size: allowed are one number, or height and width");
    if (s->n_embd % s->n_head)
        return error_new("n_head %lld does not divide n_embd %lld", (long long)s->n_head,
                         (long long)s->n_embd);
    if (height_of(s) < s->patch_size || width_of(s) < s->patch_size)
        return error_new("patch_size %lld is larger than the image", (long long)s->patch_size);
    if (s->dropout >= 1) return error_new("dropout %g: allowed are 0 <= dropout < 1", s->dropout);
    return NULL;
}

static Error *check(const void *settings)
{
    const VisionSettings *s = settings;
    if (!s->n_classes)
        return error_new("n_classes null: without classes the model has no result; inside of "
                         "model.coca it needs none");
    return vision_check(s);
}

static const BlockClass blocks[] = { { "VisionTransformerBlock", "blocks" }, { 0 } };

static Error *build(Builder *b, const void *settings, void **out)
{
    const VisionSettings *s = settings;
    Vision *m = NEW(builder_arena(b), Vision);
    *m = (Vision){
        .base = { .forward = forward,
                  .name = "vision_transformer",
                  .blocks = blocks,
                  .inputs = m->inputs,
                  .prediction_key = s->prediction_key,
                  .vocab_size = *s->n_classes,
                  .sequence_length = 1,
                  .n_layer = s->n_layer,
                  .width = s->n_embd,
                  .compute = F32,
                  .weights_dtype = F32,
                  .passes = { .arena = builder_arena(b) } },
        .settings = s,
        .inputs = { vision_input(s, "sample_key") },
    };
    *out = m;
    return NULL;
}

/* clang-format off */
static const Field size_fields[] = {
    FIELD_INT(ImageSize, both, NULL, 1, 65536, "height and width"),
    FIELD_INTS(ImageSize, each, NULL, 2, 2, "height, width"),
    { 0 },
};
#define COUNT(m, def, text) FIELD_INT(VisionSettings, m, def, 1, 2147483647, text)
#define ROWS(...) \
    FIELD_STRING(VisionSettings, sample_key, NULL, "name of the images in a batch: numbers [batch channels height width]"), \
    FIELD_STRING(VisionSettings, prediction_key, NULL, "name of the result", __VA_ARGS__), \
    FIELD_UNION(VisionSettings, img_size, ImageSize, size_fields, "224", "pixels of an image"), \
    COUNT(n_classes, "1000", "number of classes; null: no head"), \
    FIELD_INT(VisionSettings, n_layer, "12", 1, 1000, "number of blocks"), \
    FIELD_STRUCT(VisionSettings, attention_config, AttentionEngine, attention_engine_fields, "null", "how attention is computed", .no_effect = "all ways are one exact attention"), \
    COUNT(n_head, "8", "number of heads"), \
    COUNT(n_embd, "768", "width"), \
    FIELD_FLOAT(VisionSettings, dropout, "0.0", 0, INFINITY, "dropout probability after positions and feed-forward layers"), \
    COUNT(patch_size, "16", "height and width of a patch"), \
    COUNT(patch_stride, "16", "pixels from one patch to the next"), \
    COUNT(n_img_channels, "3", "channels of an image"), \
    FIELD_BOOL(VisionSettings, add_cls_token, "true", "a learned token in front gives the result; false: the mean of all"), \
    FIELD_BOOL(VisionSettings, bias, "true", "biases in feed-forward layers and head"),
const Field vision_fields[] = { ROWS(.no_effect = NULL) { 0 } };
const Field vision_part_fields[] = {
    ROWS(.no_effect = "a part of the model hands it to the next; the result has no such key") { 0 }
};
#undef ROWS
#undef COUNT
/* clang-format on */

const ComponentDef model_vision_transformer = {
    .kind = "model",
    .variant = "vision_transformer",
    .doc = "classes of images, from their patches",
    .fields = vision_fields,
    .settings_size = sizeof(VisionSettings),
    .check = check,
    .build = build,
};
