/* mpi_flight.c - messages of any size over MPI, and waiting for them.
 *
 * A large message goes in pieces, because MPI libraries take memory of a message's size. Open MPI
 * moves data only while somebody calls it: who waits calls it again and again, at first at once,
 * then with short sleeps, so that the threads that compute keep their cores. */
#include "base/clock.h"
#include "base/log.h"
#include "comm/mpi.h"
#include "comm/waiting.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    PIECE = 8 << 20,
    MICROSECOND = 1000,
    YIELDS = 100,
    SHORTEST = 20 * MICROSECOND, /* sleeps, in nanoseconds */
    LONGEST = 200 * MICROSECOND
};

Error *mpi_abort_error(const MpiComm *c, const char *op)
{
    MpiWorld *w = c->world;
    return atomic_load(&w->is_aborted) ? waiting_ended(&c->comm, w->all->comm.rank, op, w->why)
                                       : NULL;
}

/* A status of MPI ends the job: what others wait for will not come. */
static void check_status(const MpiComm *c, const char *what, int status)
{
    char text[600], why[800];
    if (!status) return;
    c->world->calls->describe(status, text, sizeof text);
    snprintf(why, sizeof why, "rank %d cannot %s: %s", c->world->all->comm.rank, what, text);
    mpi_abort_job(c->world, why);
}

/* Of a message, with a request of its own. */
typedef struct Piece {
    int peer;     /* rank in the world */
    int receives; /* bytes; -1: it is sent */
} Piece;

void flight_clear(Flight *f)
{
    f->n = f->n_done = 0;
}

void flight_free(Flight *f)
{
    buffer_free(&f->requests);
    buffer_free(&f->pieces);
}

static void *next_request(MpiComm *c, Flight *f, int peer, int receives)
{
    void *requests = buffer_grow(&f->requests, c->world->calls->request_bytes * (size_t)(f->n + 1));
    Piece *pieces = buffer_grow(&f->pieces, sizeof *pieces * (size_t)(f->n + 1));
    pieces[f->n] = (Piece){ c->rank[peer], receives };
    return requests;
}

/* From here to leave_mpi no abort lets the owner of a buffer free it. */
static bool enter_mpi(MpiWorld *w)
{
    atomic_fetch_add(&w->n_calling, 1);
    if (!atomic_load(&w->is_aborted)) return true;
    atomic_fetch_sub(&w->n_calling, 1);
    return false;
}

static void leave_mpi(MpiWorld *w)
{
    atomic_fetch_sub(&w->n_calling, 1);
}

void flight_send(MpiComm *c, Flight *f, const void *data, size_t bytes, int peer, int tag)
{
    const char *from = data;
    for (size_t at = 0; at == 0 || at < bytes; at += PIECE) {
        size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        void *requests = next_request(c, f, peer, -1);
        if (!enter_mpi(c->world)) return;
        int status =
            c->world->calls->send(c->handle, from + at, (int)n, peer, tag, requests, f->n++);
        leave_mpi(c->world);
        check_status(c, "send", status);
    }
}

void flight_receive(MpiComm *c, Flight *f, void *data, size_t bytes, int peer, int tag)
{
    char *to = data;
    for (size_t at = 0; at == 0 || at < bytes; at += PIECE) {
        size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        void *requests = next_request(c, f, peer, (int)n);
        if (!enter_mpi(c->world)) return;
        int status =
            c->world->calls->receive(c->handle, to + at, (int)n, peer, tag, requests, f->n++);
        leave_mpi(c->world);
        check_status(c, "receive", status);
    }
}

/* One that gets less than it waits for has another call as its counterpart; of more MPI tells. */
static void check_size(MpiWorld *w, const Piece *p, int got)
{
    char why[200];
    if (p->receives < 0 || p->receives == got) return;
    snprintf(
        why, sizeof why,
        "rank %d got %d bytes from rank %d, but waited for %d: they do not make the same calls",
        w->all->comm.rank, got, p->peer, p->receives);
    mpi_abort_job(w, why);
}

/* Counts what is done; false with a status of MPI at the first one that is not, or has failed. */
static bool advance(MpiWorld *w, Flight *f, int *status)
{
    const Piece *piece = f->pieces.ptr;
    *status = 0;
    while (f->n_done < f->n) {
        bool is_done = false;
        int got = 0;
        if (!enter_mpi(w)) return false;
        *status = w->calls->test(f->requests.ptr, f->n_done, &is_done, &got);
        leave_mpi(w);
        if (*status || !is_done) return false;
        check_size(w, &piece[f->n_done++], got);
    }
    return true;
}

bool flight_is_done(MpiWorld *w, Flight *f)
{
    int status;
    return advance(w, f, &status) || status != 0; /* what has failed is nobody's now */
}

static void sleep_for(long nanoseconds)
{
    const struct timespec t = { .tv_nsec = nanoseconds };
    nanosleep(&t, NULL);
}

