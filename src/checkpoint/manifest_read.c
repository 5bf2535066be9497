/* manifest_read.c - reads manifest.json. */
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static Error *get_int(const json_t *object, const char *key, int64_t *out)
{
    const json_t *x = json_object_get(object, key);
    if (!json_is_integer(x) || json_integer_value(x) < 0)
        return error_new("\"%s\" is missing or no whole number >= 0", key);
    *out = json_integer_value(x);
    return NULL;
}

static Error *get_text(const json_t *object, const char *key, const char **out)
{
    *out = json_string_value(json_object_get(object, key));
    return *out ? NULL : error_new("\"%s\" is missing or no text", key);
}

static Error *get_list(const json_t *object, const char *key, const json_t **out)
{
    *out = json_object_get(object, key);
    return json_is_array(*out) ? NULL : error_new("\"%s\" is missing or no list", key);
}

/* A list of exactly n sizes or places. */
static Error *get_ints(const json_t *object, const char *key, int n, int64_t *out)
{
    const json_t *list;
    TRY(get_list(object, key, &list));
    if (json_array_size(list) != (size_t)n)
        return error_new("\"%s\" has %zu items instead of %d", key, json_array_size(list), n);
    for (int d = 0; d < n; d++) {
        const json_t *x = json_array_get(list, (size_t)d);
        if (!json_is_integer(x) || json_integer_value(x) < 0)
            return error_new("\"%s\" item %d is no whole number >= 0", key, d);
        out[d] = json_integer_value(x);
    }
    return NULL;
}

/* Eight hexadecimal digits, lower case. */
static bool read_crc(const char *text, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 8; i++) {
        const char *digits = "0123456789abcdef", *at = text[i] ? strchr(digits, text[i]) : NULL;
        if (!at) return false;
        *out = *out << 4 | (uint32_t)(at - digits);
    }
    return true;
}

static Error *get_crc(const json_t *object, const char *key, uint32_t *out)
{
    const char *text;
    TRY(get_text(object, key, &text));
    return strlen(text) == 8 && read_crc(text, out)
               ? NULL
               : error_new("\"%s\" is not 8 hexadecimal digits", key);
}

/* One checksum per block, one after the other. */
static Error *get_crcs(Arena *a, const Manifest *m, const json_t *object, ManifestBox *b)
{
    const char *text;
    int64_t n = manifest_blocks(m, b);
    TRY(get_text(object, "crc32", &text));
    if (!n) return NULL; /* manifest_check refuses it */
    size_t len = strlen(text);
    if (len % 8 || (uint64_t)n != len / 8)
        return error_new("\"crc32\" is not 8 hexadecimal digits for each of %" PRId64 " block%s", n,
                         n == 1 ? "" : "s");
    b->crc = NEW_N(a, uint32_t, n);
    for (int64_t i = 0; i < n; i++)
        if (!read_crc(text + 8 * i, &b->crc[i]))
            return error_new("\"crc32\" is not 8 hexadecimal digits for each block");
    return NULL;
}

/* Files lie in the folder; those of FSDP1 beside it. */
static bool is_file_name(const Manifest *m, const char *file)
{
    if (!strcmp(m->layout, "dcp") && !strcmp(file, ".metadata")) return true;
    if (!strcmp(m->layout, "fsdp1") && str_starts(str_of(file), "../")) file += 3;
    return file[0] && file[0] != '.' && !strchr(file, '/');
}

static Error *read_part(Arena *a, const Manifest *m, const json_t *json, ManifestPart *p)
{
    TRY(get_text(json, "file", &p->file));
    if (!is_file_name(m, p->file))
        return error_new("\"%s\" is no name of a file in this folder", p->file);
    p->file = arena_string(a, p->file);
    TRY(get_int(json, "bytes", &p->bytes));
    TRY(get_int(json, "header_bytes", &p->header_bytes));
    p->has_rest = json_object_get(json, "rest_crc32") != NULL;
    if (p->has_rest) TRY(get_crc(json, "rest_crc32", &p->rest_crc));
    return get_crc(json, "header_crc32", &p->header_crc);
}

static Error *read_box(Arena *a, const Manifest *m, const json_t *json, int n_dims, ManifestBox *b)
{
    int64_t bytes[2];
    b->box.n_dims = n_dims;
    TRY(get_int(json, "part", &b->part));
    TRY(get_ints(json, "start", n_dims, b->box.start));
    TRY(get_ints(json, "size", n_dims, b->box.size));
    TRY(get_ints(json, "bytes", 2, bytes));
    b->begin = bytes[0];
    b->end = bytes[1];
    return get_crcs(a, m, json, b);
}

