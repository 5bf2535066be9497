/* hf_weights.c - reads parameters from files with Hugging Face's names and layouts. */
#include "checkpoint/hf_weights.h"
#include "base/file.h"
#include "checkpoint/hf_file.h"
#include "config/yaml.h"
#include <string.h>

/* A tensor and the file that it is in. */
typedef struct Found {
    const HfFile *file;
    const Tensor *tensor;
} Found;

typedef struct HfWeights {
    CheckpointReader base;
    HfSource *source; /* of each entry */
    Found **found;    /* of each entry its tensors */
} HfWeights;

/* What a folder holds. */
typedef struct Folder {
    Arena *arena;
    const char *path;
    const char *file;   /* that all tensors lie in, or NULL */
    const char *index;  /* path of the index; NULL: one file */
    const Yaml *shards; /* name of a tensor to its file */
    Map *open;          /* name of a file to HfFile * */
} Folder;

static Error *read_index(Folder *f, const char *path)
{
    Yaml *index;
    f->index = path;
    TRY(yaml_read_json(f->arena, path, &index));
    f->shards = yaml_get(index, "weight_map");
    if (f->shards && f->shards->type == YAML_MAP) return NULL;
    return error_new("%s: there is no weight_map in it", path);
}

static Error *open_folder(Folder *f)
{
    /* in the order in which transformers looks for them */
    static const char *const files[] = { "model.safetensors", "pytorch_model.bin" };
    f->open = map_new(f->arena);
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

static Error *open_file(Folder *f, const char *name, const char *tensor, const HfFile **out)
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

static Error *find_named(Folder *f, const char *name, Found *out)
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

/* Under its name; without that of the model around it, as in files of the first GPT-2; or as the
 * text model of a larger one, in the spelling of transformers 5 and 4. */
static Error *find(Folder *f, const char *name, Found *out)
{
    static const struct {
        const char *without, *with;
    } spelling[] = { { "", "" },
                     { "transformer.", "" },
                     { "model.", "" },
                     { "model.", "model.language_model." },
                     { "", "language_model." } };
    *out = (Found){ 0 };
    for (size_t i = 0; i < sizeof spelling / sizeof *spelling && !out->tensor; i++) {
        if (!str_starts(str_of(name), spelling[i].without)) continue;
        const char *rest = name + strlen(spelling[i].without);
        TRY(find_named(f, arena_printf(f->arena, "%s%s", spelling[i].with, rest), out));
    }
    if (out->tensor) return NULL;
    return error_new("%s has no tensor %s", f->index ? f->index : hf_file_path(out->file), name);
}

static const char *shape_text(Arena *a, int n_dims, const int64_t *size)
{
    Text t = { 0 };
    text_putc(&t, '[');
    for (int d = 0; d < n_dims; d++) text_printf(&t, "%s%lld", d ? ", " : "", (long long)size[d]);
    text_putc(&t, ']');
    const char *s = arena_string(a, t.ptr);
    text_free(&t);
    return s;
}

static Error *check(Arena *a, const Found *f, const HfSource *s, const char *name)
{
    const Tensor *t = f->tensor;
    bool same = t->n_dims == s->n_dims;
    for (int d = 0; same && d < s->n_dims; d++) same = t->size[d] == s->size[d];
    if (same && dtype_is_float(t->dtype)) return NULL;
    if (same)
        return error_new("%s: %s is of type %s; allowed are floats", hf_file_path(f->file), name,
                         dtype_name(t->dtype));
    return error_new("%s: %s has the shape %s, but config.json makes it %s", hf_file_path(f->file),
                     name, shape_text(a, t->n_dims, t->size), shape_text(a, s->n_dims, s->size));
}

/* Columns of one row of the parameter; `at` is the element of the tensor where they begin. */
static void copy_row(const Tensor *from, int64_t at, int64_t stride, int64_t n, char *to)
{
    const size_t each = dtype_size(from->dtype);
    const char *in = from->data;
    if (stride == 1) {
        memcpy(to, in + (size_t)at * each, (size_t)n * each);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * each, in + (size_t)(at + i * stride) * each, each);
}

static Error *get(CheckpointReader *base, int64_t i, const Box *box, void *out)
{
    const HfWeights *w = (const HfWeights *)base;
    const HfSource *s = &w->source[i];
    const int last = box->n_dims - 1, row = last > 0 ? last - 1 : 0;
    const int64_t columns = last > 0 ? box->size[last] : 1,
                  first_column = last > 0 ? box->start[last] : 0;
    const int64_t n = last > 1 ? box->size[0] : 1, first = last > 1 ? box->start[0] : 0;
    char *to = out;
    for (int64_t e = 0; e < n; e++) {
        const Tensor *from = w->found[i][s->part_stride ? 0 : first + e].tensor;
        for (int64_t r = 0; r < box->size[row]; r++) {
            const int64_t at = (first + e) * s->part_stride +
                               hf_source_row(s, box->start[row] + r) +
                               first_column * s->column_stride;
            copy_row(from, at, s->column_stride, columns, to);
            to += (size_t)columns * dtype_size(from->dtype);
        }
    }
    return NULL;
}

static Error *open_entry(Folder *f, const HfModel *m, HfWeights *w, CheckpointEntry *entry,
                         int64_t i)
{
    HfSource *s = &w->source[i];
    TRY(hf_source(f->arena, m->family, m->decoder, entry->name, entry->n_dims, entry->size, s));
    w->found[i] = NEW_N(f->arena, Found, s->n_tensors);
    for (int64_t k = 0; k < s->n_tensors; k++) {
        TRY(find(f, s->tensor[k], &w->found[i][k]));
        TRY(check(f->arena, &w->found[i][k], s, s->tensor[k]));
        entry->dtype = w->found[i][k].tensor->dtype;
        if (entry->dtype != w->found[i][0].tensor->dtype)
            return error_new("%s: %s is of type %s, but %s of type %s",
                             hf_file_path(w->found[i][k].file), s->tensor[k],
                             dtype_name(entry->dtype), s->tensor[0],
                             dtype_name(w->found[i][0].tensor->dtype));
    }
    entry->name = arena_printf(f->arena, "app.model.%s", entry->name);
    return NULL;
}

Error *hf_weights_open(Arena *a, const HfModel *m, const CheckpointEntry *param, int64_t n,
                       CheckpointReader **out)
{
    Folder f = { .arena = a, .path = m->folder };
    HfWeights *w = NEW(a, HfWeights);
    CheckpointEntry *entry = NEW_N(a, CheckpointEntry, n);
    TRY(open_folder(&f));
    w->source = NEW_N(a, HfSource, n);
    w->found = NEW_N(a, Found *, n);
    for (int64_t i = 0; i < n; i++) {
        entry[i] = param[i];
        TRY(open_entry(&f, m, w, &entry[i], i));
    }
    w->base = (CheckpointReader){ .format = "huggingface",
                                  .path = m->folder,
                                  .progress = "{}",
                                  .entry = entry,
                                  .n_entries = n,
                                  .get = get };
    checkpoint_index(a, &w->base);
    *out = &w->base;
    return NULL;
}
