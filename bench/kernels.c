/* kernels.c - speed of the other kernels of a step: head, attention, norms, activations, Adam.
 *
 * usage: kernels [pattern]     one thread, processor time; f32 with AVX2 and the best level, bf16
 * Matrix-like kernels are given as shares of the peak of arithmetic, the others in GB/s of what
 * they must read and write. */
#include "ops/kernels.h"
#include "base/thread.h"
#include "measure.h"
#include "ops/ops.h"
#include "ops/settings.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_OPERANDS = 8 };

/* A tensor in short: '.' floats of the type measured, 'f' F32, 'd' F64, 'i' small integers. */
typedef struct Sketch {
    char type;
    int64_t size[MAX_DIMS];
} Sketch;

typedef struct Case {
    const char *name, *op;
    const void *attrs;
    double flops; /* 0: give bytes per second */
    Sketch in[MAX_OPERANDS], out[MAX_OPERANDS];
} Case;

#define HEAD(n, d, v)                                                                              \
    { '.', { n, d } }, { '.', { v, d } },                                                          \
    {                                                                                              \
        'i',                                                                                       \
        {                                                                                          \
            n                                                                                      \
        }                                                                                          \
    }
static const Attention causal = { .causal = true };
static const Norm norm = { .eps = 1e-5, .weight = true };
static const AdamSettings adam_settings = { 0.9, 0.95, 1e-8, 0.1, true };
static const GradientNorm two = { 2 };

/* clang-format off */
static const Case cases[] = {
    { "head 124M", "head_loss", .flops = 2.0 * 504 * 768 * 16384, .in = { HEAD(504, 768, 16384) },
      .out = { { 'f', { 504 } }, { 'f', { 504 } } } },
    { "head 124M grad", "head_loss_grad", .flops = 6.0 * 504 * 768 * 16384,
      .in = { HEAD(504, 768, 16384), { 'f', { 504 } }, { 'f', { 504 } } }, .out = { { '.', { 504, 768 } }, { 'f', { 16384, 768 } } } },
    { "head tutorial", "head_loss", .flops = 2.0 * 2016 * 128 * 16384, .in = { HEAD(2016, 128, 16384) },
      .out = { { 'f', { 2016 } }, { 'f', { 2016 } } } },
    { "head tutorial grad", "head_loss_grad", .flops = 6.0 * 2016 * 128 * 16384,
      .in = { HEAD(2016, 128, 16384), { 'f', { 2016 } }, { 'f', { 2016 } } }, .out = { { '.', { 2016, 128 } }, { 'f', { 16384, 128 } } } },
    { "attention 256 x 16, 2 queries per key", "attention", &causal, .flops = 2.0 * 256 * 256 * 16 * 8 * 8,
      .in = { { '.', { 8, 256, 4, 2, 16 } }, { '.', { 8, 256, 4, 16 } }, { '.', { 8, 256, 4, 16 } } },
      .out = { { '.', { 8, 256, 4, 2, 16 } }, { 'f', { 8, 256, 4, 2 } } } },
    { "the same, grad", "attention_grad", &causal, .flops = 5.0 * 256 * 256 * 16 * 8 * 8,
      .in = { { '.', { 8, 256, 4, 2, 16 } }, { '.', { 8, 256, 4, 16 } }, { '.', { 8, 256, 4, 16 } }, { '.', { 8, 256, 4, 2, 16 } },
              { 'f', { 8, 256, 4, 2 } }, { '.', { 8, 256, 4, 2, 16 } } },
      .out = { { '.', { 8, 256, 4, 2, 16 } }, { '.', { 8, 256, 4, 16 } }, { '.', { 8, 256, 4, 16 } } } },
    { "attention 1024 x 64", "attention", &causal, .flops = 2.0 * 1024 * 1024 * 64 * 12,
      .in = { { '.', { 1, 1024, 12, 1, 64 } }, { '.', { 1, 1024, 12, 64 } }, { '.', { 1, 1024, 12, 64 } } },
      .out = { { '.', { 1, 1024, 12, 1, 64 } }, { 'f', { 1, 1024, 12, 1 } } } },
    { "the same, grad", "attention_grad", &causal, .flops = 5.0 * 1024 * 1024 * 64 * 12,
      .in = { { '.', { 1, 1024, 12, 1, 64 } }, { '.', { 1, 1024, 12, 64 } }, { '.', { 1, 1024, 12, 64 } }, { '.', { 1, 1024, 12, 1, 64 } },
              { 'f', { 1, 1024, 12, 1 } }, { '.', { 1, 1024, 12, 1, 64 } } },
      .out = { { '.', { 1, 1024, 12, 1, 64 } }, { '.', { 1, 1024, 12, 64 } }, { '.', { 1, 1024, 12, 64 } } } },
    { "rms_norm", "rms_norm", &norm, .in = { { '.', { 4096, 768 } }, { 'f', { 768 } } }, .out = { { '.', { 4096, 768 } } } },
    { "rms_norm grad", "rms_norm_grad", &norm, .in = { { '.', { 4096, 768 } }, { 'f', { 768 } }, { '.', { 4096, 768 } } },
      .out = { { '.', { 4096, 768 } }, { 'f', { 768 } } } },
    { "layer_norm", "layer_norm", &norm, .in = { { '.', { 4096, 768 } }, { 'f', { 768 } } }, .out = { { '.', { 4096, 768 } } } },
    { "gelu", "gelu", .in = { { '.', { 2048, 3072 } } }, .out = { { '.', { 2048, 3072 } } } },
    { "gelu grad", "gelu_grad", .in = { { '.', { 2048, 3072 } }, { '.', { 2048, 3072 } } }, .out = { { '.', { 2048, 3072 } } } },
    { "swiglu", "swiglu", .in = { { '.', { 4096, 1024 } }, { '.', { 4096, 1024 } } }, .out = { { '.', { 4096, 1024 } } } },
    { "swiglu grad", "swiglu_grad", .in = { { '.', { 4096, 1024 } }, { '.', { 4096, 1024 } }, { '.', { 4096, 1024 } } },
      .out = { { '.', { 4096, 1024 } }, { '.', { 4096, 1024 } } } },
    { "add", "add", .in = { { 'f', { 4096, 768 } }, { '.', { 4096, 768 } } }, .out = { { 'f', { 4096, 768 } } } },
    { "cast", "cast", .in = { { 'f', { 4096, 768 } } }, .out = { { '.', { 4096, 768 } } } },
    { "adam", "adam", &adam_settings, .in = { { 'f', { 4194304 } }, { 'f', { 4194304 } }, { 'f', { 4194304 } }, { 'f', { 4194304 } }, { 'd', { 1 } } },
      .out = { { 'f', { 4194304 } }, { 'f', { 4194304 } }, { 'f', { 4194304 } }, { 'f', { 4194304 } } } },
    { "norm_partial", "norm_partial", &two, .in = { { 'f', { 4194304 } } }, .out = { { 'd', { 1 } } } },
};
/* clang-format on */

