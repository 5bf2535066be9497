/* mpi_watch.c - a thread of each process that hears of the other ranks of the job.
 *
 * Every second a rank sends a sign of life to the ranks 1, 2, 4, 8 ... places after it, so each is
 * watched by several, and the load stays small. Who misses one for SILENCE seconds aborts the job,
 * and tells all ranks why. That a process of the same machine has died is seen at once. A rank that
 * comes to its end says so and goes on until all have come to theirs. The thread also lets messages
 * that were left behind make progress, because Open MPI has no thread that does. */
#include "base/clock.h"
#include "base/log.h"
#include "base/signal.h"
#include "base/thread.h"
#include "comm/mpi.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BEAT = 1, SILENCE = 8, GAP = 3, STUCK = 5, TICK_MS = 20, MAX_BEATS = 32 };
/* seconds: in which a last message of one that has died may come; that telling all may take; for an
 * answer after a signal */
static const double last_words = 0.3, telling = 0.3, answer = 0.6;

typedef enum Kind { ALIVE, ASK, ABORT, END } Kind;

typedef struct Notice {
    Kind kind;
    int rank; /* of the sender */
    char text[1000];
} Notice;

/* Where a process is; two with the same kernel and space of ids can see each other. */
typedef struct Place {
    char host[72], kernel[40];
    int64_t ids;
    int64_t pid;
} Place;

typedef struct Peer {
    double heard; /* when, last */
    double died;  /* when that was seen; 0: not */
    bool has_ended;
    bool is_watched;
    int process; /* a descriptor of the process, on this machine; -1: none */
} Peer;

typedef struct MpiWatch {
    MpiWorld *world;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic bool is_ending;
    void *handle; /* a group of all ranks for notices only */
    int rank, size;
    Place *place;
    Peer *peer;
    Notice in, beat, last; /* the last one: an abort or the end, to all */
    void *receiving, *beating, *sending;
    int n_sending;
    int target[MAX_BEATS], n_targets;
    double beaten, signalled, end_sent;
} MpiWatch;

/* -- sending -- */

static void send_notice(MpiWatch *v, const Notice *n, int to, void *requests, int at)
{
    v->world->calls->send(v->handle, n, sizeof *n, to, 0, requests, at);
}

static bool is_done(MpiWatch *v, void *requests, int at, int n)
{
    for (int i = 0; i < n; i++) {
        bool done = false;
        int got;
        if (v->world->calls->test(requests, at + i, &done, &got) == 0 && !done) return false;
    }
    return true;
}

/* One whose last message still waits gets no further one. */
static void send_beats(MpiWatch *v, double now)
{
    if (now - v->beaten < BEAT) return;
    v->beaten = now;
    v->beat = (Notice){ .kind = ALIVE, .rank = v->rank };
    for (int i = 0; i < v->n_targets; i++)
        if (is_done(v, v->beating, i, 1)) send_notice(v, &v->beat, v->target[i], v->beating, i);
}

static void send_to_all(MpiWatch *v, Kind kind, const char *text)
{
    v->last = (Notice){ .kind = kind, .rank = v->rank };
    snprintf(v->last.text, sizeof v->last.text, "%s", text);
    v->n_sending = 0;
    for (int r = 0; r < v->size; r++)
        if (r != v->rank) send_notice(v, &v->last, r, v->sending, v->n_sending++);
}

/* -- hearing -- */

static void receive(MpiWatch *v)
{
    v->world->calls->receive(v->handle, &v->in, sizeof v->in, -1, 0, v->receiving, 0);
}

static void begin_abort(MpiWorld *w, const char *why)
{
    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->is_aborted)) {
        snprintf(w->why, sizeof w->why, "%s", why);
        atomic_store(&w->is_aborted, true);
    }
    pthread_mutex_unlock(&w->lock);
}

/* An answer goes with the next beats, which are made at once. */
static void hear(MpiWatch *v, double now)
{
    while (is_done(v, v->receiving, 0, 1)) {
        Notice n = v->in;
        receive(v);
        v->peer[n.rank].heard = now;
        if (n.kind == END) v->peer[n.rank].has_ended = true;
        if (n.kind == ASK) v->beaten = 0;
        if (n.kind != ABORT) continue;
        v->n_sending = -1; /* the sender tells the others */
        begin_abort(v->world, n.text);
    }
}

/* -- judging -- */

