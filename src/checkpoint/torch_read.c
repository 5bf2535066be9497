/* torch_read.c - files of torch.save as a checkpoint: parameters, an optimizer's state, both in a
 * pair of files (FSDP1), or everything (torch's dcp_to_torch). */
#include "checkpoint/torch_read.h"
#include "base/file.h"
#include "checkpoint/boxes_read.h"
#include "checkpoint/torch_file.h"
#include <inttypes.h>
#include <string.h>

enum { DEEPEST = 64 };

typedef struct TorchReader {
    Arena *arena;
    TorchFile *file;
    Manifest manifest;
    int64_t object_cap;
    Map *storage; /* of tensors, by name */
} TorchReader;

typedef struct Walk {
    TorchReader *r;
    int64_t part;
    const Pickle *piece[DEEPEST + 4]; /* of the path */
    int n;
    uint64_t n_seen, most; /* values: a pickle may hold one many times */
} Walk;

static const Pickle *path_of(const Walk *w)
{
    Pickle *path = pickle_of_kind(w->r->arena, PICKLE_TUPLE);
    for (int i = 0; i < w->n; i++) pickle_append(w->r->arena, path, w->piece[i]);
    return path;
}

static void push_text(Walk *w, const char *s)
{
    w->piece[w->n++] = pickle_of_text(w->r->arena, s);
}

/* What wrappers of the model put in the middle of its names. */
static const char *plain_name(Arena *a, Str name)
{
    static const char *const wrappers[] = { "_orig_mod.", "_fsdp_wrapped_module.",
                                            "_checkpoint_wrapped_module." };
    char *s = arena_string_n(a, name.ptr, name.len);
    for (int i = 0; i < 3; i++)
        for (char *at; (at = strstr(s, wrappers[i]));)
            memmove(at, at + strlen(wrappers[i]), strlen(at + strlen(wrappers[i])) + 1);
    return s;
}

static Error *add_object(Walk *w, const Pickle *value)
{
    Manifest *m = &w->r->manifest;
    Text json = { 0 };
    Error *e = pickle_json(value, &json);
    text_free(&json);
    if (e) return e;
    m->object =
        arena_grow(w->r->arena, m->object, m->n_objects, &w->r->object_cap, sizeof *m->object);
    CheckpointObject *o = &m->object[m->n_objects++];
    o->path = path_of(w);
    o->name = object_name(w->r->arena, o->path);
    o->value = value;
    return NULL;
}

static Error *add_tensor(Walk *w, const Pickle *value)
{
    TorchReader *r = w->r;
    Manifest *m = &r->manifest;
    const TorchFile *f = &r->file[w->part];
    TorchTensor x;
    TRY(torch_tensor(f, value, &x));
    m->tensor = arena_grow(r->arena, m->tensor, m->n_tensors, &m->tensor_cap, sizeof *m->tensor);
    ManifestTensor *t = &m->tensor[m->n_tensors++];
    *t = (ManifestTensor){ .name = object_name(r->arena, path_of(w)),
                           .dtype = x.dtype,
                           .n_dims = x.n_dims };
    memcpy(t->size, x.size, sizeof t->size);
    map_set(r->storage, str_of(t->name), (void *)(intptr_t)x.storage);
    if (!x.data.len) return NULL;
    t->box = NEW(r->arena, ManifestBox);
    t->n_boxes = 1;
    t->box->box = box_whole(t->n_dims, t->size);
    t->box->part = w->part;
    t->box->begin = x.data.ptr - f->bytes.ptr;
    t->box->end = t->box->begin + (int64_t)x.data.len;
    return NULL;
}

static Error *walk(Walk *w, const Pickle *value);

static Error *walk_into(Walk *w, const Pickle *piece, const Pickle *value)
{
    if (w->n >= DEEPEST || w->n_seen++ > w->most)
        return error_new("values nested too deeply or often");
    w->piece[w->n++] = piece;
    Error *e = walk(w, value);
    w->n--;
    return e;
}

static Error *walk_dict(Walk *w, const Pickle *dict)
{
    Arena *a = w->r->arena;
    for (int64_t i = 0; i < dict->n; i += 2) {
        const Pickle *key = dict->item[i];
        if (key->kind == PICKLE_TEXT)
            key = pickle_of_text(a, plain_name(a, key->text));
        else if (key->kind != PICKLE_INT)
            return error_new("a key that is neither text nor a whole number");
        TRY(walk_into(w, key, dict->item[i + 1]));
    }
    return NULL;
}

/* A list of plain numbers stays one value, as torch's own flattening leaves it. */
static bool is_leaf(const Pickle *p)
{
    bool is_plain = true;
    for (int64_t i = 0; i < p->n && is_plain; i++) is_plain = p->item[i]->kind < PICKLE_TUPLE;
    return p->kind != PICKLE_DICT && (is_plain || p->kind == PICKLE_TUPLE);
}

