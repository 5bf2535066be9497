/* native_read.c - reads any box of any tensor of a checkpoint, and checks what it reads. */
#include "base/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/native.h"
#include <inttypes.h>
#include <string.h>

typedef struct PartFile {
    const char *path;
    FileMap map;
    bool is_open;
} PartFile;

typedef struct NativeReader {
    CheckpointReader base;
    Arena *arena;
    const Manifest *manifest;
    PartFile *part;
    bool **is_checked; /* of each box of each tensor */
} NativeReader;

static void unmap(void *map)
{
    file_unmap(map);
}

/* Maps a part file when it is first needed. */
static Error *open_part(NativeReader *r, int64_t i)
{
    PartFile *p = &r->part[i];
    const ManifestPart *m = &r->manifest->part[i];
    if (p->is_open) return NULL;
    if (!p->map.len) {
        TRY(file_map(p->path, &p->map));
        arena_on_free(r->arena, unmap, &p->map);
    }
    if ((int64_t)p->map.len != m->bytes)
        return error_new("%s: has %zu bytes, %" PRId64
                         " were written: it was cut short or replaced",
                         p->path, p->map.len, m->bytes);
    uint32_t crc = checksum(0, p->map.ptr, (size_t)m->header_bytes);
    if (crc != m->header_crc)
        return error_new("%s: header, bytes 0 to %" PRId64
                         ": checksum %08x instead of %08x: the file is damaged",
                         p->path, m->header_bytes, crc, m->header_crc);
    p->is_open = true;
    return NULL;
}

static Error *check_box(NativeReader *r, const ManifestTensor *t, const ManifestBox *b)
{
    TRY(open_part(r, b->part));
    const PartFile *p = &r->part[b->part];
    uint32_t crc = checksum(0, p->map.ptr + b->begin, (size_t)(b->end - b->begin));
    if (crc == b->crc) return NULL;
    return error_new("%s: tensor \"%s\", bytes %" PRId64 " to %" PRId64
                     ": checksum %08x instead of %08x: the file is damaged",
                     p->path, t->name, b->begin, b->end, crc, b->crc);
}

/* Box k of tensor i, once. */
static Error *check_once(NativeReader *r, int64_t i, int64_t k)
{
    const ManifestTensor *t = &r->manifest->tensor[i];
    if (!r->is_checked[i][k]) TRY(check_box(r, t, &t->box[k]));
    r->is_checked[i][k] = true;
    return NULL;
}

static Error *get(CheckpointReader *base, int64_t i, const Box *box, void *out)
{
    NativeReader *r = (NativeReader *)base;
    const ManifestTensor *t = &r->manifest->tensor[i];
    const Box whole = box_whole(t->n_dims, t->size);
    CHECK(box_contains(&whole, box));
    for (int64_t k = 0; k < t->n_boxes; k++) {
        const ManifestBox *b = &t->box[k];
        Box both;
        if (!box_intersect(&b->box, box, &both)) continue;
        TRY(check_once(r, i, k));
        box_copy(&both, dtype_size(t->dtype), &b->box, r->part[b->part].map.ptr + b->begin, box,
                 out);
    }
    return NULL;
}

static Error *verify(CheckpointReader *base, int64_t i)
{
    NativeReader *r = (NativeReader *)base;
    for (int64_t k = 0; k < r->manifest->tensor[i].n_boxes; k++) TRY(check_once(r, i, k));
    return NULL;
}

static CheckpointEntry *entries_of(Arena *a, const Manifest *m)
{
    CheckpointEntry *entry = NEW_N(a, CheckpointEntry, m->n_tensors);
    for (int64_t i = 0; i < m->n_tensors; i++) {
        const ManifestTensor *t = &m->tensor[i];
        entry[i] = (CheckpointEntry){ .name = t->name, .dtype = t->dtype, .n_dims = t->n_dims };
        memcpy(entry[i].size, t->size, sizeof t->size);
    }
    return entry;
}

Error *native_open(Arena *a, const char *path, const char *folder, CheckpointReader **out)
{
    const char *name = path_join(a, folder, MANIFEST_NAME);
    Str text;
    Manifest *m;
    TRY(file_read(a, name, &text));
    TRY(manifest_parse(a, name, text, &m));
    NativeReader *r = NEW(a, NativeReader);
    *r = (NativeReader){ .base = { .format = "native",
                                   .path = arena_string(a, path),
                                   .progress = m->progress,
                                   .entry = entries_of(a, m),
                                   .n_entries = m->n_tensors,
                                   .get = get,
                                   .verify = verify },
                         .arena = a,
                         .manifest = m,
                         .part = NEW_N(a, PartFile, m->n_parts),
                         .is_checked = NEW_N(a, bool *, m->n_tensors) };
    for (int64_t i = 0; i < m->n_parts; i++)
        r->part[i].path = path_join(a, folder, m->part[i].file);
    for (int64_t i = 0; i < m->n_tensors; i++)
        r->is_checked[i] = NEW_N(a, bool, m->tensor[i].n_boxes);
    *out = &r->base;
    return NULL;
}
