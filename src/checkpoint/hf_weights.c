/* hf_weights.c - reads parameters from files with Hugging Face's names and layouts. */
#include "checkpoint/hf_weights.h"
#include "checkpoint/fp8.h"
#include "checkpoint/hf_folder.h"
#include "checkpoint/hf_packed.h"
#include "models/hf/source.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct HfWeights {
    CheckpointReader base;
    HfSource *source; /* of each entry */
    HfFound **found;  /* of each entry its tensors; none where they are packed in other ways */
    HfPacked *packed; /* of each entry */
    float fp8[256];
} HfWeights;

/* `beyond` rows may come behind those of the source. */
static bool has_shape(const Tensor *t, const HfSource *s, int64_t beyond)
{
    bool same = t->n_dims == s->n_dims;
    if (same && beyond && t->size[0] == s->size[0] + beyond)
        return t->n_dims == 2 && t->size[1] == s->size[1];
    for (int d = 0; same && d < s->n_dims; d++) same = t->size[d] == s->size[d];
    return same;
}

/* Experts of DeepSeek V4: two numbers of four bits are a byte. */
static bool is_in_halves(const HfModel *m, const CheckpointEntry *entry, const Tensor *t)
{
    return m->packing.has_halves && t->dtype == I8 && entry->n_dims == 3 &&
           text_matches("*.experts.*", entry->name);
}

static Error *check_halves(Arena *a, const HfFound *f, const HfSource *s, const char *name)
{
    const int last = s->n_dims - 1;
    HfSource bytes = *s;
    bytes.size[last] /= 2;
    if (s->size[last] % 2 == 0 && has_shape(f->tensor, &bytes, 0)) return NULL;
    return error_new("%s: %s has the shape %s, but config.json makes it %s, of numbers of four "
                     "bits, two of which are a byte",
                     hf_file_path(f->file), name,
                     hf_shape_text(a, f->tensor->n_dims, f->tensor->size),
                     hf_shape_text(a, s->n_dims, s->size));
}

/* `beyond`: rows that are not taken; `counts`: whole numbers are what is wanted. */
static Error *check(Arena *a, const HfFound *f, const HfSource *s, const char *name, int64_t beyond,
                    bool counts)
{
    const Tensor *t = f->tensor;
    const bool same = has_shape(t, s, beyond);
    if (same && (dtype_is_float(t->dtype) || (counts && (t->dtype == I64 || t->dtype == I32))))
        return NULL;
    if (same)
        return error_new("%s: %s is of type %s; allowed are floats", hf_file_path(f->file), name,
                         dtype_name(t->dtype));
    return error_new("%s: %s has the shape %s, but config.json makes it %s", hf_file_path(f->file),
                     name, hf_shape_text(a, t->n_dims, t->size),
                     hf_shape_text(a, s->n_dims, s->size));
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
    if (w->packed[i].blocks) {
        hf_packed_read_blocks(&w->packed[i], s, box, out);
        return NULL;
    }
    for (int64_t e = 0; e < n; e++) {
        for (int64_t r = 0; r < box->size[row]; r++) {
            int64_t part;
            const int64_t begin = hf_source_place(s, first + e, box->start[row] + r, &part),
                          runs = s->of_columns ? columns : 1, n_columns = columns / runs;
            for (int64_t c = 0; c < runs; c++) {
                const int64_t at = begin + hf_source_column(s, first_column + c);
                char *next = to + (size_t)c * dtype_size(base->entry[i].dtype);
                if (!hf_packed_read(&w->packed[i], part, at, s->column_stride, n_columns, next))
                    copy_row(w->found[i][part].tensor, at, s->column_stride, n_columns, next);
            }
            to += (size_t)columns * dtype_size(base->entry[i].dtype);
        }
    }
    return NULL;
}

/* Experts, each in tensors of its own, or all of a layer in one, as they are or transposed. */
static void find_experts(HfFolder *f, const CheckpointEntry *entry, HfSource *s)
{
    HfSource stacked;
    HfFound found;
    if (entry->n_dims != 3 || s->part_stride || hf_folder_has(f, s->tensor[0], &found)) return;
    if (!hf_source_stacked(f->arena, s, entry->size, false, &stacked)) return;
    if (!hf_folder_has(f, stacked.tensor[0], &found)) return;
    const Tensor *t = found.tensor;
    const bool turned = t->n_dims == 3 && t->size[1] != stacked.size[1] &&
                        t->size[1] == stacked.size[2] && t->size[2] == stacked.size[1];
    hf_source_stacked(f->arena, s, entry->size, turned, s);
}

/* Whether the rows of both make one tensor. */
static bool rows_alike(const Tensor *x, const Tensor *y)
{
    bool same = x->dtype == y->dtype && dtype_size(x->dtype) > 1 && x->n_dims == y->n_dims;
    for (int d = 1; same && d < x->n_dims; d++) same = x->size[d] == y->size[d];
    return same;
}

