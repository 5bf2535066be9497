/* pack_pipeline.c - equal threads that take, whenever they are free, the first of these that there
 * is to do:
 *
 *   write the tokens of a job that has its place in the output
 *   place the job that is next in order, once it is encoded: one thread at a time
 *   read the lines of a new job (one thread at a time) and encode them
 *
 * So nothing waits for a slow job but the places after it, each thread mostly writes what it has
 * just made, and there is no thread beside those that encode. A fixed number of jobs goes round:
 * memory is bounded however far one thread falls behind, and nothing is allocated once the buffers
 * have grown. Order and content come from the jobs' numbers, never from timing. */
#include "data/pack_pipeline.h"
#include "base/log.h"
#include "base/signal.h"
#include "base/thread.h"
#include <errno.h>
#include <string.h>

/* Lines on their way at most (unless each thread has more to do), however large the queues are set.
 */
enum { MOST_LINES = 1 << 18 };
/* More jobs than that keep no thread busier. */
enum { JOBS_PER_THREAD = 16 };

typedef struct Pipeline {
    const PackPipeline *settings;
    PackSource *source; /* of the thread that reads, and of the one that places, each its fields */
    PackOutput *output; /* of the thread that places */
    int64_t lines_per_job, n_jobs;
    Job *job;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    Job *free;     /* those used last come first: their memory is in a cache */
    Job **encoded; /* by number, modulo n_jobs: what waits for its place */
    Job *placed;   /* what waits to be written */
    int64_t n_read, n_placed, n_written;
    bool is_reading, is_placing, is_at_end;
    Error *failure;
    bool is_torn; /* the failure has left something unwritten */
} Pipeline;

static int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

/* ---- jobs ---- */

static void push(Job **list, Job *job)
{
    job->next = *list;
    *list = job;
}

static Job *pop(Job **list)
{
    Job *job = *list;
    *list = job->next;
    return job;
}

/* As many jobs as the queues ask for, within MOST_LINES lines on their way, and not many more than
 * the lines of this source can need. */
static void make_jobs(Pipeline *p, Arena *a)
{
    const PackSettings *s = p->settings->settings;
    int64_t n_lines = pack_source_most_lines(p->source), n_threads = p->settings->n_threads;
    int64_t size = at_most(s->processing_batch_size, at_most(n_lines + 1, MOST_LINES));
    int64_t n = at_most(s->raw_samples_queue_size, MOST_LINES) +
                at_most(s->processed_samples_queue_size, MOST_LINES) + n_threads;
    n = at_most(n, n_threads + MOST_LINES / size);
    n = at_most(n, n_threads * JOBS_PER_THREAD + 1);
    n = at_most(n, n_lines / size + 2);
    p->lines_per_job = size;
    p->n_jobs = n;
    p->job = NEW_N(a, Job, n);
    p->encoded = NEW_N(a, Job *, n);
    for (int64_t i = 0; i < n; i++) {
        job_open(a, size, &p->job[i]);
        push(&p->free, &p->job[i]);
    }
}

/* ---- what a thread does: called and left with the lock, worked without it ---- */

/* The first one counts. */
static void fail(Pipeline *p, Error *e, bool is_torn)
{
    if (!e) return;
    p->is_torn |= is_torn;
    if (p->failure)
        error_free(e);
    else
        p->failure = e;
}

static void write_one(Pipeline *p)
{
    Job *job = pop(&p->placed);
    pthread_mutex_unlock(&p->lock);
    Error *e = pack_output_write(p->output, job);
    pthread_mutex_lock(&p->lock);
    fail(p, e, true);
    p->n_written++;
    push(&p->free, job);
}

/* A part is made of what is written, so it waits for that. */
static bool can_place(const Pipeline *p)
{
    return !p->failure && !p->is_placing && p->encoded[p->n_placed % p->n_jobs] &&
           (p->n_written == p->n_placed || !pack_output_is_due(p->output));
}

