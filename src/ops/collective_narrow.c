/* collective_narrow.c - sums over ranks in F32 of parts that travel in a narrower dtype. */
#include "ops/collective_narrow.h"
#include "comm/reduce.h"
#include "ops/collective_rows.h"
#include <string.h>

enum { ALIGN = 64, BLOCK = 256 };

static size_t padded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* What is sent and received, and how many elements. */
typedef struct Room {
    int64_t *send, *receive;
    char *out, *in;
} Room;

static size_t counts_bytes(int ranks)
{
    return padded(2 * sizeof(int64_t) * (size_t)ranks);
}

static Room room_of(void *scratch, int ranks, int64_t n, Dtype wire)
{
    Room r = { .send = scratch };
    r.receive = r.send + ranks;
    r.out = (char *)scratch + counts_bytes(ranks);
    r.in = r.out + padded(dtype_size(wire) * (size_t)n);
    return r;
}

size_t narrow_scatter_bytes(int ranks, int64_t n, int64_t largest, Dtype wire)
{
    return counts_bytes(ranks) + padded(dtype_size(wire) * (size_t)n) +
           padded(dtype_size(wire) * (size_t)(largest * ranks));
}

void narrow_add(float *sum, Dtype t, const void *x, int64_t n)
{
    float block[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;
        dtype_convert(F32, block, t, (const char *)x + dtype_size(t) * (size_t)at, m);
        for (int64_t i = 0; i < m; i++) sum[at + i] += block[i];
    }
}

/* The parts for the others, narrowed. */
static const float *pack(const Launch *l, Dtype wire, const float *in, const int64_t *counts,
                         const Room *r)
{
    const float *own = in;
    char *to = r->out;
    for (int m = 0; m < l->comm->size; in += counts[m++]) {
        const bool is_own = m == l->comm->rank;
        r->send[m] = is_own ? 0 : counts[m];
        r->receive[m] = is_own ? 0 : counts[l->comm->rank];
        if (is_own) own = in;
        dtype_convert(wire, to, F32, in, r->send[m]);
        to += dtype_size(wire) * (size_t)r->send[m];
    }
    return own;
}

int narrow_scatter(const Launch *l, Dtype wire, const float *in, const int64_t *counts, float *out,
                   void *scratch)
{
    Comm *c = l->comm;
    int64_t n = 0;
    for (int m = 0; m < c->size; m++) n += counts[m];
    const Room r = room_of(scratch, c->size, n, wire);
    const float *own = pack(l, wire, in, counts, &r);
    int status =
        collective_status(c, c->all_to_all(c, r.out, r.send, r.in, r.receive, wire, l->stream));
    if (status) return status;
    const char *from = r.in;
    memset(out, 0, sizeof *out * (size_t)counts[c->rank]);
    for (int m = 0; m < c->size; m++) {
        narrow_add(out, m == c->rank ? F32 : wire, m == c->rank ? (const void *)own : from,
                   counts[c->rank]);
        from += dtype_size(wire) * (size_t)r.receive[m];
    }
    return KERNEL_OK;
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
    return padded(sizeof(int64_t) * (size_t)ranks) + padded(sizeof(float) * (size_t)largest) +
           padded(dtype_size(wire) * (size_t)(n + largest)) +
           narrow_scatter_bytes(ranks, n, largest, wire);
}

int narrow_sum(const Launch *l, Dtype wire, float *x, int64_t n, void *scratch)
{
    Comm *c = l->comm;
    int64_t *counts = scratch;
    const int64_t largest = slices_of(n, c->size, counts), mine = counts[c->rank];
    float *sum = (float *)((char *)scratch + padded(sizeof(int64_t) * (size_t)c->size));
    char *all = (char *)sum + padded(sizeof(float) * (size_t)largest),
         *own = all + dtype_size(wire) * (size_t)n;
    int status = narrow_scatter(l, wire, x, counts, sum,
                                all + padded(dtype_size(wire) * (size_t)(n + largest)));
    if (status) return status;
    dtype_convert(wire, own, F32, sum, mine);
    status = collective_status(c, c->all_gather(c, own, all, counts, wire, l->stream));
    dtype_convert(F32, x, wire, all, n);
    return status;
}
