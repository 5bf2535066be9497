/* manifest_check.c - whether the boxes of each tensor tile it and lie inside their files. */
#include "checkpoint/manifest.h"
#include <inttypes.h>
#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
    const Box *x = a, *y = b;
    for (int d = 0; d < x->n_dims; d++)
        if (x->start[d] != y->start[d]) return x->start[d] < y->start[d] ? -1 : 1;
    return 0;
}

static void describe(const Box *b, Text *to)
{
    sizes_print(to, b->start, b->n_dims);
    text_puts(to, " of size ");
    sizes_print(to, b->size, b->n_dims);
}

/* A pair of boxes that overlap, or false. Sorted by start, a box can only meet those that begin
 * before it ends in the first dimension. */
static bool find_overlap(Arena *a, const ManifestTensor *t, const Box **first, const Box **second)
{
    Box *sorted = NEW_N(a, Box, t->n_boxes);
    for (int64_t i = 0; i < t->n_boxes; i++) sorted[i] = t->box[i].box;
    if (t->n_boxes) qsort(sorted, (size_t)t->n_boxes, sizeof *sorted, by_start);
    for (int64_t i = 0; i < t->n_boxes; i++) {
        const Box *x = &sorted[i];
        for (int64_t k = i + 1; k < t->n_boxes; k++) {
            const Box *y = &sorted[k];
            Box both;
            if (t->n_dims && y->start[0] >= x->start[0] + x->size[0]) break;
            if (!box_intersect(x, y, &both)) continue;
            *first = x;
            *second = y;
            return true;
        }
    }
    return false;
}

static Error *check_box(const ManifestTensor *t, const ManifestBox *b)
{
    for (int d = 0; d < t->n_dims; d++)
        if (b->box.size[d] < 1 || b->box.start[d] > t->size[d] ||
            b->box.size[d] > t->size[d] - b->box.start[d])
            return error_new("dimension %d: start %" PRId64 ", size %" PRId64
                             " is not inside %" PRId64,
                             d, b->box.start[d], b->box.size[d], t->size[d]);
    return NULL;
}

static Error *check_place(const Manifest *m, const ManifestTensor *t, const ManifestBox *b)
{
    if (b->part >= m->n_parts)
        return error_new("part %" PRId64 " of only %" PRId64, b->part, m->n_parts);
    const ManifestPart *p = &m->part[b->part];
    if (b->begin < p->header_bytes || b->begin > b->end || b->end > p->bytes)
        return error_new("bytes [%" PRId64 ", %" PRId64 "] do not lie after the header of %s",
                         b->begin, b->end, p->file);
    int64_t bytes = box_count(&b->box) * (int64_t)dtype_size(t->dtype);
    if (b->end - b->begin != bytes)
        return error_new("bytes [%" PRId64 ", %" PRId64 "] are not the %" PRId64
                         " that its size needs",
                         b->begin, b->end, bytes);
    return NULL;
}

static Error *check_places(const Manifest *m, const ManifestTensor *t)
{
    for (int64_t i = 0; i < t->n_boxes; i++)
        TRY(error_wrap(check_place(m, t, &t->box[i]), "box %" PRId64, i));
    return NULL;
}

static Error *check_tensor(Arena *a, const ManifestTensor *t)
{
    int64_t bytes = 0;
    if (!dense_bytes(t->dtype, t->n_dims, t->size, &bytes))
        return error_new("the product of its sizes is too large");
    for (int64_t i = 0; i < t->n_boxes; i++)
        TRY(error_wrap(check_box(t, &t->box[i]), "box %" PRId64, i));
    const Box *x, *y;
    if (find_overlap(a, t, &x, &y)) {
        Text pair = { 0 };
        describe(x, &pair);
        text_puts(&pair, " and ");
        describe(y, &pair);
        Error *e = error_new("its boxes %s overlap", pair.ptr);
        text_free(&pair);
        return e;
    }
    int64_t covered = 0, count = bytes / (int64_t)dtype_size(t->dtype);
    for (int64_t i = 0; i < t->n_boxes; i++) covered += box_count(&t->box[i].box);
    if (covered != count)
        return error_new("its boxes hold %" PRId64 " of %" PRId64 " elements: a part is missing",
                         covered, count);
    return NULL;
}

Error *manifest_check_boxes(Arena *a, const Manifest *m)
{
    Map *names = map_new(a);
    for (int64_t i = 0; i < m->n_tensors; i++) {
        const ManifestTensor *t = &m->tensor[i];
        if (map_has(names, str_of(t->name)))
            return error_new("tensor \"%s\" is listed twice", t->name);
        map_set(names, str_of(t->name), NULL);
        TRY(error_wrap(check_tensor(a, t), "tensor \"%s\"", t->name));
    }
    return NULL;
}

Error *manifest_check(Arena *a, const Manifest *m)
{
    Map *files = map_new(a);
    for (int64_t i = 0; i < m->n_parts; i++) {
        const ManifestPart *p = &m->part[i];
        if (map_has(files, str_of(p->file)))
            return error_new("file \"%s\" is listed twice", p->file);
        map_set(files, str_of(p->file), NULL);
        if (p->header_bytes > p->bytes)
            return error_new("file \"%s\": its header is longer than the file", p->file);
    }
    TRY(manifest_check_boxes(a, m));
    for (int64_t i = 0; i < m->n_tensors; i++)
        TRY(error_wrap(check_places(m, &m->tensor[i]), "tensor \"%s\"", m->tensor[i].name));
    return NULL;
}
