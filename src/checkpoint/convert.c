/* convert.c - a checkpoint of any format written in another one, a tensor at a time. */
#include "checkpoint/convert.h"
#include "base/file.h"
#include "checkpoint/part_write.h"
#include "checkpoint/torch_nested.h"
#include <string.h>

typedef struct Conversion {
    CheckpointReader *reader;
    Arena *arena;   /* of the conversion */
    Arena *numbers; /* of one tensor */
    int64_t *entry; /* of the reader, by tensor of the target */
    StateTensor *state;
    ManifestBox *box; /* where tensors lie in a single file */
    int64_t n;
    const CheckpointObject *object;
    int64_t n_objects;
} Conversion;

static bool is_wanted(const char *name, bool model_only)
{
    return !model_only || str_starts(str_of(name), "app.model.");
}

static Error *begin(Conversion *c, CheckpointReader *r, bool model_only)
{
    Arena *a = arena_new();
    *c = (Conversion){ .reader = r,
                       .arena = a,
                       .numbers = arena_new(),
                       .entry = NEW_N(a, int64_t, r->n_entries),
                       .state = NEW_N(a, StateTensor, r->n_entries),
                       .box = NEW_N(a, ManifestBox, r->n_entries) };
    for (int64_t i = 0; i < r->n_entries; i++) {
        const CheckpointEntry *e = &r->entry[i];
        if (!is_wanted(e->name, model_only)) continue;
        StateTensor *t = &c->state[c->n];
        *t = (StateTensor){ .name = e->name, .part = { .dtype = e->dtype, .n_dims = e->n_dims } };
        memcpy(t->whole, e->size, sizeof t->whole);
        memcpy(t->part.size, e->size, sizeof t->whole);
        c->entry[c->n++] = i;
    }
    if (!c->n) return error_new("%s has no %s", r->path, model_only ? "parameters" : "tensors");
    return r->objects && !model_only ? r->objects(r, &c->object, &c->n_objects) : NULL;
}

/* The numbers of tensor i, until the next call. */
static Error *fetch(void *context, int64_t i, const void **data)
{
    Conversion *c = context;
    const CheckpointEntry *e = &c->reader->entry[c->entry[i]];
    const Box whole = box_whole(e->n_dims, e->size);
    arena_clear(c->numbers);
    void *numbers = arena_alloc(c->numbers, tensor_bytes(&c->state[i].part));
    *data = numbers;
    return c->reader->get(c->reader, c->entry[i], &whole, numbers);
}

static Error *to_folder(Conversion *c, const char *target, CheckpointLayout layout)
{
    const CheckpointContent content = { .layout = layout,
                                        .state = c->state,
                                        .n = c->n,
                                        .fetch = fetch,
                                        .context = c,
                                        .object = c->object,
                                        .n_objects = c->n_objects,
                                        .progress = c->reader->progress };
    return checkpoint_write(target, &content);
}

static Error *numbers_of(void *context, int64_t i, PieceNumbers *out)
{
    const StateTensor *t = &((Conversion *)context)->state[i];
    out->what = out->part = box_whole(t->part.n_dims, t->part.size);
    out->element = dtype_size(t->part.dtype);
    return fetch(context, i, &out->data);
}

static ManifestBox *box_of(void *context, int64_t i)
{
    return &((Conversion *)context)->box[i];
}

static Error *write_file(Conversion *c, PartPlan *p, NewFile *file)
{
    const PartSource source = {
        .numbers = numbers_of, .box = box_of, .context = c, .block_bytes = LEAST_BLOCK_BYTES
    };
    ManifestPart part = { .file = NULL };
    for (int64_t i = 0; i < c->n; i++) {
        c->box[i].begin = p->begin[i];
        c->box[i].end = p->begin[i] + (int64_t)tensor_bytes(&c->state[i].part);
    }
    TRY(part_write(c->arena, p, &source, file, &part));
    return file_commit(file);
}

static Error *to_file(Conversion *c, const char *target, ConvertTo to)
{
    NamedTensor *piece = NEW_N(c->arena, NamedTensor, c->n);
    PartPlan *plan = NULL;
    NewFile file;
    for (int64_t i = 0; i < c->n; i++)
        piece[i] = (NamedTensor){ c->state[i].name, c->state[i].part };
    if (to == TO_SAFETENSORS) {
        TRY(safetensors_plan(c->arena, target, piece, c->n, &plan));
    } else {
        TorchNested *nested = torch_nested(c->arena, piece, c->n, c->object, c->n_objects);
        TRY(torch_plan(c->arena, target, piece, c->n, torch_nested_put, nested, &plan));
    }
    TRY(file_create(target, &file));
    Error *e = write_file(c, plan, &file);
    file_abandon(&file);
    return e;
}

Error *checkpoint_convert(CheckpointReader *r, const char *target, ConvertTo to, bool model_only)
{
    Conversion c;
    Error *e = begin(&c, r, model_only);
    if (!e) {
        if (to == TO_NATIVE || to == TO_DCP)
            e = to_folder(&c, target, to == TO_DCP ? LAYOUT_DCP : LAYOUT_NATIVE);
        else
            e = to_file(&c, target, to);
    }
    arena_free(c.numbers);
    arena_free(c.arena);
    return e;
}
