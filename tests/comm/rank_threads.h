/* rank_threads.h - the ranks of a job as threads of a test. */
#ifndef TESTS_RANK_THREADS_H
#define TESTS_RANK_THREADS_H
#include "comm/comm.h"
#include <pthread.h>

enum { MAX_RANKS = 8 };

typedef struct RankThread {
    pthread_t thread;
    Comm *comm;
    Error *(*run)(Comm *c, void *arg);
    void *arg;
    Error *error;
} RankThread;

/* For thread_start with a RankThread. */
void *rank_thread_main(void *arg);
/* Calls run(comm[r], arg) in a thread for each of n ranks and frees the groups. error[r] gets what
 * a rank returned; where `error` is NULL that fails the test. */
void run_rank_threads(Comm **comm, int n, Error *(*run)(Comm *c, void *arg), void *arg,
                      Error **error);
/* The same on new thread ranks. */
void on_ranks(int n, Error *(*run)(Comm *c, void *arg), void *arg, Error **error);
#endif
