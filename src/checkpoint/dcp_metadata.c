/* dcp_metadata.c - parses `.metadata` of torch.distributed.checkpoint. */
#include "checkpoint/dcp_metadata.h"
#include "checkpoint/torch_file.h"
#include <inttypes.h>
#include <string.h>

#define META "torch.distributed.checkpoint.metadata "

static const char *const names[] = { META "Metadata",
                                     META "TensorStorageMetadata",
                                     META "TensorProperties",
                                     META "_MEM_FORMAT_ENCODING",
                                     META "ChunkStorageMetadata",
                                     META "BytesStorageMetadata",
                                     META "MetadataIndex",
                                     META "StorageMeta",
                                     "torch.distributed.checkpoint.filesystem _StorageInfo",
                                     "torch.serialization _get_layout",
                                     "torch Size",
                                     "torch float64",
                                     "torch float32",
                                     "torch bfloat16",
                                     "torch float16",
                                     "torch float8_e4m3fn",
                                     "torch float8_e5m2",
                                     "torch int64",
                                     "torch int32",
                                     "torch int16",
                                     "torch int8",
                                     "torch uint16",
                                     "torch uint8",
                                     "torch bool",
                                     "pathlib PosixPath",
                                     "pathlib WindowsPath",
                                     "pathlib._local PosixPath",
                                     "pathlib._local WindowsPath",
                                     "collections OrderedDict",
                                     NULL };

/* Where the archives of one name begin: by the text of an offset. */
typedef struct Parser {
    Arena *arena;
    DcpMetadata *out;
    Map *stored; /* "name\n0,128": const Pickle * of a _StorageInfo */
    Map *parts;  /* file: number + 1 */
} Parser;

static Error *expect(const Pickle *p, PickleKind kind, const char *what)
{
    static const char *const kinds[] = { "None",   "a boolean", "a whole number", "a float",
                                         "a text", "a tuple",   "a list",         "a dict",
                                         "a name", "an object", "a storage" };
    if (p && p->kind == kind) return NULL;
    return error_new("%s is %s instead of %s", what, p ? kinds[p->kind] : "missing", kinds[kind]);
}

/* torch.Size((2, 3)), or a plain tuple. */
static Error *read_size(const Pickle *p, const char *what, int *n_dims, int64_t *size)
{
    if (pickle_is_object(p, "torch Size") && p->args->n == 1) p = p->args->item[0];
    TRY(expect(p, PICKLE_TUPLE, what));
    if (p->n > MAX_DIMS)
        return error_new("%s has %" PRId64 " dimensions; at most %d are supported", what, p->n,
                         MAX_DIMS);
    *n_dims = (int)p->n;
    for (int d = 0; d < *n_dims; d++) {
        if (p->item[d]->kind != PICKLE_INT || p->item[d]->integer < 0)
            return error_new("%s item %d is no whole number >= 0", what, d);
        size[d] = p->item[d]->integer;
    }
    return NULL;
}

static const char *stored_key(Arena *a, Str name, int n_dims, const int64_t *start)
{
    Text t = { 0 };
    text_add(&t, name.ptr, name.len);
    for (int d = 0; d < n_dims; d++) text_printf(&t, "%c%" PRId64, d ? ',' : '\n', start[d]);
    char *kept = arena_string_n(a, t.ptr ? t.ptr : "", t.len);
    text_free(&t);
    return kept;
}

static Error *read_index(Parser *p, const Pickle *index, const Pickle *info)
{
    const Pickle *name = pickle_get(index, "fqn"), *offset = pickle_get(index, "offset");
    int n_dims = 0;
    int64_t start[MAX_DIMS] = { 0 };
    TRY(expect(name, PICKLE_TEXT, "a name in storage_data"));
    if (offset && offset->kind != PICKLE_NONE)
        TRY(read_size(offset, "an offset in storage_data", &n_dims, start));
    const char *key = stored_key(p->arena, name->text, n_dims, start);
    if (map_has(p->stored, str_of(key)))
        return error_new("\"%.*s\" is stored twice at one place", (int)name->text.len,
                         name->text.ptr);
    map_set(p->stored, str_of(key), (void *)(intptr_t)info);
    return NULL;
}

