/* vision_transformer.h - settings and encoder of model.vision_transformer, which CoCa has inside.
 */
#ifndef MODELS_VISION_TRANSFORMER_H
#define MODELS_VISION_TRANSFORMER_H
#include "config/field.h"
#include "models/model.h"
#include "models/multi_head.h"

/* One number for both, or height and width. */
typedef struct ImageSize {
    int which;
    int64_t both;
    IntList each;
} ImageSize;

typedef struct VisionSettings {
    const char *sample_key, *prediction_key;
    ImageSize img_size;
    const int64_t *n_classes;
    int64_t n_layer;
    const AttentionEngine *attention_config;
    int64_t n_head, n_embd;
    double dropout;
    int64_t patch_size, patch_stride, n_img_channels;
    bool add_cls_token, bias;
} VisionSettings;

/* Of the model itself, and of the part of another one that it is. */
extern const Field vision_fields[], vision_part_fields[];
Error *vision_check(const void *settings);
/* The images of a batch, under the setting `key` of the model. */
ModelInput vision_input(const VisionSettings *s, const char *key);
/* Rows [b tokens width] of the images after the last block. Dropout as `training` says; `salt` is
 * that of the next dropout. */
Value *vision_encode(Graph *g, const VisionSettings *s, Value *images, bool training,
                     int64_t *salt);
#endif
