/* patches.h - images cut into patches. */
#ifndef OPS_PATCHES_H
#define OPS_PATCHES_H
#include "graph/op.h"

/* How many patches of this size fit along `length`. */
int64_t patch_count(int64_t length, int64_t size, int64_t stride);
/* Patches of images [b c h w], row by row, as rows [b s (c size size)]: what a convolution of that
 * stride multiplies with its weight. No gradient: images are given. */
Value *patches(Graph *g, Value *images, int64_t size, int64_t stride);

/* Attributes of "patches". */
typedef struct Patches {
    int64_t size, stride;
} Patches;
#endif
