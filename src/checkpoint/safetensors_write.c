/* safetensors_write.c - writes a safetensors file whose header is planned before the first number
 * comes. */
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "checkpoint/part_output.h"
#include "checkpoint/part_plan.h"
#include "checkpoint/safetensors.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
    const NamedTensor *named;
    int64_t begin, bytes, written; /* begin counts from the start of the file */
} Entry;

struct SafetensorsWriter {
    NewFile file;
    const char *path;
    Str header;
    Entry *entry; /* as planned */
    int64_t n;
    int64_t at; /* where the stream stands */
};

static Error *cannot_write(const SafetensorsWriter *w)
{
    return error_new("cannot write %s: %s", w->path, strerror(errno));
}

static Error *put_text(Text *to, const char *path, const char *s)
{
    if (utf8_valid_length(str_of(s)) != strlen(s))
        return error_new("%s: the name \"%s\" is not UTF-8", path, s);
    text_json_string(to, str_of(s));
    return NULL;
}

static Error *put_metadata(Text *to, const char *path, const Map *metadata)
{
    text_puts(to, "\"__metadata__\":{");
    for (int64_t i = 0; i < metadata->n; i++) {
        if (i) text_putc(to, ',');
        TRY(put_text(to, path, metadata->entry[i].key.ptr));
        text_putc(to, ':');
        TRY(put_text(to, path, metadata->entry[i].value));
    }
    text_putc(to, '}');
    return NULL;
}

