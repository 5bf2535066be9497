/* hf_file.c - tensors by name, from .safetensors or from what torch.save wrote. */
#include "checkpoint/hf_file.h"
#include "base/file.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/torch_file.h"
#include <string.h>

struct HfFile {
    Arena *arena;
    const char *path;
    Safetensors *safetensors; /* NULL: torch's */
    TorchFile torch;
    Map *by_name; /* of torch's: const Pickle * */
};

static Error *open_torch(HfFile *f)
{
    Str bytes;
    TRY(file_view(f->arena, f->path, &bytes));
    TRY(torch_file_read(f->arena, f->path, bytes, &f->torch));
    const Pickle *root = f->torch.root;
    if (root->kind != PICKLE_DICT) return error_new("%s: no dict of tensors", f->path);
    f->by_name = map_new(f->arena);
    for (int64_t i = 0; i < root->n; i += 2)
        if (root->item[i]->kind == PICKLE_TEXT)
            map_set(f->by_name, root->item[i]->text, root->item[i + 1]);
    return NULL;
}

Error *hf_file_open(Arena *a, const char *path, HfFile **out)
{
    HfFile *f = NEW(a, HfFile);
    f->arena = a;
    f->path = path;
    *out = f;
    return str_ends(str_of(path), ".bin") ? open_torch(f)
                                          : safetensors_open(a, path, &f->safetensors);
}

const char *hf_file_path(const HfFile *f)
{
    return f->path;
}

const Map *hf_file_names(const HfFile *f)
{
    return f->safetensors ? f->safetensors->by_name : f->by_name;
}

static Error *read_torch(const HfFile *f, const Pickle *value, Tensor **out)
{
    TorchTensor t;
    if (!torch_is_tensor(value)) return error_new("it is no tensor");
    TRY(torch_tensor(&f->torch, value, &t));
    TRY(zip_check(t.storage));
    *out = NEW(f->arena, Tensor);
    **out = (Tensor){ .data = (void *)t.data.ptr, .dtype = t.dtype, .n_dims = t.n_dims };
    memcpy((*out)->size, t.size, sizeof t.size);
    return NULL;
}

Error *hf_file_find(const HfFile *f, const char *name, const Tensor **out)
{
    Tensor *t = NULL;
    if (f->safetensors) {
        *out = safetensors_find(f->safetensors, name);
        return NULL;
    }
    const Pickle *value = map_get(f->by_name, str_of(name));
    if (value) TRY(error_wrap(read_torch(f, value, &t), "%s: %s", f->path, name));
    *out = t;
    return NULL;
}
