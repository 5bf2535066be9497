/* manifest.c - manifest.json: which box of which tensor lies where in which part file.
 *
 * Each byte of a checkpoint is covered by one checksum: the numbers of a box, the header of a part
 * file, the manifest itself. It is zlib's CRC-32: it finds every change of up to 32 neighbouring
 * bits, checksums of pieces can be combined (pieces may be computed by several threads), and anyone
 * can recompute it. */
#include "checkpoint/manifest.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Version 1 had one checksum per box, and no bytes outside of header and boxes. */
enum { VERSION = 2 };
static const char FORMAT[] = "modalities checkpoint";

uint32_t checksum(uint32_t so_far, const void *bytes, size_t len)
{
    return (uint32_t)crc32_z(so_far, bytes, len);
}

/* ---- writing: one line per part and per tensor, so that the file can be read and searched ---- */

static void print_ints(Text *to, const int64_t *x, int n)
{
    text_putc(to, '[');
    for (int d = 0; d < n; d++) text_printf(to, "%s%" PRId64, d ? ", " : "", x[d]);
    text_putc(to, ']');
}

int64_t manifest_block_bytes(int64_t total)
{
    enum { MOST_BLOCKS = 1 << 18 };
    int64_t bytes = LEAST_BLOCK_BYTES;
    while (bytes < MOST_BLOCK_BYTES && total / bytes > MOST_BLOCKS) bytes *= 2;
    return bytes;
}

int64_t manifest_blocks(const Manifest *m, const ManifestBox *b)
{
    return b->end > b->begin ? (b->end - b->begin - 1) / m->block_bytes + 1 : 0;
}

static void print_box(Text *to, const Manifest *m, const ManifestBox *b)
{
    text_printf(to, "{\"part\": %" PRId64 ", \"start\": ", b->part);
    print_ints(to, b->box.start, b->box.n_dims);
    text_puts(to, ", \"size\": ");
    print_ints(to, b->box.size, b->box.n_dims);
    text_printf(to, ", \"bytes\": [%" PRId64 ", %" PRId64 "], \"crc32\": \"", b->begin, b->end);
    for (int64_t i = 0; i < manifest_blocks(m, b); i++)
        text_printf(to, "%08x", b->crc ? b->crc[i] : 0);
    text_puts(to, "\"}");
}

static void print_tensor(Text *to, const Manifest *m, const ManifestTensor *t)
{
    text_puts(to, "{\"name\": ");
    text_json_string(to, str_of(t->name));
    text_printf(to, ", \"dtype\": \"%s\", \"shape\": ", safetensors_dtype_name(t->dtype));
    print_ints(to, t->size, t->n_dims);
    text_puts(to, ", \"boxes\": [");
    for (int64_t i = 0; i < t->n_boxes; i++) {
        if (i) text_puts(to, ", ");
        print_box(to, m, &t->box[i]);
    }
    text_puts(to, "]}");
}

static void print_part(Text *to, const ManifestPart *p)
{
    text_puts(to, "{\"file\": ");
    text_json_string(to, str_of(p->file));
    text_printf(
        to, ", \"bytes\": %" PRId64 ", \"header_bytes\": %" PRId64 ", \"header_crc32\": \"%08x\"",
        p->bytes, p->header_bytes, p->header_crc);
    if (p->has_rest) text_printf(to, ", \"rest_crc32\": \"%08x\"", p->rest_crc);
    text_putc(to, '}');
}

static const char SEAL[] = "\"crc32\": \"%08x\"}\n";
enum { SEAL_BYTES = 21 };

void manifest_seal(Text *body)
{
    text_printf(body, SEAL, checksum(0, body->ptr, body->len));
}

