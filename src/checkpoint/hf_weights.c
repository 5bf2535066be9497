/* hf_weights.c - reads parameters from files with Hugging Face's names and layouts. */
#include "checkpoint/hf_weights.h"
#include "base/file.h"
#include "checkpoint/fp8.h"
#include "checkpoint/hf_file.h"
#include "checkpoint/mxfp4.h"
#include "checkpoint/ternary.h"
#include "config/yaml.h"
#include "models/hf/source.h"
#include <math.h>
#include <string.h>

/* A tensor and the file that it is in. */
typedef struct Found {
    const HfFile *file;
    const Tensor *tensor;
} Found;

typedef struct HfWeights {
    CheckpointReader base;
    HfSource *source;  /* of each entry */
    Found **found;     /* of each entry its tensors; of packed ones blocks and scales */
    Fp8 **scaled;      /* of each entry its tensors with scales, or NULL */
    Ternary **ternary; /* of each entry its tensor of ternary numbers, or NULL */
    bool *is_packed;
    float fp8[256];
} HfWeights;

/* What a folder holds. */
typedef struct Folder {
    Arena *arena;
    const char *path;
    const char *file;         /* that all tensors lie in, or NULL */
    const char *index;        /* path of the index; NULL: one file */
    const Yaml *shards;       /* name of a tensor to its file */
    Map *open;                /* name of a file to HfFile * */
    const HfDialect *dialect; /* or NULL */
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

static Error *find_respelled(Folder *f, const char *name, Found *out)
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

/* Under its name; without that of the model around it, as in files of the first GPT-2; as the text
 * model of a larger one, in the spelling of transformers 5 and 4; or as its class is respelled. */
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
    if (!out->tensor) TRY(find_respelled(f, name, out));
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

static bool has_shape(const Tensor *t, const HfSource *s)
{
    bool same = t->n_dims == s->n_dims;
    for (int d = 0; same && d < s->n_dims; d++) same = t->size[d] == s->size[d];
    return same;
}

static Error *check(Arena *a, const Found *f, const HfSource *s, const char *name)
{
    const Tensor *t = f->tensor;
    const bool same = has_shape(t, s);
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

/* Numbers of four bits: rows of experts [experts rows width], blocks beside each other. */
static void get_packed(const HfWeights *w, int64_t i, const Box *box, bf16 *to)
{
    const HfSource *s = &w->source[i];
    const uint8_t *blocks = w->found[i][0].tensor->data, *scales = w->found[i][1].tensor->data;
    const int64_t per_row = s->size[1] / MXFP4_BLOCK;
    for (int64_t e = box->start[0]; e < box->start[0] + box->size[0]; e++)
        for (int64_t r = box->start[1]; r < box->start[1] + box->size[1]; r++) {
            const int64_t at = (e * s->size[2] + s->base + r * s->row_stride) * per_row;
            mxfp4_read(blocks + at * MXFP4_BYTES, scales + at, box->start[2], box->size[2], to);
            to += box->size[2];
        }
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
    if (w->is_packed[i]) {
        get_packed(w, i, box, out);
        return NULL;
    }
    for (int64_t e = 0; e < n; e++) {
        for (int64_t r = 0; r < box->size[row]; r++) {
            int64_t part;
            const int64_t begin = hf_source_place(s, first + e, box->start[row] + r, &part),
                          at = begin + first_column * s->column_stride;
            if (w->ternary[i])
                ternary_read(w->ternary[i], at, columns, (float *)to);
            else if (w->scaled[i])
                fp8_read(&w->scaled[i][part], at, s->column_stride, columns, (float *)to);
            else
                copy_row(w->found[i][part].tensor, at, s->column_stride, columns, to);
            to += (size_t)columns * dtype_size(base->entry[i].dtype);
        }
    }
    return NULL;
}

/* Blocks have a dimension more than scales. */
static Error *check_packed(Arena *a, const Found *f, const HfSource *s, const char *name,
                           int n_dims)
{
    const int64_t size[] = { s->size[0], s->size[2], s->size[1] / MXFP4_BLOCK, MXFP4_BYTES };
    const Tensor *t = f->tensor;
    bool same = t->dtype == U8 && t->n_dims == n_dims && s->size[1] % MXFP4_BLOCK == 0;
    for (int d = 0; same && d < n_dims; d++) same = t->size[d] == size[d];
    if (same) return NULL;
    return error_new("%s: %s has the shape %s and type %s, but config.json makes it %s of u8, for "
                     "rows of %lld numbers in blocks of 32",
                     hf_file_path(f->file), name, shape_text(a, t->n_dims, t->size),
                     dtype_name(t->dtype), shape_text(a, n_dims, size), (long long)s->size[1]);
}

static Error *open_packed(Folder *f, HfWeights *w, CheckpointEntry *entry, int64_t i)
{
    static const char *const parts[] = { "blocks", "scales" };
    HfSource *s = &w->source[i];
    w->is_packed[i] = true;
    w->found[i] = NEW_N(f->arena, Found, 2);
    for (int k = 0; k < 2; k++) {
        const char *name = arena_printf(f->arena, "%s_%s", s->tensor[0], parts[k]);
        TRY(find(f, name, &w->found[i][k]));
        TRY(check_packed(f->arena, &w->found[i][k], s, name, 4 - k));
    }
    entry->dtype = BF16;
    return NULL;
}

/* In transformers' spelling, or as other programs have it. */
static Error *find_scales(Folder *f, const char *tensor, Found *out)
{
    Error *e = find(f, arena_printf(f->arena, "%s_scale_inv", tensor), out);
    if (!e) return NULL;
    Error *other = find(f, arena_printf(f->arena, "%s_scale", tensor), out);
    if (!other) {
        error_free(e);
        return NULL;
    }
    error_free(other);
    return error_wrap(e, "%s is of eight bits, without scales", tensor);
}

/* One for each block of the last two dimensions; one for all may be a number. */
static Error *check_scales(Arena *a, const Found *f, const char *tensor, const Tensor *of,
                           const int64_t *block)
{
    int64_t size[MAX_DIMS];
    const Tensor *t = f->tensor;
    bool same = t->n_dims == of->n_dims;
    memcpy(size, of->size, sizeof size);
    for (int k = 0; k < 2; k++) {
        int64_t *n = &size[of->n_dims - 2 + k];
        *n = (*n + block[k] - 1) / block[k];
    }
    for (int d = 0; same && d < t->n_dims; d++) same = t->size[d] == size[d];
    int64_t n = 1;
    for (int d = 0; d < of->n_dims; d++) n *= size[d];
    const bool is_number = n == 1 && t->n_dims < 2 && tensor_count(t) == 1;
    const bool has_type = t->dtype == F32 || t->dtype == BF16 || t->dtype == F16;
    if (has_type && (same || is_number)) return NULL;
    return error_new("%s: the scales of %s have the shape %s and type %s; with blocks of %lld x "
                     "%lld they must be %s of f32, bf16 or f16",
                     hf_file_path(f->file), tensor, shape_text(a, t->n_dims, t->size),
                     dtype_name(t->dtype), (long long)block[0], (long long)block[1],
                     shape_text(a, of->n_dims, size));
}

/* Tensor k of an entry, whose numbers have scales beside them. */
static Error *open_scaled(Folder *f, const HfModel *m, HfWeights *w, int64_t i, int64_t k)
{
    const HfSource *s = &w->source[i];
    const Tensor *t = w->found[i][k].tensor;
    Found scales;
    const char *path = hf_file_path(w->found[i][k].file), *name = s->tensor[k];
    if (t->dtype != F8_E4M3)
        return error_new("%s: %s is of type %s; with scales only f8_e4m3 is known", path, name,
                         dtype_name(t->dtype));
    if (t->n_dims < 2) return error_new("%s: %s is of eight bits, but no matrix", path, name);
    TRY(find_scales(f, name, &scales));
    const int64_t rows = t->size[t->n_dims - 2], columns = t->size[t->n_dims - 1];
    const Fp8 all = { .number = w->fp8,
                      .codes = t->data,
                      .scales = scales.tensor,
                      .rows = rows,
                      .columns = columns,
                      .block = { m->packing.block[0] ? m->packing.block[0] : rows,
                                 m->packing.block[1] ? m->packing.block[1] : columns } };
    if (!w->scaled[i]) w->scaled[i] = NEW_N(f->arena, Fp8, s->n_tensors);
    w->scaled[i][k] = all;
    return check_scales(f->arena, &scales, name, t, all.block);
}

/* A scale for all of a matrix of ternary numbers. */
static Error *read_unit(Folder *f, const HfModel *m, const char *name, double *unit)
{
    enum { LEAST = 100000 }; /* below one part of these a matrix counts as if it was so large */
    Found found;
    Error *e = find(f, arena_printf(f->arena, "%s_scale", name), &found);
    if (e) return error_wrap(e, "%s is packed", name);
    const Tensor *t = found.tensor;
    if (tensor_count(t) != 1 || !dtype_is_float(t->dtype))
        return error_new("%s: %s_scale has the shape %s and type %s; it must be one number",
                         hf_file_path(found.file), name, shape_text(f->arena, t->n_dims, t->size),
                         dtype_name(t->dtype));
    const double scale = dtype_get(t->dtype, t->data, 0);
    *unit = m->packing.divides ? 1 / scale : scale;
    if (*unit >= 1.0 / LEAST && isfinite(*unit)) return NULL;
    return error_new("%s: %s_scale is %g, so that 1 stands for %g; it must be at least 1e-5",
                     hf_file_path(found.file), name, scale, *unit);
}

/* Numbers whose mean size is the scale, with the signs of the ternary ones: these are what they
 * are rounded to, so that a model goes on with them as with any weights. */
static Error *open_ternary(Folder *f, const HfModel *m, HfWeights *w, int64_t i)
{
    const HfSource *s = &w->source[i];
    const char *name = s->tensor[0];
    Found *found = &w->found[i][0];
    double unit = 0;
    TRY(find(f, name, found));
    const Tensor *t = found->tensor;
    const char *path = hf_file_path(found->file);
    if (t->dtype != U8 || t->n_dims != 2 || t->size[0] * 4 != s->size[0] ||
        t->size[1] != s->size[1])
        return error_new("%s: %s has the shape %s and type %s, but config.json makes it %s, and "
                         "four rows one of u8",
                         path, name, shape_text(f->arena, t->n_dims, t->size), dtype_name(t->dtype),
                         shape_text(f->arena, s->n_dims, s->size));
    TRY(read_unit(f, m, name, &unit));
    Ternary *x = NEW(f->arena, Ternary);
    *x = (Ternary){ .codes = t->data, .rows = t->size[0], .columns = t->size[1] };
    const int64_t n = ternary_count(x);
    if (n < 0) return error_new("%s: %s has a number that is not -1, 0 or 1", path, name);
    if (n > 0) x->unit = (float)(unit * (double)(s->size[0] * s->size[1]) / (double)n);
    w->ternary[i] = x;
    return NULL;
}

static bool is_there(Folder *f, const char *name, Found *out)
{
    Error *e = find(f, name, out);
    const bool found = !e;
    error_free(e);
    return found;
}

/* Experts, each in tensors of its own, or all of a layer in one, as they are or transposed. */
static void find_experts(Folder *f, const CheckpointEntry *entry, HfSource *s)
{
    HfSource stacked;
    Found found;
    if (entry->n_dims != 3 || s->part_stride || is_there(f, s->tensor[0], &found)) return;
    if (!hf_source_stacked(f->arena, s, entry->size, false, &stacked)) return;
    if (!is_there(f, stacked.tensor[0], &found)) return;
    const Tensor *t = found.tensor;
    const bool turned = t->n_dims == 3 && t->size[1] != stacked.size[1] &&
                        t->size[1] == stacked.size[2] && t->size[2] == stacked.size[1];
    hf_source_stacked(f->arena, s, entry->size, turned, s);
}

/* The rows of three tensors one after the other; NULL: they are not of one type and width, or
 * together not those of the source. */
static const Tensor *join(Folder *f, const HfSource *s, const char *const *name)
{
    Found part[3];
    Tensor *t = NEW(f->arena, Tensor);
    int64_t rows = 0;
    for (int k = 0; k < 3; k++) {
        if (!is_there(f, name[k], &part[k])) return NULL;
        const Tensor *p = part[k].tensor;
        if (p->dtype != part[0].tensor->dtype || dtype_size(p->dtype) < 2 || p->n_dims != 3 ||
            p->size[1] != s->size[1] || p->size[2] != s->size[2])
            return NULL;
        rows += p->size[0];
    }
    if (rows != s->size[0]) return NULL;
    *t = *part[0].tensor;
    t->size[0] = rows;
    char *to = arena_alloc(f->arena, tensor_bytes(t));
    t->data = to;
    for (int k = 0; k < 3; k++) {
        const size_t bytes = tensor_bytes(part[k].tensor);
        memcpy(to, part[k].tensor->data, bytes);
        to += bytes;
    }
    return t;
}

/* Convolutions of queries, keys and values in three tensors of their own, or in one, or in three
 * that are cut elsewhere: what counts of those is the rows of all of them. True: they were found
 * so, and *s says where this one lies. */
static bool take_joined(Folder *f, const HfModel *m, HfSource *s, Found *out)
{
    const char *part[3], *whole;
    HfSource all;
    if (!hf_source_joined(f->arena, m->decoder, s, part, &whole, &all)) return false;
    const bool own = is_there(f, s->tensor[0], out);
    if (own && has_shape(out->tensor, s)) return false;
    if (own) out->tensor = join(f, &all, part);
    if (!own && (!is_there(f, whole, out) || !has_shape(out->tensor, &all))) out->tensor = NULL;
    if (!out->tensor) return false;
    *s = all;
    return true;
}

/* In the place of biases for the choice of experts that the folder may be, and is, without. */
static bool take_zeros(Folder *f, const HfModel *m, const CheckpointEntry *entry, const HfSource *s,
                       Found *out)
{
    if (!m->family->biases_may_lack || !text_matches("*.router.balance", entry->name)) return false;
    if (is_there(f, s->tensor[0], out)) return false;
    Tensor *t = NEW(f->arena, Tensor);
    *t = (Tensor){ .dtype = F32, .n_dims = 1, .size = { s->size[0] } };
    t->data = arena_alloc(f->arena, tensor_bytes(t));
    out->tensor = t;
    return true;
}

static Error *open_entry(Folder *f, const HfModel *m, HfWeights *w, CheckpointEntry *entry,
                         int64_t i)
{
    HfSource *s = &w->source[i];
    TRY(hf_source(f->arena, m->family, m->decoder, entry->name, entry->n_dims, entry->size, s));
    const bool is_packed = m->packing.format == HF_MXFP4 && s->part_stride,
               has_scales = m->packing.format == HF_FP8,
               is_ternary = m->packing.format == HF_TERNARY && entry->n_dims == 2 &&
                            text_matches("transformer.h.*", entry->name);
    if (is_packed)
        TRY(open_packed(f, w, entry, i));
    else
        find_experts(f, entry, s);
    if (!is_packed) w->found[i] = NEW_N(f->arena, Found, s->n_tensors);
    if (is_ternary) TRY(open_ternary(f, m, w, i));
    for (int64_t k = 0; !is_packed && !is_ternary && k < s->n_tensors; k++) {
        const Found *found = &w->found[i][k];
        if (!take_zeros(f, m, entry, s, &w->found[i][k]) && !take_joined(f, m, s, &w->found[i][k]))
            TRY(find(f, s->tensor[k], &w->found[i][k]));
        TRY(check(f->arena, found, s, s->tensor[k]));
        entry->dtype = found->tensor->dtype;
        if (entry->dtype != w->found[i][0].tensor->dtype)
            return error_new("%s: %s is of type %s, but %s of type %s", hf_file_path(found->file),
                             s->tensor[k], dtype_name(entry->dtype), s->tensor[0],
                             dtype_name(w->found[i][0].tensor->dtype));
        if (has_scales && dtype_size(entry->dtype) == 1) TRY(open_scaled(f, m, w, i, k));
    }
    if (w->scaled[i] || w->ternary[i]) entry->dtype = F32;
    entry->name = arena_printf(f->arena, "app.model.%s", entry->name);
    return NULL;
}

/* Where a file has them, they are as near as its format allows. */
static Error *check_constants(Folder *f, const HfModel *m)
{
    for (const HfConstant *c = hf_constants(m->family, m->decoder); c->name; c++)
        for (int64_t i = 0; i < m->decoder->n_layer; i++) {
            const char *name = hf_constant_name(f->arena, c, i);
            Found found;
            Error *e = find(f, name, &found);
            const Tensor *t = e ? NULL : found.tensor;
            error_free(e);
            if (!t || tensor_count(t) != 1 || !dtype_is_float(t->dtype)) continue;
            const double x = dtype_get(t->dtype, t->data, 0);
            if (fabs(x - c->value) > 0.01 * fabs(c->value))
                return error_new("%s: %s is %g; only %g is known", hf_file_path(found.file), name,
                                 x, c->value);
        }
    return NULL;
}

static bool same_row(const Tensor *x, const Tensor *y, int64_t row)
{
    const size_t bytes = (size_t)x->size[1] * dtype_size(x->dtype), at = (size_t)row * bytes;
    return !memcmp((const char *)x->data + at, (const char *)y->data + at, bytes);
}

/* Some of the rows, in order not to read all of them. */
static bool same_rows(const Tensor *x, const Tensor *y)
{
    enum { LOOKED_AT = 16 };
    bool same = x->dtype == y->dtype && x->n_dims == 2 && y->n_dims == 2 &&
                x->size[0] == y->size[0] && x->size[1] == y->size[1];
    for (int64_t i = 0; same && i < LOOKED_AT; i++)
        same = same_row(x, y, (x->size[0] - 1) * i / (LOOKED_AT - 1));
    return same;
}

/* Where blocks for later tokens have embedding and head again, they are the model's. */
static Error *check_shared(Folder *f, const HfModel *m)
{
    const Decoder *d = m->decoder;
    const int64_t n = d->multi_token ? d->multi_token->depth : 0;
    for (const HfShared *s = hf_shared; s->copy; s++)
        for (int64_t i = d->n_layer; i < d->n_layer + n; i++) {
            const char *own = d->is_tied ? hf_shared->tensor : s->tensor,
                       *copy =
                           arena_printf(f->arena, "model.layers.%lld.%s", (long long)i, s->copy);
            Found one, other;
            if (!is_there(f, copy, &other)) continue;
            TRY(find(f, own, &one));
            if (!same_rows(one.tensor, other.tensor))
                return error_new(
                    "%s: %s is not the same as %s, which blocks for later tokens share",
                    hf_file_path(other.file), copy, own);
        }
    return NULL;
}

/* "model.layers.61.*", "mtp.*" or "model.mtp_*" of a tensor of blocks for later tokens; else NULL.
 */
static const char *ahead_pattern(Arena *a, const char *name)
{
    for (const char *part = name; part; part = strchr(part, '.')) {
        if (*part == '.') part++;
        const bool is_mtp = str_starts(str_of(part), "mtp.") || str_starts(str_of(part), "mtp_");
        if (!is_mtp && !str_starts(str_of(part), "eh_proj.")) continue;
        return arena_printf(a, "%.*s*", (int)(part - name) + (is_mtp ? 4 : 0), name);
    }
    return NULL;
}

/* Adds the pattern of a tensor's name, unless it is there. */
static void add_ahead(Arena *a, const char *name, Text *out)
{
    const char *pattern = ahead_pattern(a, name);
    if (!pattern || (out->len && strstr(out->ptr, pattern))) return;
    text_printf(out, "%s%s", out->len ? ", " : "", pattern);
}

static Error *find_ahead(Folder *f, Text *out)
{
    const HfFile *file;
    TRY(open_folder(f));
    for (int64_t i = 0; f->shards && i < f->shards->n; i++)
        add_ahead(f->arena, f->shards->key[i]->text, out);
    if (f->shards) return NULL;
    TRY(open_file(f, f->file, "", &file));
    const Map *names = hf_file_names(file);
    for (int64_t i = 0; i < names->n; i++) {
        const Str name = names->entry[i].key;
        add_ahead(f->arena, arena_string_n(f->arena, name.ptr, name.len), out);
    }
    return NULL;
}

bool hf_weights_ahead(Arena *a, const HfModel *m, const char **tensors, const char **why)
{
    Folder f = { .arena = a, .path = m->folder };
    Text found = { 0 };
    *why = m->n_ahead ? "multi_token_weight is 0" : "those of this class are not read";
    if (!m->decoder->multi_token) error_free(find_ahead(&f, &found));
    *tensors = found.len ? arena_string(a, found.ptr) : NULL;
    text_free(&found);
    return *tensors;
}

Error *hf_weights_open(Arena *a, const HfModel *m, const CheckpointEntry *param, int64_t n,
                       CheckpointReader **out)
{
    Folder f = { .arena = a, .path = m->folder, .dialect = m->family->dialect };
    HfWeights *w = NEW(a, HfWeights);
    CheckpointEntry *entry = NEW_N(a, CheckpointEntry, n);
    TRY(open_folder(&f));
    w->source = NEW_N(a, HfSource, n);
    w->found = NEW_N(a, Found *, n);
    w->is_packed = NEW_N(a, bool, n);
    w->scaled = NEW_N(a, Fp8 *, n);
    w->ternary = NEW_N(a, Ternary *, n);
    fp8_numbers(w->fp8);
    for (int64_t i = 0; i < n; i++) {
        entry[i] = param[i];
        TRY(open_entry(&f, m, w, &entry[i], i));
    }
    TRY(check_constants(&f, m));
    TRY(check_shared(&f, m));
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
