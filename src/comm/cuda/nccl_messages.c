/* nccl_messages.c - messages between ranks on GPUs, which meet by their tags.
 *
 * NCCL's messages have no tags and meet in their order. So each rank tells the other one, through
 * the host, the tag and the size of what it sends, in the order in which it sends it. Who receives
 * looks at these until it comes to its tag; what comes before that is received into memory of its
 * own, where it waits. What `exchange` sends is copied first, so that nobody waits for a receiver.
 */
#include "comm/cuda/nccl.h"
#include <stdlib.h>
#include <string.h>

typedef struct Header {
    int64_t tag, bytes;
} Header;

/* What `start` has begun: the places in other streams that `finish` waits for. */
struct Pending {
    struct Pending *next;
    Error *error;
    cudaEvent_t *event;
    int n, n_made;
};

/* ---- memory ---- */

static Error *new_room(NcclGroup *g, size_t bytes, NcclRoom **out)
{
    NcclRoom *r = calloc(1, sizeof *r);
    CHECK(r != NULL);
    *r = (NcclRoom){ .next = g->room, .bytes = bytes ? bytes : 1 };
    g->room = r;
    TRY(nccl_cuda(g, g->calls->cudaMalloc(&r->data, r->bytes)));
    TRY(nccl_cuda(g, g->calls->cudaEventCreateWithFlags(&r->last, cudaEventDisableTiming)));
    *out = r;
    return NULL;
}

/* The smallest that is large enough and whose last use is over, or a new one. */
static Error *take_room(NcclGroup *g, size_t bytes, NcclRoom **out)
{
    NcclRoom *best = NULL;
    for (NcclRoom *r = g->room; r; r = r->next)
        if (!r->is_taken && r->last && r->bytes >= bytes && (!best || r->bytes < best->bytes) &&
            g->calls->cudaEventQuery(r->last) == cudaSuccess)
            best = r;
    if (!best) TRY(new_room(g, bytes, &best));
    best->is_taken = true;
    best->message = bytes;
    *out = best;
    return NULL;
}

static Error *let_go(const NcclGroup *g, NcclRoom *r, cudaStream_t queue)
{
    r->is_taken = false;
    return nccl_cuda(g, g->calls->cudaEventRecord(r->last, queue));
}

/* `later` goes on when `earlier` has come to where it is now. */
static Error *follow(const NcclGroup *g, cudaStream_t later, cudaStream_t earlier)
{
    TRY(nccl_cuda(g, g->calls->cudaEventRecord(g->here, earlier)));
    return nccl_cuda(g, g->calls->cudaStreamWaitEvent(later, g->here, 0));
}

static Error *copy(const NcclGroup *g, void *to, const void *from, size_t bytes, cudaStream_t queue)
{
    if (bytes == 0) return NULL;
    return nccl_cuda(g,
                     g->calls->cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue));
}

/* ---- sending ---- */

static Error *tell(NcclGroup *g, const Transfer *t)
{
    Header h = { t->tag, (int64_t)t->bytes };
    const Transfer note = { .peer = t->peer, .data = &h, .bytes = sizeof h };
    return g->host->exchange(g->host, &note, 1, NULL, 0, NULL);
}

static Error *send_from(NcclGroup *g, const Transfer *t, const void *data, cudaStream_t after)
{
    NcclLink *l = &g->to[t->peer];
    if (!l->nccl)
        return error_new("rank %d sends a message to rank %d, which was not announced",
                         g->comm.rank, t->peer);
    TRY(tell(g, t));
    if (t->bytes == 0) return NULL;
    TRY(follow(g, l->queue, after));
    TRY(nccl_check(g, l->nccl, g->calls->ncclSend(data, t->bytes, ncclUint8, 1, l->nccl, l->queue),
                   "send"));
    return nccl_note(g, l->queue, "send", (int64_t)t->bytes, U8, t->peer);
}

