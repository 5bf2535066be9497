/* thread.h - a pool of worker threads for kernels, and a bounded queue between threads. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread that calls run(arg); the caller joins it. False with errno when the system allows
 * no further one (limits of a user or of a job), which is nobody's mistake: go on without it, or
 * end with an error. */
bool thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);
/* Lets the calling thread, which mostly waits, run as soon as it wakes, also where every core
 * computes: else it would wait for the next tick, up to 4 ms. Linux before 6.12 does not know it:
 * nothing. */
void thread_wake_soon(void);
/* Cores that this process may use. */
int thread_cores(void);

/* n threads including the caller. Workers spin for a bounded time, then sleep. */
typedef struct Pool Pool;

/* n_threads 0: one per available core, or MODALITIES_THREADS when that is set. Where the system
 * allows fewer, a warning says so, and there are fewer. */
Pool *pool_new(int n_threads);
void pool_free(Pool *p);
int pool_size(const Pool *p);
/* Calls task(arg, i, thread) for i in [0, n_tasks), each once, claimed in rising order by whichever
 * thread is free; `thread` is in [0, pool_size). Returns when all are done. Results must not depend
 * on who ran what: give each task its own output and combine in task order. Not reentrant. */
void pool_run(Pool *p, int64_t n_tasks, void (*task)(void *arg, int64_t i, int thread), void *arg);
/* The even split used for fixed pieces: piece i of n_pieces of `total` is [*from, *to). */
void split_range(int64_t total, int64_t n_pieces, int64_t i, int64_t *from, int64_t *to);

/* A bounded first-in first-out queue of owned pointers. */
typedef struct Queue Queue;

Queue *queue_new(int capacity);
void queue_free(Queue *q);
/* Waits while full. False when the queue was closed; the item stays the caller's. */
bool queue_put(Queue *q, void *item);
/* Waits while empty. False when closed and empty. */
bool queue_take(Queue *q, void **item);
/* Wakes everybody; later puts fail, takes drain what is left. */
void queue_close(Queue *q);
#endif
