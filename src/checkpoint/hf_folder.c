/* hf_folder.c - finds tensors in a Hugging Face folder: in one file, or in the shards of an index.
 */
#include "checkpoint/hf_folder.h"
#include "base/file.h"
#include "checkpoint/box.h"
#include <string.h>

static Error *read_index(HfFolder *f, const char *path)
{
    Yaml *index;
    f->index = path;
    TRY(yaml_read_json(f->arena, path, &index));
    f->shards = yaml_get(index, "weight_map");
    if (f->shards && f->shards->type == YAML_MAP) return NULL;
    return error_new("%s: there is no weight_map in it", path);
}

Error *hf_folder_open(Arena *a, const char *path, const HfDialect *dialect, HfFolder *f)
{
    /* in the order in which transformers looks for them */
    static const char *const files[] = { "model.safetensors", "pytorch_model.bin" };
    *f = (HfFolder){ .arena = a, .path = path, .open = map_new(a), .dialect = dialect };
    for (int i = 0; i < 2; i++) {
        const char *index =
            path_join(f->arena, f->path, arena_printf(f->arena, "%s.index.json", files[i]));
        if (file_exists(index)) return read_index(f, index);
        f->file = files[i];
        if (file_exists(path_join(f->arena, f->path, f->file))) return NULL;
    }
    return error_as_absent(error_new("%s holds no weights: there is neither %s nor %s, nor "
                                     "an .index.json of one of them",
                                     f->path, files[0], files[1]));
}

static Error *open_file(HfFolder *f, const char *name, const char *tensor, const HfFile **out)
{
    HfFile *file = map_get(f->open, str_of(name));
    *out = file;
    if (file) return NULL;
    const char *path = path_join(f->arena, f->path, name);
    if (strchr(name, '/'))
        return error_new("%s: %s lies in %s, which is no file of the folder", f->index, tensor,
                         name);
    if (!file_exists(path))
        return error_new("%s: %s lies in %s, which is missing", f->index, tensor, path);
    TRY(hf_file_open(f->arena, path, &file));
    map_set(f->open, str_of(name), file);
    *out = file;
    return NULL;
}

static Error *find_named(HfFolder *f, const char *name, HfFound *out)
{
    const char *file = f->file;
    if (f->shards) {
        const Yaml *shard = yaml_get(f->shards, name);
        if (!shard) return NULL;
        if (shard->type != YAML_STRING)
            return error_new("%s: the file of %s is no text", f->index, name);
        file = shard->text;
    }
    TRY(open_file(f, file, name, &out->file));
    TRY(hf_file_find(out->file, name, &out->tensor));
    if (out->tensor || !f->shards) return NULL;
    return error_new("%s has no tensor %s, although %s says so", hf_file_path(out->file), name,
                     f->index);
}

static Error *find_respelled(HfFolder *f, const char *name, HfFound *out)
{
    const HfRenamed *r = f->dialect ? f->dialect->respelled : NULL;
    for (; r && r->theirs && !out->tensor; r++) {
        const char *part = strstr(name, r->ours);
        if (!part) continue;
        const char *other = arena_printf(f->arena, "%.*s%s%s", (int)(part - name), name, r->theirs,
                                         part + strlen(r->ours));
        TRY(find_named(f, other, out));
    }
    return NULL;
}

/* A layer that has adapters beside it. */
static Error *find_base(HfFolder *f, const char *name, HfFound *out)
{
    const char *rest = strrchr(name, '.');
    if (!f->base_layers || !rest) return NULL;
    return find_named(
        f, arena_printf(f->arena, "%.*s.base_layer%s", (int)(rest - name), name, rest), out);
}

/* Under its name; without that of the model around it, as in files of the first GPT-2; as the text
 * model of a larger one, in the spelling of transformers 5 and 4; or as its class is respelled. */
Error *hf_folder_find(HfFolder *f, const char *name, HfFound *out)
{
    static const struct {
        const char *without, *with;
    } spelling[] = { { "", "" },
                     { "transformer.", "" },
                     { "model.", "" },
                     { "model.", "model.language_model." },
                     { "model.", "model.text_model." },
                     { "", "language_model." },
                     { "", "text_model." },
                     { "", "thinker." },
                     { "model.", "thinker.model.language_model." } };
    *out = (HfFound){ 0 };
    for (size_t i = 0; i < sizeof spelling / sizeof *spelling && !out->tensor; i++) {
        if (!str_starts(str_of(name), spelling[i].without)) continue;
        const char *rest = name + strlen(spelling[i].without);
        TRY(find_named(f, arena_printf(f->arena, "%s%s", spelling[i].with, rest), out));
    }
    if (!out->tensor) TRY(find_base(f, name, out));
    if (!out->tensor) TRY(find_respelled(f, name, out));
    if (out->tensor) return NULL;
    return error_new("%s has no tensor %s", f->index ? f->index : hf_file_path(out->file), name);
}

const char *hf_shape_text(Arena *a, int n_dims, const int64_t *size)
{
    Text t = { 0 };
    sizes_print(&t, size, n_dims);
    const char *s = arena_string(a, t.ptr);
    text_free(&t);
    return s;
}

bool hf_folder_has(HfFolder *f, const char *name, HfFound *out)
{
    Error *e = hf_folder_find(f, name, out);
    const bool found = !e;
    error_free(e);
    return found;
}

Error *hf_folder_names(HfFolder *f, HfNameUse *use, void *arg)
{
    const HfFile *file;
    for (int64_t i = 0; f->shards && i < f->shards->n; i++) use(arg, f->shards->key[i]->text);
    if (f->shards) return NULL;
    TRY(open_file(f, f->file, "", &file));
    const Map *names = hf_file_names(file);
    for (int64_t i = 0; i < names->n; i++) {
        const Str name = names->entry[i].key;
        use(arg, arena_string_n(f->arena, name.ptr, name.len));
    }
    return NULL;
}