static Error *read_storage(Parser *p, const Pickle *storage)
{
    TRY(expect(storage, PICKLE_DICT, "storage_data"));
    for (int64_t i = 0; i < storage->n; i += 2)
        TRY(read_index(p, storage->item[i], storage->item[i + 1]));
    return NULL;
}

static Error *part_of(Parser *p, Str file, int64_t *out)
{
    Manifest *m = &p->out->tensors;
    if (!file.len || file.ptr[0] == '.' || memchr(file.ptr, '/', file.len) ||
        memchr(file.ptr, 0, file.len))
        return error_new("\"%.*s\" is no name of a file in this folder", (int)file.len, file.ptr);
    *out = (intptr_t)map_get(p->parts, file) - 1;
    if (*out >= 0) return NULL;
    *out = m->n_parts;
    m->part = arena_grow(p->arena, m->part, m->n_parts, &m->part_cap, sizeof *m->part);
    m->part[m->n_parts++] =
        (ManifestPart){ .file = arena_string_n(p->arena, file.ptr, file.len), .bytes = -1 };
    map_set(p->parts, file, (void *)(intptr_t)m->n_parts);
    return NULL;
}

/* The bytes of an archive. */
static Error *find_stored(Parser *p, const char *key, int64_t *part, int64_t *begin, int64_t *end)
{
    const Pickle *info = map_get(p->stored, str_of(key));
    if (!info) return error_new("storage_data does not say where it lies");
    const Pickle *file = pickle_get(info, "relative_path"), *at = pickle_get(info, "offset"),
                 *length = pickle_get(info, "length"),
                 *how = pickle_get(info, "transform_descriptors");
    TRY(expect(file, PICKLE_TEXT, "relative_path"));
    TRY(expect(at, PICKLE_INT, "offset"));
    TRY(expect(length, PICKLE_INT, "length"));
    if (how && how->kind != PICKLE_NONE && how->n)
        return error_new("it is stored transformed (transform_descriptors: compressed or "
                         "encrypted), which cannot be read");
    *begin = at->integer;
    if (*begin < 0 || length->integer < 0 || __builtin_add_overflow(*begin, length->integer, end))
        return error_new("offset %" PRId64 ", length %" PRId64 " are no place in a file",
                         at->integer, length->integer);
    return part_of(p, file->text, part);
}

static Error *read_chunk(Parser *p, Str name, const Pickle *chunk, ManifestTensor *t)
{
    ManifestBox b = { .part = 0 };
    int n_dims = 0;
    TRY(read_size(pickle_get(chunk, "offsets"), "offsets", &b.box.n_dims, b.box.start));
    TRY(read_size(pickle_get(chunk, "sizes"), "sizes", &n_dims, b.box.size));
    if (b.box.n_dims != t->n_dims || n_dims != t->n_dims)
        return error_new("a chunk of %d dimensions in a tensor of %d", n_dims, t->n_dims);
    const char *key = stored_key(p->arena, name, t->n_dims, b.box.start);
    for (int d = 0; d < t->n_dims; d++)
        if (!b.box.size[d]) return NULL; /* nothing to read */
    TRY(find_stored(p, key, &b.part, &b.begin, &b.end));
    t->box = arena_grow(p->arena, t->box, t->n_boxes, &t->box_cap, sizeof *t->box);
    t->box[t->n_boxes++] = b;
    return NULL;
}

/* A tuple: dtype, layout, requires_grad ... */
static Error *read_dtype(const Pickle *properties, Dtype *out)
{
    if (!properties) return error_new("properties is missing");
    const Pickle *state = properties->state;
    TRY(expect(state, PICKLE_TUPLE, "properties"));
    if (!state->n) return error_new("its dtype is missing");
    const Pickle *dtype = state->item[0];
    TRY(expect(dtype, PICKLE_GLOBAL, "its dtype"));
    const char *space = strchr(dtype->text.ptr, ' ');
    return torch_dtype_of_name(str_of(space + 1), out) ? NULL : error_new("its dtype is none");
}

