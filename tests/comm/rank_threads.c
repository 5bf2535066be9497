/* rank_threads.c - the ranks of a job as threads of a test. */
#include "rank_threads.h"
#include "base/thread.h"
#include "comm/transports.h"
#include "test.h"

void *rank_thread_main(void *arg)
{
    RankThread *r = arg;
    r->error = r->run(r->comm, r->arg);
    return NULL;
}

void run_rank_threads(Comm **comm, int n, Error *(*run)(Comm *c, void *arg), void *arg,
                      Error **error)
{
    RankThread rank[MAX_RANKS] = { 0 };
    for (int r = 0; r < n; r++) {
        rank[r] = (RankThread){ .comm = comm[r], .run = run, .arg = arg };
        assert_true(thread_start(&rank[r].thread, rank_thread_main, &rank[r]));
    }
    for (int r = 0; r < n; r++) pthread_join(rank[r].thread, NULL);
    for (int r = 0; r < n; r++) {
        comm[r]->free(comm[r]);
        if (error)
            error[r] = rank[r].error;
        else
            assert_no_error(rank[r].error);
    }
}

void on_ranks(int n, Error *(*run)(Comm *c, void *arg), void *arg, Error **error)
{
    Comm *comm[MAX_RANKS];
    comm_threads_new(n, comm);
    run_rank_threads(comm, n, run, arg, error);
}
