/* mpi.h - what the parts of the transport over MPI share. */
#ifndef COMM_MPI_H
#define COMM_MPI_H
#include "base/arena.h"
#include "base/buffer.h"
#include "base/rank.h"
#include "comm/comm.h"
#include "comm/mpi_calls.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Requests that are under way together. */
typedef struct Flight {
    Buffer requests, pieces;
    int n, n_done; /* done are the first n_done */
} Flight;

/* The job, as one of its processes sees it. */
typedef struct MpiWorld {
    const MpiCalls *calls;
    Arena *arena;
    struct MpiComm *all;
    struct MpiWatch *watch;
    pthread_mutex_t lock; /* of the text and of what was sent */
    char why[1000];       /* of the abort; stays as it is from then on */
    _Atomic bool is_aborted;
    _Atomic bool is_silent;      /* aborted, and the others were told: nobody calls MPI any more */
    _Atomic int n_calling;       /* threads that are in MPI just now */
    _Atomic int n_stuck;         /* threads in calls of MPI that no abort can end */
    _Atomic int unanswered;      /* a rank, and 1, that was silent since a signal came; 0: none */
    _Atomic int n_left;          /* messages that were sent and not taken yet */
    struct LeftMessage *message; /* these, and room for others */
} MpiWorld;

typedef struct MpiComm {
    Comm comm; /* first: what the caller holds */
    MpiWorld *world;
    void *handle;
    int *rank;       /* in the world, by rank in the group */
    int64_t *counts; /* room for a count by rank */
    Flight flight[2];
    struct Pending *idle; /* room for exchanges */
    Buffer scratch;
} MpiComm;

enum { MPI_TAG_OF_CALLS = MPI_HIGHEST_TAG }; /* of collective calls; exchange has those below */

static inline MpiComm *mpi_of(Comm *c)
{
    return (MpiComm *)c;
}

/* mpi_flight.c: messages of any size, in pieces. */

/* The abort, and what `c` is in, as an error; NULL where there is none. */
Error *mpi_abort_error(const MpiComm *c, const char *op);
/* A message that cannot be queued aborts the job, which flight_wait then tells. */
void flight_clear(Flight *f);
void flight_free(Flight *f);
void flight_send(MpiComm *c, Flight *f, const void *data, size_t bytes, int peer, int tag);
void flight_receive(MpiComm *c, Flight *f, void *data, size_t bytes, int peer, int tag);
/* Waits until all of it is done, or the job is aborted, or the comm's timeout has passed. */
Error *flight_wait(MpiComm *c, Flight *f, const char *op);
/* Whether all of it is done; never waits. */
bool flight_is_done(MpiWorld *w, Flight *f);
/* Sends a copy and does not wait. */
void mpi_leave_message(MpiComm *c, const Transfer *t);
/* Lets messages that were left make progress. */
void mpi_progress(MpiWorld *w);
void mpi_free_messages(MpiWorld *w);

/* mpi_collective.c */
Error *mpi_all_reduce(Comm *c, void *data, int64_t n, Dtype t, ReduceOp op, struct Stream *s);
Error *mpi_all_gather(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                      struct Stream *s);
Error *mpi_reduce_scatter(Comm *c, const void *in, void *out, const int64_t *counts, Dtype t,
                          ReduceOp op, struct Stream *s);
Error *mpi_all_to_all(Comm *c, const void *in, const int64_t *send, void *out,
                      const int64_t *receive, Dtype t, struct Stream *s);
Error *mpi_broadcast(Comm *c, void *data, size_t bytes, int root, struct Stream *s);

/* mpi_exchange.c */
struct Pending *mpi_start(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                          int n_receives, struct Stream *s);
Error *mpi_finish(Comm *c, struct Pending *p, struct Stream *s);
Error *mpi_exchange(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                    int n_receives, struct Stream *s);
void mpi_free_pending(MpiComm *m);

/* mpi_watch.c: a thread that hears of the other ranks. */

/* Collective over all ranks. */
Error *mpi_watch_start(MpiWorld *w);
/* Makes `why` the end of the job, here and at all other ranks; the first text counts. */
void mpi_abort_job(MpiWorld *w, const char *why);
/* Returns when all ranks have come to their end, or the job is aborted; the thread has ended. */
void mpi_watch_stop(MpiWorld *w);

#endif
