/* folder_write.c - writes a checkpoint: part files, manifest.json, then the folder's name.
 *
 * Every rank writes its part; rank 0 makes the folder before, and when all parts are on the disk
 * the manifest and the folder's name, so that whatever dies meanwhile, there is no checkpoint that
 * lacks a part. Layout fsdp1 has its two files beside the folder, where the original looks for
 * them; they get their names just before the folder does, whose manifest names them. */
#include "checkpoint/folder_write.h"
#include "base/file.h"
#include "checkpoint/dcp_metadata.h"
#include "checkpoint/new_folder.h"
#include "checkpoint/staging.h"
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

enum { MAX_PARTS = 2 };

struct FolderWriter {
    Arena *arena;
    const char *path;
    CheckpointContent *content;
    const Shares *shares;
    OutputPart part[MAX_PARTS]; /* of this rank */
    int n_parts;
    Manifest manifest; /* on rank 0 */
};

static bool is_alone(const FolderWriter *w)
{
    return shares_ranks(w->shares) == 1;
}

static bool leads(const FolderWriter *w)
{
    return shares_rank(w->shares) == 0;
}

/* ---- what this rank writes ---- */

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

/* fsdp1 has a file for the optimizer. */
static int kind_of(const FolderWriter *w, const Share *s)
{
    bool is_pair = w->content->layout == LAYOUT_FSDP1;
    return is_pair && str_starts(str_of(w->content->state[s->state].name), "app.optimizer.");
}

static Error *plan_part(FolderWriter *w, int kind)
{
    OutputPart *p = &w->part[kind];
    Share *piece = NEW_N(w->arena, Share, w->shares->n);
    *p = (OutputPart){ .arena = w->arena,
                       .content = w->content,
                       .piece = piece,
                       .block_bytes = w->shares->block_bytes };
    for (int64_t i = 0; i < w->shares->n; i++)
        if (kind_of(w, &w->shares->mine[i]) == kind) piece[p->n++] = w->shares->mine[i];
    return output_part_plan(p, w->path, shares_rank(w->shares), kind);
}

/* A rank that has nothing to write has no file. */
static Error *plan_parts(FolderWriter *w)
{
    const CheckpointContent *c = w->content;
    if (c->layout == LAYOUT_FSDP1 && !is_alone(w))
        return error_new("files of FSDP1 are written by one rank, which has all tensors");
    w->n_parts = c->layout == LAYOUT_FSDP1 ? 2 : leads(w) || w->shares->n;
    if (leads(w)) TRY(check_progress(c->progress));
    for (int i = 0; i < w->n_parts; i++) TRY(plan_part(w, i));
    return NULL;
}

static void stage_parts(FolderWriter *w)
{
    staging_begin(w->content->staging);
    for (int i = 0; i < w->n_parts; i++) output_part_stage(&w->part[i]);
}

/* ---- rank 0: what all have written ---- */

static void manifest_begin(FolderWriter *w)
{
    static const char *const layouts[] = { "native", "dcp", "fsdp1" };
    const CheckpointContent *c = w->content;
    const Shares *s = w->shares;
    Manifest *m = &w->manifest;
    *m = (Manifest){ .progress = c->progress,
                     .layout = layouts[c->layout],
                     .block_bytes = s->block_bytes,
                     .object = (CheckpointObject *)c->object,
                     .n_objects = c->n_objects,
                     .part = NEW_N(w->arena, ManifestPart, MAX_PARTS + shares_ranks(s) + 1),
                     .tensor = NEW_N(w->arena, ManifestTensor, s->n_whole),
                     .n_tensors = s->n_whole };
    for (int64_t i = 0; i < s->n_whole; i++) {
        const StateTensor *t = &s->whole[i];
        m->tensor[i] = (ManifestTensor){ .name = arena_string(w->arena, t->name),
                                         .dtype = t->part.dtype,
                                         .n_dims = t->part.n_dims };
        memcpy(m->tensor[i].size, t->whole, sizeof t->whole);
    }
}

