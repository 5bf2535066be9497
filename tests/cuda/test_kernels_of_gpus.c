/* test_kernels_of_gpus.c - every kernel for GPUs against the reference of its op, in the emulator.
 */
#include "device/cuda_library.h"
#include "kernel_check.h"
#include "ops/all_ops.h"
#include "test.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct Gpu0 {
    KernelRunner runner;
    Device *device;
    Stream *stream;
    void (*set_order)(int order);
} Gpu0;

/* Threads of blocks take turns in three orders; memory is the host's, which ends where guards
 * begin. */
static int run_in_order(const KernelRunner *self, const KernelDef *row, Launch *l, int way)
{
    const Gpu0 *g = (const Gpu0 *)self;
    g->set_order(way);
    l->stream = g->stream;
    int status = g->device->launch(g->device, row->run, l);
    assert_no_error(g->device->synchronize(g->device, g->stream));
    if (!status && g->stream->failed) status = g->stream->status;
    g->stream->failed = NULL;
    l->stream = NULL;
    return status;
}

static int one_thread(const KernelRunner *self, int way)
{
    (void)self, (void)way;
    return 1;
}

static Gpu0 open_gpu(void)
{
    Gpu0 g = { .runner = { .n_ways = 3,
                           .differ = "the order of threads shows",
                           .run = run_in_order,
                           .threads = one_thread } };
    assert_no_error(gpu_open(0, 1, &g.device));
    assert_no_error(g.device->stream_new(g.device, false, &g.stream));
    void *mock = dlopen(getenv("MODALITIES_CUDA"), RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(mock);
    *(void **)&g.set_order = dlsym(mock, "emulator_set_order");
    assert_non_null(g.set_order);
    return g;
}

static void close_gpu(Gpu0 *g)
{
    g->device->stream_free(g->device, g->stream);
    g->device->free(g->device);
}

TEST(kernels_of_gpus_agree_with_their_references)
{
    Arena *a = arena_new();
    Gpu0 g = open_gpu();
    const char *only = getenv("MODALITIES_TEST_OP");
    for (int t = 0; g.device->tables[t]; t++)
        for (const KernelDef *k = g.device->tables[t]; k->op; k++) {
            if (only && strcmp(only, k->op)) continue;
            const char *problem = kernel_check(k, &g.runner, a);
            if (problem)
                print_message("%s\n", problem);
            else if (problem)
                fail_msg("%s", problem);
        }
    close_gpu(&g);
    arena_free(a);
}

TEST(every_kernel_of_gpus_is_of_a_known_op)
{
    Gpu0 g = open_gpu();
    for (int t = 0; g.device->tables[t]; t++)
        for (const KernelDef *k = g.device->tables[t]; k->op; k++) {
            if (!op_find(k->op)) fail_msg("a kernel is for %s, but there is no such op", k->op);
            assert_string_equal(k->device, "cuda");
        }
    close_gpu(&g);
}
