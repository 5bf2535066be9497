/* boxes_read.c - reads any box of any tensor from part files, and checks what it reads.
 *
 * Checksums belong to blocks of a box, so that whoever needs a part of it reads and checks little
 * more than that part. */
#include "checkpoint/boxes_read.h"
#include "base/file.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct PartFile {
    const char *path;
    FileMap map, scattered; /* of the same bytes */
    bool is_open, is_mapped, is_rest_checked;
} PartFile;

/* What is known of a stored box. */
typedef struct BoxState {
    bool is_located;
    int64_t n_blocks;
    bool *is_checked; /* of each block */
} BoxState;

typedef struct BoxReader {
    CheckpointReader base;
    Arena *arena;
    BoxSource source;
    PartFile *part;
    BoxState **state; /* of each box of each tensor */
} BoxReader;

static void unmap(void *map)
{
    file_unmap(map);
}

static Error *map_part(BoxReader *r, int64_t i)
{
    PartFile *p = &r->part[i];
    if (p->is_mapped) return NULL;
    if (!strcmp(r->source.format, "fsdp1") && !file_exists(p->path))
        return error_new("%s is missing: the files of FSDP1 lie beside the folder of their "
                         "checkpoint, and go with it where it goes",
                         p->path);
    TRY(file_map(p->path, &p->map));
    arena_on_free(r->arena, unmap, &p->map);
    TRY(file_map_scattered(p->path, &p->scattered));
    arena_on_free(r->arena, unmap, &p->scattered);
    p->is_mapped = true;
    return NULL;
}

/* Maps a part file when it is first needed, and checks its size and header: of many part files
 * that is all that is read. */
static Error *open_part(BoxReader *r, int64_t i)
{
    PartFile *p = &r->part[i];
    const ManifestPart *m = &r->source.manifest->part[i];
    if (p->is_open) return NULL;
    TRY(map_part(r, i));
    if (m->bytes >= 0 && (int64_t)p->map.len != m->bytes)
        return error_new("%s: has %zu bytes, %" PRId64
                         " were written: it was cut short or replaced",
                         p->path, p->map.len, m->bytes);
    uint32_t crc = checksum(0, p->scattered.ptr, (size_t)m->header_bytes);
    r->base.bytes_read += m->header_bytes;
    if (crc != m->header_crc)
        return error_new("%s: header, bytes 0 to %" PRId64
                         ": checksum %08x instead of %08x: the file is damaged",
                         p->path, m->header_bytes, crc, m->header_crc);
    p->is_open = true;
    return NULL;
}

static BoxState *state_of(BoxReader *r, int64_t i, int64_t k)
{
    return &r->state[i][k];
}

static Error *locate(BoxReader *r, int64_t i, int64_t k)
{
    const BoxSource *s = &r->source;
    const ManifestTensor *t = &s->manifest->tensor[i];
    ManifestBox *b = &s->manifest->tensor[i].box[k];
    BoxState *state = state_of(r, i, k);
    if (state->is_located) return NULL;
    TRY(open_part(r, b->part));
    const FileMap *map = &r->part[b->part].map;
    if (s->locate)
        TRY(error_wrap(s->locate(s->context, t, b, (Str){ map->ptr, map->len }), "%s",
                       r->part[b->part].path));
    state->n_blocks = manifest_blocks(s->manifest, b);
    state->is_checked = NEW_N(r->arena, bool, state->n_blocks);
    state->is_located = true;
    return NULL;
}

static Error *check_block(BoxReader *r, const ManifestTensor *t, const ManifestBox *b,
                          int64_t block)
{
    const PartFile *p = &r->part[b->part];
    int64_t from = b->begin + block * (block ? r->source.manifest->block_bytes : 0);
    int64_t bytes = b->end - from < r->source.manifest->block_bytes
                        ? b->end - from
                        : r->source.manifest->block_bytes;
    uint32_t crc = checksum(0, p->map.ptr + from, (size_t)bytes);
    r->base.bytes_read += bytes;
    if (crc == b->crc[block]) return NULL;
    return error_new("%s: tensor \"%s\", bytes %" PRId64 " to %" PRId64
                     ": checksum %08x instead of %08x: the file is damaged",
                     p->path, t->name, from, from + bytes, crc, b->crc[block]);
}

/* The blocks of box k of tensor i that hold its bytes [from, to), each once. */
static Error *check_once(BoxReader *r, int64_t i, int64_t k, int64_t from, int64_t to)
{
    const ManifestTensor *t = &r->source.manifest->tensor[i];
    BoxState *state = state_of(r, i, k);
    int64_t size = r->source.manifest->block_bytes;
    for (int64_t block = from / size; to > from && block <= (to - 1) / size; block++) {
        if (!state->is_checked[block]) TRY(check_block(r, t, &t->box[k], block));
        state->is_checked[block] = true;
    }
    return NULL;
}

