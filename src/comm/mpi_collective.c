/* mpi_collective.c - the calls of a group over MPI, made of messages.
 *
 * MPI's own reductions may add in any order. Here every rank gets the others' parts of what it
 * needs and adds them in the order of ranks, block by block: while one block is added, the next one
 * comes. The bits are those of ranks that are threads. */
#include "base/error.h"
#include "comm/mpi.h"
#include "comm/reduce.h"
#include <string.h>

enum {
    SMALL = 16 << 10,       /* bytes that all ranks send to all whole */
    BLOCKS = 1 << 20,       /* bytes of one block of a reduction, over all peers */
    LEAST_BLOCK = 64 << 10, /* of one peer */
    PAGE = 4096
};

static void *at(const void *base, Dtype t, int64_t i)
{
    return (char *)base + dtype_size(t) * (size_t)i;
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0 && to != from) memmove(to, from, bytes);
}

static int64_t sum(const int64_t *counts, int n)
{
    int64_t total = 0;
    for (int r = 0; r < n; r++) total += counts[r];
    return total;
}

/* One message to each peer and one from each; bytes of 0 are no message. */
typedef struct Route {
    const void *out;
    void *in;
    size_t out_bytes, in_bytes;
} Route;

/* Peers in an order that gives every rank another one at a time. */
static void queue_routes(MpiComm *m, Flight *f, const Route *route)
{
    int size = m->comm.size, rank = m->comm.rank;
    for (int i = 1; i < size; i++) {
        int from = (rank + size - i) % size;
        const Route *r = &route[from];
        if (r->in_bytes) flight_receive(m, f, r->in, r->in_bytes, from, MPI_TAG_OF_CALLS);
    }
    for (int i = 1; i < size; i++) {
        int to = (rank + i) % size;
        const Route *r = &route[to];
        if (r->out_bytes) flight_send(m, f, r->out, r->out_bytes, to, MPI_TAG_OF_CALLS);
    }
}

static Error *send_routes(MpiComm *m, const Route *route, const char *op)
{
    Flight *f = &m->flight[0];
    flight_clear(f);
    queue_routes(m, f, route);
    return flight_wait(m, f, op);
}

/* -- reductions -- */

/* A reduction for this rank of the parts that all ranks have for it. */
typedef struct Reduction {
    MpiComm *m;
    const char *op;
    Dtype dtype;
    ReduceOp reduce;
    const char *in;        /* the parts for all ranks */
    const int64_t *counts; /* of each */
    char *out;
    int64_t block;     /* elements of one peer that come at a time */
    char *room;        /* for two blocks of each rank */
    const void **part; /* by rank: the block that is added */
    Route *route;      /* by rank */
} Reduction;

static int64_t clamp(int64_t n, int64_t lo, int64_t hi)
{
    return n < lo ? lo : n > hi ? hi : n;
}

/* Where block b of a rank lies while it is here. */
static char *room_of(const Reduction *r, int64_t b, int rank)
{
    return at(r->room, r->dtype, (b % 2 * r->m->comm.size + rank) * r->block);
}

static void prepare_reduction(Reduction *r)
{
    int size = r->m->comm.size;
    int64_t block_bytes = clamp(BLOCKS / size, LEAST_BLOCK, BLOCKS) / PAGE * PAGE;
    r->block = block_bytes / (int64_t)dtype_size(r->dtype);
    size_t of_parts = sizeof *r->part * (size_t)size, of_routes = sizeof *r->route * (size_t)size;
    char *scratch =
        buffer_grow(&r->m->scratch, (size_t)(2 * size * block_bytes) + of_parts + of_routes);
    r->room = scratch;
    r->part = (const void **)(scratch + 2 * size * block_bytes);
    r->route = (Route *)((char *)r->part + of_parts);
}

static void queue_block(Reduction *r, int64_t b, Flight *f)
{
    const size_t size_of = dtype_size(r->dtype);
    int rank = r->m->comm.rank;
    int64_t begin = b * r->block, before = 0;
    for (int p = 0; p < r->m->comm.size; before += r->counts[p++])
        r->route[p] = (Route){
            .out = at(r->in, r->dtype, before + begin),
            .out_bytes = size_of * (size_t)clamp(r->counts[p] - begin, 0, r->block),
            .in = room_of(r, b, p),
            .in_bytes = size_of * (size_t)clamp(r->counts[rank] - begin, 0, r->block),
        };
    flight_clear(f);
    queue_routes(r->m, f, r->route);
}

static void add_block(Reduction *r, int64_t b)
{
    int rank = r->m->comm.rank;
    int64_t begin = b * r->block, n = clamp(r->counts[rank] - begin, 0, r->block);
    int64_t before = sum(r->counts, rank);
    void *out = at(r->out, r->dtype, begin);
    for (int p = 0; p < r->m->comm.size; p++)
        r->part[p] = p == rank ? at(r->in, r->dtype, before + begin) : room_of(r, b, p);
    reduce_range(r->dtype, r->reduce, r->part, r->m->comm.size, &out, 1, 0, n);
}

static int64_t largest(const int64_t *counts, int n)
{
    int64_t most = 0;
    for (int r = 0; r < n; r++) most = counts[r] > most ? counts[r] : most;
    return most;
}

