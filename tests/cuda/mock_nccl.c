/* mock_nccl.c - NCCL's calls between threads of one process.
 *
 * A call is work of a stream that ends when all members have come to theirs. Whoever waits for a
 * stream brings the others' streams there, too, as far as they were given work. Ranks must have
 * GPUs of their own, and members whose calls differ are refused. */
#include "comm/reduce.h"
#include "mock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 16, MOST_GROUPS = 1024 };

typedef enum Kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, SEND, RECEIVE } Kind;

/* One call of one rank. */
typedef struct MockPart {
    Kind kind;
    int rank, peer; /* peer: root, or the other end of a message */
    const void *in;
    void *out;
    size_t n;
    ncclDataType_t type;
    ncclRedOp_t op;
    MockStream *stream;
    int64_t before; /* work of the stream that comes first */
    bool is_posted, is_done;
    int64_t at; /* its place among the calls, or messages, of its kind */
    struct MockMember *member;
} MockPart;

typedef struct List {
    MockPart **part;
    int64_t n, cap;
} List;

/* A communicator, as all of its ranks share it. */
typedef struct MockWorld {
    uint64_t id;
    int size, n_joined, gpu[MOST_RANKS];
    bool is_shared; /* two ranks have the same GPU */
    List calls[MOST_RANKS];
    List sent[MOST_RANKS][MOST_RANKS], received[MOST_RANKS][MOST_RANKS]; /* [from][to] */
} MockWorld;

typedef struct MockMember {
    MockWorld *world;
    int rank;
    bool is_aborted; /* what it waits for is over; the others go on waiting */
} MockMember;

static MockWorld *worlds[MOST_GROUPS];
static int n_worlds;
static uint64_t n_ids;

static MockMember *member_of(ncclComm_t c)
{
    return (MockMember *)(void *)c;
}

static void refuse(const char *what)
{
    fprintf(stderr, "mock of NCCL: %s\n", what);
    abort();
}

static void add(List *l, MockPart *p)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->part = realloc(l->part, sizeof(MockPart *) * (size_t)l->cap);
        if (!l->part) abort();
    }
    p->at = l->n;
    l->part[l->n++] = p;
}

static Dtype dtype_of(ncclDataType_t t)
{
    switch (t) {
    case ncclFloat64:
        return F64;
    case ncclFloat32:
        return F32;
    case ncclBfloat16:
        return BF16;
    case ncclFloat16:
        return F16;
    case ncclInt64:
        return I64;
    case ncclInt32:
        return I32;
    default:
        return U8;
    }
}

/* ---- what a call does when all have come ---- */

static void reduce(MockPart *const *part, int size, const void *const *in, void *const *out,
                   int n_out, size_t n)
{
    const ReduceOp op = part[0]->op == ncclMax ? REDUCE_MAX : REDUCE_SUM;
    reduce_range(dtype_of(part[0]->type), op, in, size, out, n_out, 0, (int64_t)n);
}

static void do_collective(MockPart *const *part, int size)
{
    const size_t bytes = dtype_size(dtype_of(part[0]->type)) * part[0]->n;
    const void *in[MOST_RANKS];
    void *out[MOST_RANKS];
    const int root = part[0]->peer;
    for (int r = 0; r < size; r++) {
        in[r] = part[r]->in;
        out[r] = part[r]->out;
    }
    switch (part[0]->kind) {
    case ALL_REDUCE:
        reduce(part, size, in, out, size, part[0]->n);
        break;
    case REDUCE:
        reduce(part, size, in, &out[root], 1, part[0]->n);
        break;
    case REDUCE_SCATTER:
        for (int r = 0; r < size; r++) {
            for (int q = 0; q < size; q++) in[q] = (const char *)part[q]->in + (size_t)r * bytes;
            reduce(part, size, in, &out[r], 1, part[0]->n);
        }
        break;
    case ALL_GATHER:
        for (int r = 0; r < size; r++)
            for (int q = 0; q < size; q++)
                memmove((char *)out[r] + (size_t)q * bytes, in[q], bytes);
        break;
    default:
        for (int r = 0; r < size; r++)
            if (out[r] != in[root]) memcpy(out[r], in[root], bytes);
    }
}

static bool is_message(const MockPart *p)
{
    return p->kind == SEND || p->kind == RECEIVE;
}

static void check_same(const MockPart *a, const MockPart *b)
{
    if (a->n != b->n || a->type != b->type) refuse("ranks make calls of different sizes");
    if (is_message(a)) return;
    if (a->kind != b->kind || a->op != b->op || a->peer != b->peer)
        refuse("ranks make different calls");
}

/* The calls of all members that belong to `p`, of a message the sender's first; false: not all were
 * given yet. */
