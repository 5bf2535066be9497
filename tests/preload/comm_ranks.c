/* comm_ranks.c - a process of an MPI job that tries what every transport must do, or fails in it.
 *
 * usage: comm_ranks calls|exchange|groups|threads|none      tried by all ranks
 *        comm_ranks abort|die|stop|hang|leave   what the last rank does while others
 * wait Ranks print "rank R: done", or the error on stderr and end with status 1. */
#include "../comm/comm_cases.h"
#include "base/clock.h"
#include "base/signal.h"
#include "base/thread.h"
#include "comm/transports.h"
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct GroupThread {
    pthread_t thread;
    Comm *group;
    Error *error;
} GroupThread;

static Error *calls_and_messages(Comm *c)
{
    TRY(comm_cases_calls(c, 5003));
    return comm_cases_exchange(c, 100000);
}

static void *group_main(void *arg)
{
    GroupThread *g = arg;
    g->error = calls_and_messages(g->group);
    return NULL;
}

/* Two messages to this rank itself, both under way at once. */
static Error *send_to_itself(Comm *c)
{
    struct Pending *pending[2];
    int32_t out[2] = { 1, 2 }, in[2] = { 0 };
    for (int i = 0; i < 2; i++) {
        const Transfer send = { c->rank, i, &out[i], sizeof out[i] },
                       receive = { c->rank, i, &in[i], sizeof in[i] };
        pending[i] = c->start(c, &send, 1, &receive, 1, NULL);
    }
    TRY(error_join(c->finish(c, pending[0], NULL), c->finish(c, pending[1], NULL)));
    return in[0] == 1 && in[1] == 2 ? NULL : error_new("got %d and %d", in[0], in[1]);
}

/* What a message takes is there for the next one. */
static Error *keep_memory(Comm *c)
{
    enum { MESSAGES = 2000, NOTHING = 16 << 10 };
    size_t before = 0;
    for (int i = 0; i < 2 * MESSAGES; i++) {
        if (i == MESSAGES) before = mallinfo2().uordblks;
        TRY(send_to_itself(c));
    }
    const size_t now = mallinfo2().uordblks;
    if (now <= before + NOTHING) return NULL;
    return error_new("%d pairs of messages have kept %zu bytes", MESSAGES, now - before);
}

/* Three groups of the same ranks at once, each by a thread. */
static Error *several_threads(Comm *c)
{
    int ranks[64];
    GroupThread g[2];
    for (int r = 0; r < c->size; r++) ranks[r] = r;
    for (int i = 0; i < 2; i++) {
        TRY(c->group(c, ranks, c->size, i, &g[i].group));
        if (!thread_start(&g[i].thread, group_main, &g[i])) return error_new("no thread");
    }
    Error *e = calls_and_messages(c);
    for (int i = 0; i < 2; i++) {
        pthread_join(g[i].thread, NULL);
        g[i].group->free(g[i].group);
        e = error_join(e, g[i].error);
    }
    return e;
}

static Error *wait_for_last(Comm *c, bool with_messages)
{
    float x = 1;
    Transfer t = { c->size - 1, 5, &x, sizeof x };
    c->label = "dp_shard";
    c->layer = 3;
    c->step = 17;
    return with_messages ? c->exchange(c, NULL, 0, &t, 1, NULL)
                         : c->all_reduce(c, &x, 1, F32, REDUCE_SUM, NULL);
}

/* All but the last rank, which has died, wait in MPI itself. */
static Error *make_group(Comm *c)
{
    int ranks[64];
    Comm *out;
    for (int r = 0; r < c->size; r++) ranks[r] = r;
    if (c->rank == c->size - 1) raise(SIGKILL);
    return c->group(c, ranks, c->size, 0, &out);
}

/* When the last rank has stopped. */
static void *signal_later(void *unused)
{
    usleep(1500000);
    kill(getpid(), SIGTERM);
    return unused;
}

static Error *fail(Comm *c, const char *how)
{
    pthread_t later;
    float many[100000] = { 0 };
    TRY(c->all_reduce(c, many, 100000, F32, REDUCE_SUM, NULL));
    if (!strcmp(how, "group")) return make_group(c);
    if (!strcmp(how, "differ"))
        return c->all_reduce(c, many, c->rank < c->size - 1 ? 200 : 100, F32, REDUCE_SUM, NULL);
    if (!strcmp(how, "stop") && c->rank == 0 && !thread_start(&later, signal_later, NULL))
        return error_new("no thread");
    if (c->rank < c->size - 1) return wait_for_last(c, c->rank % 2);
    usleep(300000);
    if (!strcmp(how, "abort")) c->abort(c, "the last rank has had enough");
    if (!strcmp(how, "die")) raise(SIGKILL);
    if (!strcmp(how, "stop")) raise(SIGSTOP);
    if (!strcmp(how, "hang")) sleep(6);
    if (!strcmp(how, "leave")) exit(3);
    return c->all_reduce(c, many, 1, F32, REDUCE_SUM, NULL);
}

static Error *run(Comm *c, const char *what)
{
    if (!strcmp(what, "none")) return NULL;
    if (!strcmp(what, "calls")) return comm_cases_calls(c, 300001);
    if (!strcmp(what, "exchange")) TRY(comm_cases_exchange(c, 20000003));
    if (!strcmp(what, "exchange")) return keep_memory(c);
    if (!strcmp(what, "groups")) return comm_cases_groups(c);
    if (!strcmp(what, "threads")) return several_threads(c);
    return fail(c, what);
}

/* What a training does: a signal that asks for a stop does not end it at once. */
static int try_as_rank(const Rank *rank, const char *what)
{
    Comm *c;
    signal_catch();
    Error *e = comm_mpi_open(rank, &c);
    double began = clock_seconds();
    if (!e) {
        e = run(c, what);
        c->free(c);
    }
    if (e)
        fprintf(stderr, "rank %d: error after %.1f s: %s\n", (int)rank->rank,
                clock_seconds() - began, error_text(e));
    else
        printf("rank %d: done\n", (int)rank->rank);
    int status = e ? 1 : 0;
    error_free(e);
    return status;
}

int main(int argc, char **argv)
{
    Rank rank;
    if (argc != 2) return 2;
    Error *e = rank_of_process(&rank);
    if (!e) return try_as_rank(&rank, argv[1]);
    fprintf(stderr, "%s\n", error_text(e));
    error_free(e);
    return 2;
}
