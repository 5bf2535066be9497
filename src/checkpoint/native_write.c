/* native_write.c - writes a checkpoint: one safetensors file, manifest.json, then the folder's
 * name. */
#include "base/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/native.h"
#include "checkpoint/new_folder.h"
#include "checkpoint/safetensors.h"
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static const char PART_FILE[] = "part_0.safetensors";

/* A rectangle to write: box `box` of tensor `tensor` of the manifest, found at `place` of the part.
 */
typedef struct Piece {
    int64_t tensor, box;
    PartBox place;
    Box part;
    const void *data;
} Piece;

typedef struct NativeWriter {
    CheckpointWriter base;
    Arena *arena;
    const char *path;
    Manifest manifest;
    Map *by_name; /* index in the manifest + 1 */
    Piece *piece;
    int64_t n_pieces, piece_cap;
    CheckpointFile *kept;
    int64_t n_kept, kept_cap;
} NativeWriter;

static Error *add_tensor(NativeWriter *w, const StateTensor *t, int64_t *index)
{
    Manifest *m = &w->manifest;
    *index = (intptr_t)map_get(w->by_name, str_of(t->name)) - 1;
    if (*index >= 0) {
        const ManifestTensor *old = &m->tensor[*index];
        bool is_same = old->dtype == t->part.dtype && old->n_dims == t->part.n_dims;
        for (int d = 0; is_same && d < old->n_dims; d++) is_same = old->size[d] == t->whole[d];
        return is_same
                   ? NULL
                   : error_new("tensor \"%s\": two parts differ in dtype or whole sizes", t->name);
    }
    *index = m->n_tensors;
    m->tensor = arena_grow(w->arena, m->tensor, m->n_tensors, &m->tensor_cap, sizeof *m->tensor);
    ManifestTensor *new = &m->tensor[m->n_tensors++];
    *new = (ManifestTensor){ .name = arena_string(w->arena, t->name),
                             .dtype = t->part.dtype,
                             .n_dims = t->part.n_dims };
    for (int d = 0; d < new->n_dims; d++) new->size[d] = t->whole[d];
    map_set(w->by_name, str_of(t->name), (void *)(intptr_t)m->n_tensors);
    return NULL;
}

static Error *put(CheckpointWriter *base, const StateTensor *t)
{
    NativeWriter *w = (NativeWriter *)base;
    int64_t index;
    TRY(add_tensor(w, t, &index));
    ManifestTensor *of = &w->manifest.tensor[index];
    PartBox *place;
    int n = part_boxes(w->arena, t->whole, &t->part, &place);
    for (int i = 0; i < n; i++) {
        of->box = arena_grow(w->arena, of->box, of->n_boxes, &of->box_cap, sizeof *of->box);
        of->box[of->n_boxes] = (ManifestBox){ .box = place[i].whole };
        w->piece = arena_grow(w->arena, w->piece, w->n_pieces, &w->piece_cap, sizeof *w->piece);
        w->piece[w->n_pieces++] = (Piece){ .tensor = index,
                                           .box = of->n_boxes++,
                                           .place = place[i],
                                           .part = box_whole(t->part.n_dims, t->part.size),
                                           .data = t->part.data };
    }
    return NULL;
}

/* The name in the part file: that of the tensor, with its place ("x[0:4,8:16]") unless it is whole.
 */
static const char *piece_name(Arena *a, const ManifestTensor *t, const Box *b)
{
    bool is_whole = true;
    for (int d = 0; d < t->n_dims; d++) is_whole = is_whole && b->size[d] == t->size[d];
    if (is_whole) return t->name;
    Text name = { 0 };
    text_puts(&name, t->name);
    for (int d = 0; d < t->n_dims; d++)
        text_printf(&name, "%c%" PRId64 ":%" PRId64, d ? ',' : '[', b->start[d],
                    b->start[d] + b->size[d]);
    text_putc(&name, ']');
    char *kept = arena_string(a, name.ptr);
    text_free(&name);
    return kept;
}

/* Creates the part file and fills in where everything will lie. */
static Error *plan_file(NativeWriter *w, const char *folder, SafetensorsWriter **out)
{
    NamedTensor *plan = NEW_N(w->arena, NamedTensor, w->n_pieces);
    for (int64_t i = 0; i < w->n_pieces; i++) {
        const Piece *p = &w->piece[i];
        const ManifestTensor *t = &w->manifest.tensor[p->tensor];
        plan[i].name = piece_name(w->arena, t, &p->place.whole);
        plan[i].tensor = (Tensor){ .dtype = t->dtype, .n_dims = t->n_dims };
        memcpy(plan[i].tensor.size, p->place.whole.size, sizeof plan[i].tensor.size);
    }
    TRY(safetensors_create(w->arena, path_join(w->arena, folder, PART_FILE), plan, w->n_pieces,
                           NULL, out));
    Str header = safetensors_header(*out);
    ManifestPart *part = w->manifest.part = NEW(w->arena, ManifestPart);
    w->manifest.n_parts = 1;
    *part = (ManifestPart){ .file = PART_FILE,
                            .bytes = (int64_t)header.len,
                            .header_bytes = (int64_t)header.len,
                            .header_crc = checksum(0, header.ptr, header.len) };
    for (int64_t i = 0; i < w->n_pieces; i++) {
        ManifestBox *b = &w->manifest.tensor[w->piece[i].tensor].box[w->piece[i].box];
        b->begin = safetensors_offset(*out, i);
        b->end = b->begin + (int64_t)tensor_bytes(&plan[i].tensor);
        if (b->end > part->bytes) part->bytes = b->end;
    }
    return NULL;
}

