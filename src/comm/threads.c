/* threads.c - the ranks of a job as threads of one process.
 *
 * A collective call is: say what you have, a gate, read and write the memory of the others, a gate.
 * Each member makes its own part of a reduction. At a gate a rank that has a core of its own looks
 * again and again for some milliseconds; then it sleeps. An abort opens all gates; who leaves
 * because of one waits until nobody reads its memory any more. */
#include "comm/threads.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "comm/reduce.h"
#include "comm/transports.h"
#include "comm/waiting.h"
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { YIELDS = 100, LOOKS = 20 };

static Member *member_of(Comm *c)
{
    return (Member *)c;
}

/* -- abort -- */

Error *member_error(const Member *me, const char *op)
{
    const Group *g = me->group;
    if (!atomic_load(&g->world->is_aborted)) return NULL;
    return waiting_ended(&me->comm, g->rank[me->comm.rank], op, g->world->why);
}

static void wake_all(Group *g)
{
    pthread_mutex_lock(&g->lock);
    pthread_cond_broadcast(&g->opened);
    for (int r = 0; r < g->size; r++) pthread_cond_signal(&g->member[r].changed);
    pthread_mutex_unlock(&g->lock);
}

static void world_abort(World *w, const char *why)
{
    pthread_mutex_lock(&w->lock);
    if (!w->why) {
        w->why = strdup(why);
        CHECK(w->why != NULL);
        atomic_store(&w->is_aborted, true);
        for (Group *g = w->groups; g; g = g->next) wake_all(g);
    }
    pthread_mutex_unlock(&w->lock);
}

static void threads_abort(Comm *c, const char *why)
{
    world_abort(member_of(c)->group->world, why);
}

static Error *threads_ended(Comm *c, const char *op)
{
    return member_error(member_of(c), op);
}

void member_give_up(const Member *me, int missing)
{
    const Group *g = me->group;
    char why[100];
    waiting_too_long(&me->comm, g->rank[me->comm.rank], g->rank[missing], why, sizeof why);
    world_abort(g->world, why);
}

/* -- waiting -- */

void condition_init(pthread_cond_t *c)
{
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(c, &a);
    pthread_condattr_destroy(&a);
}

struct timespec member_deadline(const Member *me)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    long nanoseconds =
        t.tv_nsec + (long)(1e9 * (me->comm.timeout - (double)(time_t)me->comm.timeout));
    t.tv_sec += (time_t)me->comm.timeout + nanoseconds / 1000000000;
    t.tv_nsec = nanoseconds % 1000000000;
    return t;
}

/* The first member that has not come as far as `me`; the lock is held. */
static int find_missing(const Member *me)
{
    const Group *g = me->group;
    for (int r = 0; r < g->size; r++)
        if (g->member[r].n_gates < me->n_gates) return r;
    return me->comm.rank;
}

static bool is_open(Group *g, unsigned seen)
{
    return atomic_load(&g->generation) != seen || atomic_load(&g->world->is_aborted);
}

static void sleep_at_gate(Member *me, unsigned seen)
{
    Group *g = me->group;
    struct timespec deadline = member_deadline(me);
    int missing = -1;
    pthread_mutex_lock(&g->lock);
    while (!is_open(g, seen) && missing < 0)
        if (pthread_cond_timedwait(&g->opened, &g->lock, &deadline) && !is_open(g, seen))
            missing = find_missing(me);
    pthread_mutex_unlock(&g->lock);
    if (missing >= 0) member_give_up(me, missing);
}

/* For up to some milliseconds: others, among them the ranks that are waited for, may need the core,
 * so it is given away between looks, first for a moment and then for longer ones. */
static void look_at_gate(Group *g, unsigned seen)
{
    for (int i = 0; i < YIELDS && !is_open(g, seen); i++) sched_yield();
    if (is_open(g, seen)) return;
    prctl(PR_SET_TIMERSLACK, 1000UL); /* sleeps are as long as they say */
    for (long i = 1; i <= LOOKS && !is_open(g, seen); i++)
        nanosleep(&(struct timespec){ .tv_nsec = 20000 * i }, NULL);
}