/* A message to itself, or one that came early, waits as the last one. */
static void wait_in_line(NcclGroup *g, NcclRoom *r, int peer, int tag)
{
    NcclRoom *line = g->early;
    r->peer = peer;
    r->tag = tag;
    NcclRoom **from = &g->room;
    while (*from != r) from = &(*from)->next;
    *from = r->next; /* rooms in line are in that list alone */
    r->next = NULL;
    if (!line) g->early = r;
    while (line && line->next) line = line->next;
    if (line) line->next = r;
}

static Error *send_copy(NcclGroup *g, const Transfer *t, cudaStream_t queue)
{
    NcclRoom *r;
    TRY(take_room(g, t->bytes, &r));
    TRY(copy(g, r->data, t->data, t->bytes, queue));
    if (t->peer == g->comm.rank) {
        wait_in_line(g, r, t->peer, t->tag);
        return nccl_cuda(g, g->calls->cudaEventRecord(r->last, queue));
    }
    TRY(send_from(g, t, r->data, queue));
    return let_go(g, r, t->bytes ? g->to[t->peer].queue : queue);
}

/* ---- receiving ---- */

static NcclRoom *take_early(NcclGroup *g, const Transfer *t)
{
    for (NcclRoom **at = &g->early; *at; at = &(*at)->next) {
        NcclRoom *r = *at;
        if (r->peer != t->peer || r->tag != t->tag) continue;
        *at = r->next;
        r->next = g->room;
        g->room = r;
        return r;
    }
    return NULL;
}

static Error *check_size(const NcclGroup *g, const Transfer *t, size_t bytes)
{
    if (bytes == t->bytes) return NULL;
    return error_new("rank %d sends %zu bytes to rank %d, which expects %zu", t->peer, bytes,
                     g->comm.rank, t->bytes);
}

static Error *receive_to(NcclGroup *g, int peer, void *to, size_t bytes)
{
    NcclLink *l = &g->from[peer];
    if (bytes == 0) return NULL;
    TRY(nccl_check(g, l->nccl, g->calls->ncclRecv(to, bytes, ncclUint8, 0, l->nccl, l->queue),
                   "receive"));
    return nccl_note(g, l->queue, "receive", (int64_t)bytes, U8, peer);
}

static Error *keep_early(NcclGroup *g, int peer, const Header *h)
{
    NcclRoom *r;
    TRY(take_room(g, (size_t)h->bytes, &r));
    TRY(receive_to(g, peer, r->data, (size_t)h->bytes));
    wait_in_line(g, r, peer, (int)h->tag);
    return nccl_cuda(g, g->calls->cudaEventRecord(r->last, g->from[peer].queue));
}

/* `done` is recorded where the message is there; the caller's stream is at `queue`. */
static Error *receive(NcclGroup *g, const Transfer *t, cudaStream_t queue, cudaEvent_t done)
{
    NcclRoom *early = take_early(g, t);
    if (early) {
        TRY(check_size(g, t, early->message));
        TRY(nccl_cuda(g, g->calls->cudaStreamWaitEvent(queue, early->last, 0)));
        TRY(copy(g, t->data, early->data, t->bytes, queue));
        TRY(let_go(g, early, queue));
        return nccl_cuda(g, g->calls->cudaEventRecord(done, queue));
    }
    if (t->peer == g->comm.rank || !g->from[t->peer].nccl)
        return error_new("rank %d waits for a message of rank %d that nobody sends", g->comm.rank,
                         t->peer);
    for (;;) {
        Header h = { 0 };
        const Transfer note = { .peer = t->peer, .data = &h, .bytes = sizeof h };
        TRY(g->host->exchange(g->host, NULL, 0, &note, 1, NULL));
        if (h.tag == t->tag) {
            TRY(check_size(g, t, (size_t)h.bytes));
            TRY(follow(g, g->from[t->peer].queue, queue));
            TRY(receive_to(g, t->peer, t->data, t->bytes));
            return nccl_cuda(g, g->calls->cudaEventRecord(done, g->from[t->peer].queue));
        }
        TRY(keep_early(g, t->peer, &h));
    }
}

/* ---- exchanges ---- */

