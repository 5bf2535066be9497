/* checkpoint.c - finds the format of a checkpoint; saves and loads a process's state. */
#include "checkpoint/checkpoint.h"
#include "base/file.h"
#include "checkpoint/dcp_metadata.h"
#include "checkpoint/folder_write.h"
#include "checkpoint/manifest.h"
#include "checkpoint/native.h"
#include "checkpoint/new_folder.h"
#include "checkpoint/saving.h"
#include "checkpoint/torch_read.h"
#include "checkpoint/weights.h"
#include "config/yaml.h"
#include <string.h>

static const char SUPPORTED[] =
    "readable are checkpoint folders of this program (with " MANIFEST_NAME
    ") and of torch (DCP, with " DCP_METADATA "), the " LAST_CHECKPOINT_INFO
    " beside them, .safetensors files, and .bin, .pt and .pth files of torch.save";

/* What tells the last checkpoint of an experiment's folder, or of its checkpoints', or NULL. */
static const char *info_inside(Arena *a, const char *path, const char *folder)
{
    static const char *const places[] = { LAST_CHECKPOINT_INFO,
                                          "checkpoints/" LAST_CHECKPOINT_INFO };
    for (int i = 0; i < 2; i++)
        if (file_exists(path_join(a, folder, places[i]))) return path_join(a, path, places[i]);
    return NULL;
}

static Error *open_folder(Arena *a, const char *path, const char *folder, CheckpointReader **out)
{
    if (file_exists(path_join(a, folder, MANIFEST_NAME))) return native_open(a, path, folder, out);
    if (file_exists(path_join(a, folder, DCP_METADATA))) return dcp_open(a, path, folder, out);
    if (file_exists(path_join(a, folder, "__0_0.distcp")))
        return error_new("%s: an unfinished checkpoint of the original (DCP): "
                         ".metadata is missing",
                         path);
    if (file_exists(path_join(a, folder, "config.json")))
        return error_new("%s: a Hugging Face model folder is a model of its own "
                         "(model.huggingface_pretrained_model), not the checkpoint of another; %s",
                         path, SUPPORTED);
    const char *inside = info_inside(a, path, folder);
    if (inside)
        return error_new("%s: an experiment, no checkpoint; its last one is meant by %s", path,
                         inside);
    return error_new("%s: no checkpoint: there is no " MANIFEST_NAME " in this folder; %s", path,
                     SUPPORTED);
}

static Error *open_path(Arena *a, const char *path, CheckpointReader **out);

/* The folder, or the pair of files, that a last_checkpoint_info.json names. */
static Error *open_info(Arena *a, const char *path, CheckpointReader **out)
{
    Yaml *info;
    TRY(yaml_read_json(a, path, &info));
    const char *folder = yaml_text_at(info, "checkpoint_folder_path");
    const char *const pair[] = { yaml_text_at(info, "model_checkpoint_path"),
                                 yaml_text_at(info, "optimizer_checkpoint_path") };
    if (!*folder && *pair[0] && *pair[1] && strcmp(pair[0], pair[1]) != 0)
        return torch_open(a, pair, 2, out);
    if (!*folder) folder = pair[0];
    if (!*folder) return error_new("%s: there is no checkpoint_folder_path in it", path);
    return open_path(a, folder, out);
}

static Error *open_path(Arena *a, const char *path, CheckpointReader **out)
{
    const char *place = folder_resolve(a, path);
    if (!file_exists(place)) return error_new("%s: no such checkpoint", path);
    if (is_directory(place)) return open_folder(a, path, place, out);
    if (str_ends(str_of(path), ".safetensors")) return weights_open(a, path, out);
    if (str_ends(str_of(path), ".bin") || str_ends(str_of(path), ".pt") ||
        str_ends(str_of(path), ".pth"))
        return torch_open(a, &path, 1, out);
    if (str_ends(str_of(path), ".distcp"))
        return error_new("%s: a part of a DCP checkpoint; give the folder that it lies in", path);
    return error_new("%s: no checkpoint; %s", path, SUPPORTED);
}

static Error *open_any(Arena *a, const char *path, CheckpointReader **out)
{
    bool is_info = !strcmp(path_name(path), LAST_CHECKPOINT_INFO) && file_exists(path);
    return is_info ? open_info(a, path, out) : open_path(a, path, out);
}

void checkpoint_index(Arena *a, CheckpointReader *r)
{
    r->by_name = map_new(a);
    for (int64_t i = 0; i < r->n_entries; i++)
        map_set(r->by_name, str_of(r->entry[i].name), (void *)(intptr_t)(i + 1));
}

Error *checkpoint_open(Arena *a, const char *path, CheckpointReader **out)
{
    TRY(open_any(a, path, out));
    checkpoint_index(a, *out);
    return NULL;
}

Error *checkpoint_check_info(const char *path)
{
    Arena *a = arena_new();
    CheckpointReader *r;
    Error *e = open_info(a, path, &r);
    arena_free(a);
    return error_wrap(e, "%s", path);
}

int64_t checkpoint_find(const CheckpointReader *r, const char *name)
{
    return (intptr_t)map_get(r->by_name, str_of(name)) - 1;
}

Error *checkpoint_write(const char *path, const CheckpointContent *c)
{
    return folder_write(path, c);
}

Error *checkpoint_save(const char *path, const StateTensor *state, int64_t n, const char *progress)
{
    const CheckpointContent c = { .state = state, .n = n, .progress = progress };
    return folder_write(path, &c);
}

static bool is_whole_part(const PartBox *place, const Tensor *part)
{
    for (int d = 0; d < part->n_dims; d++)
        if (place->local.size[d] != part->size[d]) return false;
    return true;
}

/* Reads one rectangle into its place in the part, through `scratch` unless it is the whole part. */
static Error *load_box(CheckpointReader *r, int64_t at, const PartBox *place, const Tensor *part,
                       Arena *scratch)
{
    Dtype stored = r->entry[at].dtype;
    int64_t count = box_count(&place->whole);
    bool is_direct = is_whole_part(place, part);
    if (is_direct && stored == part->dtype) return r->get(r, at, &place->whole, part->data);
    void *numbers = arena_alloc(scratch, (size_t)count * dtype_size(stored));
    TRY(r->get(r, at, &place->whole, numbers));
    if (stored != part->dtype) {
        void *converted =
            is_direct ? part->data : arena_alloc(scratch, (size_t)count * dtype_size(part->dtype));
        dtype_convert(part->dtype, converted, stored, numbers, count);
        numbers = converted;
    }
    const Box all = box_whole(part->n_dims, part->size);
    if (!is_direct)
        box_copy(&place->local, dtype_size(part->dtype), &place->local, numbers, &all, part->data);
    return NULL;
}

static Error *load_tensor(CheckpointReader *r, const StateTensor *t, Arena *scratch)
{
    PartBox *place;
    int n = part_boxes(scratch, t->whole, &t->part, &place);
    for (int i = 0; i < n; i++)
        TRY(load_box(r, checkpoint_find(r, t->name), &place[i], &t->part, scratch));
    return NULL;
}

Error *checkpoint_load(CheckpointReader *r, const StateTensor *state, int64_t n)
{
    TRY(checkpoint_check(r, state, n, NULL, NULL));
    for (int64_t i = 0; i < n; i++) {
        Arena *scratch = arena_new();
        Error *e = load_tensor(r, &state[i], scratch);
        arena_free(scratch);
        if (e) return e;
    }
    return NULL;
}