/* Checks the blocks that hold `what`, a part of box k. */
static Error *check_what(BoxReader *r, int64_t i, int64_t k, const Box *what)
{
    const ManifestTensor *t = &r->source.manifest->tensor[i];
    const ManifestBox *b = &t->box[k];
    int64_t element = (int64_t)dtype_size(t->dtype);
    Runs runs = box_runs(what, &b->box);
    for (int64_t n = 0; n < runs.n; n++) {
        int64_t at = box_run_offset(&runs, what, &b->box, n);
        TRY(check_once(r, i, k, at * element, (at + runs.length) * element));
    }
    return NULL;
}

static Error *get(CheckpointReader *base, int64_t i, const Box *box, void *out)
{
    BoxReader *r = (BoxReader *)base;
    const ManifestTensor *t = &r->source.manifest->tensor[i];
    const Box whole = box_whole(t->n_dims, t->size);
    CHECK(box_contains(&whole, box));
    for (int64_t k = 0; k < t->n_boxes; k++) {
        const ManifestBox *b = &t->box[k];
        Box both;
        if (!box_intersect(&b->box, box, &both)) continue;
        TRY(locate(r, i, k));
        TRY(check_what(r, i, k, &both));
        box_copy(&both, dtype_size(t->dtype), &b->box, r->part[b->part].map.ptr + b->begin, box,
                 out);
    }
    return NULL;
}

typedef struct Range {
    int64_t begin, end;
} Range;

static int by_begin(const void *x, const void *y)
{
    const Range *a = x, *b = y;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* The bytes of a part file that belong to boxes, by place. */
static Range *ranges_of(Arena *a, const Manifest *m, int64_t part, int64_t *n)
{
    Range *range = NULL;
    int64_t cap = 0;
    *n = 0;
    for (int64_t i = 0; i < m->n_tensors; i++) {
        for (int64_t k = 0; k < m->tensor[i].n_boxes; k++) {
            const ManifestBox *b = &m->tensor[i].box[k];
            if (b->part != part) continue;
            range = arena_grow(a, range, *n, &cap, sizeof *range);
            range[(*n)++] = (Range){ b->begin, b->end };
        }
    }
    if (*n) qsort(range, (size_t)*n, sizeof *range, by_begin);
    return range;
}

/* What is neither header nor box. */
static Error *check_rest(BoxReader *r, int64_t part)
{
    const Manifest *m = r->source.manifest;
    PartFile *p = &r->part[part];
    if (!m->part[part].has_rest || p->is_rest_checked) return NULL;
    TRY(open_part(r, part));
    Arena *a = arena_new();
    int64_t n, at = m->part[part].header_bytes;
    Range *range = ranges_of(a, m, part, &n);
    uint32_t crc = 0;
    for (int64_t i = 0; i <= n; i++) {
        int64_t to = i < n ? range[i].begin : (int64_t)p->map.len;
        if (to > at) crc = checksum(crc, p->scattered.ptr + at, (size_t)(to - at));
        if (i < n && range[i].end > at) at = range[i].end;
    }
    arena_free(a);
    if (crc != m->part[part].rest_crc)
        return error_new("%s: what lies between the tensors has checksum %08x instead of %08x: the "
                         "file is damaged",
                         p->path, crc, m->part[part].rest_crc);
    p->is_rest_checked = true;
    return NULL;
}

static Error *verify(CheckpointReader *base, int64_t i)
{
    BoxReader *r = (BoxReader *)base;
    const ManifestTensor *t = &r->source.manifest->tensor[i];
    for (int64_t k = 0; k < t->n_boxes; k++) {
        TRY(locate(r, i, k));
        TRY(check_once(r, i, k, 0, t->box[k].end - t->box[k].begin));
    }
    return NULL;
}

static Error *verify_files(CheckpointReader *base)
{
    BoxReader *r = (BoxReader *)base;
    for (int64_t i = 0; i < r->source.manifest->n_parts; i++) {
        TRY(open_part(r, i));
        TRY(check_rest(r, i));
    }
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

CheckpointReader *boxes_reader(Arena *a, const BoxSource *s)
{
    const Manifest *m = s->manifest;
    BoxReader *r = NEW(a, BoxReader);
    *r = (BoxReader){ .base = { .format = s->format,
                                .path = arena_string(a, s->path),
                                .progress = m->progress,
                                .entry = entries_of(a, m),
                                .n_entries = m->n_tensors,
                                .get = get,
                                .verify = verify,
                                .verify_files = verify_files,
                                .objects = s->objects },
                      .arena = a,
                      .source = *s,
                      .part = NEW_N(a, PartFile, m->n_parts),
                      .state = NEW_N(a, BoxState *, m->n_tensors) };
    for (int64_t i = 0; i < m->n_parts; i++)
        r->part[i].path =
            m->part[i].file[0] == '/' ? m->part[i].file : path_join(a, s->folder, m->part[i].file);
    for (int64_t i = 0; i < m->n_tensors; i++)
        r->state[i] = NEW_N(a, BoxState, m->tensor[i].n_boxes);
    return &r->base;
}

const BoxSource *boxes_source(const CheckpointReader *r)
{
    return &((const BoxReader *)r)->source;
}

Error *boxes_file(CheckpointReader *base, int64_t i, Str *out)
{
    BoxReader *r = (BoxReader *)base;
    TRY(open_part(r, i));
    *out = (Str){ r->part[i].map.ptr, r->part[i].map.len };
    return NULL;
}
