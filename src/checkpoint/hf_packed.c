/* hf_packed.c - reads parameters that a Hugging Face folder has in fewer bits than floats. */
#include "checkpoint/hf_packed.h"
#include "checkpoint/fp8.h"
#include "checkpoint/mxfp4.h"
#include "checkpoint/ternary.h"
#include <math.h>
#include <string.h>

/* Numbers of four bits: rows of experts [experts rows width], blocks beside each other. */
void hf_packed_read_blocks(const HfPacked *p, const HfSource *s, const Box *box, bf16 *out)
{
    const uint8_t *blocks = p->blocks->data, *scales = p->scales->data;
    const int64_t per_row = s->size[1] / MXFP4_BLOCK;
    for (int64_t e = box->start[0]; e < box->start[0] + box->size[0]; e++)
        for (int64_t r = box->start[1]; r < box->start[1] + box->size[1]; r++) {
            const int64_t at = (e * s->size[2] + s->base + r * s->row_stride) * per_row;
            mxfp4_read(blocks + at * MXFP4_BYTES, scales + at, box->start[2], box->size[2], out);
            out += box->size[2];
        }
}

/* Blocks have a dimension more than scales. */
static Error *check_blocks(Arena *a, const HfFound *f, const HfSource *s, const char *name,
                           int n_dims)
{
    const int64_t size[] = { s->size[0], s->size[2], s->size[1] / MXFP4_BLOCK, MXFP4_BYTES };
    const Tensor *t = f->tensor;
    bool same = t->dtype == U8 && t->n_dims == n_dims && s->size[1] % MXFP4_BLOCK == 0;
    for (int d = 0; same && d < n_dims; d++) same = t->size[d] == size[d];
    if (same) return NULL;
    return error_new("%s: %s has the shape %s and type %s, but config.json makes it %s of u8, for "
                     "rows of %lld numbers in blocks of 32",
                     hf_file_path(f->file), name, hf_shape_text(a, t->n_dims, t->size),
                     dtype_name(t->dtype), hf_shape_text(a, n_dims, size), (long long)s->size[1]);
}

Error *hf_packed_blocks(HfFolder *f, const HfSource *s, HfPacked *out)
{
    static const char *const parts[] = { "blocks", "scales" };
    const Tensor **tensor[] = { &out->blocks, &out->scales };
    for (int k = 0; k < 2; k++) {
        const char *name = arena_printf(f->arena, "%s_%s", s->tensor[0], parts[k]);
        HfFound found;
        TRY(hf_folder_find(f, name, &found));
        TRY(check_blocks(f->arena, &found, s, name, 4 - k));
        *tensor[k] = found.tensor;
    }
    return NULL;
}

/* In transformers' spelling, as other programs have it, or as the files of DeepSeek V4. */
static Error *find_scales(HfFolder *f, const char *tensor, bool in_halves, HfFound *out)
{
    const char *module = strrchr(tensor, '.');
    const bool is_weight = module && !strcmp(module, ".weight");
    Error *e = hf_folder_find(f, arena_printf(f->arena, "%s_scale_inv", tensor), out);
    if (e &&
        (hf_folder_has(f, arena_printf(f->arena, "%s_scale", tensor), out) ||
         (is_weight &&
          hf_folder_has(f, arena_printf(f->arena, "%.*s.scale", (int)(module - tensor), tensor),
                        out)))) {
        error_free(e);
        return NULL;
    }
    return error_wrap(e, "%s is of %s bits, without scales", tensor, in_halves ? "four" : "eight");
}

/* One for each block of the last two dimensions; one for all may be a number. */
static Error *check_scales(Arena *a, const HfFound *f, const char *tensor, const Tensor *of,
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
    const bool has_type = t->dtype == F32 || t->dtype == BF16 || t->dtype == F16 || t->dtype == U8;
    if (has_type && (same || is_number)) return NULL;
    return error_new("%s: the scales of %s have the shape %s and type %s; with blocks of %lld x "
                     "%lld they must be %s of f32, bf16, f16 or u8 (exponents)",
                     hf_file_path(f->file), tensor, hf_shape_text(a, t->n_dims, t->size),
                     dtype_name(t->dtype), (long long)block[0], (long long)block[1],
                     hf_shape_text(a, of->n_dims, size));
}