static bool find_others(const MockPart *p, MockPart **out, int *n)
{
    MockWorld *w = p->member->world;
    const int from = p->kind == SEND ? p->rank : p->peer, to = p->kind == SEND ? p->peer : p->rank;
    *n = is_message(p) ? 2 : w->size;
    for (int i = 0; i < *n; i++) {
        const List *l = &w->calls[i];
        if (is_message(p)) l = i ? &w->received[from][to] : &w->sent[from][to];
        if (l->n <= p->at) return false;
        out[i] = l->part[p->at];
    }
    return true;
}

static bool try_part(MockPart *p)
{
    MockPart *all[MOST_RANKS] = { NULL };
    int n;
    if (p->is_done || p->member->is_aborted) return true;
    if (!find_others(p, all, &n)) return false;
    for (int i = 0; i < n; i++) {
        if (p->is_done) return true;
        if (!all[i]->is_posted) mock_run_until(all[i]->stream, all[i]->before);
        if (!all[i]->is_posted && all[i]->stream->n_done == all[i]->before)
            mock_run_until(all[i]->stream, all[i]->before + 1); /* posts it */
    }
    if (p->is_done) return true;
    for (int i = 0; i < n; i++)
        if (!all[i]->is_posted) return false;
    for (int i = 1; i < n; i++) check_same(all[0], all[i]);
    if (is_message(p))
        memcpy(all[1]->out, all[0]->in, dtype_size(dtype_of(p->type)) * p->n);
    else
        do_collective(all, n);
    for (int i = 0; i < n; i++) all[i]->is_done = true;
    return true;
}

bool mock_nccl_ready(const MockWork *w)
{
    MockPart *const *part = w->parts;
    bool is_done = true;
    for (int i = 0; i < w->n_parts; i++) part[i]->is_posted = true;
    for (int i = 0; i < w->n_parts; i++) is_done &= try_part(part[i]);
    return is_done;
}

/* ---- calls ---- */

/* What this thread's group of calls has so far. */
static _Thread_local MockPart *grouped[1024];
static _Thread_local cudaStream_t stream_of_group[1024];
static _Thread_local int n_grouped, depth;

static ncclResult_t give_grouped(void)
{
    mock_lock();
    for (int i = 0; i < n_grouped; i++) {
        if (!grouped[i]) continue;
        MockWork w = { .kind = WORK_NCCL, .parts = calloc((size_t)n_grouped, sizeof(MockPart *)) };
        MockStream *s = mock_stream(stream_of_group[i]);
        if (!w.parts) abort();
        for (int k = i; k < n_grouped; k++) {
            MockPart *p = grouped[k];
            if (!p || mock_stream(stream_of_group[k]) != s) continue;
            grouped[k] = NULL;
            MockWorld *x = p->member->world;
            p->stream = s;
            p->before = s->n_given;
            w.parts[w.n_parts++] = p;
            add(p->kind == SEND      ? &x->sent[p->rank][p->peer]
                : p->kind == RECEIVE ? &x->received[p->peer][p->rank]
                                     : &x->calls[p->rank],
                p);
        }
        mock_give((cudaStream_t)(void *)s, &w);
    }
    mock_unlock();
    n_grouped = 0;
    return ncclSuccess;
}

static ncclResult_t call(ncclComm_t comm, MockPart given, cudaStream_t stream)
{
    MockPart *p = malloc(sizeof *p);
    MockMember *m = member_of(comm);
    if (!p || n_grouped == 1024) abort();
    if (m->world->n_joined < m->world->size) refuse("a call before all ranks have joined");
    *p = given;
    p->member = m;
    p->rank = m->rank;
    stream_of_group[n_grouped] = stream;
    grouped[n_grouped++] = p;
    return depth ? ncclSuccess : give_grouped();
}

static ncclResult_t group_start(void)
{
    depth++;
    return ncclSuccess;
}

static ncclResult_t group_end(void)
{
    return --depth ? ncclSuccess : give_grouped();
}

static ncclResult_t all_reduce(const void *in, void *out, size_t n, ncclDataType_t t,
                               ncclRedOp_t op, ncclComm_t c, cudaStream_t s)
{
    return call(
        c, (MockPart){ .kind = ALL_REDUCE, .in = in, .out = out, .n = n, .type = t, .op = op }, s);
}

static ncclResult_t all_gather(const void *in, void *out, size_t n, ncclDataType_t t, ncclComm_t c,
                               cudaStream_t s)
{
    return call(c, (MockPart){ .kind = ALL_GATHER, .in = in, .out = out, .n = n, .type = t }, s);
}