static const char *state_of(const Place *p)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)p->pid);
    FILE *f = fopen(path, "re");
    if (!f) return "dead or stopped";
    bool is_read = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    const char *state = is_read ? strrchr(line, ')') : NULL;
    if (state && (state[2] == 'T' || state[2] == 't')) return "stopped";
    return state && (state[2] == 'Z' || state[2] == 'X') ? "dead" : "alive, but silent";
}

static void report(MpiWatch *v, int r, const char *what)
{
    char why[400];
    const Place *p = &v->place[r];
    snprintf(why, sizeof why, "rank %d (process %lld on %s) %s", r, (long long)p->pid, p->host,
             what);
    begin_abort(v->world, why);
}

static void report_silence(MpiWatch *v, int r)
{
    char what[100];
    bool is_here = v->peer[r].process >= 0;
    snprintf(what, sizeof what, "is %s: nothing was heard of it for %d s",
             is_here ? state_of(&v->place[r]) : "dead or stopped", SILENCE);
    report(v, r, what);
}

static void judge(MpiWatch *v, double now)
{
    for (int r = 0; r < v->size && !atomic_load(&v->world->is_aborted); r++) {
        Peer *p = &v->peer[r];
        if (p->has_ended) continue;
        struct pollfd f = { .fd = p->process, .events = POLLIN };
        if (!p->died && p->process >= 0 && poll(&f, 1, 0) == 1) p->died = now;
        if (p->died && now - p->died > last_words)
            report(v, r, "has died");
        else if (p->is_watched && now - p->heard > SILENCE)
            report_silence(v, r);
    }
}

/* The first second after a signal shows whether it came because a rank died elsewhere. */
static void answer_signal(MpiWatch *v, double now)
{
    if (!signal_stop_requested() || v->signalled < 0) return;
    if (!v->signalled) {
        v->signalled = now;
        if (v->n_sending == 0) send_to_all(v, ASK, "");
        return;
    }
    if (now - v->signalled < answer) return;
    for (int r = 0; r < v->size; r++)
        if (v->peer[r].is_watched && !v->peer[r].has_ended && v->peer[r].heard < v->signalled)
            atomic_store(&v->world->unanswered, r + 1);
    v->signalled = -1;
}

/* -- the thread -- */

static bool have_all_ended(const MpiWatch *v)
{
    for (int r = 0; r < v->size; r++)
        if (r != v->rank && !v->peer[r].has_ended) return false;
    return true;
}

/* True when this rank and all others are at their end. */
static bool end_together(MpiWatch *v, double now)
{
    if (!atomic_load(&v->is_ending)) return false;
    if (v->n_sending > 0 && !is_done(v, v->sending, 0, v->n_sending)) return false;
    if (!v->end_sent) {
        send_to_all(v, END, "");
        v->end_sent = now;
        return false;
    }
    if (now - v->end_sent > v->world->all->comm.timeout)
        begin_abort(v->world, "not all ranks have come to the end of the job");
    return have_all_ended(v);
}

static void rest(MpiWatch *v)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += 1000000 * (atomic_load(&v->world->n_left) > 0 ? 1 : TICK_MS);
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    pthread_mutex_lock(&v->lock);
    if (!atomic_load(&v->world->is_aborted)) pthread_cond_timedwait(&v->changed, &v->lock, &t);
    pthread_mutex_unlock(&v->lock);
}

static void tell_abort(MpiWatch *v)
{
    const double until = clock_seconds() + telling;
    if (v->n_sending < 0) return; /* heard from another */
    while (v->n_sending > 0 && !is_done(v, v->sending, 0, v->n_sending))
        if (clock_seconds() > until) return;
    send_to_all(v, ABORT, v->world->why);
    while (!is_done(v, v->sending, 0, v->n_sending) && clock_seconds() < until) usleep(1000);
}

/* What no abort can wake is ended here. */
static void end_what_is_stuck(MpiWatch *v)
{
    for (int i = 0; i < STUCK * 50 && atomic_load(&v->world->n_stuck) > 0; i++) usleep(20000);
    if (atomic_load(&v->world->n_stuck) == 0) return;
    log_warning("%s; rank %d ends, because MPI does not come back", v->world->why, v->rank);
    _exit(1);
}

