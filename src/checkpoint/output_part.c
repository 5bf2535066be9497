/* output_part.c - one part file of a new checkpoint. */
#include "checkpoint/output_part.h"
#include "checkpoint/part_write.h"
#include "checkpoint/torch_groups.h"
#include <inttypes.h>
#include <string.h>

/* The name in a safetensors file: that of the tensor, with its place ("x[0:4,8:16]") unless it is
 * whole. */
static const char *piece_name(Arena *a, const StateTensor *t, const Box *b)
{
    if (box_is_whole(b, t->whole)) return t->name;
    Text name = { 0 };
    text_puts(&name, t->name);
    for (int d = 0; d < b->n_dims; d++)
        text_printf(&name, "%c%" PRId64 ":%" PRId64, d ? ',' : '[', b->start[d],
                    b->start[d] + b->size[d]);
    text_putc(&name, ']');
    char *kept = arena_string(a, name.ptr);
    text_free(&name);
    return kept;
}

static NamedTensor *names_of(const OutputPart *p)
{
    NamedTensor *named = NEW_N(p->arena, NamedTensor, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        const StateTensor *t = &p->content->state[p->piece[i].state];
        const Box *b = &p->piece[i].place.whole;
        named[i].name = piece_name(p->arena, t, b);
        named[i].tensor = (Tensor){ .dtype = t->part.dtype, .n_dims = t->part.n_dims };
        memcpy(named[i].tensor.size, b->size, sizeof named[i].tensor.size);
    }
    return named;
}

const char *fsdp1_file(Arena *a, const char *path, const char *kind)
{
    const char *name = path_name(path), *at = strstr(name, "-seen_steps_");
    if (!at) return arena_printf(a, "%s-%s.bin", path, kind);
    return arena_printf(a, "%.*s-%s%s.bin", (int)(at - path), path, kind, at);
}

/* Objects are rank 0's. */
static Error *plan_dcp(OutputPart *p, int rank, const NamedTensor *named)
{
    const CheckpointContent *c = p->content;
    const int64_t n_objects = rank ? 0 : c->n_objects;
    p->object = NEW_N(p->arena, PlacedObject, n_objects);
    for (int64_t i = 0; i < n_objects; i++) p->object[i].object = &c->object[i];
    return distcp_plan(p->arena, arena_printf(p->arena, "__%d_0.distcp", rank), named, p->n,
                       p->object, n_objects, &p->plan);
}

static Error *plan_fsdp1(OutputPart *p, const char *path, int kind, const NamedTensor *named)
{
    static const char *const kinds[] = { "model", "optimizer" };
    const CheckpointContent *c = p->content;
    const char *file =
        arena_printf(p->arena, "../%s", path_name(fsdp1_file(p->arena, path, kinds[kind])));
    for (int64_t i = 0; i < p->n; i++) {
        const StateTensor *t = &c->state[p->piece[i].state];
        if (!box_is_whole(&p->piece[i].place.whole, t->whole))
            return error_new("tensor \"%s\": files of FSDP1 hold whole tensors; parts of them need "
                             "checkpoint_saving_execution.dcp",
                             t->name);
    }
    TorchGroups *g = torch_groups(p->arena, named, p->n, c->object, c->n_objects);
    return torch_plan(p->arena, file, named, p->n,
                      kind ? torch_groups_put_optimizer : torch_groups_put_model, g, &p->plan);
}

static Error *plan_layout(OutputPart *p, const char *path, int rank, int kind)
{
    const NamedTensor *named = names_of(p);
    switch (p->content->layout) {
    case LAYOUT_NATIVE:
        return safetensors_plan(p->arena, arena_printf(p->arena, "part_%d.safetensors", rank),
                                named, p->n, &p->plan);
    case LAYOUT_DCP:
        return plan_dcp(p, rank, named);
    case LAYOUT_FSDP1:
        break;
    }
    return plan_fsdp1(p, path, kind, named);
}

Error *output_part_plan(OutputPart *p, const char *path, int rank, int kind)
{
    TRY(plan_layout(p, path, rank, kind));
    const PartPlan *plan = p->plan;
    p->about = (ManifestPart){ .file = plan->file, .bytes = plan->bytes };
    p->about.header_bytes = p->n ? plan->begin[plan->order[0]] : plan->bytes;
    p->box = NEW_N(p->arena, ManifestBox, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        ManifestBox *b = &p->box[i];
        *b = (ManifestBox){ .box = p->piece[i].place.whole, .begin = plan->begin[i] };
        b->end = b->begin + (int64_t)tensor_bytes(&plan->piece[i].tensor);
        if (!plan->entry) continue;
        b->entry_begin = plan->entry[i];
        b->entry_end = plan->entry_end[i];
    }
    return NULL;
}

/* ---- writing ---- */