static ncclResult_t reduce_scatter(const void *in, void *out, size_t n, ncclDataType_t t,
                                   ncclRedOp_t op, ncclComm_t c, cudaStream_t s)
{
    return call(
        c, (MockPart){ .kind = REDUCE_SCATTER, .in = in, .out = out, .n = n, .type = t, .op = op },
        s);
}

static ncclResult_t broadcast(const void *in, void *out, size_t n, ncclDataType_t t, int root,
                              ncclComm_t c, cudaStream_t s)
{
    return call(
        c, (MockPart){ .kind = BROADCAST, .in = in, .out = out, .n = n, .type = t, .peer = root },
        s);
}

static ncclResult_t reduce_to(const void *in, void *out, size_t n, ncclDataType_t t, ncclRedOp_t op,
                              int root, ncclComm_t c, cudaStream_t s)
{
    return call(
        c,
        (MockPart){
            .kind = REDUCE, .in = in, .out = out, .n = n, .type = t, .op = op, .peer = root },
        s);
}

static ncclResult_t send(const void *in, size_t n, ncclDataType_t t, int peer, ncclComm_t c,
                         cudaStream_t s)
{
    return call(c, (MockPart){ .kind = SEND, .in = in, .n = n, .type = t, .peer = peer }, s);
}

static ncclResult_t receive(void *out, size_t n, ncclDataType_t t, int peer, ncclComm_t c,
                            cudaStream_t s)
{
    return call(c, (MockPart){ .kind = RECEIVE, .out = out, .n = n, .type = t, .peer = peer }, s);
}

/* ---- communicators ---- */

static const char *text(ncclResult_t status)
{
    return status == ncclInvalidUsage ? "two ranks have the same GPU" : "an error of the mock";
}

static ncclResult_t unique_id(ncclUniqueId *out)
{
    mock_lock();
    const uint64_t id = ++n_ids;
    mock_unlock();
    memset(out, 0, sizeof *out);
    memcpy(out->internal, &id, sizeof id);
    return ncclSuccess;
}

static MockWorld *world_of(uint64_t id, int size)
{
    for (int i = 0; i < n_worlds; i++)
        if (worlds[i]->id == id) return worlds[i];
    MockWorld *w = calloc(1, sizeof *w);
    if (!w || n_worlds == MOST_GROUPS || size > MOST_RANKS) abort();
    w->id = id;
    w->size = size;
    return worlds[n_worlds++] = w;
}

/* Returns before the others have come, as NCCL does where it must not block. */
static ncclResult_t join(ncclComm_t *out, int size, ncclUniqueId given, int rank,
                         ncclConfig_t *config)
{
    uint64_t id;
    memcpy(&id, given.internal, sizeof id);
    if (config->blocking) refuse("a rank may wait for ever for one that is gone");
    mock_lock();
    MockWorld *w = world_of(id, size);
    MockMember *m = calloc(1, sizeof *m);
    if (!m) abort();
    *m = (MockMember){ .world = w, .rank = rank };
    for (int r = 0; r < w->n_joined; r++)
        if (w->gpu[r] == mock_gpu()) w->is_shared = true;
    w->gpu[w->n_joined++] = mock_gpu();
    mock_unlock();
    *out = (ncclComm_t)(void *)m;
    return ncclInProgress;
}

static ncclResult_t ask(ncclComm_t c, ncclResult_t *out)
{
    mock_lock();
    const MockWorld *w = member_of(c)->world;
    *out = w->n_joined < w->size ? ncclInProgress : w->is_shared ? ncclInvalidUsage : ncclSuccess;
    mock_unlock();
    return ncclSuccess;
}

static ncclResult_t finalize(ncclComm_t c)
{
    (void)c;
    return ncclSuccess;
}

/* Calls that others have yet to come to know their member. */
static ncclResult_t destroy(ncclComm_t c)
{
    (void)c;
    return ncclSuccess;
}

static ncclResult_t abort_it(ncclComm_t c)
{
    mock_lock();
    member_of(c)->is_aborted = true;
    mock_unlock();
    return ncclSuccess;
}

void mock_nccl_fill(CudaCalls *c)
{
    c->ncclGetErrorString = text;
    c->ncclGetUniqueId = unique_id;
    c->ncclCommInitRankConfig = join;
    c->ncclCommGetAsyncError = ask;
    c->ncclCommFinalize = finalize;
    c->ncclCommDestroy = destroy;
    c->ncclCommAbort = abort_it;
    c->ncclGroupStart = group_start;
    c->ncclGroupEnd = group_end;
    c->ncclAllReduce = all_reduce;
    c->ncclAllGather = all_gather;
    c->ncclReduceScatter = reduce_scatter;
    c->ncclBroadcast = broadcast;
    c->ncclReduce = reduce_to;
    c->ncclSend = send;
    c->ncclRecv = receive;
}
