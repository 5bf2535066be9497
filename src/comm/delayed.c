/* delayed.c - threads whose calls take as long as links between machines would.
 *
 * A call is over when its bytes have had the time that the link needs, counted from the moment at
 * which the last rank came; a message likewise, after the ones before it to the same rank. Whoever
 * waits sleeps, so that two cores can show how well transfers hide behind computing. */
#include "base/clock.h"
#include "comm/threads.h"
#include "comm/transports.h"
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static const CommLink *find_link(const Member *me)
{
    const World *w = me->group->world;
    const CommLink *other = NULL;
    for (int i = 0; i < w->n_links; i++) {
        const CommLink *l = &w->links[i];
        if (!l->label) other = l;
        if (l->label && me->comm.label && !strcmp(l->label, me->comm.label)) return l;
    }
    return other;
}

static double transfer_seconds(const CommLink *l, double bytes)
{
    return l->latency + bytes / l->bytes_per_second;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double sum_of_others(const Member *me, const int64_t *counts)
{
    double total = 0;
    for (int r = 0; r < me->group->size; r++)
        if (r != me->comm.rank) total += (double)counts[r];
    return total;
}

/* Bytes that a ring sends on each link; for all to all what this rank sends or receives. */
static double bytes_of_call(const Member *me)
{
    const Call *call = &me->call;
    double share = (me->group->size - 1.0) / me->group->size;
    double size_of = (double)dtype_size(call->dtype), whole = size_of * (double)call->n;
    if (call->send)
        return size_of * larger(sum_of_others(me, call->send), sum_of_others(me, call->receive));
    if (!strcmp(call->op, "all_reduce")) return 2 * share * whole;
    return strcmp(call->op, "broadcast") ? share * whole : whole;
}

void delay_call(const Member *me)
{
    const CommLink *l = find_link(me);
    if (l && me->group->size > 1)
        delay_until(me, me->group->opened_at + transfer_seconds(l, bytes_of_call(me)));
}

double delay_message(const Member *me, const Transfer *t)
{
    const CommLink *l = find_link(me);
    if (!l || t->peer == me->comm.rank) return 0;
    double free_at = larger(clock_seconds(), me->busy[t->peer]);
    me->busy[t->peer] = free_at + (double)t->bytes / l->bytes_per_second;
    return me->busy[t->peer] + l->latency;
}

/* In short pieces, so that an abort does not wait for a long transfer. */
void delay_until(const Member *me, double time)
{
    const double piece = 0.05;
    for (double left; time > 0 && (left = time - clock_seconds()) > 0;) {
        if (atomic_load(&me->group->world->is_aborted)) return;
        if (left > piece) left = piece;
        const struct timespec t = { .tv_nsec = (long)(left * 1e9) };
        prctl(PR_SET_TIMERSLACK, 1000UL); /* not 50 microseconds longer */
        nanosleep(&t, NULL);
    }
}

void comm_delayed_new(int n, const CommLink *links, int n_links, Comm **out_by_rank)
{
    comm_threads_new(n, out_by_rank);
    World *w = ((Member *)out_by_rank[0])->group->world;
    w->links = links;
    w->n_links = n_links;
    for (int r = 0; r < n; r++) out_by_rank[r]->transport = "delayed";
}