static Error *read_tensor(Parser *p, Str name, const Pickle *meta)
{
    Manifest *m = &p->out->tensors;
    const Pickle *chunks = pickle_get(meta, "chunks");
    m->tensor = arena_grow(p->arena, m->tensor, m->n_tensors, &m->tensor_cap, sizeof *m->tensor);
    ManifestTensor *t = &m->tensor[m->n_tensors++];
    *t = (ManifestTensor){ .name = arena_string_n(p->arena, name.ptr, name.len) };
    TRY(read_dtype(pickle_get(meta, "properties"), &t->dtype));
    TRY(read_size(pickle_get(meta, "size"), "size", &t->n_dims, t->size));
    TRY(expect(chunks, PICKLE_LIST, "chunks"));
    for (int64_t i = 0; i < chunks->n; i++) TRY(read_chunk(p, name, chunks->item[i], t));
    return NULL;
}

static Error *read_object(Parser *p, Str name, const Pickle *path)
{
    DcpMetadata *d = p->out;
    DcpObject o = { .name = arena_string_n(p->arena, name.ptr, name.len), .path = path };
    TRY(find_stored(p, stored_key(p->arena, name, 0, NULL), &o.part, &o.begin, &o.end));
    d->object = arena_grow(p->arena, d->object, d->n_objects, &d->object_cap, sizeof o);
    d->object[d->n_objects++] = o;
    return NULL;
}

static Error *read_entry(Parser *p, Str name, const Pickle *meta, const Pickle *path)
{
    if (pickle_is_object(meta, META "TensorStorageMetadata")) return read_tensor(p, name, meta);
    if (pickle_is_object(meta, META "BytesStorageMetadata")) return read_object(p, name, path);
    return error_new("neither a tensor nor an object");
}

/* Paths by name: planner_data lists them in the same order, and is not always there. */
static Map *paths_of(Arena *a, const Pickle *planner)
{
    Map *m = map_new(a);
    for (int64_t i = 0; planner && planner->kind == PICKLE_DICT && i < planner->n; i += 2)
        if (planner->item[i]->kind == PICKLE_TEXT && planner->item[i + 1]->kind == PICKLE_TUPLE)
            map_set(m, planner->item[i]->text, planner->item[i + 1]);
    return m;
}

static Error *parse(Parser *p, const Pickle *root)
{
    const Pickle *entries = pickle_get(root, "state_dict_metadata");
    if (!pickle_is_object(root, META "Metadata")) return error_new("no Metadata of a checkpoint");
    TRY(expect(entries, PICKLE_DICT, "state_dict_metadata"));
    TRY(read_storage(p, pickle_get(root, "storage_data")));
    Map *paths = paths_of(p->arena, pickle_get(root, "planner_data"));
    for (int64_t i = 0; i < entries->n; i += 2) {
        const Pickle *name = entries->item[i];
        TRY(expect(name, PICKLE_TEXT, "a key of state_dict_metadata"));
        if (memchr(name->text.ptr, 0, name->text.len) ||
            memchr(name->text.ptr, '\n', name->text.len))
            return error_new("a name with a line end or NUL in it");
        TRY(error_wrap(read_entry(p, name->text, entries->item[i + 1], map_get(paths, name->text)),
                       "\"%.*s\"", (int)name->text.len, name->text.ptr));
    }
    return NULL;
}

Error *dcp_metadata_parse(Arena *a, const char *path, Str bytes, DcpMetadata **out)
{
    const Pickle *root;
    Parser p = {
        .arena = a, .out = NEW(a, DcpMetadata), .stored = map_new(a), .parts = map_new(a)
    };
    p.out->tensors = (Manifest){ .progress = "{}", .layout = "dcp", .block_bytes = INT64_MAX };
    TRY(pickle_read(a, path, bytes, names, &root));
    TRY(error_wrap(parse(&p, root), "%s", path));
    *out = p.out;
    return error_wrap(manifest_check_boxes(a, &p.out->tensors), "%s", path);
}
