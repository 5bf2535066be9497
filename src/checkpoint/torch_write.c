/* torch_write.c - archives of torch.save: one per tensor and object (DCP), or one for all (.bin).
 */
#include "base/file.h"
#include "checkpoint/part_output.h"
#include "checkpoint/part_plan.h"
#include "checkpoint/torch_file.h"
#include "checkpoint/zip.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void part_plan_place(PartPlan *p)
{
    Text text = { 0 };
    int64_t at = 0;
    for (int64_t i = 0; i <= p->n; i++) {
        text_clear(&text);
        p->around(p, i, at, 0, &text);
        at += (int64_t)text.len;
        if (i == p->n) break;
        p->begin[p->order[i]] = at;
        at += (int64_t)tensor_bytes(&p->piece[p->order[i]].tensor);
    }
    p->bytes = at;
    text_free(&text);
}

void torch_put_tensor(PickleWriter *w, const Tensor *t, int64_t i)
{
    char name[64];
    int64_t stride[MAX_DIMS], count = 1;
    for (int d = t->n_dims - 1; d >= 0; d--) {
        stride[d] = count;
        count *= t->size[d];
    }
    pickle_put_global(w, "torch._utils _rebuild_tensor_v2");
    pickle_begin(w, PICKLE_TUPLE);
    pickle_begin(w, PICKLE_TUPLE);
    pickle_put_text(w, str_of("storage"));
    snprintf(name, sizeof name, "torch %s", torch_storage_name(t->dtype));
    pickle_put_global(w, name);
    snprintf(name, sizeof name, "%" PRId64, i);
    pickle_put_text(w, str_of(name));
    pickle_put_text(w, str_of("cpu"));
    pickle_put_int(w, count);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_persist(w);
    pickle_put_int(w, 0);
    pickle_begin(w, PICKLE_TUPLE);
    for (int d = 0; d < t->n_dims; d++) pickle_put_int(w, t->size[d]);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_begin(w, PICKLE_TUPLE);
    for (int d = 0; d < t->n_dims; d++) pickle_put_int(w, stride[d]);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_put_bool(w, false);
    pickle_put_global(w, "collections OrderedDict");
    pickle_begin(w, PICKLE_TUPLE);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_call(w);
    pickle_finish(w, PICKLE_TUPLE);
    pickle_call(w);
}

static Error *check_dtypes(const NamedTensor *piece, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!torch_storage_name(piece[i].tensor.dtype))
            return error_new("tensor \"%s\": torch.save has no storage of %s in the form that is "
                             "written; the native format has it",
                             piece[i].name, dtype_name(piece[i].tensor.dtype));
    return NULL;
}

/* Everything before the numbers. */
static void put_start(ZipWriter *z, Str pickle, int64_t at, Text *out)
{
    zip_put(z, "data.pkl", pickle, at, out);
    zip_put(z, ".format_version", str_of("1"), at, out);
    zip_put(z, ".storage_alignment", str_of("64"), at, out);
    zip_put(z, "byteorder", str_of("little"), at, out);
}

/* torch makes its id of the members' names and checksums; here it is the checksum of the numbers.
 */
static void put_end(ZipWriter *z, uint32_t crc, int64_t at, Text *out)
{
    char id[48];
    snprintf(id, sizeof id, "%020d%020u", 0, crc);
    zip_put(z, "version", str_of("3\n"), at, out);
    zip_put(z, ".data/serialization_id", str_of(id), at, out);
    zip_end(z, at, out);
}

/* ---- DCP ---- */

typedef struct DistcpPlan {
    PartPlan base;
    PlacedObject *object;
    int64_t n_objects;
    ZipWriter *open;   /* the archive of the piece that is being written */
    Arena *scratch[2]; /* of this archive, and of the one before */
} DistcpPlan;

static void put_object(Arena *a, PlacedObject *o, int64_t at, Text *out)
{
    o->begin = at + (int64_t)out->len;
    ZipWriter *z = zip_writer(a, "archive", o->begin);
    PickleWriter *w = pickle_writer(a, 2);
    pickle_put(w, o->object->value);
    put_start(z, pickle_end(w), at, out);
    put_end(z, 0, at, out);
    o->end = at + (int64_t)out->len;
}

