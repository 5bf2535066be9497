/* collective_rows.c - rows of parts, by the global indices that each of them holds. */
#include "ops/collective_rows.h"
#include <string.h>

int collective_size(const Launch *l)
{
    return l->comm ? l->comm->size : 1;
}

void collective_use(const Launch *l)
{
    l->comm->layer = l->block;
    l->comm->step = l->now ? l->now->step + 1 : -1;
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

/* Calls copy row by row; `wide` is NULL where the row is padding. */
static void each_row(const Rows *r, int member, char *packed,
                     void (*copy)(char *wide, char *packed, size_t bytes))
{
    const Part *mine = r->narrow->part[r->dim];
    const Part p = mine ? part_of_member(r, member) : (Part){ 0 };
    size_t bytes = (size_t)r->after * dtype_size(r->narrow->dtype);
    int64_t n = r->narrow->size[r->dim], n_wide = r->wide->size[r->dim];
    for (int64_t i = 0; i < n; i++) {
        int64_t row = mine ? wide_row(r, &p, i) : i;
        for (int64_t b = 0; b < r->before; b++) {
            char *at = (char *)r->wide->data + (size_t)(b * n_wide + row) * bytes;
            copy(row < 0 ? NULL : at, packed + (size_t)(b * n + i) * bytes, bytes);
        }
    }
}

static void copy_in(char *wide, char *packed, size_t bytes)
{
    if (wide)
        memcpy(packed, wide, bytes);
    else
        memset(packed, 0, bytes);
}

static void copy_out(char *wide, char *packed, size_t bytes)
{
    if (wide) memcpy(wide, packed, bytes);
}

void rows_pack(const Rows *r, int member, char *packed)
{
    each_row(r, member, packed, copy_in);
}

void rows_unpack(const Rows *r, int member, const char *packed)
{
    each_row(r, member, (char *)packed, copy_out);
}
