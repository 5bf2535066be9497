/* test_delayed.c - thread ranks whose calls take as long as links would. */
#include "base/clock.h"
#include "comm/transports.h"
#include "comm_cases.h"
#include "rank_threads.h"
#include "test.h"
#include <unistd.h>

static void on_delayed_ranks(int n, const CommLink *links, int n_links,
                             Error *(*run)(Comm *c, void *arg), void *arg)
{
    Comm *comm[MAX_RANKS];
    comm_delayed_new(n, links, n_links, comm);
    assert_string_equal(comm[0]->transport, "delayed");
    run_rank_threads(comm, n, run, arg, NULL);
}

static Error *everything(Comm *c, void *arg)
{
    (void)arg;
    TRY(comm_cases_calls(c, 64));
    TRY(comm_cases_exchange(c, 5000));
    return comm_cases_groups(c);
}

TEST(delayed_ranks_do_what_ranks_do)
{
    static const CommLink links[] = { { NULL, 1e-6, 1e9 } };
    on_delayed_ranks(4, links, 1, everything, NULL);
}

/* Seconds that calls of rank 0 took, and of its core. */
typedef struct Took {
    double call, near, message, core;
} Took;

static Error *measure(Comm *c, void *arg)
{
    static float data[2][250000], in[2][250000]; /* 1 MB a rank */
    Took *took = arg, t;
    float *own = data[c->rank];
    int ranks[2] = { 0, 1 };
    Comm *near;
    TRY(c->group(c, ranks, 2, 0, &near));
    c->label = "far";
    near->label = "near";
    double began = clock_seconds(), core = clock_thread_seconds();
    TRY(c->all_reduce(c, own, 250000, F32, REDUCE_SUM, NULL));
    t.call = clock_seconds() - began;
    Transfer send = { 1 - c->rank, 0, own, 1000000 };
    Transfer receive = { 1 - c->rank, 0, in[c->rank], 1000000 };
    TRY(c->exchange(c, &send, 1, &receive, 1, NULL));
    t.message = clock_seconds() - began - t.call;
    t.core = clock_thread_seconds() - core;
    began = clock_seconds();
    TRY(near->all_reduce(near, own, 250000, F32, REDUCE_SUM, NULL));
    t.near = clock_seconds() - began;
    near->free(near);
    if (c->rank == 0) *took = t;
    return NULL;
}

TEST(calls_take_the_time_of_their_link_and_no_core)
{
    static const CommLink links[] = { { "far", 0.05, 1e7 }, { "near", 0, 1e12 } };
    Took t;
    on_delayed_ranks(2, links, 2, measure, &t);
    assert_true(t.call >= 0.15);             /* half of the bytes twice, at 10 MB a second */
    assert_true(t.call + t.message >= 0.30); /* all of them once */
    assert_true(t.core < 0.15);
    assert_true(t.near < t.call); /* has a link of its own */
}

static Error *come_late(Comm *c, void *arg)
{
    char data[1000] = { 0 };
    Transfer t = { 1 - c->rank, 0, data, sizeof data };
    if (c->rank == 0) return c->exchange(c, &t, 1, NULL, 0, NULL);
    usleep(700000);
    double began = clock_seconds();
    TRY(c->exchange(c, NULL, 0, &t, 1, NULL));
    *(double *)arg = clock_seconds() - began;
    return NULL;
}

TEST(a_message_travels_while_its_receiver_does_something_else)
{
    static const CommLink links[] = { { NULL, 0.6, 1e9 } };
    double waited;
    on_delayed_ranks(2, links, 1, come_late, &waited);
    assert_true(waited < 0.5);
}