static void add_box(const FolderWriter *w, int64_t tensor, ManifestBox box)
{
    ManifestTensor *t = &w->manifest.tensor[tensor];
    t->box = arena_grow(w->arena, t->box, t->n_boxes, &t->box_cap, sizeof *t->box);
    box.part = w->manifest.n_parts;
    t->box[t->n_boxes++] = box;
}

/* Its own: the shares in their order are those of one file or of two. */
static void add_own(FolderWriter *w)
{
    int64_t n[MAX_PARTS] = { 0 };
    for (int i = 0; i < w->n_parts; i++) {
        for (int64_t k = 0; k < w->shares->n; k++)
            if (kind_of(w, &w->shares->mine[k]) == i)
                add_box(w, w->shares->of_rank[0][k].tensor, w->part[i].box[n[i]++]);
        w->manifest.part[w->manifest.n_parts++] = w->part[i].about;
    }
}

static Error *add_rank(FolderWriter *w, int rank, Str record)
{
    ManifestPart part;
    ManifestBox *box;
    int64_t n;
    if (!record.len) return NULL;
    output_part_read(w->arena, record, &part, &box, &n);
    CHECK(n == w->shares->n_of_rank[rank]);
    for (int64_t i = 0; i < n; i++) {
        const WholeBox *of = &w->shares->of_rank[rank][i];
        CHECK(box_contains(&of->box, &box[i].box) && box_contains(&box[i].box, &of->box));
        add_box(w, of->tensor, box[i]);
    }
    w->manifest.part[w->manifest.n_parts++] = part;
    return NULL;
}

/* On rank 0 the manifest of what all ranks have planned or written. */
static Error *collect(FolderWriter *w)
{
    Text mine = { 0 };
    Str *record = NULL;
    if (!leads(w) && w->n_parts) output_part_print(w->part, &mine);
    Error *e = ranks_collect(w->arena, w->shares->comm, (Str){ mine.ptr, mine.len }, &record);
    text_free(&mine);
    if (e || !leads(w)) return e;
    manifest_begin(w);
    add_own(w);
    for (int r = 1; r < shares_ranks(w->shares); r++) TRY(add_rank(w, r, record[r]));
    return manifest_check(w->arena, &w->manifest);
}

/* ---- writing ---- */

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
        dcp_metadata_write(w->arena, w->path, &w->manifest, w->part->object, w->content->n_objects);
    ManifestPart *p = &w->manifest.part[w->manifest.n_parts++];
    *p = (ManifestPart){ .file = DCP_METADATA,
                         .bytes = (int64_t)bytes.len,
                         .header_bytes = (int64_t)bytes.len,
                         .header_crc = checksum(0, bytes.ptr, bytes.len) };
    return file_write(path_join(w->arena, folder, DCP_METADATA), bytes.ptr, bytes.len);
}

static Error *write_parts(FolderWriter *w, const char *folder)
{
    if (leads(w)) TRY(write_kept(w, folder));
    for (int i = 0; i < w->n_parts; i++) TRY(output_part_write(&w->part[i], folder));
    for (int i = w->n_parts; i-- > 0;) TRY(file_commit(&w->part[i].file));
    return NULL;
}

static Error *write_manifest(FolderWriter *w, const char *folder)
{
    Text text = { 0 };
    TRY(write_metadata(w, folder));
    manifest_print(&w->manifest, &text);
    Error *e = file_write(path_join(w->arena, folder, MANIFEST_NAME), text.ptr, text.len);
    text_free(&text);
    return e;
}

/* What all ranks do, where the folder is there; each knows in the end whether all went well. */
static Error *write_files(FolderWriter *w, const char *folder)
{
    Comm *comm = w->shares->comm;
    Error *e = write_parts(w, folder);
    for (int i = 0; i < MAX_PARTS; i++) file_abandon(&w->part[i].file);
    TRY(ranks_agree(comm, e)); /* all parts are on the disk */
    e = collect(w);
    return !e && leads(w) ? write_manifest(w, folder) : e;
}