static void *watch_main(void *arg)
{
    MpiWatch *v = arg;
    double before = clock_seconds();
    for (bool is_end = false; !is_end && !atomic_load(&v->world->is_aborted);) {
        double now = clock_seconds();
        /* this process itself did not run: nothing is known of the others */
        for (int r = 0; now - before > GAP && r < v->size; r++) v->peer[r].heard = now;
        before = now;
        hear(v, now);
        send_beats(v, now);
        judge(v, now);
        answer_signal(v, now);
        is_end = end_together(v, now);
        mpi_progress(v->world);
        if (!is_end) rest(v);
    }
    if (!atomic_load(&v->world->is_aborted)) return NULL;
    tell_abort(v);
    atomic_store(&v->world->is_silent, true);
    end_what_is_stuck(v);
    return NULL;
}

void mpi_abort_job(MpiWorld *w, const char *why)
{
    begin_abort(w, why);
    pthread_mutex_lock(&w->watch->lock);
    pthread_cond_signal(&w->watch->changed);
    pthread_mutex_unlock(&w->watch->lock);
}

/* -- beginning and end -- */

static Place own_place(void)
{
    Place p = { .pid = getpid() };
    struct stat s;
    gethostname(p.host, sizeof p.host - 1);
    if (stat("/proc/self/ns/pid", &s) == 0) p.ids = (int64_t)s.st_ino;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f && !fgets(p.kernel, sizeof p.kernel, f)) p.kernel[0] = 0;
    if (f) fclose(f);
    return p;
}

static Error *learn_places(MpiWatch *v)
{
    Comm *c = &v->world->all->comm;
    const Place own = own_place();
    Arena *scratch = arena_new();
    int64_t *counts = NEW_N(scratch, int64_t, v->size);
    for (int r = 0; r < v->size; r++) counts[r] = sizeof own;
    Error *e = c->all_gather(c, &own, v->place, counts, U8, NULL);
    arena_free(scratch);
    for (int r = 0; !e && r < v->size; r++) {
        const Place *p = &v->place[r];
        bool is_here = r != v->rank && own.ids && p->ids == own.ids && own.kernel[0] &&
                       !strcmp(p->kernel, own.kernel);
        v->peer[r].process = is_here ? (int)syscall(SYS_pidfd_open, (pid_t)p->pid, 0) : -1;
        if (is_here && v->peer[r].process < 0 && errno == ESRCH) v->peer[r].died = clock_seconds();
    }
    return e;
}

static void choose_peers(MpiWatch *v)
{
    for (int reach = 1; reach < v->size; reach *= 2) {
        v->target[v->n_targets++] = (v->rank + v->size - reach) % v->size;
        v->peer[(v->rank + reach) % v->size].is_watched = true;
    }
    for (int r = 0; r < v->size; r++) v->peer[r].heard = clock_seconds();
}

Error *mpi_watch_start(MpiWorld *w)
{
    Arena *a = w->arena;
    MpiWatch *v = NEW(a, MpiWatch);
    pthread_condattr_t monotonic;
    w->watch = v;
    v->world = w;
    if (w->calls->all(&v->handle, &v->rank, &v->size))
        return error_new("MPI cannot copy its communicator");
    v->place = NEW_N(a, Place, v->size);
    v->peer = NEW_N(a, Peer, v->size);
    v->receiving = arena_alloc(a, w->calls->request_bytes);
    v->beating = arena_alloc(a, w->calls->request_bytes * MAX_BEATS);
    v->sending = arena_alloc(a, w->calls->request_bytes * (size_t)v->size);
    pthread_mutex_init(&v->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&v->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    TRY(learn_places(v));
    choose_peers(v);
    for (int i = 0; i < v->n_targets; i++) send_notice(v, &v->beat, v->target[i], v->beating, i);
    receive(v);
    if (thread_start(&v->thread, watch_main, v)) return NULL;
    return error_new("cannot start the thread that watches the other ranks: %s", strerror(errno));
}

void mpi_watch_stop(MpiWorld *w)
{
    MpiWatch *v = w->watch;
    atomic_store(&v->is_ending, true);
    pthread_join(v->thread, NULL);
    if (!atomic_load(&w->is_aborted)) w->calls->drop(v->receiving, 0);
    for (int r = 0; r < v->size; r++)
        if (v->peer[r].process >= 0) close(v->peer[r].process);
    pthread_mutex_destroy(&v->lock);
    pthread_cond_destroy(&v->changed);
}