static Error *walk(Walk *w, const Pickle *value)
{
    if (torch_is_tensor(value))
        return error_wrap(add_tensor(w, value), "\"%s\"", object_name(w->r->arena, path_of(w)));
    if (value->kind == PICKLE_DICT) return walk_dict(w, value);
    if (value->kind != PICKLE_LIST || is_leaf(value))
        return error_wrap(add_object(w, value), "\"%s\"", object_name(w->r->arena, path_of(w)));
    for (int64_t i = 0; i < value->n; i++)
        TRY(walk_into(w, pickle_of_int(w->r->arena, i), value->item[i]));
    return NULL;
}

/* The settings of a group, for each parameter in it, as they lie in DCP. */
static Error *walk_group(Walk *w, const Pickle *group)
{
    const Pickle *params = pickle_get(group, "params");
    Arena *a = w->r->arena;
    if (!params || params->kind != PICKLE_LIST)
        return error_new("param_groups: a group without params");
    for (int64_t i = 0; i < params->n; i++) {
        const Pickle *name = params->item[i];
        if (name->kind != PICKLE_TEXT && name->kind != PICKLE_INT)
            return error_new("param_groups: a parameter without a name");
        if (name->kind == PICKLE_TEXT) name = pickle_of_text(a, plain_name(a, name->text));
        w->piece[w->n++] = name;
        for (int64_t k = 0; k < group->n; k += 2)
            if (group->item[k]->kind == PICKLE_TEXT && !str_is(group->item[k]->text, "params"))
                TRY(walk_into(w, group->item[k], group->item[k + 1]));
        w->n--;
    }
    return NULL;
}

static Error *walk_optimizer(Walk *w, const Pickle *root)
{
    const Pickle *groups = pickle_get(root, "param_groups");
    push_text(w, "app");
    push_text(w, "optimizer");
    push_text(w, "state");
    TRY(walk(w, pickle_get(root, "state")));
    w->n--;
    push_text(w, "param_groups");
    if (groups->kind != PICKLE_LIST) return error_new("param_groups is no list");
    for (int64_t i = 0; i < groups->n; i++) TRY(walk_group(w, groups->item[i]));
    return NULL;
}

static Error *walk_file(TorchReader *r, int64_t part)
{
    Walk w = { .r = r, .part = part };
    w.most = 64 * zip_find(&r->file[part].zip, "data.pkl")->data.len;
    const Pickle *root = r->file[part].root;
    if (root->kind != PICKLE_DICT)
        return error_new("no dict of parameters, optimizer state or all of a checkpoint");
    if (pickle_get(root, "app")) return walk(&w, root);
    if (pickle_get(root, "state") && pickle_get(root, "param_groups"))
        return walk_optimizer(&w, root);
    push_text(&w, "app");
    push_text(&w, "model");
    return walk(&w, root);
}

/* The checksum in an archive is that of a storage, in which several tensors may lie. */
static Error *locate(void *context, const ManifestTensor *t, ManifestBox *b, Str file)
{
    const TorchReader *r = context;
    const ZipMember *storage = map_get(r->storage, str_of(t->name));
    uint32_t crc = storage->crc;
    if (storage->data.len != (size_t)(b->end - b->begin)) {
        TRY(error_wrap(zip_check(storage), "tensor \"%s\"", t->name));
        crc = checksum(0, file.ptr + b->begin, (size_t)(b->end - b->begin));
    }
    b->crc = arena_copy(r->arena, &crc, sizeof crc);
    return NULL;
}

static Error *objects(CheckpointReader *r, const CheckpointObject **out, int64_t *n)
{
    const Manifest *m = boxes_source(r)->manifest;
    *out = m->object;
    *n = m->n_objects;
    return NULL;
}

Error *torch_open(Arena *a, const char *const *path, int64_t n, CheckpointReader **out)
{
    TorchReader *r = NEW(a, TorchReader);
    *r = (TorchReader){ .arena = a, .file = NEW_N(a, TorchFile, n), .storage = map_new(a) };
    r->manifest = (Manifest){ .progress = "{}",
                              .layout = "torch",
                              .block_bytes = INT64_MAX,
                              .part = NEW_N(a, ManifestPart, n),
                              .n_parts = n };
    for (int64_t i = 0; i < n; i++) {
        Str bytes;
        r->manifest.part[i] = (ManifestPart){ .file = path_absolute(a, path[i]), .bytes = -1 };
        TRY(file_view(a, path[i], &bytes));
        TRY(torch_file_read(a, arena_string(a, path[i]), bytes, &r->file[i]));
        TRY(error_wrap(walk_file(r, i), "%s", path[i]));
    }
    TRY(error_wrap(manifest_check_boxes(a, &r->manifest), "%s", path[0]));
    const BoxSource source = { .format = "torch",
                               .path = path[0],
                               .folder = "",
                               .manifest = &r->manifest,
                               .locate = locate,
                               .objects = objects,
                               .context = r };
    *out = boxes_reader(a, &source);
    return NULL;
}
