/* test_threads.c - ranks that are threads of one process. */
#include "base/clock.h"
#include "base/thread.h"
#include "comm/transports.h"
#include "comm_cases.h"
#include "rank_threads.h"
#include "test.h"
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static Error *all_calls(Comm *c, void *arg)
{
    (void)arg;
    return comm_cases_calls(c, 5003);
}

TEST(thread_ranks_reduce_gather_scatter_and_send_in_the_order_of_ranks)
{
    static const int sizes[] = { 1, 2, 3, 5, MAX_RANKS };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        on_ranks(sizes[i], all_calls, NULL, NULL);
}

static Error *all_messages(Comm *c, void *arg)
{
    (void)arg;
    return comm_cases_exchange(c, 100000);
}

TEST(thread_ranks_exchange_messages_by_tags)
{
    for (int n = 1; n <= MAX_RANKS; n++) on_ranks(n, all_messages, NULL, NULL);
}

static Error *all_groups(Comm *c, void *arg)
{
    (void)arg;
    return comm_cases_groups(c);
}

TEST(thread_ranks_form_groups_of_groups)
{
    for (int n = 1; n <= MAX_RANKS; n++) on_ranks(n, all_groups, NULL, NULL);
}

TEST(one_rank_alone_is_a_job)
{
    Comm *c = comm_self_new();
    assert_string_equal(c->transport, "self");
    assert_no_error(comm_cases_calls(c, 5003));
    assert_no_error(comm_cases_exchange(c, 100000));
    assert_no_error(comm_cases_groups(c));
    c->free(c);
}

/* -- several groups at once -- */

static Error *calls_of_a_group(Comm *c, void *arg)
{
    (void)arg;
    TRY(comm_cases_calls(c, 129));
    return comm_cases_exchange(c, 5000);
}

static Error *two_groups_at_once(Comm *c, void *arg)
{
    int ranks[MAX_RANKS];
    RankThread group[2] = { { .run = calls_of_a_group }, { .run = calls_of_a_group } };
    for (int r = 0; r < c->size; r++) ranks[r] = r;
    for (int g = 0; g < 2; g++) TRY(c->group(c, ranks, c->size, g, &group[g].comm));
    for (int g = 0; g < 2; g++)
        if (!thread_start(&group[g].thread, rank_thread_main, &group[g]))
            return error_new("no thread");
    Error *e = calls_of_a_group(c, arg);
    for (int g = 0; g < 2; g++) {
        pthread_join(group[g].thread, NULL);
        group[g].comm->free(group[g].comm);
        e = error_join(e, group[g].error);
    }
    return e;
}

TEST(several_groups_are_in_use_at_once_by_several_threads)
{
    on_ranks(4, two_groups_at_once, NULL, NULL);
}

/* -- aborts -- */

typedef struct Aborted {
    const char *call; /* that the others wait in */
    _Atomic int n_waiting;
} Aborted;

static Error *wait_in(Comm *c, const char *call)
{
    int64_t one = 1, counts[MAX_RANKS] = { 0 }, in[MAX_RANKS] = { 0 }, out[MAX_RANKS];
    Transfer t = { 0, 5, &one, sizeof one };
    for (int r = 0; r < c->size; r++) counts[r] = 1;
    if (!strcmp(call, "all_reduce")) return c->all_reduce(c, in, 8, I64, REDUCE_SUM, NULL);
    if (!strcmp(call, "all_gather")) return c->all_gather(c, in, out, counts, I64, NULL);
    if (!strcmp(call, "broadcast")) return c->broadcast(c, in, 8, 0, NULL);
    return c->exchange(c, NULL, 0, &t, 1, NULL);
}

/* Rank 0 aborts while all others wait for it, each in a group of its own with it or in the job's.
 */
static Error *one_aborts(Comm *c, void *arg)
{
    Aborted *a = arg;
    Comm *pair = NULL;
    if (c->rank == 0) {
        while (atomic_load(&a->n_waiting) < c->size - 1) usleep(1000);
        usleep(20000);
        c->abort(c, "rank 0 has had enough");
        return c->all_reduce(c, NULL, 0, F32, REDUCE_SUM, NULL);
    }
    int ranks[2] = { 0, c->rank };
    TRY(c->group(c, ranks, 2, 0, &pair));
    atomic_fetch_add(&a->n_waiting, 1);
    Error *e = wait_in(c->rank % 2 ? pair : c, a->call), *later = wait_in(pair, "all_reduce");
    if (!later) e = error_join(e, error_new("a call after the abort went well"));
    error_free(later);
    pair->free(pair);
    return e;
}

