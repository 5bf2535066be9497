/* nccl_collective.c - what all ranks of a group on GPUs do together.
 *
 * Parts may have different sizes, which NCCL's calls have not: such a call is one of them for each
 * part, begun together. */
#include "comm/cuda/nccl.h"

static ncclDataType_t type_of(Dtype t)
{
    switch (t) {
    case F64:
        return ncclFloat64;
    case F32:
        return ncclFloat32;
    case BF16:
        return ncclBfloat16;
    case F16:
        return ncclFloat16;
    case I64:
        return ncclInt64;
    case I32:
        return ncclInt32;
    default:
        return ncclUint8;
    }
}

/* A sum of booleans is whether one of them is set. */
static ncclRedOp_t op_of(ReduceOp op, Dtype t)
{
    return op == REDUCE_MAX || t == BOOL ? ncclMax : ncclSum;
}

static char *at(const void *base, Dtype t, int64_t i)
{
    return (char *)base + dtype_size(t) * (size_t)i;
}

static int64_t sum(const int64_t *counts, int n)
{
    int64_t total = 0;
    for (int r = 0; r < n; r++) total += counts[r];
    return total;
}

static bool are_equal(const int64_t *counts, int n)
{
    for (int r = 1; r < n; r++)
        if (counts[r] != counts[0]) return false;
    return true;
}

/* Before a call: is there anybody to talk to, and anything to say? */
static Error *begin(NcclGroup *g, const char *op)
{
    TRY(nccl_ended(g, op));
    return nccl_cuda(g, g->calls->cudaSetDevice(g->cuda->number));
}

static Error *end(NcclGroup *g, ncclResult_t status, const char *op, int64_t n, Dtype t,
                  struct Stream *s)
{
    TRY(nccl_check(g, g->nccl, status, op));
    return nccl_note(g, nccl_queue(s), op, n, t, -1);
}

static Error *copy_own(const NcclGroup *g, const void *from, void *to, int64_t n, Dtype t,
                       struct Stream *s)
{
    if (from == to || n == 0) return NULL;
    return nccl_cuda(g, g->calls->cudaMemcpyAsync(to, from, dtype_size(t) * (size_t)n,
                                                  cudaMemcpyDeviceToDevice, nccl_queue(s)));
}

/* The first failure of a list of calls. */
static void also(ncclResult_t *status, ncclResult_t next)
{
    const bool is_fine = *status == ncclSuccess || *status == ncclInProgress;
    if (is_fine && next != ncclSuccess) *status = next;
}

Error *nccl_all_reduce(Comm *c, void *data, int64_t n, Dtype t, ReduceOp op, struct Stream *s)
{
    NcclGroup *g = nccl_of(c);
    TRY(begin(g, "all_reduce"));
    if (c->size == 1 || n == 0) return NULL;
    const ncclResult_t status = g->calls->ncclAllReduce(data, data, (size_t)n, type_of(t),
                                                        op_of(op, t), g->nccl, nccl_queue(s));
    return end(g, status, "all_reduce", n, t, s);
}

Error *nccl_all_gather(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                       struct Stream *s)
{
    NcclGroup *g = nccl_of(c);
    const int64_t n = sum(counts, c->size);
    TRY(begin(g, "all_gather"));
    if (c->size == 1) return copy_own(g, in, out, n, t, s);
    if (n == 0) return NULL;
    if (are_equal(counts, c->size))
        return end(
            g,
            g->calls->ncclAllGather(in, out, (size_t)counts[0], type_of(t), g->nccl, nccl_queue(s)),
            "all_gather", n, t, s);
    ncclResult_t status = g->calls->ncclGroupStart();
    for (int64_t r = 0, from = 0; r < c->size; from += counts[r++])
        if (counts[r]) {
            char *place = at(out, t, from);
            also(&status,
                 g->calls->ncclBroadcast(r == c->rank ? in : place, place, (size_t)counts[r],
                                         type_of(t), (int)r, g->nccl, nccl_queue(s)));
        }
    also(&status, g->calls->ncclGroupEnd());
    return end(g, status, "all_gather", n, t, s);
}

Error *nccl_reduce_scatter(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                           ReduceOp op, struct Stream *s)
{
    NcclGroup *g = nccl_of(c);
    const int64_t n = sum(counts, c->size);
    TRY(begin(g, "reduce_scatter"));
    if (c->size == 1) return copy_own(g, in, out, n, t, s);
    if (n == 0) return NULL;
    if (are_equal(counts, c->size))
        return end(g,
                   g->calls->ncclReduceScatter(in, out, (size_t)counts[0], type_of(t), op_of(op, t),
                                               g->nccl, nccl_queue(s)),
                   "reduce_scatter", n, t, s);
    ncclResult_t status = g->calls->ncclGroupStart();
    for (int64_t r = 0, from = 0; r < c->size; from += counts[r++])
        if (counts[r])
            also(&status,
                 g->calls->ncclReduce(at(in, t, from), r == c->rank ? out : NULL, (size_t)counts[r],
                                      type_of(t), op_of(op, t), (int)r, g->nccl, nccl_queue(s)));
    also(&status, g->calls->ncclGroupEnd());
    return end(g, status, "reduce_scatter", n, t, s);
}

Error *nccl_all_to_all(Comm *c, const void *in, const int64_t *send, void *out,
                       const int64_t *receive, Dtype t, struct Stream *s)
{
    NcclGroup *g = nccl_of(c);
    const int64_t n = sum(send, c->size), own = send[c->rank];
    int64_t from = 0, to = 0;
    TRY(begin(g, "all_to_all"));
    TRY(copy_own(g, at(in, t, sum(send, c->rank)), at(out, t, sum(receive, c->rank)), own, t, s));
    if (c->size == 1) return NULL;
    ncclResult_t status = g->calls->ncclGroupStart();
    for (int r = 0; r < c->size; from += send[r], to += receive[r], r++) {
        if (r == c->rank) continue;
        if (send[r])
            also(&status, g->calls->ncclSend(at(in, t, from), (size_t)send[r], type_of(t), r,
                                             g->nccl, nccl_queue(s)));
        if (receive[r])
            also(&status, g->calls->ncclRecv(at(out, t, to), (size_t)receive[r], type_of(t), r,
                                             g->nccl, nccl_queue(s)));
    }
    also(&status, g->calls->ncclGroupEnd());
    return end(g, status, "all_to_all", n, t, s);
}

Error *nccl_broadcast(Comm *c, void *data, size_t bytes, int root, struct Stream *s)
{
    NcclGroup *g = nccl_of(c);
    CHECK(root >= 0 && root < c->size);
    TRY(begin(g, "broadcast"));
    if (c->size == 1 || bytes == 0) return NULL;
    const ncclResult_t status =
        g->calls->ncclBroadcast(data, data, bytes, ncclUint8, root, g->nccl, nccl_queue(s));
    return end(g, status, "broadcast", (int64_t)bytes, U8, s);
}
