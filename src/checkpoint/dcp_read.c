/* dcp_read.c - a folder of torch.distributed.checkpoint as a checkpoint: every entry of a part file
 * is an archive of torch.save. */
#include "base/file.h"
#include "checkpoint/boxes_read.h"
#include "checkpoint/dcp_metadata.h"
#include "checkpoint/torch_file.h"
#include <inttypes.h>
#include <string.h>

typedef struct DcpFolder {
    Arena *arena;
    DcpMetadata *metadata;
    CheckpointObject *object; /* NULL: not read yet */
} DcpFolder;

static Error *entry_of(Str file, int64_t begin, int64_t end, Str *out)
{
    if ((uint64_t)end > file.len)
        return error_new("bytes %" PRId64 " to %" PRId64
                         " do not lie in the file, which has %zu: it was cut short",
                         begin, end, file.len);
    *out = (Str){ file.ptr + begin, (size_t)(end - begin) };
    return NULL;
}

/* What the archive says must be what `.metadata` says. */
static Error *compare(const ManifestTensor *t, const ManifestBox *b, const TorchTensor *x)
{
    bool is_same =
        x->dtype == t->dtype && x->n_dims == t->n_dims && x->data.len == x->storage->data.len;
    for (int d = 0; d < t->n_dims && is_same; d++) is_same = x->size[d] == b->box.size[d];
    return is_same ? NULL
                   : error_new("its archive holds another shape or dtype than .metadata says");
}

static Error *find(Arena *a, const ManifestTensor *t, const ManifestBox *b, Str file,
                   TorchTensor *x)
{
    Str entry = { 0 };
    TorchFile f;
    TRY(entry_of(file, b->begin, b->end, &entry));
    TRY(torch_file_read(a, "archive", entry, &f));
    TRY(torch_tensor(&f, f.root, x));
    return compare(t, b, x);
}

/* Once the archive is found to hold the box, its own checksum is that of the numbers. */
static Error *locate(void *context, const ManifestTensor *t, ManifestBox *b, Str file)
{
    const DcpFolder *f = context;
    Arena *a = arena_new();
    TorchTensor x;
    uint32_t crc = 0;
    Error *e = find(a, t, b, file, &x);
    if (!e) {
        b->begin = x.data.ptr - file.ptr;
        b->end = b->begin + (int64_t)x.data.len;
        crc = x.storage->crc;
    }
    arena_free(a);
    if (e) return error_wrap(e, "tensor \"%s\"", t->name);
    b->crc = arena_copy(f->arena, &crc, sizeof crc);
    return NULL;
}

static Error *read_object(CheckpointReader *r, const DcpFolder *f, const DcpObject *from,
                          CheckpointObject *to)
{
    Str file = { 0 }, entry = { 0 };
    TorchFile archive = { 0 };
    TRY(boxes_file(r, from->part, &file));
    TRY(entry_of(file, from->begin, from->end, &entry));
    TRY(torch_file_read(f->arena, "archive", entry, &archive));
    *to = (CheckpointObject){ .name = from->name, .path = from->path, .value = archive.root };
    Text json = { 0 };
    Error *e = pickle_json(archive.root, &json);
    text_free(&json);
    return e;
}

static Error *objects(CheckpointReader *r, const CheckpointObject **out, int64_t *n)
{
    DcpFolder *f = boxes_source(r)->context;
    const DcpMetadata *m = f->metadata;
    *n = m->n_objects;
    CheckpointObject *object = NEW_N(f->arena, CheckpointObject, m->n_objects);
    for (int64_t i = 0; i < m->n_objects && !f->object; i++)
        TRY(error_wrap(read_object(r, f, &m->object[i], &object[i]), "%s/%s: \"%s\"", r->path,
                       m->tensors.part[m->object[i].part].file, m->object[i].name));
    if (!f->object) f->object = object;
    *out = f->object;
    return NULL;
}

Error *dcp_open(Arena *a, const char *path, const char *folder, CheckpointReader **out)
{
    const char *name = path_join(a, folder, DCP_METADATA);
    Str bytes;
    DcpFolder *f = NEW(a, DcpFolder);
    f->arena = a;
    TRY(file_read(a, name, &bytes));
    TRY(dcp_metadata_parse(a, name, bytes, &f->metadata));
    const BoxSource source = { .format = "dcp",
                               .path = path,
                               .folder = folder,
                               .manifest = &f->metadata->tensors,
                               .locate = locate,
                               .objects = objects,
                               .context = f };
    *out = boxes_reader(a, &source);
    return NULL;
}