static Error *write_piece(NativeWriter *w, SafetensorsWriter *to, int64_t i)
{
    const Piece *p = &w->piece[i];
    ManifestTensor *t = &w->manifest.tensor[p->tensor];
    size_t element = dtype_size(t->dtype);
    Runs runs = box_runs(&p->place.local, &p->part);
    ManifestBox *b = &t->box[p->box];
    size_t done = 0;
    b->crc = NEW_N(w->arena, uint32_t, manifest_blocks(&w->manifest, b));
    for (int64_t k = 0; k < runs.n; k++) {
        const char *at = (const char *)p->data +
                         (size_t)box_run_offset(&runs, &p->place.local, &p->part, k) * element;
        for (size_t left = (size_t)runs.length * element, now; left; left -= now, at += now) {
            size_t room = BLOCK_BYTES - done % BLOCK_BYTES;
            uint32_t *crc = &b->crc[done / BLOCK_BYTES];
            now = left < room ? left : room;
            *crc = checksum(*crc, at, now);
            TRY(safetensors_put(to, i, at, now));
            done += now;
        }
    }
    return NULL;
}

static Error *write_pieces(NativeWriter *w, SafetensorsWriter *to)
{
    TRY(manifest_check(w->arena, &w->manifest));
    for (int64_t i = 0; i < w->n_pieces; i++) TRY(write_piece(w, to, i));
    return safetensors_commit(to);
}

static Error *write_kept(NativeWriter *w, const char *folder)
{
    for (int64_t i = 0; i < w->n_kept; i++)
        TRY(file_write(path_join(w->arena, folder, w->kept[i].name), w->kept[i].text,
                       strlen(w->kept[i].text)));
    return NULL;
}

static Error *write_files(NativeWriter *w, const char *folder)
{
    TRY(write_kept(w, folder));
    SafetensorsWriter *to;
    TRY(plan_file(w, folder, &to));
    Error *e = write_pieces(w, to);
    safetensors_abandon(to);
    if (e) return e;
    Text text = { 0 };
    manifest_print(&w->manifest, &text);
    e = file_write(path_join(w->arena, folder, MANIFEST_NAME), text.ptr, text.len);
    text_free(&text);
    return e;
}

/* The manifest's own reader tells what could not be read back. */
static Error *check_manifest(NativeWriter *w, const char *folder)
{
    const char *path = path_join(w->arena, folder, MANIFEST_NAME);
    Text text = { 0 };
    Manifest *back;
    manifest_print(&w->manifest, &text);
    Error *e = file_write_unsynced(path, text.ptr, text.len);
    if (!e) e = manifest_parse(w->arena, path, (Str){ text.ptr, text.len }, &back);
    text_free(&text);
    return e;
}

static void keep(CheckpointWriter *base, const CheckpointFile *file)
{
    NativeWriter *w = (NativeWriter *)base;
    w->kept = arena_grow(w->arena, w->kept, w->n_kept, &w->kept_cap, sizeof *w->kept);
    w->kept[w->n_kept++] = *file;
}

static Error *check_progress(const char *progress)
{
    json_error_t why;
    json_t *json = json_loads(progress, JSON_REJECT_DUPLICATES, &why);
    Error *e = NULL;
    if (!json)
        e = error_new("progress is no JSON: %s", why.text);
    else if (!json_is_object(json))
        e = error_new("progress is no JSON object");
    json_decref(json);
    return e;
}

Error *native_rehearse(CheckpointWriter *base, const char *progress,
                       Error *(*reserve)(void *context, const char *path, int64_t bytes),
                       void *context)
{
    NativeWriter *w = (NativeWriter *)base;
    SafetensorsWriter *to;
    NewFolder folder;
    TRY(check_progress(progress));
    w->manifest.progress = progress;
    TRY(folder_create(w->arena, w->path, &folder));
    Error *e = plan_file(w, folder.temporary, &to);
    if (!e) {
        safetensors_abandon(to);
        e = check_manifest(w, folder.temporary);
    }
    if (!e)
        e = reserve(context, path_join(w->arena, folder.temporary, "space"),
                    w->manifest.part->bytes);
    folder_abandon(&folder);
    return e;
}

static Error *save(NativeWriter *w, const char *progress)
{
    TRY(check_progress(progress));
    w->manifest.progress = progress;
    NewFolder folder;
    TRY(folder_create(w->arena, w->path, &folder));
    Error *e = write_files(w, folder.temporary);
    if (!e) return folder_commit(&folder);
    folder_abandon(&folder);
    return e;
}

static Error *finish(CheckpointWriter *base, const char *progress)
{
    NativeWriter *w = (NativeWriter *)base;
    return error_wrap(save(w, progress), "cannot save checkpoint %s", w->path);
}

CheckpointWriter *native_writer(Arena *a, const char *path)
{
    NativeWriter *w = NEW(a, NativeWriter);
    *w = (NativeWriter){ .base = { .put = put, .keep = keep, .finish = finish },
                         .arena = a,
                         .path = arena_string(a, path),
                         .manifest = { .layout = "native", .block_bytes = BLOCK_BYTES },
                         .by_name = map_new(a) };
    return &w->base;
}