/* After a call that found nothing to do, the `idle`th one in a row. */
static void pause_between(int idle)
{
    if (idle < YIELDS) {
        sched_yield();
        return;
    }
    /* sleeps are as long as they say, not 50 microseconds longer */
    if (idle == YIELDS) prctl(PR_SET_TIMERSLACK, 1000UL);
    long nanoseconds = SHORTEST * (long)(idle - YIELDS + 1);
    sleep_for(nanoseconds < LONGEST ? nanoseconds : LONGEST);
}

static void give_up(const MpiComm *c, int missing)
{
    char why[100];
    waiting_too_long(&c->comm, c->rank[c->comm.rank], missing, why, sizeof why);
    mpi_abort_job(c->world, why);
}

/* Nobody is in MPI any more, so nothing is written to buffers that the caller will free. */
static Error *leave_for_abort(MpiComm *c, const char *op)
{
    MpiWorld *w = c->world;
    while (!atomic_load(&w->is_silent) || atomic_load(&w->n_calling) > 0) sleep_for(LONGEST);
    return mpi_abort_error(c, op);
}

/* A launcher that sends SIGTERM may be about to kill this process because another one died. */
static void tell_unanswered(const MpiComm *c, const char *op)
{
    char waited[WAITING_TEXT];
    int rank = atomic_exchange(&c->world->unanswered, 0) - 1;
    if (rank < 0) return;
    waiting_text(&c->comm, op, waited, sizeof waited);
    log_warning("rank %d does not answer since the signal came; rank %d waits in %s", rank,
                c->world->all->comm.rank, waited);
}

Error *flight_wait(MpiComm *c, Flight *f, const char *op)
{
    MpiWorld *w = c->world;
    bool is_done = f->n == 0 && !atomic_load(&w->is_aborted);
    double began = clock_seconds(), before = began;
    for (int idle = 0; !is_done && !atomic_load(&w->is_aborted); idle++) {
        int status, n_done = f->n_done;
        is_done = advance(w, f, &status);
        check_status(c, op, status);
        if (is_done) break;
        if (f->n_done > n_done) idle = 0;
        double now = clock_seconds();
        if (now - before > 10e-6) idle = 0; /* it moved data */
        if (now - began > c->comm.timeout)
            give_up(c, ((const Piece *)f->pieces.ptr)[f->n_done].peer);
        tell_unanswered(c, op);
        pause_between(idle);
        before = clock_seconds();
    }
    return is_done && !atomic_load(&w->is_aborted) ? NULL : leave_for_abort(c, op);
}

/* -- messages that are left behind -- */

typedef struct LeftMessage {
    struct LeftMessage *next;
    Buffer copy;
    Flight flight;
    enum { UNUSED, IN_THE_MAKING, SENT } state;
} LeftMessage;

/* One that is free, if possible with room for so many bytes. The lock is held. */
static LeftMessage *find_unused(MpiWorld *w, size_t bytes)
{
    LeftMessage *found = NULL;
    for (LeftMessage *m = w->message; m; m = m->next) {
        if (m->state != UNUSED) continue;
        if (!found || found->copy.cap < bytes) found = m;
    }
    return found;
}

static LeftMessage *new_message(MpiWorld *w, size_t bytes)
{
    pthread_mutex_lock(&w->lock);
    LeftMessage *m = find_unused(w, bytes);
    if (!m) {
        m = calloc(1, sizeof *m);
        CHECK(m != NULL);
        m->next = w->message;
        w->message = m;
    }
    m->state = IN_THE_MAKING;
    pthread_mutex_unlock(&w->lock);
    return m;
}

void mpi_leave_message(MpiComm *c, const Transfer *t)
{
    MpiWorld *w = c->world;
    mpi_progress(w);
    LeftMessage *m = new_message(w, t->bytes);
    void *copy = buffer_grow(&m->copy, t->bytes + 1);
    if (t->bytes > 0) memcpy(copy, t->data, t->bytes);
    flight_clear(&m->flight);
    flight_send(c, &m->flight, copy, t->bytes, t->peer, t->tag);
    pthread_mutex_lock(&w->lock);
    m->state = SENT;
    atomic_fetch_add(&w->n_left, 1);
    pthread_mutex_unlock(&w->lock);
}

void mpi_progress(MpiWorld *w)
{
    if (atomic_load(&w->n_left) == 0) return;
    pthread_mutex_lock(&w->lock);
    for (LeftMessage *m = w->message; m; m = m->next) {
        if (m->state != SENT || !flight_is_done(w, &m->flight)) continue;
        m->state = UNUSED;
        atomic_fetch_sub(&w->n_left, 1);
    }
    pthread_mutex_unlock(&w->lock);
}

void mpi_free_messages(MpiWorld *w)
{
    for (LeftMessage *m = w->message, *next; m; m = next) {
        next = m->next;
        buffer_free(&m->copy);
        flight_free(&m->flight);
        free(m);
    }
}
