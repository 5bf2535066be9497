/* safetensors_read.c - maps a safetensors file and checks every word of its header. */
#include "base/file.h"
#include "checkpoint/box.h"
#include "checkpoint/safetensors.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, MAX_HEADER = 100000000 };

static const char *const dtype_names[N_DTYPES] = {
    [F64] = "F64",         [F32] = "F32", [BF16] = "BF16", [F16] = "F16", [F8_E4M3] = "F8_E4M3",
    [F8_E5M2] = "F8_E5M2", [I64] = "I64", [I32] = "I32",   [I16] = "I16", [I8] = "I8",
    [U16] = "U16",         [U8] = "U8",   [BOOL] = "BOOL",
};

const char *safetensors_dtype_name(Dtype t)
{
    return dtype_names[t];
}

bool safetensors_dtype_of_name(const char *name, Dtype *out)
{
    for (int t = 0; t < N_DTYPES; t++) {
        if (strcmp(name, dtype_names[t]) != 0) continue;
        *out = (Dtype)t;
        return true;
    }
    return false;
}

/* What the header says of one tensor; begin and end count from the first byte of the numbers. */
typedef struct Entry {
    NamedTensor named;
    int64_t begin, end;
} Entry;

static Error *read_dtype(const json_t *fields, Dtype *out)
{
    const char *name = json_string_value(json_object_get(fields, "dtype"));
    if (!name) return error_new("\"dtype\" is missing or no text");
    if (safetensors_dtype_of_name(name, out)) return NULL;
    if (!strcmp(name, "F8_E8M0")) { /* exponents of scales: bytes to all who read them */
        *out = U8;
        return NULL;
    }
    return error_new("unknown dtype \"%s\"; known are F64 F32 F16 BF16 I64 I32 I16 I8 U8 U16 BOOL "
                     "F8_E4M3 F8_E5M2 F8_E8M0",
                     name);
}

static Error *read_shape(const json_t *fields, Tensor *t, int64_t *bytes)
{
    const json_t *shape = json_object_get(fields, "shape");
    if (!json_is_array(shape)) return error_new("\"shape\" is missing or no list");
    if (json_array_size(shape) > MAX_DIMS)
        return error_new("%zu dimensions; at most %d are supported", json_array_size(shape),
                         MAX_DIMS);
    t->n_dims = (int)json_array_size(shape);
    for (int d = 0; d < t->n_dims; d++) {
        const json_t *size = json_array_get(shape, (size_t)d);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return error_new("shape[%d] is no whole number >= 0", d);
        t->size[d] = json_integer_value(size);
    }
    if (!dense_bytes(t->dtype, t->n_dims, t->size, bytes))
        return error_new("the product of its sizes is too large");
    return NULL;
}

static Error *read_entry(const json_t *fields, Entry *e)
{
    if (!json_is_object(fields)) return error_new("no {\"dtype\", \"shape\", \"data_offsets\"}");
    int64_t bytes = 0;
    TRY(read_dtype(fields, &e->named.tensor.dtype));
    TRY(read_shape(fields, &e->named.tensor, &bytes));
    const json_t *offsets = json_object_get(fields, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return error_new("\"data_offsets\" is missing or not [begin, end]");
    e->begin = json_integer_value(begin);
    e->end = json_integer_value(end);
    if (e->begin < 0 || e->end < e->begin)
        return error_new("data_offsets [%" PRId64 ", %" PRId64 "] is no range", e->begin, e->end);
    if (e->end - e->begin != bytes)
        return error_new("data_offsets [%" PRId64 ", %" PRId64 "] hold %" PRId64
                         " bytes, but dtype and shape need %" PRId64,
                         e->begin, e->end, e->end - e->begin, bytes);
    return NULL;
}

static Error *read_metadata(const Safetensors *f, const json_t *metadata)
{
    if (!json_is_object(metadata))
        return error_new("%s: \"__metadata__\" is no {\"key\": \"text\"}", f->path);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)metadata, key, value)
    {
        if (!json_is_string(value))
            return error_new("%s: \"__metadata__\": \"%s\" is no text", f->path, key);
        map_set(f->metadata, str_of(key),
                arena_string(f->metadata->arena, json_string_value(value)));
    }
    return NULL;
}

static int by_place(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return strcmp(x->named.name, y->named.name);
}