/* Between two jobs is where the work may stop. */
static void place_one(Pipeline *p)
{
    Job **at = &p->encoded[p->n_placed % p->n_jobs], *job = *at;
    bool is_all_written = p->n_written == p->n_placed;
    *at = NULL;
    p->is_placing = true;
    pthread_mutex_unlock(&p->lock);
    Error *stop = NULL, *e = NULL;
    if (signal_stop_requested())
        stop = error_stopped("stopped by a signal; %s was not written",
                             p->settings->settings->dst_path);
    if (!stop && is_all_written) e = pack_output_reach(p->output);
    if (!stop && !e) e = pack_output_place(p->output, p->source, job);
    if (!stop && !e) {
        e = job->end;
        job->end = NULL;
        progress_update(p->settings->progress,
                        p->settings->progress_before + pack_source_stored_done(p->source));
    }
    bool is_placed = !stop && !e;
    pthread_mutex_lock(&p->lock);
    p->is_placing = false;
    fail(p, stop, false);
    fail(p, e, true);
    p->n_placed += is_placed;
    push(is_placed ? &p->placed : &p->free, job);
}

static bool can_read(const Pipeline *p)
{
    return !p->failure && !p->is_reading && !p->is_at_end && p->free;
}

static void read_and_encode(Pipeline *p, JobEncoder *encoder)
{
    Job *job = pop(&p->free);
    p->is_reading = true;
    pthread_mutex_unlock(&p->lock);
    bool some = pack_source_take(p->source, p->lines_per_job, job);
    pthread_mutex_lock(&p->lock);
    p->is_reading = false;
    if (!some) {
        p->is_at_end = true;
        push(&p->free, job);
        return;
    }
    job->number = p->n_read++;
    p->is_at_end = job->end != NULL;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    job_encode(encoder, job);
    pthread_mutex_lock(&p->lock);
    p->encoded[job->number % p->n_jobs] = job;
}

/* ---- the threads ---- */

/* At a stop, what has its place is still written. */
static bool is_over(const Pipeline *p)
{
    if (p->is_torn) return true;
    bool is_ending = p->failure || (p->is_at_end && p->n_placed == p->n_read);
    return is_ending && !p->is_placing && p->n_written == p->n_placed;
}

static void work(Pipeline *p, JobEncoder *encoder)
{
    pthread_mutex_lock(&p->lock);
    while (!is_over(p)) {
        if (p->placed)
            write_one(p);
        else if (can_place(p))
            place_one(p);
        else if (can_read(p))
            read_and_encode(p, encoder);
        else {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
}

typedef struct Worker {
    Pipeline *pipeline;
    JobEncoder *encoder;
    pthread_t thread;
} Worker;

static void *run_worker(void *arg)
{
    Worker *w = arg;
    work(w->pipeline, w->encoder);
    return NULL;
}

/* Each thread does any of the work, so that it gets done however few there are. */
static void run_threads(Pipeline *p, Arena *a)
{
    int64_t n = p->settings->n_threads, n_started = 1;
    Worker *worker = NEW_N(a, Worker, n);
    for (; n_started < n; n_started++) {
        Worker *w = &worker[n_started];
        *w = (Worker){ .pipeline = p, .encoder = &p->settings->encoder[n_started] };
        if (thread_start(&w->thread, run_worker, w)) continue;
        log_warning("only %lld of %lld threads can be made (%s); going on with fewer",
                    (long long)n_started, (long long)n, strerror(errno));
        break;
    }
    work(p, &p->settings->encoder[0]);
    for (int64_t i = 1; i < n_started; i++) pthread_join(worker[i].thread, NULL);
}

Error *pack_pipeline_run(const PackPipeline *settings, PackSource *source)
{
    Arena *a = arena_new();
    Pipeline p = { .settings = settings, .source = source, .output = settings->output };
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    make_jobs(&p, a);
    run_threads(&p, a);
    Error *e = p.is_torn ? NULL : pack_output_reach(p.output);
    for (int64_t i = 0; i < p.n_jobs; i++) job_close(&p.job[i]);
    pthread_mutex_destroy(&p.lock);
    pthread_cond_destroy(&p.changed);
    arena_free(a);
    return error_join(p.failure, e);
}
