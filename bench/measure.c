/* measure.c - limits of the machine and of this moment.
 *
 * A benchmark prints its result as a share of the peak measured in the same run (device/cpu_peak.h,
 * and reading memory here). */
#include "measure.h"
#include "base/clock.h"
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void die(Error *e)
{
    if (!e) return;
    fprintf(stderr, "%s\n", error_text(e));
    exit(1);
}

double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum { REPEATS = 5 };

typedef int64_t Eight __attribute__((vector_size(64)));

typedef struct Reader {
    const Eight *from;
    size_t n, ahead; /* in cache lines; 0: nothing is asked for before it is needed */
    pthread_t thread;
} Reader;

/* Four sums, so that no addition waits. */
static void *read_part(void *arg)
{
    const Reader *r = arg;
    Eight sum[4] = { { 0 } };
    for (size_t i = 0; i + 4 <= r->n; i += 4)
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++) {
            if (r->ahead) __builtin_prefetch(r->from + i + k + r->ahead, 0, 2);
            sum[k] += r->from[i + k];
        }
    for (int k = 0; k < 4; k++) __asm__ volatile("" ::"m"(sum[k]));
    return NULL;
}

static double read_pass(const Eight *data, size_t bytes, int n_threads, size_t ahead)
{
    Reader r[256];
    const size_t n = bytes / sizeof *data / (size_t)n_threads;
    const double start = clock_seconds();
    for (int i = 0; i < n_threads; i++) {
        r[i] = (Reader){ .from = data + n * (size_t)i, .n = n, .ahead = ahead };
        if (pthread_create(&r[i].thread, NULL, read_part, &r[i])) die(error_new("no thread"));
    }
    for (int i = 0; i < n_threads; i++) pthread_join(r[i].thread, NULL);
    return (double)bytes / (clock_seconds() - start);
}

/* How far ahead memory wants to be asked differs: some machines fetch nothing by themselves. */
double read_rate(const void *data, size_t bytes, int n_threads)
{
    static const size_t ahead[] = { 0, 8, 16, 32, 64, 128 };
    double best = 0;
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++)
        best = fmax(best, read_pass(data, bytes, n_threads, ahead[i]));
    return best;
}

/* Huge pages, as the program's own arena has them. */
void *fresh_bytes(size_t bytes)
{
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) die(error_new("no memory"));
    madvise(data, bytes, MADV_HUGEPAGE);
    memset(data, 1, bytes);
    return data;
}

double peak_read_bytes(void)
{
    enum { BYTES = 256 << 20 };
    void *data = fresh_bytes(BYTES);
    double best = 0;
    for (int r = 0; r < REPEATS; r++) best = fmax(best, read_rate(data, BYTES, 1));
    munmap(data, BYTES);
    return best;
}

/* Processor seconds that all programs used, and seconds times processors that there were. */
static void machine_seconds(double *busy, double *total)
{
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0;
    FILE *f = fopen("/proc/stat", "r");
    if (f && fscanf(f, "cpu %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait) != 5)
        user = nice = system = idle = wait = 0;
    if (f) fclose(f);
    double tick = (double)sysconf(_SC_CLK_TCK);
    *busy = (user + nice + system) / tick;
    *total = *busy + (idle + wait) / tick;
}

/* Of this process and the children that it waited for. */
double process_seconds(void)
{
    static const int who[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        struct rusage u;
        getrusage(who[i], &u);
        sum += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
    }
    return sum;
}

Watch watch_start(void)
{
    Watch w;
    machine_seconds(&w.busy, &w.total);
    w.own = process_seconds();
    return w;
}

double watch_others(const Watch *since)
{
    Watch now = watch_start();
    double total = now.total - since->total;
    if (total <= 0) return 0;
    double others = (now.busy - since->busy) - (now.own - since->own);
    return others > 0 ? others / total : 0;
}

void watch_report(const Watch *since)
{
    double others = watch_others(since);
    if (others > 0.05)
        printf("other programs used %.0f %% of the machine meanwhile\n", 100 * others);
}

bool peer_start(Peer *p, const char *const *args)
{
    enum { MOST = 16 };
    const char *python = getenv("PYTHON") ? getenv("PYTHON") : "python3";
    const char *all[MOST] = { python };
    int to[2], from[2];
    for (int i = 0; args[i] && i + 2 < MOST; i++) all[i + 1] = args[i];
    if (pipe(to) || pipe(from)) return false;
    p->pid = fork();
    if (p->pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execvp(python, (char *const *)all);
        _exit(1);
    }
    close(to[0]);
    close(from[1]);
    p->in = fdopen(to[1], "w");
    p->out = fdopen(from[0], "r");
    return p->pid > 0;
}

bool peer_answers(const Peer *p, double seconds)
{
    struct pollfd from = { .fd = fileno(p->out), .events = POLLIN };
    return poll(&from, 1, (int)(seconds * 1e3)) > 0;
}

void peer_kill(Peer *p)
{
    kill(p->pid, SIGKILL);
    peer_stop(p);
}

void peer_stop(Peer *p)
{
    fclose(p->in);
    fclose(p->out);
    waitpid(p->pid, NULL, 0);
}
