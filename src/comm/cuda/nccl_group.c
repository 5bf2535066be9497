/* nccl_group.c - groups of ranks on GPUs are made from groups of the host, and end with them.
 *
 * The group of the host brings the ids of communicators, tells which message comes next, and hears
 * when a rank is gone. Communicators do not block: whoever makes or uses one looks whether the job
 * goes on while NCCL is at work. */
#include "base/clock.h"
#include "comm/cuda/nccl.h"
#include "comm/waiting.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static Error *new_group(Cuda *d, Comm *host, bool is_of_caller, const bool *sends, NcclGroup **out);

Error *nccl_cuda(const NcclGroup *g, cudaError_t status)
{
    return cuda_error(g->calls, status, "talking to other GPUs");
}

Error *nccl_ended(NcclGroup *g, const char *op)
{
    g->host->label = g->comm.label;
    g->host->layer = g->comm.layer;
    g->host->step = g->comm.step;
    g->host->origin = g->comm.origin;
    g->host->n_nodes = g->comm.n_nodes;
    return g->host->ended ? g->host->ended(g->host, op) : NULL;
}

static Error *failure(const NcclGroup *g, ncclResult_t status, const char *op)
{
    char place[WAITING_TEXT];
    waiting_text(&g->comm, op, place, sizeof place);
    return error_new("rank %d: %s: NCCL: %s", g->comm.rank, place,
                     g->calls->ncclGetErrorString(status));
}

Error *nccl_check(NcclGroup *g, ncclComm_t c, ncclResult_t status, const char *op)
{
    const double from = clock_seconds();
    while (status == ncclInProgress) {
        TRY(nccl_ended(g, op));
        if (clock_seconds() - from > g->comm.timeout)
            return error_new("rank %d has waited %g s for NCCL to begin %s", g->comm.rank,
                             g->comm.timeout, op);
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
        const ncclResult_t asked = g->calls->ncclCommGetAsyncError(c, &status);
        if (asked != ncclSuccess) status = asked;
    }
    return status == ncclSuccess ? NULL : failure(g, status, op);
}

/* ---- communicators ---- */

/* Ranks of one process, or of one machine, must not share a GPU: NCCL says so. */
static Error *join(NcclGroup *g, int size, const ncclUniqueId *id, int rank, ncclComm_t *out)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return nccl_check(g, *out, g->calls->ncclCommInitRankConfig(out, size, *id, rank, &config),
                      "making a group");
}

static Error *join_all(NcclGroup *g)
{
    ncclUniqueId id;
    ncclResult_t status = ncclSuccess;
    memset(&id, 0, sizeof id);
    if (g->comm.rank == 0) status = g->calls->ncclGetUniqueId(&id);
    if (status != ncclSuccess) return failure(g, status, "making a group");
    TRY(g->host->broadcast(g->host, &id, sizeof id, 0, NULL));
    return join(g, g->comm.size, &id, g->comm.rank, &g->nccl);
}

/* From rank `a` to rank `b`, one of which is this one. */
static Error *join_link(NcclGroup *g, int a, int b)
{
    ncclUniqueId id;
    const bool is_sender = g->comm.rank == a;
    NcclLink *l = is_sender ? &g->to[b] : &g->from[a];
    Transfer t = { .peer = is_sender ? b : a, .tag = 1, .data = &id, .bytes = sizeof id };
    memset(&id, 0, sizeof id);
    if (is_sender) {
        const ncclResult_t status = g->calls->ncclGetUniqueId(&id);
        if (status != ncclSuccess) return failure(g, status, "making a group");
        TRY(g->host->exchange(g->host, &t, 1, NULL, 0, NULL));
    } else {
        TRY(g->host->exchange(g->host, NULL, 0, &t, 1, NULL));
    }
    TRY(nccl_cuda(g, g->calls->cudaStreamCreateWithPriority(&l->queue, cudaStreamNonBlocking, -1)));
    return join(g, 2, &id, is_sender ? 0 : 1, &l->nccl);
}

/* Each rank tells to whom it sends; links are made in one order that all share, so that nobody
 * waits for somebody who waits for another. */
static Error *join_links(NcclGroup *g, const bool *sends)
{
    const int n = g->comm.size, rank = g->comm.rank;
    Arena *a = arena_new();
    uint8_t *all = NEW_N(a, uint8_t, n * n), *own = NEW_N(a, uint8_t, n);
    int64_t *counts = NEW_N(a, int64_t, n);
    for (int r = 0; r < n; r++) {
        counts[r] = n;
        own[r] = sends && sends[r] && r != rank && !g->to[r].nccl;
    }
    Error *e = g->host->all_gather(g->host, own, all, counts, U8, NULL);
    for (int i = 0; i < n * n && !e; i++)
        if (all[i] && (i / n == rank || i % n == rank)) e = join_link(g, i / n, i % n);
    arena_free(a);
    return e;
}

/* ---- groups ---- */

/* Waits until its messages are gone. */
static Error *drain(NcclGroup *g, cudaStream_t queue)
{
    const double from = clock_seconds();
    while (queue && g->calls->cudaStreamQuery(queue) == cudaErrorNotReady) {
        TRY(nccl_ended(g, "leaving a group"));
        if (clock_seconds() - from > g->comm.timeout)
            return error_new("rank %d has a message that nobody takes", g->comm.rank);
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
    }
    return NULL;
}

