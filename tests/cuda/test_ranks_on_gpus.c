/* test_ranks_on_gpus.c - what every transport must do, between GPUs: NCCL's calls of the mock. */
#include "comm/transports.h"
#include "comm_cases.h"
#include "device/cuda_library.h"
#include "device_calls.h"
#include "rank_threads.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one rank does with its GPU. */
typedef struct OnGpus {
    Error *(*run)(Comm *c, void *arg);
    void *arg;
} OnGpus;

static Error *on_own_gpu(Comm *host, void *arg)
{
    const OnGpus *x = arg;
    Device *d;
    Comm *there = NULL, *c;
    bool sends[MAX_RANKS];
    memset(sends, 1, sizeof sends);
    host->label = "all";
    TRY(gpu_open(host->rank, 1, &d));
    Error *e = d->comm_new(d, host, sends, &there);
    if (!e) e = device_calls_new(d, there, &c);
    if (!e) e = x->run(c, x->arg);
    if (!e) c->free(c); /* else with the device */
    d->free(d);
    return e;
}

static void on_gpus(int n, Error *(*run)(Comm *c, void *arg), void *arg, Error **error)
{
    setenv("MODALITIES_MOCK_GPUS", "8", 1);
    OnGpus x = { run, arg };
    on_ranks(n, on_own_gpu, &x, error);
}

static Error *all_calls(Comm *c, void *arg)
{
    (void)arg;
    return comm_cases_calls(c, 3);
}

TEST(gpus_reduce_gather_and_scatter)
{
    static const int sizes[] = { 1, 2, 3, MAX_RANKS };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        on_gpus(sizes[i], all_calls, NULL, NULL);
}

static Error *all_messages(Comm *c, void *arg)
{
    (void)arg;
    return comm_cases_exchange(c, 100);
}

TEST(gpus_exchange_messages_by_tags)
{
    static const int sizes[] = { 1, 2, 4 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        on_gpus(sizes[i], all_messages, NULL, NULL);
}

static Error *all_groups(Comm *c, void *arg)
{
    (void)arg;
    return comm_cases_groups(c);
}

TEST(gpus_form_groups_of_groups)
{
    on_gpus(3, all_groups, NULL, NULL);
}

/* The last rank leaves out a call. */
static Error *leave_one_out(Comm *c, void *arg)
{
    float x[3] = { 1, 2, 3 };
    (void)arg;
    TRY(c->all_reduce(c, x, 3, F32, REDUCE_SUM, NULL));
    c->origin = "optimize (reduce), src/x.c:12";
    c->n_nodes = 42;
    if (c->rank == c->size - 1) return error_new("this rank has gone home");
    return c->all_reduce(c, x, 3, F32, REDUCE_SUM, NULL);
}

TEST(gpus_that_wait_for_a_rank_say_in_which_call)
{
    Error *error[3] = { NULL };
    setenv("MODALITIES_COMM_TIMEOUT", "1", 1);
    on_gpus(3, leave_one_out, NULL, error);
    unsetenv("MODALITIES_COMM_TIMEOUT");
    for (int r = 0; r < 2; r++) {
        assert_non_null(error[r]);
        assert_contains(error_text(error[r]),
                        "all_reduce of 3 f32 over all, in node 42 of this group: optimize "
                        "(reduce), src/x.c:12 (call 1, ");
    }
    for (int r = 0; r < 3; r++) error_free(error[r]);
}

static Error *nothing(Comm *c, void *arg)
{
    (void)c, (void)arg;
    return NULL;
}

/* As two ranks of a wrong launch would. */
static Error *share_gpu(Comm *host, void *arg)
{
    Device *d;
    Comm *there = NULL;
    (void)arg;
    TRY(gpu_open(0, 1, &d));
    Error *e = d->comm_new(d, host, NULL, &there);
    d->free(d);
    return e;
}

TEST(ranks_that_share_a_gpu_are_refused)
{
    Error *error[2] = { NULL };
    on_ranks(2, share_gpu, NULL, error);
    for (int r = 0; r < 2; r++) {
        assert_non_null(error[r]);
        assert_contains(error_text(error[r]), "have the same GPU");
        error_free(error[r]);
    }
    on_gpus(2, nothing, NULL, NULL);
}
