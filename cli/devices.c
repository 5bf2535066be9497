/* devices.c - `modalities devices`: what there is to compute on. */
#include "base/str.h"
#include "base/thread.h"
#include "command.h"
#include "device/cuda_library.h"
#include <stdio.h>

static void print_gpu(int number, const Gpu *g)
{
    char all[32], there[32];
    format_bytes((double)g->bytes, all);
    format_bytes((double)g->free_bytes, there);
    printf("cuda:%d  %s, compute capability %d.%d, %d multiprocessors, %s, %s free\n", number,
           g->name, g->major, g->minor, g->n_multiprocessors, all, there);
    if (*g->problem) printf("        cannot be used: %s\n", g->problem);
}

static Error *run(Arena *a, const void *options)
{
    GpuReport r;
    (void)a, (void)options;
    printf("cpu     %d cores, kernels for %s\n", thread_cores(),
           cpu_level_name(cpu_level_in_use()));
    gpu_report(&r);
    for (int i = 0; i < r.n; i++) print_gpu(i, &r.gpu[i]);
    if (*r.versions) printf("cuda    %s\n", r.versions);
    if (*r.problem) printf("cuda    no GPU: %s\n", r.problem);
    return NULL;
}

static const Field options[] = { { 0 } };

const Command command_top_devices = {
    .name = "devices",
    .doc = "Lists what there is to compute on, and why a GPU cannot be used.",
    .details = "The numbers are those of --device cuda:N: of the GPUs that CUDA_VISIBLE_DEVICES "
               "shows.",
    .examples = "modalities devices",
    .options = options,
    .options_size = 1,
    .run = run,
};
