/* gemm.c - speed of matrix products, as shares of the measured peak of one core.
 *
 * usage: gemm [tokens]      shapes of GPT-2 124M and of the tutorial's model; one thread
 * F is the forward product y = x W^T, D the gradient of x, W that of the weight. */
#include "base/thread.h"
#include "device/cpu_peak.h"
#include "measure.h"
#include "ops/kernels.h"
#include "tensor/dims.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct Layer {
    const char *name;
    int64_t out, in;
} Layer;

static const Layer layers[] = {
    { "124M qkv", 2304, 768 },     { "124M proj", 768, 768 },      { "124M up", 3072, 768 },
    { "124M down", 768, 3072 },    { "tutorial q", 128, 128 },     { "tutorial gate|up", 512, 128 },
    { "tutorial down", 128, 256 }, { "tutorial head", 8192, 128 },
};

typedef struct Way {
    char name;
    const char *dims;
} Way;

static const Way ways[] = { { 'F', "*k,nk->*n" }, { 'D', "*n,nk->*k" }, { 'W', "*n,*k->nk" } };

/* In large pages, as the memory of programs is. */
static Tensor filled(Dtype t, int64_t rows, int64_t columns)
{
    Tensor made = { .dtype = t, .n_dims = 2, .size = { rows, columns } };
    made.data = fresh_bytes(tensor_bytes(&made));
    for (int64_t i = 0; i < rows * columns; i++)
        dtype_set(t, made.data, i, (double)(i * 7919 % 1000) / 500 - 1);
    return made;
}

/* FLOP/s of the best of a few runs. */
static double measure(const Layer *layer, const Way *way, int64_t tokens, Dtype t, CpuLevel level,
                      Pool *pool)
{
    Arena *arena = arena_new();
    Tensor x = filled(t, tokens, layer->in), y = filled(t, tokens, layer->out),
           w = filled(t, layer->out, layer->in), dw = filled(F32, layer->out, layer->in);
    Tensor in[2], out;
    if (way->name == 'F') in[0] = x, in[1] = w, out = y;
    if (way->name == 'D') in[0] = y, in[1] = w, out = x;
    if (way->name == 'W') in[0] = y, in[1] = x, out = dw;
    Shape shapes[2] = { { 2, { in[0].size[0], in[0].size[1] } },
                        { 2, { in[1].size[0], in[1].size[1] } } };
    const DimSpec *dims;
    error_free(dims_parse(arena, way->dims, 2, shapes, &dims));
    Stream stream = { .pool = pool };
    Launch l = { .dims = dims, .in = in, .out = &out, .n_in = 2, .n_out = 1, .stream = &stream };
    l.add = way->name == 'W' ? &(const bool){ true } : NULL;
    const KernelDef *k = kernel_find("contract", "cpu", level, &l);
    double flops = 2.0 * (double)tokens * (double)(layer->out * layer->in), best = 0;
    if (k) {
        const size_t bytes = k->scratch(&l, pool_size(pool)) + 64;
        l.scratch = fresh_bytes(bytes);
        for (int r = 0; r < 4; r++) {
            double start = thread_seconds();
            k->run(&l);
            double rate = flops / (thread_seconds() - start);
            if (rate > best) best = rate;
        }
        munmap(l.scratch, bytes);
    }
    const Tensor *const all[] = { &x, &y, &w, &dw };
    for (int i = 0; i < 4; i++) munmap(all[i]->data, tensor_bytes(all[i]));
    arena_free(arena);
    return best;
}

static void report(Dtype t, CpuLevel level, int64_t tokens)
{
    Pool *pool = pool_new(1);
    double peak = cpu_core_flops(t, level);
    printf("%s %s: peak %.1f GFLOP/s\n", cpu_level_name(level), dtype_name(t), peak * 1e-9);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        printf("  %-18s %5lld x %5lld", layers[i].name, (long long)layers[i].out,
               (long long)layers[i].in);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            double rate = measure(&layers[i], &ways[w], tokens, t, level, pool);
            double now = cpu_core_flops(t, level); /* clocks move */
            printf("   %c %5.1f = %.2f", ways[w].name, rate * 1e-9,
                   rate / (now < peak ? now : peak));
        }
        printf("\n");
    }
    pool_free(pool);
}

int main(int argc, char **argv)
{
    int64_t tokens = argc > 1 ? atoll(argv[1]) : 1024;
    Watch w = watch_start();
    printf("matrix products of %lld tokens: GFLOP/s and share of the peak\n", (long long)tokens);
    CpuLevel best = cpu_level_available();
    if (best >= CPU_AVX2) report(F32, CPU_AVX2, tokens);
    if (best >= CPU_AVX512) report(F32, CPU_AVX512, tokens);
    report(BF16, best < CPU_AVX512 ? best : CPU_AVX512, tokens);
    if (best >= CPU_AVX512_PAIRS) report(BF16, CPU_AVX512_PAIRS, tokens);
    if (best >= CPU_AMX) report(F32, CPU_AMX, tokens);
    if (best >= CPU_AMX) report(BF16, CPU_AMX, tokens);
    watch_report(&w);
    return 0;
}