static Error *reduce_by_blocks(Reduction *r)
{
    prepare_reduction(r);
    int64_t n_blocks = (largest(r->counts, r->m->comm.size) + r->block - 1) / r->block;
    if (n_blocks > 0) queue_block(r, 0, &r->m->flight[0]);
    for (int64_t b = 0; b < n_blocks; b++) {
        if (b + 1 < n_blocks) queue_block(r, b + 1, &r->m->flight[(b + 1) % 2]);
        TRY(flight_wait(r->m, &r->m->flight[b % 2], r->op));
        add_block(r, b);
    }
    return NULL;
}

Error *mpi_reduce_scatter(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                          ReduceOp op, struct Stream *s)
{
    (void)s;
    Reduction r = { .m = mpi_of(c),
                    .op = "reduce_scatter",
                    .dtype = t,
                    .reduce = op,
                    .in = in,
                    .counts = counts,
                    .out = out };
    TRY(mpi_abort_error(r.m, r.op));
    return reduce_by_blocks(&r);
}

/* Everything to everybody: one message's time. */
static Error *reduce_small(MpiComm *m, void *data, int64_t n, Dtype t, ReduceOp op)
{
    int size = m->comm.size;
    size_t bytes = dtype_size(t) * (size_t)n, of_parts = sizeof(void *) * (size_t)size;
    char *scratch =
        buffer_grow(&m->scratch, of_parts + sizeof(Route) * (size_t)size + bytes * (size_t)size);
    const void **part = (const void **)scratch;
    Route *route = (Route *)(scratch + of_parts);
    char *room = (char *)(route + size);
    for (int p = 0; p < size; p++) {
        route[p] = (Route){ data, room + bytes * (size_t)p, bytes, bytes };
        part[p] = p == m->comm.rank ? data : route[p].in;
    }
    TRY(send_routes(m, route, "all_reduce"));
    reduce_range(t, op, part, size, &data, 1, 0, n);
    return NULL;
}

static Error *gather(MpiComm *m, const void *in, void *out, const int64_t *counts, Dtype t,
                     const char *op)
{
    const size_t size_of = dtype_size(t);
    int size = m->comm.size, rank = m->comm.rank;
    int64_t before = 0;
    Route *route = buffer_grow(&m->scratch, sizeof *route * (size_t)size);
    for (int p = 0; p < size; before += counts[p++]) {
        char *place = at(out, t, before);
        if (p == rank) copy(place, in, size_of * (size_t)counts[p]);
        route[p] = (Route){ .out = in,
                            .out_bytes = size_of * (size_t)counts[rank],
                            .in = place,
                            .in_bytes = size_of * (size_t)counts[p] };
    }
    return send_routes(m, route, op);
}

Error *mpi_all_reduce(Comm *c, void *data, int64_t n, Dtype t, ReduceOp op, struct Stream *s)
{
    (void)s;
    MpiComm *m = mpi_of(c);
    TRY(mpi_abort_error(m, "all_reduce"));
    if (dtype_size(t) * (size_t)n <= SMALL) return reduce_small(m, data, n, t, op);
    int64_t *counts = m->counts, from, to;
    for (int p = 0; p < c->size; p++) {
        reduce_slice(n, c->size, p, &from, &to);
        counts[p] = to - from;
    }
    char *own = at(data, t, sum(counts, c->rank));
    Reduction r = { .m = m,
                    .op = "all_reduce",
                    .dtype = t,
                    .reduce = op,
                    .in = data,
                    .counts = counts,
                    .out = own };
    TRY(reduce_by_blocks(&r));
    return gather(m, own, data, counts, t, "all_reduce");
}

/* -- copies -- */

Error *mpi_all_gather(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                      struct Stream *s)
{
    (void)s;
    TRY(mpi_abort_error(mpi_of(c), "all_gather"));
    return gather(mpi_of(c), in, out, counts, t, "all_gather");
}

Error *mpi_all_to_all(Comm *c, const void *in, const int64_t *send, void *out,
                      const int64_t *receive, Dtype t, struct Stream *s)
{
    (void)s;
    MpiComm *m = mpi_of(c);
    const size_t size_of = dtype_size(t);
    int64_t from = 0, to = 0;
    TRY(mpi_abort_error(m, "all_to_all"));
    Route *route = buffer_grow(&m->scratch, sizeof *route * (size_t)c->size);
    for (int p = 0; p < c->size; p++) {
        route[p] = (Route){ .out = at(in, t, from),
                            .out_bytes = size_of * (size_t)send[p],
                            .in = at(out, t, to),
                            .in_bytes = size_of * (size_t)receive[p] };
        if (p == c->rank) copy(route[p].in, route[p].out, route[p].out_bytes);
        from += send[p];
        to += receive[p];
    }
    return send_routes(m, route, "all_to_all");
}

/* Down a tree: rank 2^k + i (from the root) gets it from rank i. */
Error *mpi_broadcast(Comm *c, void *data, size_t bytes, int root, struct Stream *s)
{
    (void)s;
    MpiComm *m = mpi_of(c);
    Flight *f = &m->flight[0];
    int place = (c->rank + c->size - root) % c->size, reach = 1;
    TRY(mpi_abort_error(m, "broadcast"));
    if (bytes == 0) return NULL;
    while (2 * reach <= place) reach *= 2;
    if (place > 0) {
        int from = (place - reach + root) % c->size;
        flight_clear(f);
        flight_receive(m, f, data, bytes, from, MPI_TAG_OF_CALLS);
        TRY(flight_wait(m, f, "broadcast"));
        reach *= 2;
    }
    flight_clear(f);
    for (; place + reach < c->size; reach *= 2)
        flight_send(m, f, data, bytes, (place + reach + root) % c->size, MPI_TAG_OF_CALLS);
    return flight_wait(m, f, "broadcast");
}
