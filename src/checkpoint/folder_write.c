/* folder_write.c - writes a checkpoint: part files, manifest.json, then the folder's name.
 *
 * Layout fsdp1 has its two files beside the folder, where the original looks for them; they get
 * their names just before the folder does, whose manifest names them. */
#include "checkpoint/folder_write.h"
#include "base/file.h"
#include "checkpoint/dcp_metadata.h"
#include "checkpoint/new_folder.h"
#include "checkpoint/part_write.h"
#include "checkpoint/torch_groups.h"
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

enum { MAX_PARTS = 2 };

/* A rectangle to write: box `box` of tensor `tensor` of the manifest, at `place` of state[state].
 */
typedef struct Piece {
    int64_t tensor, box, state;
    PartBox place;
} Piece;

/* The pieces of one file. */
typedef struct OutputPart {
    struct FolderWriter *writer;
    Piece *piece;
    int64_t n, cap;
    PartPlan *plan;
    NewFile file; /* open while it is written; stream NULL: not begun, or done */
} OutputPart;

typedef struct FolderWriter {
    Arena *arena;
    const char *path;
    const CheckpointContent *content;
    Manifest manifest;
    Map *by_name; /* index in the manifest + 1 */
    OutputPart part[MAX_PARTS];
    PlacedObject *object; /* layout dcp */
} FolderWriter;

static Error *add_tensor(FolderWriter *w, const StateTensor *t, int64_t *index)
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

static bool is_whole(const ManifestTensor *t, const Box *b)
{
    bool whole = true;
    for (int d = 0; d < t->n_dims; d++) whole = whole && b->size[d] == t->size[d];
    return whole;
}

/* Which file a tensor goes to: fsdp1 has one for the optimizer. */
static int part_of(const FolderWriter *w, const char *name)
{
    bool is_pair = w->content->layout == LAYOUT_FSDP1;
    return is_pair && str_starts(str_of(name), "app.optimizer.") ? 1 : 0;
}

static Error *add_state(FolderWriter *w, int64_t i)
{
    const StateTensor *t = &w->content->state[i];
    int64_t index = 0;
    TRY(add_tensor(w, t, &index));
    ManifestTensor *of = &w->manifest.tensor[index];
    PartBox *place;
    int n = part_boxes(w->arena, t->whole, &t->part, &place);
    OutputPart *to = &w->part[part_of(w, t->name)];
    for (int k = 0; k < n; k++) {
        if (w->content->layout == LAYOUT_FSDP1 && !is_whole(of, &place[k].whole))
            return error_new("tensor \"%s\": files of FSDP1 hold whole tensors; parts of them need "
                             "checkpoint_saving_execution.dcp",
                             t->name);
        of->box = arena_grow(w->arena, of->box, of->n_boxes, &of->box_cap, sizeof *of->box);
        of->box[of->n_boxes] = (ManifestBox){ .box = place[k].whole, .part = to - w->part };
        to->piece = arena_grow(w->arena, to->piece, to->n, &to->cap, sizeof *to->piece);
        to->piece[to->n++] =
            (Piece){ .tensor = index, .box = of->n_boxes++, .state = i, .place = place[k] };
    }
    return NULL;
}

/* The name in a safetensors file: that of the tensor, with its place ("x[0:4,8:16]") unless it is
 * whole. */