static Error *put_entry(Text *to, const char *path, const Entry *e)
{
    const Tensor *t = &e->named->tensor;
    if (to->len > 1) text_putc(to, ',');
    TRY(put_text(to, path, e->named->name));
    text_printf(to, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_dtype_name(t->dtype));
    for (int d = 0; d < t->n_dims; d++) text_printf(to, "%s%" PRId64, d ? "," : "", t->size[d]);
    text_printf(to, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", e->begin, e->begin + e->bytes);
    return NULL;
}

static Error *header_json(const char *path, Entry *const *order, int64_t n, const Map *metadata,
                          Text *to)
{
    text_putc(to, '{');
    if (metadata && metadata->n) TRY(put_metadata(to, path, metadata));
    for (int64_t i = 0; i < n; i++) TRY(put_entry(to, path, order[i]));
    text_putc(to, '}');
    return NULL;
}

enum { WIDEST = 8 };

/* By what the entries lie in the file: bytes of an element; more for large ones of whole pages. */
static size_t order_of(const Entry *e)
{
    const bool is_of_pages = e->bytes >= PART_LARGE && e->bytes % PART_PAGE == 0;
    return is_of_pages ? 2 * WIDEST : dtype_size(e->named->tensor.dtype);
}

/* Whole pages and wide elements first, so that each tensor is aligned without gaps; fills begin,
 * from 0. */
static Entry **place(Arena *a, SafetensorsWriter *w)
{
    Entry **order = NEW_N(a, Entry *, w->n);
    int64_t n = 0, at = 0;
    for (size_t now = 2 * WIDEST; now; now /= 2) {
        for (int64_t i = 0; i < w->n; i++) {
            Entry *e = &w->entry[i];
            if (order_of(e) != now) continue;
            order[n++] = e;
            e->begin = at;
            at += e->bytes;
        }
    }
    CHECK(n == w->n);
    return order;
}

static Error *check_names(Arena *a, const char *path, const NamedTensor *plan, int64_t n)
{
    Map *seen = map_new(a);
    for (int64_t i = 0; i < n; i++) {
        const char *name = plan[i].name;
        if (!strcmp(name, "__metadata__"))
            return error_new("%s: a tensor cannot be called \"%s\"", path, name);
        if (map_has(seen, str_of(name)))
            return error_new("%s: two tensors are called \"%s\"", path, name);
        map_set(seen, str_of(name), seen);
    }
    return NULL;
}

/* The length as 8 little-endian bytes, the JSON, and spaces: up to a multiple of 8, or of a page
 * where there are large tensors. */
static Str header_bytes(Arena *a, const SafetensorsWriter *w, const Text *json)
{
    size_t unit = 8;
    for (int64_t i = 0; i < w->n; i++)
        if (w->entry[i].bytes >= PART_LARGE) unit = PART_PAGE;
    const size_t len = (8 + json->len + unit - 1) / unit * unit - 8;
    char *bytes = arena_alloc(a, 8 + len);
    for (int i = 0; i < 8; i++) bytes[i] = (char)(len >> 8 * i);
    memset(bytes + 8, ' ', len);
    memcpy(bytes + 8, json->ptr, json->len);
    return (Str){ bytes, 8 + len };
}

/* Fills the header and the place of each tensor; *order lists them by place. */
static Error *plan_entries(Arena *a, SafetensorsWriter *w, const char *path,
                           const NamedTensor *plan, int64_t n, const Map *metadata, Entry ***order)
{
    TRY(check_names(a, path, plan, n));
    *w = (SafetensorsWriter){ .path = arena_string(a, path), .entry = NEW_N(a, Entry, n), .n = n };
    for (int64_t i = 0; i < n; i++)
        w->entry[i] = (Entry){ .named = &plan[i], .bytes = (int64_t)tensor_bytes(&plan[i].tensor) };
    Text json = { 0 };
    *order = place(a, w);
    Error *e = header_json(path, *order, n, metadata, &json);
    if (!e) w->header = header_bytes(a, w, &json);
    text_free(&json);
    for (int64_t i = 0; i < n; i++) w->entry[i].begin += (int64_t)w->header.len;
    return e;
}

typedef struct SafetensorsPlan {
    PartPlan base;
    Str header;
} SafetensorsPlan;

static void around(PartPlan *p, int64_t i, int64_t at, uint32_t crc, Text *out)
{
    (void)at;
    (void)crc;
    const Str header = ((const SafetensorsPlan *)p)->header;
    if (i == 0) text_add(out, header.ptr, header.len);
}

Error *safetensors_plan(Arena *a, const char *file, const NamedTensor *piece, int64_t n,
                        PartPlan **out)
{
    SafetensorsPlan *p = NEW(a, SafetensorsPlan);
    SafetensorsWriter w;
    Entry **order;
    TRY(plan_entries(a, &w, file, piece, n, NULL, &order));
    *p = (SafetensorsPlan){ .base = { .arena = a,
                                      .file = file,
                                      .piece = piece,
                                      .n = n,
                                      .order = NEW_N(a, int64_t, n),
                                      .begin = NEW_N(a, int64_t, n),
                                      .around = around },
                            .header = w.header };
    for (int64_t i = 0; i < n; i++) p->base.order[i] = order[i] - w.entry;
    part_plan_place(&p->base);
    *out = &p->base;
    return NULL;
}

Error *safetensors_create(Arena *a, const char *path, const NamedTensor *plan, int64_t n,
                          const Map *metadata, SafetensorsWriter **out)
{
    SafetensorsWriter *w = *out = NEW(a, SafetensorsWriter);
    Entry **order;
    Error *e = NULL;
    TRY(plan_entries(a, w, path, plan, n, metadata, &order));
    TRY(file_create(path, &w->file));
    if (fwrite(w->header.ptr, 1, w->header.len, w->file.stream) != w->header.len) {
        e = cannot_write(w);
        file_abandon(&w->file);
        return e;
    }
    w->at = (int64_t)w->header.len;
    return NULL;
}

Error *safetensors_put(SafetensorsWriter *w, int64_t i, const void *data, size_t bytes)
{
    Entry *e = &w->entry[i];
    CHECK(i < w->n && (int64_t)bytes <= e->bytes - e->written);
    if (bytes == 0) return NULL;
    int64_t to = e->begin + e->written;
    if (to != w->at && fseeko(w->file.stream, to, SEEK_SET) != 0) return cannot_write(w);
    if (fwrite(data, 1, bytes, w->file.stream) != bytes) return cannot_write(w);
    e->written += (int64_t)bytes;
    w->at = to + (int64_t)bytes;
    return NULL;
}

int64_t safetensors_offset(const SafetensorsWriter *w, int64_t i)
{
    return w->entry[i].begin;
}
Str safetensors_header(const SafetensorsWriter *w)
{
    return w->header;
}

Error *safetensors_commit(SafetensorsWriter *w)
{
    for (int64_t i = 0; i < w->n; i++) CHECK(w->entry[i].written == w->entry[i].bytes);
    return file_commit(&w->file);
}

void safetensors_abandon(SafetensorsWriter *w)
{
    file_abandon(&w->file);
}

static Error *put_all(SafetensorsWriter *w, const NamedTensor *tensors)
{
    for (int64_t i = 0; i < w->n; i++)
        TRY(safetensors_put(w, i, tensors[i].tensor.data, tensor_bytes(&tensors[i].tensor)));
    return safetensors_commit(w);
}

Error *safetensors_write(const char *path, const NamedTensor *tensors, int64_t n)
{
    Arena *a = arena_new();
    SafetensorsWriter *w = NULL;
    Error *e = safetensors_create(a, path, tensors, n, NULL, &w);
    if (!e) {
        e = put_all(w, tensors);
        safetensors_abandon(w);
    }
    arena_free(a);
    return e;
}