static struct Pending *take_pending(NcclGroup *g, int n)
{
    struct Pending *p = g->idle;
    if (p) {
        g->idle = p->next;
    } else {
        p = calloc(1, sizeof *p);
        CHECK(p != NULL);
    }
    if (n > p->n_made) {
        p->event = realloc(p->event, sizeof *p->event * (size_t)n);
        CHECK(p->event != NULL);
        memset(p->event + p->n_made, 0, sizeof *p->event * (size_t)(n - p->n_made));
        p->n_made = n;
    }
    p->n = 0;
    p->error = NULL;
    return p;
}

static Error *next_event(const NcclGroup *g, struct Pending *p, cudaEvent_t *out)
{
    CHECK(p->event && p->n < p->n_made);
    cudaEvent_t *e = &p->event[p->n];
    if (!*e) TRY(nccl_cuda(g, g->calls->cudaEventCreateWithFlags(e, cudaEventDisableTiming)));
    p->n++;
    *out = *e;
    return NULL;
}

static Error *begin_send(NcclGroup *g, struct Pending *p, const Transfer *t, cudaStream_t queue)
{
    cudaEvent_t done;
    if (t->peer == g->comm.rank || t->bytes == 0) return send_copy(g, t, queue);
    TRY(send_from(g, t, t->data, queue));
    TRY(next_event(g, p, &done));
    return nccl_cuda(g, g->calls->cudaEventRecord(done, g->to[t->peer].queue));
}

static Error *begin_receives(NcclGroup *g, struct Pending *p, const Transfer *receives, int n,
                             cudaStream_t queue)
{
    for (int i = 0; i < n; i++) {
        cudaEvent_t done;
        TRY(next_event(g, p, &done));
        TRY(receive(g, &receives[i], queue, done));
    }
    return NULL;
}

static Error *begin(NcclGroup *g, struct Pending *p, const Transfer *sends, int n_sends,
                    const Transfer *receives, int n_receives, cudaStream_t queue, bool copies)
{
    g->host->label = g->comm.label;
    TRY(nccl_ended(g, "exchange"));
    TRY(nccl_cuda(g, g->calls->cudaSetDevice(g->cuda->number)));
    for (int i = 0; i < n_sends; i++)
        TRY(copies ? send_copy(g, &sends[i], queue) : begin_send(g, p, &sends[i], queue));
    return begin_receives(g, p, receives, n_receives, queue);
}

struct Pending *nccl_start(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                           int n_receives, struct Stream *s)
{
    NcclGroup *g = nccl_of(c);
    struct Pending *p = take_pending(g, n_sends + n_receives);
    p->error = begin(g, p, sends, n_sends, receives, n_receives, nccl_queue(s), false);
    return p;
}

Error *nccl_finish(Comm *c, struct Pending *p, struct Stream *s)
{
    NcclGroup *g = nccl_of(c);
    Error *e = p->error;
    for (int i = 0; i < p->n && !e; i++)
        e = nccl_cuda(g, g->calls->cudaStreamWaitEvent(nccl_queue(s), p->event[i], 0));
    p->next = g->idle;
    g->idle = p;
    return e;
}

Error *nccl_exchange(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                     int n_receives, struct Stream *s)
{
    NcclGroup *g = nccl_of(c);
    struct Pending *p = take_pending(g, n_receives);
    p->error = begin(g, p, sends, n_sends, receives, n_receives, nccl_queue(s), true);
    return nccl_finish(c, p, s);
}

static void free_rooms(const NcclGroup *g, NcclRoom *first)
{
    while (first) {
        NcclRoom *r = first;
        first = r->next;
        if (r->data) g->calls->cudaFree(r->data);
        if (r->last) g->calls->cudaEventDestroy(r->last);
        free(r);
    }
}

void nccl_free_messages(NcclGroup *g)
{
    free_rooms(g, g->room);
    free_rooms(g, g->early);
    while (g->idle) {
        struct Pending *p = g->idle;
        g->idle = p->next;
        for (int i = 0; i < p->n_made; i++)
            if (p->event[i]) g->calls->cudaEventDestroy(p->event[i]);
        free(p->event);
        free(p);
    }
}
