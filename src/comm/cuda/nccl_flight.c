/* nccl_flight.c - a record of the last calls of each group, and what it tells when they do not end.
 *
 * Behind each call an event is recorded. Whoever waits for the GPU looks now and then: has another
 * rank ended the job, has NCCL failed, has the first call that is not done waited for too long?
 * Then the job ends at all ranks, and each says in which call it was. */
#include "base/clock.h"
#include "comm/cuda/nccl.h"
#include "comm/waiting.h"
#include <inttypes.h>
#include <stdio.h>

Error *nccl_note(NcclGroup *g, cudaStream_t queue, const char *op, int64_t n, Dtype t, int peer)
{
    NcclFlight *f = &g->flight[g->n_flights % NCCL_FLIGHTS];
    if (!f->done)
        TRY(nccl_cuda(g, g->calls->cudaEventCreateWithFlags(&f->done, cudaEventDisableTiming)));
    *f = (NcclFlight){ .op = op,
                       .n = n,
                       .dtype = t,
                       .peer = peer,
                       .layer = g->comm.layer,
                       .step = g->comm.step,
                       .origin = g->comm.origin,
                       .n_nodes = g->comm.n_nodes,
                       .sequence = g->n_flights++,
                       .time = clock_seconds(),
                       .done = f->done };
    return nccl_cuda(g, g->calls->cudaEventRecord(f->done, queue));
}

enum { FLIGHT_TEXT = WAITING_TEXT + 80 };

/* The first call that is not done, of those on record; NULL: none. */
static NcclFlight *find_waiting(NcclGroup *g)
{
    int64_t first = g->n_flights > NCCL_FLIGHTS ? g->n_flights - NCCL_FLIGHTS : 0;
    for (; first < g->n_flights; first++) {
        NcclFlight *f = &g->flight[first % NCCL_FLIGHTS];
        if (f->is_known) continue;
        if (g->calls->cudaEventQuery(f->done) != cudaSuccess) return f;
        f->is_known = true;
        g->last_news = clock_seconds();
    }
    return NULL;
}

/* "all_gather of 4096 bf16 over dp_shard, layer 3, step 17 (call 42, 5 more behind it)" */
static void flight_text(const NcclGroup *g, const NcclFlight *f, char *out, size_t size)
{
    char what[80], place[WAITING_TEXT], peer[32] = "";
    Comm c = g->comm;
    c.layer = f->layer;
    c.step = f->step;
    c.origin = f->origin;
    c.n_nodes = f->n_nodes;
    if (f->peer >= 0)
        snprintf(peer, sizeof peer, " %s rank %d", *f->op == 's' ? "to" : "from", f->peer);
    snprintf(what, sizeof what, "%s of %" PRId64 " %s%s", f->op, f->n, dtype_name(f->dtype), peer);
    waiting_text(&c, what, place, sizeof place);
    snprintf(out, size, "%s (call %" PRId64 ", %" PRId64 " more behind it)", place, f->sequence,
             g->n_flights - 1 - f->sequence);
}

static Error *ended_in(NcclGroup *g, const NcclFlight *f)
{
    char text[FLIGHT_TEXT] = "the GPU's work";
    if (f) flight_text(g, f, text, sizeof text);
    return nccl_ended(g, text);
}

void nccl_abort_all(Cuda *d, const char *why)
{
    for (NcclGroup *g = d->groups; g; g = g->next) {
        if (g->host) g->host->abort(g->host, why);
        if (g->is_dead) continue;
        g->is_dead = true;
        if (g->nccl) g->calls->ncclCommAbort(g->nccl);
        for (int r = 0; g->to && r < g->comm.size; r++) {
            if (g->to[r].nccl) g->calls->ncclCommAbort(g->to[r].nccl);
            if (g->from[r].nccl) g->calls->ncclCommAbort(g->from[r].nccl);
        }
    }
}

static Error *failed_on_device(NcclGroup *g, const NcclFlight *f)
{
    ncclResult_t status = ncclSuccess;
    char text[FLIGHT_TEXT] = "a call that is over";
    if (!g->nccl || g->is_dead) return NULL;
    g->calls->ncclCommGetAsyncError(g->nccl, &status);
    if (status == ncclSuccess || status == ncclInProgress) return NULL;
    if (f) flight_text(g, f, text, sizeof text);
    return error_new("rank %d: NCCL: %s; it was in %s", g->comm.rank,
                     g->calls->ncclGetErrorString(status), text);
}

static Error *waits_too_long(NcclGroup *g, const NcclFlight *f)
{
    char text[FLIGHT_TEXT];
    if (!f) return NULL;
    const double from = f->time > g->last_news ? f->time : g->last_news;
    if (clock_seconds() - from < g->comm.timeout) return NULL;
    flight_text(g, f, text, sizeof text);
    return error_new("rank %d has waited %g s in %s", g->comm.rank, g->comm.timeout, text);
}

Error *nccl_watch(Cuda *d)
{
    Error *e = NULL;
    for (NcclGroup *g = d->groups; g && !e; g = g->next) {
        const NcclFlight *f = find_waiting(g);
        e = failed_on_device(g, f);
        if (!e) e = waits_too_long(g, f);
        if (!e) e = ended_in(g, f);
    }
    if (e) nccl_abort_all(d, error_text(e));
    return e;
}