void manifest_print(const Manifest *m, Text *out)
{
    text_printf(
        out,
        "{\"format\": \"%s\", \"version\": %d, \"layout\": \"%s\", \"block_bytes\": %" PRId64
        ",\n\"progress\": %s,\n\"objects\": ",
        FORMAT, VERSION, m->layout, m->block_bytes, m->progress);
    objects_print(m->object, m->n_objects, out);
    text_puts(out, ",\n\"parts\": [");
    for (int64_t i = 0; i < m->n_parts; i++) {
        text_puts(out, i ? ",\n" : "\n");
        print_part(out, &m->part[i]);
    }
    text_puts(out, "],\n\"tensors\": [");
    for (int64_t i = 0; i < m->n_tensors; i++) {
        text_puts(out, i ? ",\n" : "\n");
        print_tensor(out, m, &m->tensor[i]);
    }
    text_puts(out, "],\n");
    manifest_seal(out);
}

/* ---- reading ---- */

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
    if (!format || strcmp(format, FORMAT) != 0)
        return error_new("\"format\" is not \"%s\"", FORMAT);
    int64_t version = 0;
    TRY(get_int(root, "version", &version));
    if (version < 1 || version > VERSION)
        return error_new("version %" PRId64 " of the format; this program reads versions up to %d",
                         version, VERSION);
    m->block_bytes = INT64_MAX;
    if (version > 1) TRY(get_int(root, "block_bytes", &m->block_bytes));
    if (m->block_bytes < 1) return error_new("\"block_bytes\" is 0");
    TRY(read_layout(a, root, version, m));
    TRY(read_progress(a, root, m));
    TRY(read_lists(a, root, m));
    return manifest_check(a, m);
}

/* The last line is the checksum of everything before it. */
static Error *check_seal(Str bytes)
{
    char expected[SEAL_BYTES + 1];
    if (bytes.len < SEAL_BYTES)
        return error_new("%zu bytes are too few: it was cut short or damaged", bytes.len);
    size_t body = bytes.len - SEAL_BYTES;
    snprintf(expected, sizeof expected, SEAL, checksum(0, bytes.ptr, body));
    if (memcmp(bytes.ptr + body, expected, SEAL_BYTES) == 0) return NULL;
    return error_new(
        "the checksum in the last line is not that of the lines before it (%.8s): the file was "
        "changed, cut short or damaged",
        expected + 10);
}

Error *manifest_parse(Arena *a, const char *path, Str bytes, Manifest **out)
{
    TRY(error_wrap(check_seal(bytes), "%s", path));
    json_error_t why;
    json_t *root = json_loadb(bytes.ptr, bytes.len, JSON_REJECT_DUPLICATES, &why);
    if (!root) return error_new("%s:%d:%d: %s", path, why.line, why.column, why.text);
    *out = NEW(a, Manifest);
    Error *e = read_root(a, root, *out);
    json_decref(root);
    return error_wrap(e, "%s", path);
}

/* ---- checking ---- */

static int by_start(const void *a, const void *b)
{
    const Box *x = a, *y = b;
    for (int d = 0; d < x->n_dims; d++)
        if (x->start[d] != y->start[d]) return x->start[d] < y->start[d] ? -1 : 1;
    return 0;
}

static void describe(const Box *b, Text *to)
{
    print_ints(to, b->start, b->n_dims);
    text_puts(to, " of size ");
    print_ints(to, b->size, b->n_dims);
}

/* A pair of boxes that overlap, or false. Sorted by start, a box can only meet those that begin
 * before it ends in the first dimension. */
static bool find_overlap(Arena *a, const ManifestTensor *t, const Box **first, const Box **second)
{
    Box *sorted = NEW_N(a, Box, t->n_boxes);
    for (int64_t i = 0; i < t->n_boxes; i++) sorted[i] = t->box[i].box;
    if (t->n_boxes) qsort(sorted, (size_t)t->n_boxes, sizeof *sorted, by_start);
    for (int64_t i = 0; i < t->n_boxes; i++) {
        const Box *x = &sorted[i];
        for (int64_t k = i + 1; k < t->n_boxes; k++) {
            const Box *y = &sorted[k];
            Box both;
            if (t->n_dims && y->start[0] >= x->start[0] + x->size[0]) break;
            if (!box_intersect(x, y, &both)) continue;
            *first = x;
            *second = y;
            return true;
        }
    }
    return false;
}

