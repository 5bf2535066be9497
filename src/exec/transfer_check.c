/* transfer_check.c - whether what the ranks of a pipeline send each other meets, before any runs.
 */
#include "exec/transfer_check.h"
#include "comm/mesh.h"
#include "exec/program_parts.h"
#include <inttypes.h>
#include <string.h>

static double bytes_of(const Node *n, const Launch *l)
{
    if (n->op->sent && transfer_use(n, 0).kind == TRANSFER_ALL) return n->op->sent(l);
    return (double)tensor_bytes(l->n_in ? &l->in[0] : &l->out[0]);
}

static void add_due(Arena *a, const Program *p, const Action *x, TransferList *to)
{
    for (int64_t i = 0; i < p->n_steps; i++) {
        const Step *s = &p->step[i];
        if (!(s->node->axes >> MESH_PP & 1) || !program_is_due(s, x)) continue;
        to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
        to->item[to->n++] = (TransferEvent){ .op = s->node->op->name,
                                             .use = transfer_use(s->node, x->microbatch),
                                             .microbatch = x->microbatch,
                                             .bytes = bytes_of(s->node, s->launch) };
    }
}

TransferList transfers_of(Arena *a, const Program *p, const Schedule *schedule)
{
    static const unsigned segment[] = { RUN_FORWARD, RUN_BACKWARD | RUN_LAST, RUN_REDUCE,
                                        RUN_UPDATE };
    TransferList list = { 0 };
    for (int64_t i = 0; i < schedule->n; i++) {
        const Action whole = program_with_last(p, &schedule->action[i]);
        for (size_t k = 0; k < sizeof segment / sizeof *segment; k++) {
            Action part = whole;
            part.phases &= segment[k];
            if (part.phases) add_due(a, p, &part, &list);
        }
    }
    return list;
}

typedef struct Message {
    int from, to;
    int64_t tag;
    double bytes;
    bool is_taken;
} Message;

typedef struct Run {
    Arena *arena;
    const TransferList *list;
    int n;
    int64_t *at; /* by rank: the event that comes next */
    Message *message;
    int64_t n_messages, cap;
} Run;

static const TransferEvent *next_of(const Run *r, int rank)
{
    return r->at[rank] < r->list[rank].n ? &r->list[rank].item[r->at[rank]] : NULL;
}

static bool takes_part(const TransferEvent *e, int rank)
{
    return !e->use.ranks || e->use.ranks >> rank & 1;
}

static Error *take(Run *r, int rank, const TransferEvent *e, bool *moved)
{
    for (int64_t i = 0; i < r->n_messages; i++) {
        Message *m = &r->message[i];
        if (m->is_taken || m->from != e->use.peer || m->to != rank || m->tag != e->use.tag)
            continue;
        if (m->bytes != e->bytes)
            return error_new("rank %d of the pipeline sends %.0f bytes to rank %d, which expects "
                             "%.0f (microbatch %" PRId64 ")",
                             m->from, m->bytes, rank, e->bytes, e->microbatch);
        m->is_taken = *moved = true;
        r->at[rank]++;
        return NULL;
    }
    return NULL;
}

/* All that take part must have come. */
static Error *meet(Run *r, int rank, const TransferEvent *e, bool *moved)
{
    for (int other = 0; other < r->n; other++) {
        const TransferEvent *x = next_of(r, other);
        if (!takes_part(e, other)) continue;
        if (!x || x->use.kind != TRANSFER_ALL || x->use.ranks != e->use.ranks) return NULL;
        if (strcmp(x->op, e->op) != 0 || x->bytes != e->bytes)
            return error_new("rank %d of the pipeline comes to %s of %.0f bytes, rank %d to %s of "
                             "%.0f",
                             rank, e->op, e->bytes, other, x->op, x->bytes);
    }
    const uint64_t ranks = e->use.ranks;
    for (int other = 0; other < r->n; other++)
        if (!ranks || ranks >> other & 1) r->at[other]++;
    *moved = true;
    return NULL;
}

static Error *move(Run *r, int rank, const TransferEvent *e, bool *moved)
{
    if (e->use.kind == TRANSFER_RECEIVE) return take(r, rank, e, moved);
    if (e->use.kind == TRANSFER_ALL) return meet(r, rank, e, moved);
    r->message = arena_grow(r->arena, r->message, r->n_messages, &r->cap, sizeof *r->message);
    r->message[r->n_messages++] = (Message){ rank, e->use.peer, e->use.tag, e->bytes, false };
    r->at[rank]++;
    *moved = true;
    return NULL;
}

static Error *stuck(const Run *r)
{
    for (int rank = 0; rank < r->n; rank++) {
        const TransferEvent *e = next_of(r, rank);
        if (e && e->use.kind == TRANSFER_RECEIVE)
            return error_new("rank %d of the pipeline would wait for ever for what rank %d sends "
                             "in microbatch %" PRId64,
                             rank, e->use.peer, e->microbatch);
        if (e) return error_new("rank %d of the pipeline would wait for ever in %s", rank, e->op);
    }
    for (int64_t i = 0; i < r->n_messages; i++)
        if (!r->message[i].is_taken)
            return error_new("what rank %d of the pipeline sends to rank %d is never taken",
                             r->message[i].from, r->message[i].to);
    return NULL;
}

Error *transfers_check(Arena *a, const TransferList *of_rank, int n_ranks, int64_t *n_messages)
{
    Run r = { .arena = a, .list = of_rank, .n = n_ranks, .at = NEW_N(a, int64_t, n_ranks) };
    for (bool any = true; any;) {
        any = false;
        for (int rank = 0; rank < n_ranks; rank++)
            for (bool moved = true; moved;) {
                const TransferEvent *e = next_of(&r, rank);
                moved = false;
                if (e) TRY(move(&r, rank, e, &moved));
                any |= moved;
            }
    }
    *n_messages = r.n_messages;
    return stuck(&r);
}