static Error *numbers_of(void *context, int64_t i, PieceNumbers *out)
{
    const OutputPart *p = context;
    const CheckpointContent *c = p->content;
    const StateTensor *t = &c->state[p->piece[i].state];
    *out = (PieceNumbers){ .what = p->piece[i].place.local,
                           .part = box_whole(t->part.n_dims, t->part.size),
                           .element = dtype_size(t->part.dtype),
                           .data = t->part.data,
                           .in_halves = t->halves != NULL };
    return c->fetch ? c->fetch(c->context, p->piece[i].state, &out->data) : NULL;
}

static ManifestBox *box_of(void *context, int64_t i)
{
    return &((const OutputPart *)context)->box[i];
}

void output_part_stage(OutputPart *p)
{
    p->first = -1;
    for (int64_t i = 0; i < p->n; i++) {
        const size_t bytes = (size_t)(p->box[i].end - p->box[i].begin);
        const int64_t k = staging_add(p->content->staging, numbers_of, p, i, bytes);
        if (i == 0) p->first = k;
    }
}

Error *output_part_write(OutputPart *p, const char *folder)
{
    const PartSource source = { .numbers = numbers_of,
                                .box = box_of,
                                .context = p,
                                .block_bytes = p->block_bytes,
                                .pool = p->content->pool,
                                .staging = p->content->staging,
                                .first = p->first };
    TRY(file_create(path_join(p->arena, folder, p->about.file), &p->file));
    return part_write(p->arena, p->plan, &source, &p->file, &p->about);
}

/* ---- for rank 0 ---- */

/* Its checksums follow, n_blocks of them. */
typedef struct BoxRecord {
    int64_t begin, end, entry_begin, entry_end, n_blocks;
    int n_dims;
    int64_t start[MAX_DIMS], size[MAX_DIMS];
} BoxRecord;

/* The file's name, n_name bytes, and n_boxes boxes follow. */
typedef struct PartRecord {
    int64_t n_name, n_boxes, bytes, header_bytes;
    uint32_t header_crc, rest_crc;
    bool has_rest;
} PartRecord;

void output_part_print(const OutputPart *p, Text *out)
{
    const ManifestPart *m = &p->about;
    const PartRecord part = { .n_name = (int64_t)strlen(m->file),
                              .n_boxes = p->n,
                              .bytes = m->bytes,
                              .header_bytes = m->header_bytes,
                              .header_crc = m->header_crc,
                              .rest_crc = m->rest_crc,
                              .has_rest = m->has_rest };
    text_add(out, &part, sizeof part);
    text_add(out, m->file, (size_t)part.n_name);
    for (int64_t i = 0; i < p->n; i++) {
        const ManifestBox *b = &p->box[i];
        const Manifest sizes = { .block_bytes = p->block_bytes };
        BoxRecord r = { .begin = b->begin,
                        .end = b->end,
                        .entry_begin = b->entry_begin,
                        .entry_end = b->entry_end,
                        .n_blocks = b->crc ? manifest_blocks(&sizes, b) : 0,
                        .n_dims = b->box.n_dims };
        memcpy(r.start, b->box.start, sizeof r.start);
        memcpy(r.size, b->box.size, sizeof r.size);
        text_add(out, &r, sizeof r);
        if (r.n_blocks) text_add(out, b->crc, sizeof *b->crc * (size_t)r.n_blocks);
    }
}

static const char *take(const char *at, void *to, size_t bytes)
{
    memcpy(to, at, bytes);
    return at + bytes;
}

void output_part_read(Arena *a, Str bytes, ManifestPart *about, ManifestBox **box, int64_t *n)
{
    PartRecord part;
    const char *at = take(bytes.ptr, &part, sizeof part);
    *about = (ManifestPart){ .file = arena_string_n(a, at, (size_t)part.n_name),
                             .bytes = part.bytes,
                             .header_bytes = part.header_bytes,
                             .header_crc = part.header_crc,
                             .has_rest = part.has_rest,
                             .rest_crc = part.rest_crc };
    at += part.n_name;
    *n = part.n_boxes;
    *box = NEW_N(a, ManifestBox, part.n_boxes);
    for (int64_t i = 0; i < part.n_boxes; i++) {
        BoxRecord r;
        ManifestBox *b = &(*box)[i];
        at = take(at, &r, sizeof r);
        *b = (ManifestBox){ .begin = r.begin,
                            .end = r.end,
                            .entry_begin = r.entry_begin,
                            .entry_end = r.entry_end,
                            .box = { .n_dims = r.n_dims } };
        memcpy(b->box.start, r.start, sizeof r.start);
        memcpy(b->box.size, r.size, sizeof r.size);
        if (!r.n_blocks) continue;
        b->crc = NEW_N(a, uint32_t, r.n_blocks);
        at = take(at, b->crc, sizeof *b->crc * (size_t)r.n_blocks);
    }
}
