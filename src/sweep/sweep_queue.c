/* sweep_queue.c - the local queue of a sweep: processes, retries, successive halving.
 *
 * Halving is asynchronous (Li et al. 2020, "A System for Massively Parallel Hyperparameter
 * Tuning"): when a run comes by a rung it goes on only if its loss there is among the best 1/eta of
 * those that came by so far. */
#include "sweep/sweep_queue.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "monitor/run_record.h"
#include "sweep/sweep_loss.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Job {
    const SweepRun *run;
    const char *label; /* "lr=0.001 seed=2" */
    pid_t process;     /* 0: none */
    bool is_over, is_hopeless;
} Job;

typedef struct Queue {
    Arena *arena;
    const QueueSettings *s;
    SweepStore *store;
    Job *job;
    int64_t n, n_failed, n_over;
    int64_t n_over_before, most_attempts; /* when it began; of a run that failed */
    double began;
    int n_parallel, n_threads, n_running;
    bool is_stopping;
} Queue;

static void share_out(Queue *q)
{
    int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    int64_t left = q->n - q->n_over;
    q->n_parallel = q->s->n_parallel ? q->s->n_parallel : processors;
    if (q->n_parallel > left) q->n_parallel = left > 0 ? (int)left : 1;
    q->n_threads = q->s->n_threads ? q->s->n_threads : processors / q->n_parallel;
    if (!q->s->n_threads) q->n_threads /= (int)q->s->n_ranks; /* they are those of a rank */
    if (q->n_threads < 1) q->n_threads = 1;
}

/* In the child. What the run says goes to run.log in its folder. */
static void become_run(const Queue *q, const SweepRun *r, const char *memory, pid_t parent)
{
    const char *threads = arena_printf(q->arena, "%d", q->n_threads);
    const char *ranks = arena_printf(q->arena, "%lld", (long long)q->s->n_ranks);
    const char *log = path_join(q->arena, r->folder, "run.log");
    const char *const words[] = { q->s->program,
                                  "run",
                                  "--config_file_path",
                                  r->config,
                                  "--experiments_root_path",
                                  r->folder,
                                  "--experiment_id",
                                  "",
                                  "--error_log_folder",
                                  r->folder,
                                  "--resume_if_started",
                                  "--threads",
                                  threads,
                                  q->s->n_ranks > 1 ? "--ranks" : NULL,
                                  ranks,
                                  NULL };
    int to = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666), none = open("/dev/null", O_RDONLY);
    setpgid(0, 0); /* the queue passes signals on */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(EXIT_STOPPED);
    if (none >= 0) dup2(none, 0);
    if (to >= 0) {
        dup2(to, 1);
        dup2(to, 2);
    }
    if (*memory) setenv("MODALITIES_MEMORY_LIMIT", memory, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    execv(q->s->program, (char *const *)words);
    _exit(127);
}

/* The share of the memory that each of the runs may plan; "" where it is not known. */
static const char *memory_share(const Queue *q)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0) return "";
    return arena_printf(q->arena, "%.0f", (double)pages * (double)size / q->n_parallel);
}

static Error *start(Queue *q, Job *j)
{
    const char *memory = memory_share(q);
    TRY(sweep_store_attempt(q->store, j->run));
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child < 0) return error_new("cannot start a process: %s", strerror(errno));
    if (!child) become_run(q, j->run, memory, parent);
    setpgid(child, child);
    j->process = child;
    q->n_running++;
    log_info("started   %s", j->label);
    return NULL;
}

/* "loss 5.66288; 7 of 12 runs are over, about 2 min 10 s remain" */
static Error *tell_done(Queue *q, Arena *a, const Job *j)
{
    History h;
    char remains[32], number[32] = "none";
    TRY(sweep_store_history(q->store, a, j->run, &h));
    const Track *loss = sweep_loss(&h);
    const int64_t n_here = q->n_over - q->n_over_before, n_left = q->n - q->n_over;
    if (loss) snprintf(number, sizeof number, "%.6g", loss->value[loss->n - 1]);
    format_seconds((clock_seconds() - q->began) / (double)n_here * (double)n_left, remains);
    log_info("done      %s: loss %s; %lld of %lld runs are over%s%s%s", j->label, number,
             (long long)q->n_over, (long long)q->n, n_left ? ", about " : "", n_left ? remains : "",
             n_left ? " remain" : "");
    return NULL;
}

