/* thread.c - pool with claimed tasks, and a queue.
 *
 * Why not OpenMP: its spinning makes a step several times slower when another program runs on the
 * machine. Here workers spin for some tens of microseconds and then wait on a futex, and tasks are
 * claimed one at a time, so a thread that lost its core delays only its own piece. */
#include "base/thread.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 4000, MAX_THREADS = 512 };

bool thread_start(pthread_t *out, void *(*run)(void *arg), void *arg)
{
    errno = pthread_create(out, NULL, run, arg);
    return errno == 0;
}

/* The scheduler runs whose time slice ends first, so a short one goes before those that compute. It
 * gives no thread more of the cores. */
void thread_wake_soon(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns, deadline, period;
        uint32_t clamp_min, clamp_max;
    } attr = { .size = sizeof attr };
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) || attr.policy != SCHED_OTHER) return;
    attr.slice_ns = 100000;
    (void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

struct Pool {
    int n_threads;
    pthread_t thread[MAX_THREADS];
    _Atomic uint32_t generation; /* rises with every pool_run; the futex word */
    _Atomic int sleeping, running;
    _Atomic uint32_t done; /* futex word of the caller */
    _Atomic bool waits;    /* the caller sleeps, or is about to */
    _Atomic int64_t next;
    int64_t n_tasks;
    void (*task)(void *arg, int64_t i, int thread);
    void *arg;
    bool stop;
};

typedef struct Worker {
    Pool *pool;
    int index;
} Worker;

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void claim_tasks(Pool *p, int thread)
{
    for (int64_t i; (i = atomic_fetch_add(&p->next, 1)) < p->n_tasks;) p->task(p->arg, i, thread);
}

static uint32_t wait_for_work(Pool *p, uint32_t seen)
{
    for (int i = 0; i < SPINS; i++) {
        uint32_t now = atomic_load(&p->generation);
        if (now != seen) return now;
        relax();
    }
    atomic_fetch_add(&p->sleeping, 1);
    while (atomic_load(&p->generation) == seen) futex_wait(&p->generation, seen);
    atomic_fetch_sub(&p->sleeping, 1);
    return atomic_load(&p->generation);
}

static void *worker_main(void *arg)
{
    Worker w = *(Worker *)arg;
    free(arg);
    uint32_t seen = 0;
    for (;;) {
        seen = wait_for_work(w.pool, seen);
        if (w.pool->stop) return NULL;
        claim_tasks(w.pool, w.index);
        if (atomic_fetch_sub(&w.pool->running, 1) == 1 && atomic_load(&w.pool->waits)) {
            atomic_fetch_add(&w.pool->done, 1);
            futex_wake_all(&w.pool->done);
        }
    }
}

int thread_cores(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

static int threads_wanted(void)
{
    const char *set = environment_get("MODALITIES_THREADS");
    return set && atoi(set) > 0 ? atoi(set) : thread_cores();
}

Pool *pool_new(int n_threads)
{
    Pool *p = memory_or_end(calloc(1, sizeof *p), sizeof *p);
    p->n_threads = n_threads > 0 ? n_threads : threads_wanted();
    if (p->n_threads > MAX_THREADS) p->n_threads = MAX_THREADS;
    for (int i = 1; i < p->n_threads; i++) {
        Worker *w = memory_or_end(malloc(sizeof *w), sizeof *w);
        *w = (Worker){ p, i };
        if (thread_start(&p->thread[i], worker_main, w)) continue;
        log_warning("only %d of %d threads can be made (%s); going on with fewer", i, p->n_threads,
                    strerror(errno));
        free(w);
        p->n_threads = i;
    }
    return p;
}

void pool_free(Pool *p)
{
    if (!p) return;
    p->stop = true;
    atomic_fetch_add(&p->generation, 1);
    futex_wake_all(&p->generation);
    for (int i = 1; i < p->n_threads; i++) pthread_join(p->thread[i], NULL);
    free(p);
}

int pool_size(const Pool *p)
{
    return p->n_threads;
}

static void wait_for_workers(Pool *p)
{
    for (int i = 0; atomic_load(&p->running) > 0; i++) {
        if (i < SPINS) {
            relax();
            continue;
        }
        uint32_t seen = atomic_load(&p->done);
        atomic_store(&p->waits, true);
        if (atomic_load(&p->running) > 0) futex_wait(&p->done, seen);
    }
    if (atomic_load(&p->waits)) atomic_store(&p->waits, false);
}

void pool_run(Pool *p, int64_t n_tasks, void (*task)(void *arg, int64_t i, int thread), void *arg)
{
    if (p->n_threads == 1 || n_tasks <= 1) {
        for (int64_t i = 0; i < n_tasks; i++) task(arg, i, 0);
        return;
    }
    p->task = task;
    p->arg = arg;
    p->n_tasks = n_tasks;
    atomic_store(&p->next, 0);
    atomic_store(&p->running, p->n_threads - 1);
    atomic_fetch_add(&p->generation, 1);
    if (atomic_load(&p->sleeping) > 0) futex_wake_all(&p->generation);
    claim_tasks(p, 0);
    wait_for_workers(p);
}

void split_range(int64_t total, int64_t n_pieces, int64_t i, int64_t *from, int64_t *to)
{
    *from = total * i / n_pieces;
    *to = total * (i + 1) / n_pieces;
}

struct Queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void **item;
    int capacity, n, first;
    bool closed;
};

Queue *queue_new(int capacity)
{
    CHECK(capacity > 0);
    Queue *q = memory_or_end(calloc(1, sizeof *q), sizeof *q);
    q->item = memory_or_end(calloc((size_t)capacity, sizeof *q->item),
                            (size_t)capacity * sizeof *q->item);
    q->capacity = capacity;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    return q;
}

void queue_free(Queue *q)
{
    if (!q) return;
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->changed);
    free(q->item);
    free(q);
}

bool queue_put(Queue *q, void *item)
{
    pthread_mutex_lock(&q->lock);
    while (q->n == q->capacity && !q->closed) pthread_cond_wait(&q->changed, &q->lock);
    bool open = !q->closed;
    if (open) q->item[(q->first + q->n++) % q->capacity] = item;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    return open;
}

bool queue_take(Queue *q, void **item)
{
    pthread_mutex_lock(&q->lock);
    while (q->n == 0 && !q->closed) pthread_cond_wait(&q->changed, &q->lock);
    bool some = q->n > 0;
    if (some) {
        *item = q->item[q->first];
        q->first = (q->first + 1) % q->capacity;
        q->n--;
    }
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    return some;
}

void queue_close(Queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}