/* Returns when all members have come, or the job is aborted. */
static void pass_gate(Member *me)
{
    Group *g = me->group;
    pthread_mutex_lock(&g->lock);
    unsigned seen = atomic_load(&g->generation);
    me->n_gates++;
    bool is_last = ++g->n_arrived == g->size;
    if (is_last) {
        g->n_arrived = 0;
        g->opened_at = clock_seconds();
        atomic_fetch_add(&g->generation, 1);
        pthread_cond_broadcast(&g->opened);
    }
    pthread_mutex_unlock(&g->lock);
    if (is_last) return;
    if (g->world->has_cores) look_at_gate(g, seen);
    if (!is_open(g, seen)) sleep_at_gate(me, seen);
}

/* -- collective calls -- */

static bool is_same_call(const Call *a, const Call *b, int size)
{
    if (strcmp(a->op, b->op) != 0 || a->dtype != b->dtype || a->reduce != b->reduce ||
        a->root != b->root || a->n != b->n)
        return false;
    return !a->counts || !memcmp(a->counts, b->counts, sizeof *a->counts * (size_t)size);
}

static void call_text(const Call *call, char *out, size_t size)
{
    snprintf(out, size, "%s of %" PRId64 " %s", call->op, call->n, dtype_name(call->dtype));
}

/* Members that make different calls would read what is not there. */
static Error *check_calls(const Member *me)
{
    const Group *g = me->group;
    char mine[100], other[100];
    for (int r = 0; r < g->size; r++) {
        const Call *a = &me->call, *b = &g->member[r].call;
        bool fits = is_same_call(a, b, g->size);
        if (fits && a->send) fits = b->send[me->comm.rank] == a->receive[r];
        if (fits) continue;
        call_text(a, mine, sizeof mine);
        call_text(b, other, sizeof other);
        return error_new("rank %d makes %s over %s, but rank %d makes %s%s", g->rank[me->comm.rank],
                         mine, me->comm.label ? me->comm.label : "all ranks", g->rank[r], other,
                         strcmp(mine, other) ? "" : " with other counts");
    }
    return NULL;
}

static Error *do_work(Member *me, void (*work)(Member *me))
{
    Group *g = me->group;
    Error *e = NULL;
    atomic_fetch_add(&g->n_reading, 1);
    if (!atomic_load(&g->world->is_aborted)) e = check_calls(me);
    if (!e && !atomic_load(&g->world->is_aborted)) work(me);
    atomic_fetch_sub(&g->n_reading, 1);
    return e;
}

static Error *call_together(Comm *c, Call call, void (*work)(Member *me))
{
    Member *me = member_of(c);
    Group *g = me->group;
    TRY(member_error(me, call.op));
    me->call = call;
    pass_gate(me);
    Error *e = do_work(me, work);
    delay_call(me);
    if (e) world_abort(g->world, error_text(e));
    error_free(e);
    pass_gate(me);
    while (atomic_load(&g->world->is_aborted) && atomic_load(&g->n_reading) > 0) sched_yield();
    return member_error(me, call.op);
}

static void *at(const void *base, Dtype t, int64_t i)
{
    return (char *)base + dtype_size(t) * (size_t)i;
}

static void copy(void *to, const void *from, Dtype t, int64_t n)
{
    if (n > 0 && to != from) memcpy(to, from, dtype_size(t) * (size_t)n);
}

static int64_t sum(const int64_t *counts, int n)
{
    int64_t total = 0;
    for (int r = 0; r < n; r++) total += counts[r];
    return total;
}

/* Pointers to the inputs of all members, in its scratch memory, and as many further ones. */
static void **inputs_of_all(Member *me)
{
    const Group *g = me->group;
    void **in = buffer_grow(&me->scratch, 2 * sizeof *in * (size_t)g->size);
    for (int r = 0; r < g->size; r++) in[r] = (void *)g->member[r].call.in;
    return in;
}