/* The rows of n tensors one after the other; NULL: they are not alike, or one is missing. */
static const Tensor *join(HfFolder *f, const char *const *name, int n)
{
    const Tensor **part = NEW_N(f->arena, const Tensor *, n);
    Tensor *t = NEW(f->arena, Tensor);
    int64_t rows = 0;
    for (int k = 0; k < n; k++) {
        HfFound found;
        if (!hf_folder_has(f, name[k], &found)) return NULL;
        part[k] = found.tensor;
        if (part[k]->n_dims < 2 || !rows_alike(part[k], part[0])) return NULL;
        rows += part[k]->size[0];
    }
    *t = *part[0];
    t->size[0] = rows;
    char *to = arena_alloc(f->arena, tensor_bytes(t));
    t->data = to;
    for (int k = 0; k < n; k++) {
        memcpy(to, part[k]->data, tensor_bytes(part[k]));
        to += tensor_bytes(part[k]);
    }
    return t;
}

/* Convolutions of queries, keys and values in three tensors of their own, or in one, or in three
 * that are cut elsewhere: what counts of those is the rows of all of them. True: they were found
 * so, and *s says where this one lies. */
static bool take_joined(HfFolder *f, const HfModel *m, HfSource *s, HfFound *out)
{
    const char *part[3], *whole;
    HfSource all;
    if (!hf_source_joined(f->arena, m->decoder, s, part, &whole, &all)) return false;
    const bool own = hf_folder_has(f, s->tensor[0], out);
    if (own && has_shape(out->tensor, s, 0)) return false;
    if (own)
        out->tensor = join(f, part, 3);
    else if (!hf_folder_has(f, whole, out))
        return false;
    if (!out->tensor || !has_shape(out->tensor, &all, 0)) return false;
    *s = all;
    return true;
}

/* A tensor that files cut in two, and not where its own rows end. True: it was found so. */
static bool take_cut(HfFolder *f, const HfSource *s, HfFound *out)
{
    if (!s->rest || !hf_folder_has(f, s->tensor[0], out) || has_shape(out->tensor, s, 0))
        return false;
    out->tensor = join(f, (const char *[]){ s->tensor[0], s->rest }, 2);
    return out->tensor != NULL;
}

/* In the place of biases for the choice of experts that the folder may be, and is, without. */
static bool take_zeros(HfFolder *f, const HfModel *m, const CheckpointEntry *entry,
                       const HfSource *s, HfFound *out)
{
    if (!m->family->biases_may_lack || !text_matches("*.router.balance", entry->name)) return false;
    if (hf_folder_has(f, s->tensor[0], out)) return false;
    Tensor *t = NEW(f->arena, Tensor);
    *t = (Tensor){ .dtype = F32, .n_dims = 1, .size = { s->size[0] } };
    t->data = arena_alloc(f->arena, tensor_bytes(t));
    out->tensor = t;
    return true;
}

/* Whole numbers as floats, which parameters are; so many are exact. */
static void take_counts(HfFolder *f, HfFound *found)
{
    Tensor *t = arena_copy(f->arena, found->tensor, sizeof *t);
    const int64_t n = tensor_count(t);
    t->dtype = F32;
    t->data = arena_alloc(f->arena, tensor_bytes(t));
    dtype_convert(F32, t->data, found->tensor->dtype, found->tensor->data, n);
    found->tensor = t;
}

/* The tensors of an entry, one after the other: they are of one type. */
static Error *find_tensors(HfFolder *f, const HfModel *m, HfWeights *w, CheckpointEntry *entry,
                           int64_t i)
{
    HfSource *s = &w->source[i];
    HfFound *found = w->found[i] = NEW_N(f->arena, HfFound, s->n_tensors);
    const bool is_table = text_matches("*.wte.weight", entry->name),
               counts = text_matches("*.router.experts", entry->name);
    for (int64_t k = 0; k < s->n_tensors; k++) {
        if (!take_zeros(f, m, entry, s, &found[k]) && !take_joined(f, m, s, &found[k]) &&
            !take_cut(f, s, &found[k]))
            TRY(hf_folder_find(f, s->tensor[k], &found[k]));
        const char *name = s->tensor[k];
        if (is_in_halves(m, entry, found[k].tensor))
            TRY(check_halves(f->arena, &found[k], s, name));
        else
            TRY(check(f->arena, &found[k], s, name, is_table ? m->rows_beyond : 0, counts));
        if (counts && !dtype_is_float(found[k].tensor->dtype)) take_counts(f, &found[k]);
        const Dtype t = found[k].tensor->dtype, first = found[0].tensor->dtype;
        if (t != first)
            return error_new("%s: %s is of type %s, but %s of type %s", hf_file_path(found[k].file),
                             s->tensor[k], dtype_name(t), s->tensor[0], dtype_name(first));
        if (m->packing.format == HF_FP8 && dtype_size(t) == 1)
            TRY(hf_packed_scales(f, m, s, k, &found[k], w->fp8, &w->packed[i]));
    }
    entry->dtype = w->packed[i].scaled ? F32 : found[0].tensor->dtype;
    return NULL;
}

