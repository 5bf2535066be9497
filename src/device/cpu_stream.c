/* cpu_stream.c - a queue of work and the thread that does it.
 *
 * A mark is a number of jobs: it is reached when so many have been done. A stream waits for another
 * by a job that does nothing else, so streams wait for each other only as far as their caller
 * ordered, and cannot deadlock. */
#include "device/cpu_stream.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/thread.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Job {
    CpuWork work;
    StreamMark mark; /* with a handle: this job waits for it */
} Job;

typedef struct CpuStream {
    Stream stream;
    Arena *arena;
    Job *job;            /* a ring */
    int64_t cap;         /* a power of two */
    int64_t given, done; /* jobs since the beginning */
    bool is_closed;
    pthread_mutex_t lock;
    pthread_cond_t is_given, is_done;
    pthread_t thread;
} CpuStream;

static CpuStream *inner(const Stream *s)
{
    return s->handle;
}

/* After a failure nothing more is done until somebody has looked at it. */
static void run_work(Stream *s, const CpuWork *w)
{
    if (s->failed) return;
    if (w->kernel) {
        s->status = w->kernel(w->launch);
        if (s->status) s->failed = w->launch;
    } else if (w->from) {
        memcpy(w->to, w->from, w->bytes);
    } else {
        memset(w->to, 0, w->bytes);
    }
}

static void run_job(CpuStream *c, const Job *j)
{
    if (j->mark.handle)
        cpu_stream_wait(NULL, &j->mark);
    else
        run_work(&c->stream, &j->work);
}

static void *work(void *arg)
{
    CpuStream *c = arg;
    thread_wake_soon();
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (c->done == c->given && !c->is_closed) pthread_cond_wait(&c->is_given, &c->lock);
        if (c->done == c->given) break;
        const Job j = c->job[c->done & (c->cap - 1)];
        pthread_mutex_unlock(&c->lock);
        run_job(c, &j);
        pthread_mutex_lock(&c->lock);
        c->done++;
        pthread_cond_broadcast(&c->is_done);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void stream_release(CpuStream *c)
{
    pool_free(c->stream.pool);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->is_given);
    pthread_cond_destroy(&c->is_done);
    arena_free(c->arena);
}

Error *cpu_stream_new(Stream **out)
{
    enum { FIRST_JOBS = 64 };
    Arena *a = arena_new();
    CpuStream *c = NEW(a, CpuStream);
    *c = (CpuStream){ .stream = { .handle = c }, .arena = a, .cap = FIRST_JOBS };
    c->job = NEW_N(a, Job, c->cap);
    c->stream.pool = pool_new(1);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->is_given, NULL);
    pthread_cond_init(&c->is_done, NULL);
    if (!thread_start(&c->thread, work, c)) {
        Error *e = error_new("no thread can be started for transfers beside the computation: %s",
                             strerror(errno));
        stream_release(c);
        return e;
    }
    *out = &c->stream;
    return NULL;
}

void cpu_stream_free(Stream *s)
{
    CpuStream *c = inner(s);
    pthread_mutex_lock(&c->lock);
    c->is_closed = true;
    pthread_cond_signal(&c->is_given);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    stream_release(c);
}

/* The lock is held. */
static void make_room(CpuStream *c)
{
    if (c->given - c->done < c->cap) return;
    Job *wider = NEW_N(c->arena, Job, 2 * c->cap);
    for (int64_t i = c->done; i < c->given; i++)
        wider[i & (2 * c->cap - 1)] = c->job[i & (c->cap - 1)];
    c->job = wider;
    c->cap *= 2;
}

static void give(CpuStream *c, const Job *j)
{
    pthread_mutex_lock(&c->lock);
    make_room(c);
    c->job[c->given++ & (c->cap - 1)] = *j;
    pthread_cond_signal(&c->is_given);
    pthread_mutex_unlock(&c->lock);
}

void cpu_stream_give(Stream *s, const CpuWork *w)
{
    give(inner(s), &(Job){ .work = *w });
}

void cpu_stream_mark(Stream *s, StreamMark *m)
{
    CpuStream *c = inner(s);
    pthread_mutex_lock(&c->lock);
    *m = (StreamMark){ .handle = c, .number = c->given };
    pthread_mutex_unlock(&c->lock);
}

void cpu_stream_wait(Stream *later, const StreamMark *m)
{
    CpuStream *earlier = m->handle;
    if (!earlier || (later && earlier == inner(later))) return;
    if (later) {
        give(inner(later), &(Job){ .mark = *m });
        return;
    }
    pthread_mutex_lock(&earlier->lock);
    while (earlier->done < m->number) pthread_cond_wait(&earlier->is_done, &earlier->lock);
    pthread_mutex_unlock(&earlier->lock);
}
