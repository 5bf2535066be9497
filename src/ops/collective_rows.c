/* collective_rows.c - rows of parts, by the global indices that each of them holds; memory of any
 * device is moved. */
#include "ops/collective_rows.h"
#include <stdlib.h>

int collective_size(const Launch *l)
{
    return l->comm ? l->comm->size : 1;
}

void collective_use(const Launch *l)
{
    l->comm->layer = l->block;
    l->comm->step = launch_now(l) ? launch_now(l)->step + 1 : -1;
    l->comm->origin = l->origin;
    l->comm->n_nodes++;
}

int64_t *collective_numbers(int n)
{
    int64_t *made = calloc((size_t)n, sizeof *made);
    CHECK(made != NULL);
    return made;
}

int collective_status(Comm *c, Error *e)
{
    if (!e) return KERNEL_OK;
    error_free(c->error);
    c->error = e;
    return KERNEL_COMM;
}

Rows rows_of(const Launch *l, const Tensor *wide, const Tensor *narrow, int dim)
{
    Rows r = { .wide = wide, .narrow = narrow, .dim = dim, .size = collective_size(l) };
    const Part *p = narrow->part[dim];
    r.before = tensor_volume(narrow, 0, dim);
    r.after = tensor_volume(narrow, dim + 1, narrow->n_dims);
    r.in_order = r.before == 1 && (!p || p->layout == CONTIGUOUS);
    return r;
}

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

/* The part of a member: where `wide` is split, too, the group divides each of its parts. */
static Part part_of_member(const Rows *r, int member)
{
    Part p = *r->narrow->part[r->dim];
    const Part *wide = r->wide->part[r->dim];
    int inner = at_least_one(p.n_inner);
    if (wide) {
        p.inner = wide->inner * r->size + member;
    } else {
        p.index = member / inner;
        p.inner = member % inner;
    }
    return p;
}

/* The row of `wide` at which row i of a member stands; -1: padding. */
static int64_t wide_row(const Rows *r, const Part *p, int64_t i)
{
    Tensor t = { .n_dims = r->dim + 1 };
    t.size[r->dim] = r->narrow->size[r->dim];
    t.part[r->dim] = p;
    return local_index(r->wide, r->dim, global_index(&t, r->dim, i));
}

int64_t rows_count(const Rows *r, int member)
{
    int64_t n = r->narrow->size[r->dim];
    if (!r->narrow->part[r->dim]) return n;
    Part p = part_of_member(r, member);
    while (n > 0 && wide_row(r, &p, n - 1) < 0) n--;
    return n;
}

void rows_counts(const Rows *r, int64_t *counts)
{
    for (int m = 0; m < r->size; m++) counts[m] = rows_count(r, m) * r->before * r->after;
}

/* Rows [first, first + n) of the part of a member, which follow each other in `wide`, too: from row
 * `row` on, or nowhere (-1: padding). */
static int copy_run(const Launch *l, const Rows *r, char *packed, int64_t first, int64_t row,
                    int64_t n, bool into_wide)
{
    const size_t bytes = (size_t)r->after * dtype_size(r->narrow->dtype);
    const size_t step = (size_t)r->narrow->size[r->dim] * bytes,
                 wide_step = (size_t)r->wide->size[r->dim] * bytes;
    char *there = packed + (size_t)first * bytes;
    int status = KERNEL_OK;
    if (row >= 0) {
        char *at = (char *)r->wide->data + (size_t)row * bytes;
        return into_wide ? move_rows(l, at, wide_step, there, step, (size_t)n * bytes, r->before)
                         : move_rows(l, there, step, at, wide_step, (size_t)n * bytes, r->before);
    }
    for (int64_t b = 0; b < r->before && !into_wide && !status; b++)
        status = move_clear(l, there + (size_t)b * step, (size_t)n * bytes);
    return status;
}

static int copy_part(const Launch *l, const Rows *r, int member, char *packed, bool into_wide)
{
    const Part *mine = r->narrow->part[r->dim];
    const Part p = mine ? part_of_member(r, member) : (Part){ 0 };
    const int64_t n = r->narrow->size[r->dim];
    int status = KERNEL_OK;
    for (int64_t i = 0, end; i < n && !status; i = end) {
        const int64_t row = mine ? wide_row(r, &p, i) : i;
        end = i + 1;
        while (end < n && (mine ? wide_row(r, &p, end) : end) == (row < 0 ? -1 : row + end - i))
            end++;
        status = copy_run(l, r, packed, i, row, end - i, into_wide);
    }
    return status;
}

int rows_pack(const Launch *l, const Rows *r, int member, char *packed)
{
    return copy_part(l, r, member, packed, false);
}

int rows_unpack(const Launch *l, const Rows *r, int member, const char *packed)
{
    return copy_part(l, r, member, (char *)packed, true);
}