static int make_operands(Arena *a, const Sketch *o, Dtype measured, Tensor *to)
{
    int k = 0;
    for (; k < MAX_OPERANDS && o[k].type; k++) {
        Dtype t = o[k].type == 'f'   ? F32
                  : o[k].type == 'd' ? F64
                  : o[k].type == 'i' ? I32
                                     : measured;
        to[k] = (Tensor){ .dtype = t };
        for (; to[k].n_dims < MAX_DIMS && o[k].size[to[k].n_dims]; to[k].n_dims++)
            to[k].size[to[k].n_dims] = o[k].size[to[k].n_dims];
        to[k].data = arena_alloc(a, tensor_bytes(&to[k]));
        for (int64_t i = 0; i < tensor_count(&to[k]); i++)
            dtype_set(t, to[k].data, i,
                      t == I32 ? (double)(i % 97) : (double)(i * 7919 % 1000) / 2000 + 0.1);
    }
    return k;
}

static void measure(const Case *c, Dtype t, CpuLevel level, Pool *pool, double peak)
{
    Arena *arena = arena_new();
    Tensor in[MAX_OPERANDS], out[MAX_OPERANDS];
    Stream stream = { .pool = pool };
    RunTime now = { .lr = 1e-3 };
    Launch l = { .attrs = c->attrs, .in = in, .out = out, .now = &now, .stream = &stream };
    l.n_in = make_operands(arena, c->in, t, in);
    l.n_out = make_operands(arena, c->out, t, out);
    const KernelDef *k = kernel_find(c->op, "cpu", level, &l);
    double best = INFINITY, bytes = 0;
    for (int i = 0; i < l.n_in; i++) bytes += (double)tensor_bytes(&in[i]);
    for (int i = 0; i < l.n_out; i++) bytes += (double)tensor_bytes(&out[i]);
    if (k && k->scratch) l.scratch = arena_alloc(arena, k->scratch(&l, pool_size(pool)) + 64);
    for (int r = 0; k && r < 4; r++) {
        double start = thread_seconds();
        k->run(&l);
        best = fmin(best, thread_seconds() - start);
    }
    printf("  %-40s", c->name);
    if (!k)
        printf(" -\n");
    else if (c->flops > 0)
        printf(" %8.1f GFLOP/s = %.2f\n", c->flops / best * 1e-9, c->flops / best / peak);
    else
        printf(" %8.1f GB/s\n", bytes / best * 1e-9);
    arena_free(arena);
}

static void report(const char *pattern, Dtype t, CpuLevel level)
{
    Pool *pool = pool_new(1);
    double peak = cpu_core_flops(t, level);
    printf("%s %s: peak %.1f GFLOP/s\n", cpu_level_name(level), dtype_name(t), peak * 1e-9);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strstr(cases[i].op, pattern)) measure(&cases[i], t, level, pool, peak);
    pool_free(pool);
}

int main(int argc, char **argv)
{
    const char *pattern = argc > 1 ? argv[1] : "";
    Watch w = watch_start();
    CpuLevel best = cpu_level_available();
    if (best >= CPU_AVX2) report(pattern, F32, CPU_AVX2);
    if (best != CPU_AVX2) report(pattern, F32, best);
    report(pattern, BF16, best);
    watch_report(&w);
    return 0;
}
