/* ops.c - speed of every tuned kernel, as a share of what the machine could do.
 *
 * usage: ops [pattern]      "attention*" chooses cases by name; one thread, processor time
 * The rows follow from the table of ops, its cases (tests/ops/..._cases.c) at their large sizes,
 * and the tables of kernels. Operands are not in caches before a run. The limit of a kernel is the
 * longer of two times: its FLOPs at the peak of its instruction set, and its operands once through
 * memory; both rates are measured here. */
#include "../tests/ops/op_cases.h"
#include "../tests/ops/op_run.h"
#include "base/thread.h"
#include "device/cpu_peak.h"
#include "measure.h"
#include "ops/kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS = 16, MAX_RUNS = 20, CACHE_BYTES = 64 << 20 };
static const double enough_seconds = 0.2;

typedef struct Limits {
    double flops[CPU_AMX + 1], half[CPU_AMX + 1]; /* of f32 and of bf16, by level */
    double bytes;
} Limits;

static Limits limits_measure(void)
{
    Limits l = { .bytes = peak_read_bytes(), .half = { 0 } };
    for (int level = CPU_SCALAR; level <= (int)cpu_level_available(); level++)
        l.flops[level] = cpu_core_flops(F32, (CpuLevel)level),
        l.half[level] = cpu_core_flops(BF16, (CpuLevel)level);
    return l;
}

/* Numbers around 0 (so that exponentials stay tame), or ids that Value.init allows. */
static Tensor content(Arena *a, const Value *v, Dtype t)
{
    Shape s = value_shape(v);
    Tensor made = op_tensor(a, t, s.n_dims, s.size);
    int64_t below = v->init.high > 0 ? (int64_t)v->init.high : 1, n = tensor_count(&made);
    for (int64_t i = 0; i < n; i++) {
        double x = dtype_is_float(t) ? (double)(i * 7919 % 1009) / 2018 - 0.25
                                     : (double)(i * 7919 % below);
        dtype_set(t, made.data, i, x);
    }
    return made;
}

static Launch operands(Arena *a, const Node *n, const Dtype *types, const RunTime *now)
{
    Tensor *in = NEW_N(a, Tensor, n->n_in), *out = NEW_N(a, Tensor, n->n_out);
    for (int k = 0; k < n->n_in; k++) in[k] = content(a, n->in[k], types[k]);
    for (int k = 0; k < n->n_out; k++) {
        int shared = n->n_in;
        while (shared > 0 && n->in[shared - 1] != n->out[k]) shared--;
        Shape s = value_shape(n->out[k]);
        out[k] = shared ? in[shared - 1] : op_tensor(a, types[n->n_in + k], s.n_dims, s.size);
    }
    return op_launch(n, in, out, now);
}

/* Fills all caches with other data: in a step, operands come from memory, too. */
static void empty_caches(void)
{
    static char *other;
    if (!other) other = malloc(CACHE_BYTES);
    CHECK(other != NULL);
    memset(other, 1, CACHE_BYTES);
    __asm__ volatile("" ::"r"(other) : "memory");
}

/* Seconds of the fastest of some runs; the first one is not counted, since it may touch pages. */
static double fastest(const KernelDef *k, const Launch *l)
{
    double best = INFINITY, spent = 0;
    k->run(l);
    for (int r = 0; r < 2 || (r < MAX_RUNS && spent < enough_seconds); r++) {
        empty_caches();
        double start = thread_seconds();
        k->run(l);
        double seconds = thread_seconds() - start;
        spent += seconds;
        if (seconds < best) best = seconds;
    }
    return best;
}

static void measure(const OpCase *c, const Node *n, const KernelDef *k, const Dtype *types,
                    const Limits *limits, Pool *pool)
{
    Arena *a = arena_new();
    RunTime now = { .position = c->position, .seed = 1, .rate = { { .lr = 1e-3 } } };
    Stream stream = { .pool = pool };
    Launch l = operands(a, n, types, &now);
    l.stream = &stream;
    if (!k->serves || k->serves(&l)) {
        l.scratch = arena_alloc(a, k->scratch ? k->scratch(&l, 1) : 0);
        double seconds = fastest(k, &l), bytes = 0, flops = node_flops(n);
        bool is_half = true;
        for (int i = 0; i < n->n_in + n->n_out; i++) {
            bytes += (double)tensor_bytes(i < n->n_in ? &l.in[i] : &l.out[i - n->n_in]);
            if (i < 2 && i < n->n_in && types[i] == F32) is_half = false; /* factors */
        }
        double peak = is_half ? limits->half[k->level] : limits->flops[k->level];
        double least = fmax(flops / peak, bytes / limits->bytes);
        printf("    %-12s %-28s %9.3f ms %8.1f GFLOP/s %7.1f GB/s %6.2f\n",
               cpu_level_name(k->level), k->types, seconds * 1e3, flops / seconds * 1e-9,
               bytes / seconds * 1e-9, least / seconds);
        fflush(stdout);
    }
    arena_free(a);
}

static void measure_node(const OpCase *c, const Node *n, const Limits *limits, Pool *pool)
{
    Dtype types[MAX_OPERANDS];
    int n_kernels = 0;
    printf("  %s %s\n", n->op->name, n->dims->text);
    for (int t = 0; all_cpu_kernels[t]; t++)
        for (const KernelDef *k = all_cpu_kernels[t]; k->op; k++) {
            if (k->level > cpu_level_available() || strcmp(k->op, n->op->name)) continue;
            n_kernels++;
            if (op_row_types(k->types, n, 0, types)) measure(c, n, k, types, limits, pool);
        }
    if (!n_kernels) printf("    reference only\n");
}

/* A gradient may be made of the same nodes as the op itself. */
static bool is_first_of_its_kind(const Graph *g, int64_t i)
{
    for (int64_t k = 0; k < i; k++)
        if (g->node[k]->op == g->node[i]->op &&
            !strcmp(g->node[k]->dims->text, g->node[i]->dims->text))
            return false;
    return true;
}

static void measure_case(const OpCase *c, const Limits *limits, Pool *pool)
{
    Arena *a = arena_new();
    const Graph *g = op_case_build(a, c, c->large).graph;
    printf("\n%s:", c->name);
    for (int k = 0; k < MAX_CASE_SIZES && c->large[k]; k++) printf(" %lld", (long long)c->large[k]);
    printf("\n");
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        bool fits = !(n->op->flags & OP_VIEW) && n->n_in + n->n_out <= MAX_OPERANDS;
        if (fits && is_first_of_its_kind(g, i)) measure_node(c, n, limits, pool);
    }
    arena_free(a);
}

int main(int argc, char **argv)
{
    const char *pattern = argc > 1 ? argv[1] : "*";
    Watch w = watch_start();
    Limits limits = limits_measure();
    Pool *pool = pool_new(1);
    printf("limits of one core: memory %.1f GB/s", limits.bytes * 1e-9);
    for (int level = CPU_SCALAR; level <= (int)cpu_level_available(); level++)
        printf(", %s %.1f GFLOP/s, of bf16 %.1f", cpu_level_name((CpuLevel)level),
               limits.flops[level] * 1e-9, limits.half[level] * 1e-9);
    printf("\nthe last column is the limit's time over the kernel's: 1 is as fast as can be\n");
    for (int i = 0; i < op_case_count(); i++)
        if (op_case_at(i)->large[0] && text_matches(pattern, op_case_at(i)->name))
            measure_case(op_case_at(i), &limits, pool);
    pool_free(pool);
    printf("\n");
    watch_report(&w);
    return 0;
}