static const char *piece_name(Arena *a, const ManifestTensor *t, const Box *b)
{
    if (is_whole(t, b)) return t->name;
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

static NamedTensor *pieces_of(const FolderWriter *w, const OutputPart *p)
{
    NamedTensor *plan = NEW_N(w->arena, NamedTensor, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        const ManifestTensor *t = &w->manifest.tensor[p->piece[i].tensor];
        plan[i].name = piece_name(w->arena, t, &p->piece[i].place.whole);
        plan[i].tensor = (Tensor){ .dtype = t->dtype, .n_dims = t->n_dims };
        memcpy(plan[i].tensor.size, p->piece[i].place.whole.size, sizeof plan[i].tensor.size);
    }
    return plan;
}

const char *fsdp1_file(Arena *a, const char *path, const char *kind)
{
    const char *name = path_name(path), *at = strstr(name, "-seen_steps_");
    if (!at) return arena_printf(a, "%s-%s.bin", path, kind);
    return arena_printf(a, "%.*s-%s%s.bin", (int)(at - path), path, kind, at);
}

/* ---- plans of the layouts ---- */

static Error *plan_dcp(FolderWriter *w, const NamedTensor *piece)
{
    const CheckpointContent *c = w->content;
    w->object = NEW_N(w->arena, PlacedObject, c->n_objects);
    for (int64_t i = 0; i < c->n_objects; i++) w->object[i].object = &c->object[i];
    return distcp_plan(w->arena, "__0_0.distcp", piece, w->part->n, w->object, c->n_objects,
                       &w->part->plan);
}

static Error *plan_fsdp1(FolderWriter *w, int i, const NamedTensor *piece)
{
    static const char *const kind[] = { "model", "optimizer" };
    const CheckpointContent *c = w->content;
    const char *file =
        arena_printf(w->arena, "../%s", path_name(fsdp1_file(w->arena, w->path, kind[i])));
    TorchGroups *g = torch_groups(w->arena, piece, w->part[i].n, c->object, c->n_objects);
    return torch_plan(w->arena, file, piece, w->part[i].n,
                      i ? torch_groups_put_optimizer : torch_groups_put_model, g, &w->part[i].plan);
}

static Error *plan_part(FolderWriter *w, int i)
{
    OutputPart *p = &w->part[i];
    const NamedTensor *piece = pieces_of(w, p);
    switch (w->content->layout) {
    case LAYOUT_NATIVE:
        TRY(safetensors_plan(w->arena, "part_0.safetensors", piece, p->n, &p->plan));
        break;
    case LAYOUT_DCP:
        TRY(plan_dcp(w, piece));
        break;
    case LAYOUT_FSDP1:
        TRY(plan_fsdp1(w, i, piece));
        break;
    }
    ManifestPart *part = &w->manifest.part[i];
    *part = (ManifestPart){ .file = p->plan->file, .bytes = p->plan->bytes };
    part->header_bytes = p->n ? p->plan->begin[p->plan->order[0]] : p->plan->bytes;
    for (int64_t k = 0; k < p->n; k++) {
        ManifestBox *b = &w->manifest.tensor[p->piece[k].tensor].box[p->piece[k].box];
        b->begin = p->plan->begin[k];
        b->end = b->begin + (int64_t)tensor_bytes(&piece[k].tensor);
        if (!p->plan->entry) continue;
        b->entry_begin = p->plan->entry[k];
        b->entry_end = p->plan->entry_end[k];
    }
    return NULL;
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

static Error *plan(FolderWriter *w)
{
    static const char *const layouts[] = { "native", "dcp", "fsdp1" };
    const CheckpointContent *c = w->content;
    Manifest *m = &w->manifest;
    TRY(check_progress(c->progress));
    *m = (Manifest){ .progress = c->progress,
                     .layout = layouts[c->layout],
                     .block_bytes = BLOCK_BYTES,
                     .object = (CheckpointObject *)c->object,
                     .n_objects = c->n_objects,
                     .part = NEW_N(w->arena, ManifestPart, MAX_PARTS + 1),
                     .n_parts = c->layout == LAYOUT_FSDP1 ? 2 : 1 };
    for (int i = 0; i < MAX_PARTS; i++) w->part[i].writer = w;
    for (int64_t i = 0; i < c->n; i++) TRY(add_state(w, i));
    for (int64_t i = 0; i < m->n_parts; i++) TRY(plan_part(w, (int)i));
    return manifest_check(w->arena, m);
}

/* ---- writing ---- */

static Error *numbers_of(void *context, int64_t i, PieceNumbers *out)
{
    const OutputPart *p = context;
    const Piece *piece = &p->piece[i];
    const CheckpointContent *c = p->writer->content;
    const StateTensor *t = &c->state[piece->state];
    *out = (PieceNumbers){ .what = piece->place.local,
                           .part = box_whole(t->part.n_dims, t->part.size),
                           .data = t->part.data };
    return c->fetch ? c->fetch(c->context, piece->state, &out->data) : NULL;
}

static ManifestBox *box_of(void *context, int64_t i)
{
    const OutputPart *p = context;
    return &p->writer->manifest.tensor[p->piece[i].tensor].box[p->piece[i].box];
}

static Error *write_part(FolderWriter *w, int i, const char *folder)
{
    OutputPart *p = &w->part[i];
    const PartSource source = { .numbers = numbers_of, .box = box_of, .context = p };
    TRY(file_create(path_join(w->arena, folder, w->manifest.part[i].file), &p->file));
    return part_write(w->arena, p->plan, &source, &p->file, &w->manifest.part[i]);
}

static Error *write_kept(const FolderWriter *w, const char *folder)
{
    const CheckpointContent *c = w->content;
    for (int64_t i = 0; i < c->n_files; i++)
        TRY(file_write(path_join(w->arena, folder, c->file[i].name), c->file[i].text,
                       strlen(c->file[i].text)));
    return NULL;
}

/* torch's own description of the parts; the manifest covers it as a file without boxes. */
static Error *write_metadata(FolderWriter *w, const char *folder)
{
    if (w->content->layout != LAYOUT_DCP) return NULL;
    Str bytes =
        dcp_metadata_write(w->arena, w->path, &w->manifest, w->object, w->content->n_objects);
    ManifestPart *p = &w->manifest.part[w->manifest.n_parts++];
    *p = (ManifestPart){ .file = DCP_METADATA,
                         .bytes = (int64_t)bytes.len,
                         .header_bytes = (int64_t)bytes.len,
                         .header_crc = checksum(0, bytes.ptr, bytes.len) };
    return file_write(path_join(w->arena, folder, DCP_METADATA), bytes.ptr, bytes.len);
}

static Error *write_files(FolderWriter *w, const char *folder)
{
    TRY(write_kept(w, folder));
    for (int64_t i = 0; i < w->manifest.n_parts; i++) TRY(write_part(w, (int)i, folder));
    for (int64_t i = w->manifest.n_parts; i-- > 0;) TRY(file_commit(&w->part[i].file));
    TRY(write_metadata(w, folder));
    Text text = { 0 };
    manifest_print(&w->manifest, &text);
    Error *e = file_write(path_join(w->arena, folder, MANIFEST_NAME), text.ptr, text.len);
    text_free(&text);
    return e;
}

static Error *write_folder(FolderWriter *w)
{
    NewFolder folder;
    TRY(plan(w));
    TRY(folder_create(w->arena, w->path, &folder));
    Error *e = write_files(w, folder.temporary);
    for (int i = 0; i < MAX_PARTS; i++) file_abandon(&w->part[i].file);
    if (!e) return folder_commit(&folder);
    folder_abandon(&folder);
    return e;
}

Error *folder_write(const char *path, const CheckpointContent *c)
{
    Arena *a = arena_new();
    FolderWriter w = { .arena = a, .path = path, .content = c, .by_name = map_new(a) };
    Error *e = error_wrap(write_folder(&w), "cannot save checkpoint %s", path);
    arena_free(a);
    return e;
}

/* ---- rehearsal ---- */

/* The manifest's own reader tells what could not be read back. */
static Error *check_manifest(const FolderWriter *w, const char *folder)
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

static Error *rehearse(FolderWriter *w,
                       Error *(*reserve)(void *context, const char *path, int64_t bytes),
                       void *context)
{
    NewFolder folder;
    int64_t bytes = 0;
    TRY(plan(w));
    for (int64_t i = 0; i < w->manifest.n_parts; i++) bytes += w->manifest.part[i].bytes;
    TRY(folder_create(w->arena, w->path, &folder));
    Error *e = check_manifest(w, folder.temporary);
    if (!e) e = reserve(context, path_join(w->arena, folder.temporary, "space"), bytes);
    folder_abandon(&folder);
    return e;
}

Error *folder_rehearse(const char *path, const CheckpointContent *c,
                       Error *(*reserve)(void *context, const char *path, int64_t bytes),
                       void *context)
{
    Arena *a = arena_new();
    FolderWriter w = { .arena = a, .path = path, .content = c, .by_name = map_new(a) };
    Error *e = rehearse(&w, reserve, context);
    arena_free(a);
    return e;
}

Error *folder_remove(Arena *a, const char *path)
{
    static const char *const kind[] = { "model", "optimizer" };
    bool is_pair = false;
    Str text;
    Manifest *m = NULL;
    const char *name = path_join(a, path, MANIFEST_NAME);
    Error *e = file_read(a, name, &text);
    if (!e) e = manifest_parse(a, name, text, &m);
    if (!e) is_pair = !strcmp(m->layout, "fsdp1");
    error_free(e); /* what cannot be read can be removed */
    TRY(folder_retire(a, path));
    for (int i = 0; is_pair && i < 2; i++) TRY(remove_tree(fsdp1_file(a, path, kind[i])));
    return NULL;
}