static Error *read_tensor(Arena *a, const Manifest *m, const json_t *json, ManifestTensor *t)
{
    const char *dtype;
    const json_t *shape, *boxes;
    TRY(get_text(json, "dtype", &dtype));
    if (!safetensors_dtype_of_name(dtype, &t->dtype))
        return error_new("unknown dtype \"%s\"", dtype);
    TRY(get_list(json, "shape", &shape));
    if (json_array_size(shape) > MAX_DIMS)
        return error_new("%zu dimensions; at most %d are supported", json_array_size(shape),
                         MAX_DIMS);
    t->n_dims = (int)json_array_size(shape);
    TRY(get_ints(json, "shape", t->n_dims, t->size));
    TRY(get_list(json, "boxes", &boxes));
    t->n_boxes = (int64_t)json_array_size(boxes);
    t->box = NEW_N(a, ManifestBox, t->n_boxes);
    for (int64_t i = 0; i < t->n_boxes; i++)
        TRY(error_wrap(read_box(a, m, json_array_get(boxes, (size_t)i), t->n_dims, &t->box[i]),
                       "box %" PRId64, i));
    return NULL;
}

static Error *read_lists(Arena *a, const json_t *root, Manifest *m)
{
    const json_t *parts, *tensors;
    TRY(get_list(root, "parts", &parts));
    TRY(get_list(root, "tensors", &tensors));
    m->n_parts = (int64_t)json_array_size(parts);
    m->n_tensors = (int64_t)json_array_size(tensors);
    m->part = NEW_N(a, ManifestPart, m->n_parts);
    m->tensor = NEW_N(a, ManifestTensor, m->n_tensors);
    for (int64_t i = 0; i < m->n_parts; i++)
        TRY(error_wrap(read_part(a, m, json_array_get(parts, (size_t)i), &m->part[i]),
                       "part %" PRId64, i));
    for (int64_t i = 0; i < m->n_tensors; i++) {
        const json_t *json = json_array_get(tensors, (size_t)i);
        ManifestTensor *t = &m->tensor[i];
        TRY(error_wrap(get_text(json, "name", &t->name), "tensor %" PRId64, i));
        t->name = arena_string(a, t->name);
        TRY(error_wrap(read_tensor(a, m, json, t), "tensor \"%s\"", t->name));
    }
    return NULL;
}

static Error *read_progress(Arena *a, const json_t *root, Manifest *m)
{
    const json_t *progress = json_object_get(root, "progress");
    if (!json_is_object(progress)) return error_new("\"progress\" is missing or no object");
    char *text = json_dumps(progress, JSON_COMPACT);
    CHECK(text != NULL);
    m->progress = arena_string(a, text);
    free(text);
    return NULL;
}

static Error *read_layout(Arena *a, const json_t *root, int64_t version, Manifest *m)
{
    static const char *const known[] = { "native", "dcp", "fsdp1" };
    const char *layout = known[0];
    if (version > 1) TRY(get_text(root, "layout", &layout));
    for (int i = 0; i < 3 && !m->layout; i++)
        if (!strcmp(layout, known[i])) m->layout = known[i];
    if (!m->layout)
        return error_new("layout \"%s\"; this program reads native, dcp, fsdp1", layout);
    const json_t *objects = json_object_get(root, "objects");
    return objects ? objects_read(a, objects, &m->object, &m->n_objects) : NULL;
}

static Error *read_root(Arena *a, const json_t *root, Manifest *m)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!format || strcmp(format, MANIFEST_FORMAT) != 0)
        return error_new("\"format\" is not \"%s\"", MANIFEST_FORMAT);
    int64_t version = 0;
    TRY(get_int(root, "version", &version));
    if (version < 1 || version > MANIFEST_VERSION)
        return error_new("version %" PRId64 " of the format; this program reads versions up to %d",
                         version, MANIFEST_VERSION);
    m->block_bytes = INT64_MAX;
    if (version > 1) TRY(get_int(root, "block_bytes", &m->block_bytes));
    if (m->block_bytes < 1) return error_new("\"block_bytes\" is 0");
    TRY(read_layout(a, root, version, m));
    TRY(read_progress(a, root, m));
    TRY(read_lists(a, root, m));
    return manifest_check(a, m);
}

Error *manifest_parse(Arena *a, const char *path, Str bytes, Manifest **out)
{
    TRY(error_wrap(manifest_check_seal(bytes), "%s", path));
    json_error_t why;
    json_t *root = json_loadb(bytes.ptr, bytes.len, JSON_REJECT_DUPLICATES, &why);
    if (!root) return error_new("%s:%d:%d: %s", path, why.line, why.column, why.text);
    *out = NEW(a, Manifest);
    Error *e = read_root(a, root, *out);
    json_decref(root);
    return error_wrap(e, "%s", path);
}
