/* mpi_exchange.c - messages between the processes of MPI, begun and ended apart.
 *
 * What is sent is copied first: MPI would hold the sender until the receiver comes. */
#include "base/error.h"
#include "comm/mpi.h"
#include <stdlib.h>

/* Messages that are waited for. */
typedef struct Pending {
    struct Pending *next;
    Flight flight;
} Pending;

static void check_transfer(const Comm *c, const Transfer *t)
{
    CHECK(t->peer >= 0 && t->peer < c->size && t->tag >= 0 && t->tag < COMM_MAX_TAG);
}

static Pending *new_pending(MpiComm *m)
{
    Pending *x = m->idle;
    if (x) {
        m->idle = x->next;
    } else {
        x = calloc(1, sizeof *x);
        CHECK(x != NULL);
    }
    flight_clear(&x->flight);
    return x;
}

void mpi_free_pending(MpiComm *m)
{
    for (Pending *x = m->idle, *next; x; x = next) {
        next = x->next;
        flight_free(&x->flight);
        free(x);
    }
}

Pending *mpi_start(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                   int n_receives, struct Stream *s)
{
    (void)s;
    MpiComm *m = mpi_of(c);
    Pending *x = new_pending(m);
    if (atomic_load(&m->world->is_aborted)) return x;
    for (int i = 0; i < n_receives; i++) {
        const Transfer *t = &receives[i];
        check_transfer(c, t);
        flight_receive(m, &x->flight, t->data, t->bytes, t->peer, t->tag);
    }
    for (int i = 0; i < n_sends; i++) {
        check_transfer(c, &sends[i]);
        mpi_leave_message(m, &sends[i]);
    }
    return x;
}

Error *mpi_finish(Comm *c, Pending *x, struct Stream *s)
{
    (void)s;
    MpiComm *m = mpi_of(c);
    Error *e = flight_wait(m, &x->flight, "exchange");
    x->next = m->idle;
    m->idle = x;
    return e;
}

Error *mpi_exchange(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                    int n_receives, struct Stream *s)
{
    TRY(mpi_abort_error(mpi_of(c), "exchange"));
    return mpi_finish(c, mpi_start(c, sends, n_sends, receives, n_receives, s), s);
}