Error *hf_packed_scales(HfFolder *f, const HfModel *m, const HfSource *s, int64_t k,
                        const HfFound *codes, const float *number, HfPacked *out)
{
    Tensor t = *codes->tensor; /* with a size for each number */
    HfFound scales;
    const char *path = hf_file_path(codes->file), *name = s->tensor[k];
    const bool in_halves = t.dtype == I8;
    const int64_t of_four[] = { 1, MXFP4_BLOCK }, *block = in_halves ? of_four : m->packing.block;
    if (!in_halves && t.dtype != F8_E4M3)
        return error_new("%s: %s is of type %s; with scales only f8_e4m3 is known, and i8 for two "
                         "numbers of four bits of experts",
                         path, name, dtype_name(t.dtype));
    if (t.n_dims < 2) return error_new("%s: %s is of eight bits, but no matrix", path, name);
    TRY(find_scales(f, name, in_halves, &scales));
    if (in_halves) t.size[t.n_dims - 1] *= 2;
    const int64_t rows = t.size[t.n_dims - 2], columns = t.size[t.n_dims - 1];
    const Fp8 all = { .number = in_halves ? mxfp4_numbers : number,
                      .codes = t.data,
                      .scales = scales.tensor,
                      .rows = rows,
                      .columns = columns,
                      .block = { block[0] ? block[0] : rows, block[1] ? block[1] : columns },
                      .in_halves = in_halves };
    if (!out->scaled) out->scaled = NEW_N(f->arena, Fp8, s->n_tensors);
    out->scaled[k] = all;
    return check_scales(f->arena, &scales, name, &t, all.block);
}

/* A scale for all of a matrix of ternary numbers. */
static Error *read_unit(HfFolder *f, const HfModel *m, const char *name, double *unit)
{
    enum { LEAST = 100000 }; /* below one part of these a matrix counts as if it was so large */
    HfFound found;
    Error *e = hf_folder_find(f, arena_printf(f->arena, "%s_scale", name), &found);
    if (e) return error_wrap(e, "%s is packed", name);
    const Tensor *t = found.tensor;
    if (tensor_count(t) != 1 || !dtype_is_float(t->dtype))
        return error_new("%s: %s_scale has the shape %s and type %s; it must be one number",
                         hf_file_path(found.file), name,
                         hf_shape_text(f->arena, t->n_dims, t->size), dtype_name(t->dtype));
    const double scale = dtype_get(t->dtype, t->data, 0);
    *unit = m->packing.divides ? 1 / scale : scale;
    if (*unit >= 1.0 / LEAST && isfinite(*unit)) return NULL;
    return error_new("%s: %s_scale is %g, so that 1 stands for %g; it must be at least 1e-5",
                     hf_file_path(found.file), name, scale, *unit);
}

/* Numbers whose mean size is the scale, with the signs of the ternary ones: these are what they
 * are rounded to, so that a model goes on with them as with any weights. */
Error *hf_packed_ternary(HfFolder *f, const HfModel *m, const HfSource *s, HfPacked *out)
{
    const char *name = s->tensor[0];
    HfFound found;
    double unit = 0;
    TRY(hf_folder_find(f, name, &found));
    const Tensor *t = found.tensor;
    const char *path = hf_file_path(found.file);
    if (t->dtype != U8 || t->n_dims != 2 || t->size[0] * 4 != s->size[0] ||
        t->size[1] != s->size[1])
        return error_new("%s: %s has the shape %s and type %s, but config.json makes it %s, and "
                         "four rows one of u8",
                         path, name, hf_shape_text(f->arena, t->n_dims, t->size),
                         dtype_name(t->dtype), hf_shape_text(f->arena, s->n_dims, s->size));
    TRY(read_unit(f, m, name, &unit));
    Ternary *x = NEW(f->arena, Ternary);
    *x = (Ternary){ .codes = t->data, .rows = t->size[0], .columns = t->size[1] };
    const int64_t n = ternary_count(x);
    if (n < 0) return error_new("%s: %s has a number that is not -1, 0 or 1", path, name);
    if (n > 0) x->unit = (float)(unit * (double)(s->size[0] * s->size[1]) / (double)n);
    out->ternary = x;
    return NULL;
}

bool hf_packed_read(const HfPacked *p, int64_t part, int64_t at, int64_t stride, int64_t n,
                    void *out)
{
    if (p->ternary) ternary_read(p->ternary, at, n, out);
    if (p->scaled) fp8_read(&p->scaled[part], at, stride, n, out);
    return p->ternary || p->scaled;
}