/* Names of tensors have the numbers that the files count layers by. */
static void renumber(Arena *a, const HfModel *m, HfSource *s)
{
    static const char layers[] = "model.layers.";
    const size_t n = strlen(layers);
    for (int64_t k = 0; m->layer_of && k < s->n_tensors; k++) {
        char *rest;
        if (strncmp(s->tensor[k], layers, n) != 0) continue;
        const int64_t i = strtoll(s->tensor[k] + n, &rest, 10);
        s->tensor[k] = arena_printf(a, "%s%lld%s", layers, (long long)m->layer_of[i], rest);
    }
}

static Error *open_entry(HfFolder *f, const HfModel *m, HfWeights *w, CheckpointEntry *entry,
                         int64_t i)
{
    HfSource *s = &w->source[i];
    TRY(hf_source(f->arena, m->of_files, m->decoder, entry->name, entry->n_dims, entry->size, s));
    renumber(f->arena, m, s);
    const bool in_blocks = m->packing.format == HF_MXFP4 && s->part_stride,
               is_ternary = m->packing.format == HF_TERNARY && entry->n_dims == 2 &&
                            text_matches("transformer.h.*", entry->name);
    if (in_blocks) {
        TRY(hf_packed_blocks(f, s, &w->packed[i]));
        entry->dtype = BF16;
    } else if (is_ternary) {
        TRY(hf_packed_ternary(f, m, s, &w->packed[i]));
        entry->dtype = F32;
    } else {
        find_experts(f, entry, s);
        TRY(find_tensors(f, m, w, entry, i));
    }
    entry->name = arena_printf(f->arena, "app.model.%s", entry->name);
    return NULL;
}

/* Where a file has them, they are as near as its format allows. */
static Error *check_constants(HfFolder *f, const HfModel *m)
{
    for (const HfConstant *c = hf_constants(m->family, m->decoder); c->name; c++)
        for (int64_t i = 0; i < m->decoder->n_layer; i++) {
            const char *name = hf_constant_name(f->arena, c, i);
            HfFound found;
            Error *e = hf_folder_find(f, name, &found);
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
static Error *check_shared(HfFolder *f, const HfModel *m)
{
    const Decoder *d = m->decoder;
    const int64_t n = d->multi_token ? d->multi_token->depth : 0;
    for (const HfShared *s = hf_shared; s->copy; s++)
        for (int64_t i = d->n_layer; i < d->n_layer + n; i++) {
            const char *own = d->is_tied ? hf_shared->tensor : s->tensor,
                       *copy =
                           arena_printf(f->arena, "model.layers.%lld.%s", (long long)i, s->copy);
            HfFound one, other;
            if (!hf_folder_has(f, copy, &other)) continue;
            TRY(hf_folder_find(f, own, &one));
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

typedef struct Patterns {
    Arena *arena;
    Text text;
} Patterns;

/* Adds the pattern of a tensor's name, unless it is there. */
static void add_ahead(void *arg, const char *name)
{
    Patterns *p = arg;
    const char *pattern = ahead_pattern(p->arena, name);
    if (!pattern || (p->text.len && strstr(p->text.ptr, pattern))) return;
    text_printf(&p->text, "%s%s", p->text.len ? ", " : "", pattern);
}

static Error *find_ahead(const HfModel *m, Patterns *out)
{
    HfFolder f;
    TRY(hf_folder_open(out->arena, m->folder, m->family->dialect, &f));
    return hf_folder_names(&f, add_ahead, out);
}

bool hf_weights_ahead(Arena *a, const HfModel *m, const char **tensors, const char **why)
{
    Patterns found = { .arena = a };
    *why = m->n_ahead ? "multi_token_weight is 0" : "those of this class are not read";
    if (!m->decoder->multi_token) error_free(find_ahead(m, &found));
    *tensors = found.text.len ? arena_string(a, found.text.ptr) : NULL;
    text_free(&found.text);
    return *tensors;
}

Error *hf_weights_open(Arena *a, const HfModel *m, const CheckpointEntry *param, int64_t n,
                       CheckpointReader **out)
{
    HfFolder f;
    HfWeights *w = NEW(a, HfWeights);
    CheckpointEntry *entry = NEW_N(a, CheckpointEntry, n);
    TRY(hf_folder_open(a, m->folder, m->family->dialect, &f));
    f.base_layers = m->base_layers;
    w->source = NEW_N(a, HfSource, n);
    w->found = NEW_N(a, HfFound *, n);
    w->packed = NEW_N(a, HfPacked, n);
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