/* The tensors must tile the bytes after the header. */
static Error *check_tiling(const char *path, const Entry *entry, int64_t n, int64_t header,
                           int64_t len)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const Entry *e = &entry[i];
        if (e->begin < at)
            return error_new("%s: tensor \"%s\" at byte %" PRId64
                             " overlaps tensor \"%s\", which ends at byte %" PRId64,
                             path, e->named.name, header + e->begin, entry[i - 1].named.name,
                             header + at);
        if (e->begin > at)
            return error_new("%s: %" PRId64 " unused bytes at byte %" PRId64
                             " before tensor \"%s\"; gaps are not allowed",
                             path, e->begin - at, header + at, e->named.name);
        if (e->end > len - header)
            return error_new("%s: tensor \"%s\" ends at byte %" PRId64
                             ", but the file has only %" PRId64 " bytes: it is cut short",
                             path, e->named.name, header + e->end, len);
        at = e->end;
    }
    if (header + at != len)
        return error_new("%s: %" PRId64 " bytes too many after the last tensor, from byte %" PRId64,
                         path, len - header - at, header + at);
    return NULL;
}

/* Old writers did not pad their header, so a tensor may lie at any byte; kernels want it aligned.
 */
static void *aligned_data(Arena *a, const char *at, Dtype t, int64_t bytes)
{
    if ((uintptr_t)at % dtype_size(t) == 0) return (void *)at;
    return arena_copy(a, at, (size_t)bytes);
}

static Error *read_header(Arena *a, Safetensors *f, const json_t *header, int64_t header_bytes,
                          Str bytes)
{
    Entry *entry = NEW_N(a, Entry, json_object_size(header));
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)header, name, value)
    {
        if (!strcmp(name, "__metadata__")) {
            TRY(read_metadata(f, value));
            continue;
        }
        Entry *e = &entry[f->n++];
        e->named.name = arena_string(a, name);
        TRY(error_wrap(read_entry(value, e), "%s: header, tensor \"%s\"", f->path, name));
    }
    if (f->n) qsort(entry, (size_t)f->n, sizeof *entry, by_place);
    TRY(check_tiling(f->path, entry, f->n, header_bytes, (int64_t)bytes.len));
    f->tensor = NEW_N(a, NamedTensor, f->n);
    for (int64_t i = 0; i < f->n; i++) {
        const Entry *e = &entry[i];
        f->tensor[i] = e->named;
        f->tensor[i].tensor.data = aligned_data(a, bytes.ptr + header_bytes + e->begin,
                                                e->named.tensor.dtype, e->end - e->begin);
        map_set(f->by_name, str_of(e->named.name), &f->tensor[i].tensor);
    }
    return NULL;
}

static uint64_t little_endian_64(const char *p)
{
    uint64_t x = 0;
    for (int i = 7; i >= 0; i--) x = x << 8 | (unsigned char)p[i];
    return x;
}

Error *safetensors_parse(Arena *a, const char *path, Str bytes, Safetensors **out)
{
    if (bytes.len < LENGTH_BYTES)
        return error_new("%s: %zu bytes are too few for a safetensors file", path, bytes.len);
    uint64_t len = little_endian_64(bytes.ptr);
    if (len > MAX_HEADER || len > bytes.len - LENGTH_BYTES)
        return error_new("%s: the header claims %" PRIu64
                         " bytes of %zu (at most %d allowed): no safetensors file, or cut short",
                         path, len, bytes.len, MAX_HEADER);
    if (len == 0 || bytes.ptr[LENGTH_BYTES] != '{')
        return error_new("%s: byte %d: the header does not begin with \"{\": no safetensors file",
                         path, LENGTH_BYTES);
    json_error_t why;
    json_t *header =
        json_loadb(bytes.ptr + LENGTH_BYTES, (size_t)len, JSON_REJECT_DUPLICATES, &why);
    if (!header)
        return error_new("%s: byte %d: bad header: %s", path, LENGTH_BYTES + why.position,
                         why.text);
    Safetensors *f = NEW(a, Safetensors);
    *f = (Safetensors){ .path = arena_string(a, path),
                        .metadata = map_new(a),
                        .by_name = map_new(a) };
    Error *e = read_header(a, f, header, LENGTH_BYTES + (int64_t)len, bytes);
    json_decref(header);
    *out = f;
    return e;
}

static void unmap(void *map)
{
    file_unmap(map);
}

Error *safetensors_open(Arena *a, const char *path, Safetensors **out)
{
    FileMap *map = NEW(a, FileMap);
    TRY(file_map(path, map));
    arena_on_free(a, unmap, map);
    return safetensors_parse(a, path, (Str){ map->ptr, map->len }, out);
}

const Tensor *safetensors_find(const Safetensors *f, const char *name)
{
    return map_get(f->by_name, str_of(name));
}