static void leave(NcclGroup *g, ncclComm_t c, cudaStream_t queue)
{
    if (!c || g->is_dead) return; /* an abort has freed it */
    Error *e = drain(g, queue);
    if (!e) e = nccl_check(g, c, g->calls->ncclCommFinalize(c), "leaving a group");
    if (e)
        g->calls->ncclCommAbort(c);
    else
        g->calls->ncclCommDestroy(c);
    error_free(e);
}

static void free_group(NcclGroup *g)
{
    const CudaCalls *c = g->calls;
    leave(g, g->nccl, NULL);
    for (int r = 0; r < g->comm.size; r++) {
        leave(g, g->to[r].nccl, g->to[r].queue);
        leave(g, g->from[r].nccl, g->from[r].queue);
        if (g->to[r].queue) c->cudaStreamDestroy(g->to[r].queue);
        if (g->from[r].queue) c->cudaStreamDestroy(g->from[r].queue);
    }
    nccl_free_messages(g);
    for (int i = 0; i < NCCL_FLIGHTS; i++)
        if (g->flight[i].done) c->cudaEventDestroy(g->flight[i].done);
    if (g->here) c->cudaEventDestroy(g->here);
    error_free(g->comm.error);
    if (g->host) g->host->free(g->host);
    free(g->to);
    free(g->from);
    free(g);
}

static void group_free(Comm *c)
{
    NcclGroup *g = nccl_of(c), **at = &g->cuda->groups;
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    g->calls->cudaSetDevice(g->cuda->number);
    free_group(g);
}

static void free_groups(Cuda *d)
{
    while (d->groups) group_free(&d->groups->comm);
}

static void group_abort(Comm *c, const char *why)
{
    NcclGroup *g = nccl_of(c);
    g->host->abort(g->host, why);
}

static Error *group_ended(Comm *c, const char *op)
{
    return nccl_ended(nccl_of(c), op);
}

/* Its ranks may all send each other messages. */
static Error *group_group(Comm *c, const int *ranks, int n, int key, Comm **out)
{
    NcclGroup *g = nccl_of(c), *made;
    Comm *host;
    TRY(g->host->group(g->host, ranks, n, key, &host));
    bool *sends = calloc((size_t)n, sizeof *sends);
    CHECK(sends != NULL);
    memset(sends, 1, (size_t)n * sizeof *sends);
    Error *e = new_group(g->cuda, host, true, sends, &made);
    free(sends);
    if (!e) *out = &made->comm;
    return e;
}

static const Comm calls = {
    .transport = "nccl",
    .layer = -1,
    .step = -1,
    .all_reduce = nccl_all_reduce,
    .all_gather = nccl_all_gather,
    .reduce_scatter = nccl_reduce_scatter,
    .all_to_all = nccl_all_to_all,
    .broadcast = nccl_broadcast,
    .exchange = nccl_exchange,
    .start = nccl_start,
    .finish = nccl_finish,
    .group = group_group,
    .abort = group_abort,
    .ended = group_ended,
    .free = group_free,
};

static Error *take_host(NcclGroup *g, Comm *host)
{
    if (g->is_of_caller) {
        g->host = host;
        return NULL;
    }
    int *ranks = calloc((size_t)host->size, sizeof *ranks);
    CHECK(ranks != NULL);
    for (int r = 0; r < host->size; r++) ranks[r] = r;
    Error *e = host->group(host, ranks, host->size, 0, &g->host);
    free(ranks);
    return e;
}

static Error *fill(NcclGroup *g, Comm *host, const bool *sends)
{
    TRY(nccl_calls_get(&g->calls));
    TRY(take_host(g, host));
    TRY(nccl_cuda(g, g->calls->cudaSetDevice(g->cuda->number)));
    TRY(nccl_cuda(g, g->calls->cudaEventCreateWithFlags(&g->here, cudaEventDisableTiming)));
    if (g->comm.size > 1) TRY(join_all(g));
    return g->comm.size > 1 ? join_links(g, sends) : NULL;
}

static Error *new_group(Cuda *d, Comm *host, bool is_of_caller, const bool *sends, NcclGroup **out)
{
    NcclGroup *g = calloc(1, sizeof *g);
    CHECK(g != NULL);
    *g = (NcclGroup){
        .comm = calls, .next = d->groups, .cuda = d, .calls = d->calls, .is_of_caller = is_of_caller
    };
    g->comm.rank = host->rank;
    g->comm.size = host->size;
    g->comm.label = host->label;
    g->comm.timeout = host->timeout;
    g->to = calloc((size_t)host->size, sizeof *g->to);
    g->from = calloc((size_t)host->size, sizeof *g->from);
    CHECK(g->to && g->from);
    d->groups = g;
    Error *e = fill(g, host, sends);
    if (e) nccl_abort_all(d, error_text(e)); /* the others wait for this rank */
    if (e) group_free(&g->comm);
    *out = g;
    return e;
}

static Error *comm_new(Device *device, Comm *host, const bool *sends, Comm **out)
{
    NcclGroup *g;
    if (*out) return nccl_of(*out)->comm.size > 1 ? join_links(nccl_of(*out), sends) : NULL;
    TRY(new_group((Cuda *)device, host, false, sends, &g));
    *out = &g->comm;
    return NULL;
}

static int keep_error(Comm *c, Error *e)
{
    error_free(c->error);
    c->error = e;
    return KERNEL_COMM;
}

void nccl_offer(Cuda *d)
{
    d->device.comm_new = comm_new;
    d->watch = nccl_watch;
    d->keep_error = keep_error;
    d->free_groups = free_groups;
}
