/* layer_norm.c - layer_norm.rms_norm, layer_norm and pytorch_rms_norm: norms on their own. */
#include "config/builder.h"
#include "models/gpt2.h"
#include "models/layers.h"

static void *give(Builder *b, Norm norm)
{
    return arena_copy(builder_arena(b), &norm, sizeof norm);
}

static Error *build_rms(Builder *b, const void *settings, void **out)
{
    const struct RmsNormSettings *s = settings;
    *out = give(b, (Norm){ .type = NORM_RMS,
                           .width = s->ndim,
                           .eps = s->epsilon,
                           .has_weight = true,
                           .has_bias = s->bias });
    return NULL;
}

static Error *build_layer(Builder *b, const void *settings, void **out)
{
    const struct LayerNormSettings *s = settings;
    *out = give(b, (Norm){ .type = NORM_LAYER,
                           .width = s->normalized_shape,
                           .eps = s->eps,
                           .has_weight = s->elementwise_affine,
                           .has_bias = s->elementwise_affine && s->bias });
    return NULL;
}

static Error *build_pytorch_rms(Builder *b, const void *settings, void **out)
{
    const struct PytorchRmsNormSettings *s = settings;
    *out = give(b, (Norm){ .type = NORM_PYTORCH_RMS,
                           .width = s->normalized_shape,
                           .eps = s->eps,
                           .has_weight = true });
    return NULL;
}

const ComponentDef layer_norm_rms_norm = {
    .kind = "layer_norm",
    .variant = "rms_norm",
    .doc = "RMS norm with a weight and, if asked, a bias",
    .fields = rms_norm_fields,
    .settings_size = sizeof(struct RmsNormSettings),
    .build = build_rms,
};

const ComponentDef layer_norm_layer_norm = {
    .kind = "layer_norm",
    .variant = "layer_norm",
    .doc = "layer norm: mean and variance",
    .fields = layer_norm_fields,
    .settings_size = sizeof(struct LayerNormSettings),
    .build = build_layer,
};

const ComponentDef layer_norm_pytorch_rms_norm = {
    .kind = "layer_norm",
    .variant = "pytorch_rms_norm",
    .doc = "RMS norm with a weight",
    .fields = pytorch_rms_norm_fields,
    .settings_size = sizeof(struct PytorchRmsNormSettings),
    .build = build_pytorch_rms,
};