static void around_distcp(PartPlan *base, int64_t i, int64_t at, uint32_t crc, Text *out)
{
    DistcpPlan *p = (DistcpPlan *)base;
    Arena *a = p->scratch[i % 2];
    arena_clear(a);
    for (int64_t k = 0; i == 0 && k < p->n_objects; k++) {
        put_object(a, &p->object[k], at, out);
        arena_clear(a);
    }
    if (i > 0) {
        zip_after(p->open, crc, out);
        put_end(p->open, crc, at, out);
        base->entry_end[base->order[i - 1]] = at + (int64_t)out->len;
    }
    if (i == base->n) return;
    int64_t piece = base->order[i];
    const Tensor *t = &base->piece[piece].tensor;
    base->entry[piece] = at + (int64_t)out->len;
    p->open = zip_writer(a, "archive", base->entry[piece]);
    PickleWriter *w = pickle_writer(a, 2);
    torch_put_tensor(w, t, 0);
    put_start(p->open, pickle_end(w), at, out);
    const int64_t bytes = (int64_t)tensor_bytes(t);
    zip_before(p->open, "data/0", bytes, bytes < PART_LARGE ? 0 : PART_PAGE, at, out);
}

static void plan_init(PartPlan *p, Arena *a, const char *file, const NamedTensor *piece, int64_t n)
{
    *p = (PartPlan){ .arena = a,
                     .file = file,
                     .piece = piece,
                     .n = n,
                     .order = NEW_N(a, int64_t, n),
                     .begin = NEW_N(a, int64_t, n) };
    for (int64_t i = 0; i < n; i++) p->order[i] = i;
}

static void free_arena(void *a)
{
    arena_free(a);
}

Error *distcp_plan(Arena *a, const char *file, const NamedTensor *piece, int64_t n,
                   PlacedObject *object, int64_t n_objects, PartPlan **out)
{
    DistcpPlan *p = NEW(a, DistcpPlan);
    TRY(check_dtypes(piece, n));
    plan_init(&p->base, a, file, piece, n);
    p->base.entry = NEW_N(a, int64_t, n);
    p->base.entry_end = NEW_N(a, int64_t, n);
    p->base.around = around_distcp;
    for (int i = 0; i < 2; i++) {
        p->scratch[i] = arena_new();
        arena_on_free(a, free_arena, p->scratch[i]);
    }
    p->object = object;
    p->n_objects = n_objects;
    part_plan_place(&p->base);
    *out = &p->base;
    return NULL;
}

/* ---- one archive ---- */

typedef struct TorchPlan {
    PartPlan base;
    void (*put)(void *context, PickleWriter *w);
    void *context;
    const char *folder;
    ZipWriter *zip;
    uint32_t crc; /* of all numbers' checksums */
} TorchPlan;

static void around_torch(PartPlan *base, int64_t i, int64_t at, uint32_t crc, Text *out)
{
    TorchPlan *p = (TorchPlan *)base;
    if (i == 0) {
        PickleWriter *w = pickle_writer(base->arena, 2);
        p->put(p->context, w);
        p->zip = zip_writer(base->arena, p->folder, 0);
        p->crc = 0;
        put_start(p->zip, pickle_end(w), at, out);
    } else {
        zip_after(p->zip, crc, out);
        p->crc = p->crc * 31 + crc;
    }
    if (i == base->n) {
        put_end(p->zip, p->crc, at, out);
        return;
    }
    char name[32];
    snprintf(name, sizeof name, "data/%" PRId64, base->order[i]);
    zip_before(p->zip, name, (int64_t)tensor_bytes(&base->piece[base->order[i]].tensor), 0, at,
               out);
}

Error *torch_plan(Arena *a, const char *file, const NamedTensor *piece, int64_t n,
                  void (*put)(void *context, PickleWriter *w), void *context, PartPlan **out)
{
    TorchPlan *p = NEW(a, TorchPlan);
    TRY(check_dtypes(piece, n));
    plan_init(&p->base, a, file, piece, n);
    p->base.around = around_torch;
    p->put = put;
    p->context = context;
    p->folder = path_with_suffix(a, path_name(file), "");
    part_plan_place(&p->base);
    *out = &p->base;
    return NULL;
}
