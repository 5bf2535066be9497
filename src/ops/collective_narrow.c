/* collective_narrow.c - sums over ranks in F32 of parts that travel in a narrower dtype. */
#include "ops/collective_narrow.h"
#include "comm/reduce.h"
#include "ops/collective_rows.h"
#include <stdlib.h>

enum { ALIGN = 64 };

static size_t padded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

size_t narrow_scatter_bytes(int ranks, int64_t n, int64_t largest, Dtype wire)
{
    return padded(dtype_size(wire) * (size_t)n) +
           padded(dtype_size(wire) * (size_t)(largest * ranks));
}

/* What is sent and received, and how many elements; numbers are the host's. */
typedef struct Room {
    int64_t *send, *receive;
    char *out, *in;
} Room;

/* The parts for the others, narrowed; `own` gets where the own part lies. */
static int pack(const Launch *l, Dtype wire, const float *in, const int64_t *counts, const Room *r,
                const float **own)
{
    char *to = r->out;
    int status = KERNEL_OK;
    for (int m = 0; m < l->comm->size && status == KERNEL_OK; in += counts[m++]) {
        const bool is_own = m == l->comm->rank;
        r->send[m] = is_own ? 0 : counts[m];
        r->receive[m] = is_own ? 0 : counts[l->comm->rank];
        if (is_own) *own = in;
        status = move_convert(l, to, wire, in, F32, r->send[m]);
        to += dtype_size(wire) * (size_t)r->send[m];
    }
    return status;
}

static int scatter(const Launch *l, Dtype wire, const float *in, const int64_t *counts, float *out,
                   const Room *r)
{
    Comm *c = l->comm;
    const int64_t n = counts[c->rank];
    const float *own = in;
    int status = pack(l, wire, in, counts, r, &own);
    if (status == KERNEL_OK)
        status = collective_status(
            c, c->all_to_all(c, r->out, r->send, r->in, r->receive, wire, l->stream));
    if (status == KERNEL_OK) status = move_clear(l, out, sizeof *out * (size_t)n);
    const char *from = r->in;
    for (int m = 0; m < c->size && status == KERNEL_OK; m++) {
        const bool is_own = m == c->rank;
        status = move_add(l, out, F32, is_own ? (const void *)own : from, is_own ? F32 : wire, n);
        from += dtype_size(wire) * (size_t)r->receive[m];
    }
    return status;
}

int narrow_scatter(const Launch *l, Dtype wire, const float *in, const int64_t *counts, float *out,
                   void *scratch)
{
    const int size = l->comm->size;
    int64_t n = 0;
    for (int m = 0; m < size; m++) n += counts[m];
    Room r = { .send = collective_numbers(2 * size), .out = scratch };
    r.receive = r.send + size;
    r.in = r.out + padded(dtype_size(wire) * (size_t)n);
    const int status = scatter(l, wire, in, counts, out, &r);
    free(r.send);
    return status;
}

/* The slices that the ranks sum for each other, and the largest of them. */
static int64_t slices_of(int64_t n, int ranks, int64_t *counts)
{
    int64_t largest = 0;
    for (int m = 0; m < ranks; m++) {
        int64_t from, to;
        reduce_slice(n, ranks, m, &from, &to);
        if (counts) counts[m] = to - from;
        if (to - from > largest) largest = to - from;
    }
    return largest;
}

size_t narrow_sum_bytes(int ranks, int64_t n, Dtype wire)
{
    const int64_t largest = slices_of(n, ranks, NULL);
    return padded(sizeof(float) * (size_t)largest) +
           padded(dtype_size(wire) * (size_t)(n + largest)) +
           narrow_scatter_bytes(ranks, n, largest, wire);
}

static int sum_slices(const Launch *l, Dtype wire, float *x, int64_t n, void *scratch,
                      int64_t *counts)
{
    Comm *c = l->comm;
    const int64_t largest = slices_of(n, c->size, counts), mine = counts[c->rank];
    float *sum = scratch;
    char *all = (char *)sum + padded(sizeof(float) * (size_t)largest),
         *own = all + dtype_size(wire) * (size_t)n;
    int status = narrow_scatter(l, wire, x, counts, sum,
                                all + padded(dtype_size(wire) * (size_t)(n + largest)));
    if (status == KERNEL_OK) status = move_convert(l, own, wire, sum, F32, mine);
    if (status == KERNEL_OK)
        status = collective_status(c, c->all_gather(c, own, all, counts, wire, l->stream));
    return status == KERNEL_OK ? move_convert(l, x, F32, all, wire, n) : status;
}

int narrow_sum(const Launch *l, Dtype wire, float *x, int64_t n, void *scratch)
{
    int64_t *counts = collective_numbers(l->comm->size);
    const int status = sum_slices(l, wire, x, n, scratch, counts);
    free(counts);
    return status;
}