TEST(an_abort_wakes_all_that_wait_and_stays)
{
    static const char *const calls[] = { "all_reduce", "all_gather", "broadcast", "exchange" };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        Aborted a = { .call = calls[i] };
        Error *error[MAX_RANKS];
        on_ranks(6, one_aborts, &a, error);
        for (int r = 0; r < 6; r++) assert_error_has(error[r], "rank 0 has had enough");
    }
}

/* All send to each other without end, in memory of their own that goes with them. */
static Error *busy_until_the_end(Comm *c, void *arg)
{
    enum { N = 20000 };
    Error *e = NULL;
    for (int i = 0; !e; i++) {
        Arena *a = arena_new();
        float *data = NEW_N(a, float, N), *in = NEW_N(a, float, N);
        Transfer send = { (c->rank + 1) % c->size, 1, data, N * sizeof *data };
        Transfer receive = { (c->rank + c->size - 1) % c->size, 1, in, N * sizeof *in };
        if (c->rank == *(int *)arg && i == 20) c->abort(c, "stop");
        e = c->all_reduce(c, data, N, F32, REDUCE_SUM, NULL);
        if (!e) e = c->exchange(c, &send, 1, &receive, 1, NULL);
        arena_free(a);
    }
    return e;
}

TEST(memory_may_go_as_soon_as_an_aborted_call_returns)
{
    for (int who = 0; who < 4; who++) {
        Error *error[MAX_RANKS];
        on_ranks(4, busy_until_the_end, &who, error);
        for (int r = 0; r < 4; r++) assert_error_has(error[r], "stop");
    }
}

static Error *different_calls(Comm *c, void *arg)
{
    float data[16] = { 0 };
    c->label = "dp_shard";
    return c->all_reduce(c, data, c->rank == 2 ? 16 : 8, F32, *(ReduceOp *)arg, NULL);
}

TEST(ranks_that_make_different_calls_are_told_so)
{
    ReduceOp op = REDUCE_SUM;
    Error *error[MAX_RANKS];
    on_ranks(4, different_calls, &op, error);
    for (int r = 0; r < 4; r++) assert_error_has(error[r], "all_reduce of 16 f32");
}

static Error *one_does_not_come(Comm *c, void *arg)
{
    float x = 0;
    Transfer t = { 1, 5, &x, sizeof x };
    c->label = "cp";
    c->layer = 3;
    c->step = 17;
    c->origin = "rings (forward), src/x.c:12";
    c->n_nodes = 42;
    c->timeout = 0.3;
    if (c->rank == 1) return NULL;
    return *(bool *)arg ? c->exchange(c, NULL, 0, &t, 1, NULL)
                        : c->all_reduce(c, &x, 1, F32, REDUCE_SUM, NULL);
}

TEST(a_rank_that_does_not_come_is_an_error_with_place_and_step)
{
    for (int with_messages = 0; with_messages < 2; with_messages++) {
        bool arg = with_messages;
        Error *error[MAX_RANKS];
        on_ranks(3, one_does_not_come, &arg, error);
        assert_null(error[1]);
        for (int r = 0; r < 3; r += 2) {
            assert_contains(error_text(error[r]), "has waited 0.3 s for rank 1");
            assert_contains(error_text(error[r]),
                            ", in node 42 of this group: rings (forward), src/x.c:12");
            assert_error_has(error[r], arg ? "exchange over cp, layer 3, step 17"
                                           : "all_reduce over cp, layer 3, step 17");
        }
    }
}

static Error *of_wrong_size(Comm *c, void *arg)
{
    char data[8] = { 0 };
    Transfer t = { 1 - c->rank, 5, data, c->rank == 0 ? 4 : 8 };
    (void)arg;
    return c->rank == 0 ? c->exchange(c, &t, 1, NULL, 0, NULL)
                        : c->exchange(c, NULL, 0, &t, 1, NULL);
}

TEST(a_message_of_another_size_than_expected_is_refused)
{
    Error *error[MAX_RANKS];
    on_ranks(2, of_wrong_size, NULL, error);
    assert_error_has(error[1], "rank 0 sends 4 bytes to rank 1 (tag 5), which waits for 8");
    error_free(error[0]); /* may have left before the other came */
}

static Error *cpu_of_a_wait(Comm *c, void *arg)
{
    double *seconds = arg, began = clock_thread_seconds();
    if (c->rank == 0) usleep(500000);
    TRY(c->all_reduce(c, NULL, 0, F32, REDUCE_SUM, NULL));
    if (c->rank) seconds[c->rank] = clock_thread_seconds() - began;
    return NULL;
}

TEST(waiting_for_a_rank_leaves_the_cores_to_others)
{
    double seconds[MAX_RANKS] = { 0 };
    on_ranks(8, cpu_of_a_wait, seconds, NULL);
    for (int r = 1; r < 8; r++) assert_true(seconds[r] < 0.2);
}
