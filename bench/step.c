/* step.c - whole training steps: tokens per second, share of what the matrix products alone would
 * allow, and PyTorch beside.
 *
 * usage: step [tutorial|gpt2] [f32|bf16] [batch] [steps]      without arguments: the tutorial model
 * in both precisions. The limit is the measured multiply-add rate of all cores in the same run, of
 * the instruction set in use (MODALITIES_CPU lowers it); the FLOPs are those of the graph's matrix
 * products, with the head counted three times (forward, two gradients) and attention's causal half.
 * Where $PYTHON (python3) can import torch, steps of the same model, batch and number of threads
 * are taken in turn with PyTorch's (step_peer.py), and the ratio is that of the best steps. */
#include "bare_step.h"
#include "base/clock.h"
#include "device/cpu_peak.h"
#include "graph/op.h"
#include "measure.h"
#include "model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct OpTime {
    const char *name;
    double seconds;
} OpTime;

static OpTime times[64];
static int n_times;

static Error *note(void *ctx, const Node *n, const Launch *l, double seconds)
{
    (void)ctx, (void)l;
    int i = 0;
    while (i < n_times && times[i].name != n->op->name) i++;
    if (i == n_times) times[n_times++] = (OpTime){ n->op->name, 0 };
    times[i].seconds += seconds;
    return NULL;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const OpTime *)a)->seconds, y = ((const OpTime *)b)->seconds;
    return x < y ? 1 : -1;
}

static double one_step(Program *p, int64_t number)
{
    double start = clock_seconds();
    bench_step(p, number);
    return clock_seconds() - start;
}

/* Tokens per second at most. */
static double limit(const BenchCase *c, double peak)
{
    return peak / bench_flops_per_token(c);
}

/* PyTorch with the same model, ready for steps; false if there is none. */
static bool start_torch(const BenchCase *c, const char *model, int n_threads, Peer *p,
                        char *version)
{
    char batch[24], sequence[24], threads[24];
    snprintf(batch, sizeof batch, "%lld", (long long)c->batch);
    snprintf(sequence, sizeof sequence, "%lld", (long long)c->sequence);
    snprintf(threads, sizeof threads, "%d", n_threads);
    const char *precision = dtype_name(c->precision);
    const char *const args[] = {
        "bench/step_peer.py", model, precision, batch, sequence, threads, NULL
    };
    setenv("MALLOC_MMAP_THRESHOLD_", "8589934592", 0); /* else PyTorch spends half of its time in */
    setenv("MALLOC_TRIM_THRESHOLD_", "17179869184", 0); /* page faults */
    if (!peer_start(p, args)) return false;
    if (fscanf(p->out, "%31s", version) == 1) return true;
    peer_stop(p);
    return false;
}

static double torch_step(Peer *p)
{
    double seconds = INFINITY;
    fputs("step\n", p->in);
    fflush(p->in);
    if (fscanf(p->out, "%lf", &seconds) != 1) fprintf(stderr, "PyTorch ended\n");
    return seconds;
}

static void print_times(double total, int n_steps)
{
    qsort(times, (size_t)n_times, sizeof *times, by_time);
    for (int i = 0; i < n_times && i < 12; i++)
        printf("    %5.1f %%  %8.2f ms  %s\n", 100 * times[i].seconds / total,
               1e3 * times[i].seconds / n_steps, times[i].name);
}

static void run(const BenchCase *c, const char *model)
{
    Arena *a = arena_new();
    CpuLevel level;
    Session *s;
    Peer torch;
    char version[32];
    die(cpu_level(&level));
    double start = clock_seconds();
    Program *p = bench_program(c, NULL, a, &s);
    double ready = clock_seconds() - start, best = INFINITY, torch_best = INFINITY, total = 0;
    int n_threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    bool has_torch = start_torch(c, model, n_threads, &torch, version);
    Watch w = watch_start();
    program_set_hook(p, note, NULL);
    for (int k = 0; k <= c->n_steps; k++) { /* the first one warms up */
        if (k == 1) n_times = 0;
        double t = one_step(p, k), u = has_torch ? torch_step(&torch) : INFINITY;
        if (k == 0) continue;
        total += t;
        best = fmin(best, t);
        torch_best = fmin(torch_best, u);
    }
    double tokens = (double)(c->batch * c->sequence);
    double peak = cpu_core_flops(c->precision, level) * n_threads;
    double most = limit(c, peak);
    printf("%s %s, %s, %lld x %lld tokens: best %.0f tok/s, mean %.0f; %.2f of the limit %.0f "
           "tok/s (%.0f GFLOP/s); ready in %.2f s\n",
           c->name, dtype_name(c->precision), cpu_level_name(level), (long long)c->batch,
           (long long)c->sequence, tokens / best, tokens * c->n_steps / total, tokens / best / most,
           most, peak * 1e-9, ready);
    if (has_torch)
        printf("    PyTorch %s, %d threads: best %.0f tok/s; ours : it = %.2f\n", version,
               n_threads, tokens / torch_best, torch_best / best);
    else
        printf("    PyTorch: skipped, $PYTHON (python3) cannot import torch\n");
    print_times(total, c->n_steps);
    if (has_torch) peer_stop(&torch); /* then its time is known as that of a child */
    watch_report(&w);
    session_free(s);
    arena_free(a);
}

int main(int argc, char **argv)
{
    bool gpt2 = argc > 1 && !strcmp(argv[1], "gpt2");
    Gpt2Settings s;
    const char *precision = argc > 2 ? argv[2] : NULL;
    bench_model(gpt2 ? "gpt2" : "tutorial", &s);
    BenchCase c = { .name = gpt2 ? "GPT-2 124M" : "tutorial model",
                    .settings = &s,
                    .sequence = 256 };
    c.batch = argc > 3 ? atoi(argv[3]) : gpt2 ? 8 : 16;
    c.n_steps = argc > 4 ? atoi(argv[4]) : 4;
    for (int i = 0; i < 2; i++) {
        c.precision = i ? BF16 : F32;
        if (!precision || !strcmp(precision, dtype_name(c.precision)))
            run(&c, gpt2 ? "gpt2" : "tutorial");
    }
    return 0;
}