static Error *check_box(const ManifestTensor *t, const ManifestBox *b)
{
    for (int d = 0; d < t->n_dims; d++)
        if (b->box.size[d] < 1 || b->box.start[d] > t->size[d] ||
            b->box.size[d] > t->size[d] - b->box.start[d])
            return error_new("dimension %d: start %" PRId64 ", size %" PRId64
                             " is not inside %" PRId64,
                             d, b->box.start[d], b->box.size[d], t->size[d]);
    return NULL;
}

static Error *check_place(const Manifest *m, const ManifestTensor *t, const ManifestBox *b)
{
    if (b->part >= m->n_parts)
        return error_new("part %" PRId64 " of only %" PRId64, b->part, m->n_parts);
    const ManifestPart *p = &m->part[b->part];
    if (b->begin < p->header_bytes || b->begin > b->end || b->end > p->bytes)
        return error_new("bytes [%" PRId64 ", %" PRId64 "] do not lie behind the header of %s",
                         b->begin, b->end, p->file);
    int64_t bytes = box_count(&b->box) * (int64_t)dtype_size(t->dtype);
    if (b->end - b->begin != bytes)
        return error_new("bytes [%" PRId64 ", %" PRId64 "] are not the %" PRId64
                         " that its size needs",
                         b->begin, b->end, bytes);
    return NULL;
}

static Error *check_places(const Manifest *m, const ManifestTensor *t)
{
    for (int64_t i = 0; i < t->n_boxes; i++)
        TRY(error_wrap(check_place(m, t, &t->box[i]), "box %" PRId64, i));
    return NULL;
}

static Error *check_tensor(Arena *a, const ManifestTensor *t)
{
    int64_t bytes = 0;
    if (!dense_bytes(t->dtype, t->n_dims, t->size, &bytes))
        return error_new("the product of its sizes is too large");
    for (int64_t i = 0; i < t->n_boxes; i++)
        TRY(error_wrap(check_box(t, &t->box[i]), "box %" PRId64, i));
    const Box *x, *y;
    if (find_overlap(a, t, &x, &y)) {
        Text pair = { 0 };
        describe(x, &pair);
        text_puts(&pair, " and ");
        describe(y, &pair);
        Error *e = error_new("its boxes %s overlap", pair.ptr);
        text_free(&pair);
        return e;
    }
    int64_t covered = 0, count = bytes / (int64_t)dtype_size(t->dtype);
    for (int64_t i = 0; i < t->n_boxes; i++) covered += box_count(&t->box[i].box);
    if (covered != count)
        return error_new("its boxes hold %" PRId64 " of %" PRId64 " elements: a part is missing",
                         covered, count);
    return NULL;
}

Error *manifest_check_boxes(Arena *a, const Manifest *m)
{
    Map *names = map_new(a);
    for (int64_t i = 0; i < m->n_tensors; i++) {
        const ManifestTensor *t = &m->tensor[i];
        if (map_has(names, str_of(t->name)))
            return error_new("tensor \"%s\" is listed twice", t->name);
        map_set(names, str_of(t->name), NULL);
        TRY(error_wrap(check_tensor(a, t), "tensor \"%s\"", t->name));
    }
    return NULL;
}

Error *manifest_check(Arena *a, const Manifest *m)
{
    Map *files = map_new(a);
    for (int64_t i = 0; i < m->n_parts; i++) {
        const ManifestPart *p = &m->part[i];
        if (map_has(files, str_of(p->file)))
            return error_new("file \"%s\" is listed twice", p->file);
        map_set(files, str_of(p->file), NULL);
        if (p->header_bytes > p->bytes)
            return error_new("file \"%s\": its header is longer than the file", p->file);
    }
    TRY(manifest_check_boxes(a, m));
    for (int64_t i = 0; i < m->n_tensors; i++)
        TRY(error_wrap(check_places(m, &m->tensor[i]), "tensor \"%s\"", m->tensor[i].name));
    return NULL;
}
