/* patches.c - the first step of a vision transformer: a convolution is a product with patches. */
#include "ops/patches.h"
#include <string.h>

static const OpDef op_patches;

static const Field attrs[] = {
    FIELD_INT(Patches, size, NULL, 0, 0, "rows and columns of a patch"),
    FIELD_INT(Patches, stride, NULL, 0, 0, "from one patch to the next"),
    { 0 },
};

int64_t patch_count(int64_t length, int64_t size, int64_t stride)
{
    return length < size ? 0 : (length - size) / stride + 1;
}

Value *patches(Graph *g, Value *images, int64_t size, int64_t stride)
{
    const Dim *d = images->dim;
    const int64_t n = patch_count(d[2].size, size, stride) * patch_count(d[3].size, size, stride);
    const int64_t inputs = d[1].size * size * size;
    const char *sizes = arena_printf(g->arena, "s=%lld k=%lld", (long long)n, (long long)inputs);
    if (n < 1) graph_fail(g, error_new("no patch of %lld pixels fits", (long long)size));
    const Patches a = { size, stride };
    return graph_add_dims(g, &op_patches, "bc!h!w!->bs!k!", sizes, &a, 1, &images)->out[0];
}

static int reference(const Launch *l)
{
    const Tensor *in = &l->in[0];
    const int64_t size = ((const Patches *)l->attrs)->size,
                  stride = ((const Patches *)l->attrs)->stride;
    const int64_t channels = in->size[1], height = in->size[2], width = in->size[3];
    const int64_t down = patch_count(height, size, stride),
                  across = patch_count(width, size, stride);
    double *y = l->out[0].data;
    for (int64_t b = 0; b < in->size[0]; b++)
        for (int64_t p = 0; p < down * across; p++)
            for (int64_t c = 0; c < channels; c++)
                for (int64_t i = 0; i < size; i++, y += size) {
                    int64_t row = p / across * stride + i, column = p % across * stride;
                    const double *x = (const double *)in->data +
                                      ((b * channels + c) * height + row) * width + column;
                    memcpy(y, x, sizeof *y * (size_t)size);
                }
    return KERNEL_OK;
}

static const OpDef op_patches = {
    .name = "patches",
    .doc = "patches of images, row by row",
    .attrs = attrs,
    .attrs_size = sizeof(Patches),
    .reference = reference,
};

const OpDef *const patches_ops[] = { &op_patches, NULL };