/* A run that was stopped goes on; one that failed is tried again as often as was asked for. */
static Error *judge(Queue *q, Job *j, bool has_run)
{
    SweepStatus s;
    Arena *a = arena_new();
    Error *e = sweep_store_status(q->store, a, j->run, &s);
    if (!e && s.state == SWEEP_DONE) {
        j->is_over = true;
    } else if (!e && s.state == SWEEP_HOPELESS) {
        j->is_over = j->is_hopeless = true;
    } else if (!e && s.state == SWEEP_FAILED && s.attempts > q->s->retries) {
        j->is_over = true;
        q->n_failed++;
        if (s.attempts > q->most_attempts) q->most_attempts = s.attempts;
        log_warning("failed    %s: %s", j->label, *s.why ? s.why : "see run.log");
    } else if (!e && s.state == SWEEP_FAILED && has_run) {
        log_warning("failed    %s, is tried again: %s", j->label, s.why);
    }
    q->n_over += j->is_over;
    if (!e && has_run && s.state == SWEEP_DONE) e = tell_done(q, a, j);
    arena_free(a);
    return e;
}

static Error *collect(Queue *q, bool *any)
{
    *any = false;
    for (int64_t i = 0; i < q->n; i++) {
        Job *j = &q->job[i];
        int status;
        if (!j->process || waitpid(j->process, &status, WNOHANG) != j->process) continue;
        j->process = 0;
        q->n_running--;
        *any = true;
        if (q->is_stopping) continue;
        TRY(judge(q, j, true));
    }
    return NULL;
}

static void pass_on(const Queue *q, int number)
{
    for (int64_t i = 0; i < q->n; i++)
        if (q->job[i].process) kill(q->job[i].process, number);
}

/* Another queue may have left it while it still saves. */
static bool is_held(const Queue *q, const Job *j)
{
    Arena *a = arena_new();
    bool held = run_lock_is_held(a, j->run->folder);
    arena_free(a);
    (void)q;
    return held;
}

static Error *fill(Queue *q)
{
    for (int64_t i = 0; i < q->n && q->n_running < q->n_parallel; i++) {
        Job *j = &q->job[i];
        if (j->is_over || j->process || is_held(q, j)) continue;
        TRY(start(q, j));
    }
    return NULL;
}

/* ---- successive halving ---- */

/* Losses of all runs at a step, as far as they came by. */
static Error *losses_at(Queue *q, Arena *a, int64_t step, double *loss)
{
    for (int64_t i = 0; i < q->n; i++) {
        History h;
        TRY(sweep_store_history(q->store, a, q->job[i].run, &h));
        loss[i] = sweep_loss_at(&h, (double)step);
    }
    return NULL;
}

static bool is_among_best(const double *loss, int64_t n, int64_t of, double eta)
{
    int64_t n_there = 0, n_better = 0;
    for (int64_t i = 0; i < n; i++) {
        n_there += !isnan(loss[i]);
        n_better += loss[i] < loss[of];
    }
    int64_t n_kept = (int64_t)floor((double)n_there / eta);
    return n_better < (n_kept > 1 ? n_kept : 1);
}

static Error *stop_hopeless_at(Queue *q, Arena *a, int64_t rung)
{
    double *loss = NEW_N(a, double, q->n);
    TRY(losses_at(q, a, rung, loss));
    for (int64_t i = 0; i < q->n; i++) {
        Job *j = &q->job[i];
        if (!j->process || j->is_hopeless || isnan(loss[i])) continue;
        if (is_among_best(loss, q->n, i, q->s->halving)) continue;
        j->is_hopeless = true;
        TRY(sweep_store_set_hopeless(q->store, j->run));
        kill(j->process, SIGTERM);
        log_info("stopped   %s: its loss at step %lld is not among the best", j->label,
                 (long long)rung);
    }
    return NULL;
}