static void reduce_for_all(Member *me)
{
    const Call *call = &me->call;
    int size = me->group->size;
    int64_t from, to;
    void **data = inputs_of_all(me);
    reduce_slice(call->n, size, me->comm.rank, &from, &to);
    reduce_range(call->dtype, call->reduce, (const void *const *)data, size, data, size, from, to);
}

static Error *threads_all_reduce(Comm *c, void *data, int64_t n, Dtype t, ReduceOp op,
                                 struct Stream *s)
{
    (void)s;
    Call call = { .op = "all_reduce", .dtype = t, .reduce = op, .n = n, .in = data };
    return call_together(c, call, reduce_for_all);
}

static void gather_parts(Member *me)
{
    const Group *g = me->group;
    const Call *call = &me->call;
    for (int64_t r = 0, from = 0; r < g->size; from += call->counts[r++])
        copy(at(call->out, call->dtype, from), g->member[r].call.in, call->dtype, call->counts[r]);
}

static Error *threads_all_gather(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                                 struct Stream *s)
{
    (void)s;
    Call call = { .op = "all_gather",
                  .dtype = t,
                  .n = sum(counts, c->size),
                  .counts = counts,
                  .in = in,
                  .out = out };
    return call_together(c, call, gather_parts);
}

static void reduce_own_part(Member *me)
{
    const Call *call = &me->call;
    int size = me->group->size, rank = me->comm.rank;
    void **in = inputs_of_all(me);
    int64_t from = sum(call->counts, rank);
    for (int r = 0; r < size; r++) in[r] = at(in[r], call->dtype, from);
    reduce_range(call->dtype, call->reduce, (const void *const *)in, size, &me->call.out, 1, 0,
                 call->counts[rank]);
}

static Error *threads_reduce_scatter(Comm *c, const void *in, void *out, const int64_t *counts,
                                     Dtype t, ReduceOp op, struct Stream *s)
{
    (void)s;
    Call call = { .op = "reduce_scatter",
                  .dtype = t,
                  .reduce = op,
                  .n = sum(counts, c->size),
                  .counts = counts,
                  .in = in,
                  .out = out };
    return call_together(c, call, reduce_own_part);
}

static void take_from_all(Member *me)
{
    const Group *g = me->group;
    const Call *call = &me->call;
    for (int64_t r = 0, to = 0; r < g->size; to += call->receive[r++]) {
        const Call *other = &g->member[r].call;
        int64_t from = sum(other->send, me->comm.rank);
        copy(at(call->out, call->dtype, to), at(other->in, call->dtype, from), call->dtype,
             call->receive[r]);
    }
}

static Error *threads_all_to_all(Comm *c, const void *in, const int64_t *send, void *out,
                                 const int64_t *receive, Dtype t, struct Stream *s)
{
    (void)s;
    Call call = {
        .op = "all_to_all", .dtype = t, .in = in, .send = send, .out = out, .receive = receive
    };
    return call_together(c, call, take_from_all);
}

static void take_from_root(Member *me)
{
    const Call *call = &me->call;
    copy(call->out, me->group->member[call->root].call.in, U8, call->n);
}

static Error *threads_broadcast(Comm *c, void *data, size_t bytes, int root, struct Stream *s)
{
    (void)s;
    CHECK(root >= 0 && root < c->size);
    Call call = {
        .op = "broadcast", .dtype = U8, .n = (int64_t)bytes, .root = root, .in = data, .out = data
    };
    return call_together(c, call, take_from_root);
}

const Comm threads_calls = {
    .transport = "threads",
    .layer = -1,
    .step = -1,
    .timeout = COMM_TIMEOUT,
    .all_reduce = threads_all_reduce,
    .all_gather = threads_all_gather,
    .reduce_scatter = threads_reduce_scatter,
    .all_to_all = threads_all_to_all,
    .broadcast = threads_broadcast,
    .exchange = threads_exchange,
    .start = threads_start,
    .finish = threads_finish,
    .group = threads_group,
    .abort = threads_abort,
    .ended = threads_ended,
    .free = threads_free,
};
