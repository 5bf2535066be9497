/* weights.c - a plain .safetensors file as a checkpoint that holds parameters only. */
#include "checkpoint/weights.h"
#include "checkpoint/safetensors.h"
#include <string.h>

typedef struct Weights {
    CheckpointReader base;
    const Safetensors *file;
} Weights;

static Error *get(CheckpointReader *base, int64_t i, const Box *box, void *out)
{
    const Tensor *t = &((Weights *)base)->file->tensor[i].tensor;
    const Box whole = box_whole(t->n_dims, t->size);
    CHECK(box_contains(&whole, box));
    box_copy(box, dtype_size(t->dtype), &whole, t->data, box, out);
    return NULL;
}

static CheckpointEntry *entries_of(Arena *a, const Safetensors *f)
{
    CheckpointEntry *entry = NEW_N(a, CheckpointEntry, f->n);
    for (int64_t i = 0; i < f->n; i++) {
        const Tensor *t = &f->tensor[i].tensor;
        const char *name = f->tensor[i].name;
        if (!str_starts(str_of(name), "app.")) name = arena_printf(a, "app.model.%s", name);
        entry[i] = (CheckpointEntry){ .name = name, .dtype = t->dtype, .n_dims = t->n_dims };
        memcpy(entry[i].size, t->size, sizeof t->size);
    }
    return entry;
}

Error *weights_open(Arena *a, const char *path, CheckpointReader **out)
{
    Safetensors *f;
    TRY(safetensors_open(a, path, &f));
    Weights *w = NEW(a, Weights);
    *w = (Weights){ .base = { .format = "safetensors",
                              .path = f->path,
                              .progress = "{}",
                              .entry = entries_of(a, f),
                              .n_entries = f->n,
                              .get = get },
                    .file = f };
    *out = &w->base;
    return NULL;
}