static Error *lead(FolderWriter *w)
{
    Comm *comm = w->shares->comm;
    NewFolder folder = { .temporary = NULL };
    Error *e = is_alone(w) ? collect(w) : NULL; /* what is not whole: nothing is made */
    if (!e) e = folder_create(w->arena, w->path, &folder);
    e = ranks_agree(comm, e);
    if (!e) e = write_files(w, folder.temporary);
    if (!e) e = folder_commit(&folder);
    if (folder.temporary) folder_abandon(&folder);
    return e;
}

static Error *follow(FolderWriter *w)
{
    TRY(ranks_agree(w->shares->comm, NULL));
    return write_files(w, folder_temporary(w->arena, w->path));
}

static Error *open_writer(Arena *a, const char *path, const CheckpointContent *c,
                          FolderWriter **out)
{
    FolderWriter *w = *out = NEW(a, FolderWriter);
    Shares *own;
    *w = (FolderWriter){ .arena = a, .path = path, .content = arena_copy(a, c, sizeof *c) };
    w->shares = c->shares;
    if (w->shares) return NULL;
    Error *e = shares_plan(a, NULL, c->state, c->n, &own);
    w->shares = own;
    return e;
}

static Error *failed(const FolderWriter *w, Error *e)
{
    return error_wrap(e, "cannot save checkpoint %s", w->path);
}

Error *folder_plan(Arena *a, const char *path, const CheckpointContent *c, FolderWriter **out)
{
    Error *e = open_writer(a, path, c, out);
    FolderWriter *w = *out;
    if (!e) e = plan_parts(w);
    if (!e && c->staging) stage_parts(w);
    return failed(w, c->shares ? ranks_agree(c->shares->comm, e) : e);
}

Error *folder_write_planned(FolderWriter *w)
{
    return failed(w, ranks_agree(w->shares->comm, leads(w) ? lead(w) : follow(w)));
}

Error *folder_check_written(const FolderWriter *w)
{
    const char *name = path_join(w->arena, w->path, MANIFEST_NAME);
    Str text;
    for (int64_t i = 0; i < w->manifest.n_parts; i++) {
        const ManifestPart *p = &w->manifest.part[i];
        const char *path = path_join(w->arena, w->path, p->file);
        int64_t bytes;
        TRY(file_size(path, &bytes));
        if (bytes != p->bytes)
            return error_new("%s: has %" PRId64 " bytes, %" PRId64
                             " were written: it was cut short or replaced",
                             path, bytes, p->bytes);
    }
    TRY(file_read(w->arena, name, &text));
    return error_wrap(manifest_check_seal(text), "%s", name);
}

Error *folder_write(const char *path, const CheckpointContent *c)
{
    Arena *a = arena_new();
    FolderWriter *w;
    Error *e = folder_plan(a, path, c, &w);
    if (!e) e = folder_write_planned(w);
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
    TRY(ranks_agree(w->shares->comm, plan_parts(w)));
    TRY(collect(w));
    if (!leads(w)) return NULL;
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
    FolderWriter *w;
    Error *e = open_writer(a, path, c, &w);
    if (!e) e = rehearse(w, reserve, context);
    if (c->shares) e = ranks_agree(c->shares->comm, e);
    arena_free(a);
    return e;
}

/* Whether the two files of FSDP1 that have its name are its own. */
static bool has_pair(Arena *a, const char *path, const char *const *pair)
{
    const char *name = path_join(a, path, MANIFEST_NAME);
    Str text;
    Manifest *m = NULL;
    if (!file_exists(pair[0]) && !file_exists(pair[1])) return false;
    Error *e = file_read(a, name, &text);
    if (!e) e = manifest_parse(a, name, text, &m);
    const bool is_own = !e && !strcmp(m->layout, "fsdp1");
    error_free(e); /* what cannot be read can be removed */
    return is_own;
}

Error *folder_remove(Arena *a, const char *path)
{
    const char *const pair[] = { fsdp1_file(a, path, "model"), fsdp1_file(a, path, "optimizer") };
    const bool is_pair = has_pair(a, path, pair);
    TRY(folder_retire(a, path));
    for (int i = 0; is_pair && i < 2; i++) TRY(remove_tree(pair[i]));
    return NULL;
}