static Error *stop_hopeless(Queue *q)
{
    const double eta = q->s->halving;
    if (eta <= 1) return NULL;
    Arena *a = arena_new();
    Error *e = NULL;
    for (int64_t i = 0; !e && i < q->n; i++) {
        SweepStatus s;
        if (!q->job[i].process) continue;
        e = sweep_store_status(q->store, a, q->job[i].run, &s);
        double rung =
            q->s->first_rung ? (double)q->s->first_rung : ceil((double)s.target_steps / eta / eta);
        for (; !e && rung >= 1 && rung < (double)s.target_steps; rung = ceil(rung * eta))
            e = stop_hopeless_at(q, a, (int64_t)rung);
        break; /* all have the same target */
    }
    arena_free(a);
    return e;
}

/* ---- the whole ---- */

static Error *work(Queue *q)
{
    enum { PAUSE_MILLISECONDS = 50, ROUNDS_OF_HALVING = 4 };
    for (int64_t round = 0; q->n_over < q->n || q->n_running; round++) {
        bool any;
        TRY(collect(q, &any));
        if (signal_stop_requested() && !q->is_stopping) {
            q->is_stopping = true;
            log_info("stopping: the runs save and end");
            pass_on(q, SIGTERM);
        }
        if (q->is_stopping && !q->n_running) break;
        if (!q->is_stopping) TRY(fill(q));
        if (!q->is_stopping && round % ROUNDS_OF_HALVING == 0) TRY(stop_hopeless(q));
        if (!any) usleep(PAUSE_MILLISECONDS * 1000);
    }
    return NULL;
}

static Error *end(const Queue *q, const char *folder)
{
    int64_t n_hopeless = 0;
    for (int64_t i = 0; i < q->n; i++) n_hopeless += q->job[i].is_hopeless;
    if (q->is_stopping)
        return error_stopped("%lld of %lld runs are done; to go on: modalities sweep run %s",
                             (long long)(q->n_over - q->n_failed - n_hopeless), (long long)q->n,
                             folder);
    log_info("%lld runs: %lld done, %lld stopped early, %lld failed; modalities sweep report %s",
             (long long)q->n, (long long)(q->n - q->n_failed - n_hopeless), (long long)n_hopeless,
             (long long)q->n_failed, folder);
    return q->n_failed ? error_new("%lld runs failed; the reasons stand above and in run.log in "
                                   "their folders; --retries %lld tries them again",
                                   (long long)q->n_failed, (long long)q->most_attempts)
                       : NULL;
}

static Error *run_queue(Queue *q, const char *folder)
{
    for (int64_t i = 0; i < q->n; i++) TRY(judge(q, &q->job[i], false));
    share_out(q);
    q->n_over_before = q->n_over;
    q->began = clock_seconds();
    if (q->n_over == q->n)
        log_info("nothing remains to be run in %s", folder);
    else
        log_info("%lld of %lld runs remain: %d at a time, %d threads each",
                 (long long)(q->n - q->n_over), (long long)q->n, q->n_parallel, q->n_threads);
    Error *e = work(q);
    if (e) pass_on(q, SIGTERM);
    for (int64_t i = 0; e && i < q->n; i++)
        if (q->job[i].process) waitpid(q->job[i].process, NULL, 0);
    return e ? e : end(q, folder);
}

Error *sweep_queue_run(Arena *a, const char *folder, const QueueSettings *s)
{
    SweepRuns all;
    int lock = -1;
    TRY(sweep_runs_find(a, folder, s->n_ranks, &all));
    if (!all.n)
        return error_new("%s holds no configurations %lld/HASH_TIME/*.yaml for %s "
                         "(modalities benchmark prepare_sweep_configs --world_sizes %lld)",
                         folder, (long long)s->n_ranks,
                         s->n_ranks == 1 ? "one rank" : "so many ranks", (long long)s->n_ranks);
    Queue q = { .arena = a, .s = s };
    const SweepRuns newest = sweep_runs_newest(a, &all);
    TRY(run_lock_take(a, folder, &lock));
    Error *e = sweep_store_open(a, folder, &q.store);
    q.n = newest.n;
    q.job = NEW_N(a, Job, q.n);
    for (int64_t i = 0; i < q.n; i++)
        q.job[i] = (Job){ .run = &newest.item[i], .label = sweep_label(a, &newest.item[i]) };
    signal_catch();
    if (!e) e = run_queue(&q, folder);
    if (lock >= 0) close(lock);
    return e;
}
