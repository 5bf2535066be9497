/* test_kernels_of_gpus.c - every kernel for GPUs against the reference of its op: in the emulator,
 * or on a GPU where there is one. */
#include "device/cuda_library.h"
#include "halves_check.h"
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
    void (*set_order)(int order); /* of the emulator; NULL: a GPU */
} Gpu0;

static int launch_and_wait(const Gpu0 *g, const KernelDef *row, Launch *l)
{
    l->stream = g->stream;
    int status = g->device->launch(g->device, row->run, l);
    assert_no_error(g->device->synchronize(g->device, g->stream));
    if (!status && g->stream->failed) status = g->stream->status;
    g->stream->failed = NULL;
    return status;
}

/* Threads of blocks take turns from the last to the first, and in no order; memory is the host's,
 * which ends where guards begin. */
static int run_in_order(const KernelRunner *self, const KernelDef *row, Launch *l, int way)
{
    const Gpu0 *g = (const Gpu0 *)self;
    g->set_order(1 + way);
    return launch_and_wait(g, row, l);
}

enum { BEHIND = 64, MOST_COPIES = 64 };

/* Memory of the GPU for one launch, with as many guarding bytes after each piece as the host's
 * has. */
typedef struct Copies {
    const Gpu0 *gpu;
    struct {
        void *host, *there;
        size_t bytes;
    } item[MOST_COPIES];
    int n;
} Copies;

static void *copy_there(Copies *c, void *host, size_t bytes)
{
    Device *d = c->gpu->device;
    for (int i = 0; i < c->n; i++) /* results in place */
        if (c->item[i].host == host) return c->item[i].there;
    void *there;
    assert_true(c->n < MOST_COPIES);
    assert_no_error(d->alloc(d, bytes, &there));
    assert_no_error(device_copy_now(d, there, host, bytes, c->gpu->stream));
    c->item[c->n].host = host;
    c->item[c->n].there = there;
    c->item[c->n++].bytes = bytes;
    return there;
}

static void copy_back(const Copies *c)
{
    Device *d = c->gpu->device;
    for (int i = 0; i < c->n; i++) {
        assert_no_error(device_copy_now(d, c->item[i].host, c->item[i].there, c->item[i].bytes,
                                        c->gpu->stream));
        d->release(d, c->item[i].there, c->item[i].bytes);
    }
}

/* In memory of the GPU, twice. */
static int run_on_gpu(const KernelRunner *self, const KernelDef *row, Launch *l, int way)
{
    const Gpu0 *g = (const Gpu0 *)self;
    Arena *a = arena_new();
    Copies c = { .gpu = g };
    Launch there = *l;
    RunTime now = *l->now;
    Tensor *in = arena_copy(a, l->in, sizeof *in * (size_t)l->n_in),
           *out = arena_copy(a, l->out, sizeof *out * (size_t)l->n_out);
    const size_t scratch = row->scratch ? row->scratch(l, 1) : 0;
    (void)way;
    for (int k = 0; k < l->n_in; k++)
        in[k].data = copy_there(&c, in[k].data, tensor_bytes(&in[k]) + BEHIND);
    for (int k = 0; k < l->n_out; k++)
        out[k].data = copy_there(&c, out[k].data, tensor_bytes(&out[k]) + BEHIND);
    there.in = in;
    there.out = out;
    there.scratch = copy_there(&c, l->scratch, scratch + BEHIND);
    there.now = copy_there(&c, &now, sizeof now);
    const int status = launch_and_wait(g, row, &there);
    copy_back(&c);
    arena_free(a);
    return status;
}

static int one_thread(const KernelRunner *self, int way)
{
    (void)self, (void)way;
    return 1;
}

static Gpu0 open_gpu(void)
{
    Gpu0 g = { .runner = { .n_ways = 2,
                           .differ = "the order of threads shows",
                           .run = run_in_order,
                           .threads = one_thread } };
    const bool in_gpu_memory = getenv("MODALITIES_TEST_IN_GPU_MEMORY") != NULL;
    assert_no_error(gpu_open(0, 1, &g.device));
    assert_no_error(g.device->stream_new(g.device, false, &g.stream));
    g.runner.stream = g.stream;
    void *library = dlopen(getenv("MODALITIES_CUDA"), RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    *(void **)&g.set_order = dlsym(library, "emulator_set_order");
    if (g.set_order && !in_gpu_memory) return g;
    g.runner.n_ways = g.set_order ? 1 : 2; /* the emulator has two orders elsewhere */
    g.runner.differ = "a second run gives other bits";
    g.runner.run = run_on_gpu;
    return g;
}

static void close_gpu(Gpu0 *g)
{
    g->device->stream_free(g->device, g->stream);
    g->device->free(g->device);
}

TEST(kernels_of_gpus_are_exact_with_parameters_in_halves)
{
    Gpu0 g = open_gpu();
    halves_assert_exact(g.device->tables, CPU_SCALAR, &g.runner);
    close_gpu(&g);
}

static bool is_attention(const KernelDef *k)
{
    return !strncmp(k->op, "attention", 9);
}

static bool is_from_a_to_l(const KernelDef *k)
{
    return !is_attention(k) && *k->op < 'm';
}

static bool is_from_m_to_z(const KernelDef *k)
{
    return *k->op >= 'm';
}

static bool is_product(const KernelDef *k)
{
    return !strncmp(k->op, "contract_", 9);
}

static void assert_agree(bool (*is_meant)(const KernelDef *k))
{
    Arena *a = arena_new();
    Gpu0 g = open_gpu();
    int n_wrong = 0;
    const char *only = getenv("MODALITIES_TEST_OP");
    for (int t = 0; g.device->tables[t]; t++)
        for (const KernelDef *k = g.device->tables[t]; k->op; k++) {
            if (kernel_talks(k) || (only && strcmp(only, k->op))) continue;
            if (!is_meant(k)) continue;
            const char *problem = kernel_check(k, &g.runner, a);
            if (problem) print_message("%s\n", problem);
            n_wrong += problem != NULL;
        }
    close_gpu(&g);
    arena_free(a);
    assert_int_equal(n_wrong, 0);
}

/* In processes of their own: each takes a minute or two in the emulator. */
TEST(attention_of_gpus_agrees_with_its_references)
{
    assert_agree(is_attention);
}

TEST(kernels_of_gpus_from_a_to_l_agree_with_their_references)
{
    assert_agree(is_from_a_to_l);
}

TEST(kernels_of_gpus_from_m_to_z_agree_with_their_references)
{
    assert_agree(is_from_m_to_z);
}

/* As where the library has none of these shapes. */
TEST(products_of_gpus_agree_where_kernels_do_what_they_end_with)
{
    setenv("MODALITIES_MOCK_PRODUCTS", "no-epilogues", 1);
    assert_agree(is_product);
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

/* The types of the row that multiplies experts of this width. */
static const char *row_for_experts(const Gpu0 *g, int64_t width)
{
    Tensor in[3] = { { .dtype = BF16, .n_dims = 3, .size = { 1, 16, width } },
                     { .dtype = BF16, .n_dims = 3, .size = { 2, 24, width } },
                     { .dtype = I32, .n_dims = 2, .size = { 1, 16 } } },
           out = { .dtype = BF16, .n_dims = 3, .size = { 1, 16, 24 } };
    const Launch l = { .in = in, .out = &out, .n_in = 3, .n_out = 1, .stream = g->stream };
    const KernelDef *k = kernel_of_device("grouped_linear", g->device, CPU_SCALAR, &l);
    assert_non_null(k);
    return k->types;
}

TEST(products_of_experts_are_made_by_tensor_cores_where_they_fit_unless_that_is_turned_off)
{
    Gpu0 g = open_gpu();
    assert_string_equal(row_for_experts(&g, 32), "bf16 bf16 i32>any");
    assert_string_equal(row_for_experts(&g, 36), "any any i32>any");
    setenv("MODALITIES_CUDA_MMA", "off", 1);
    assert_string_equal(row_for_experts(&g, 32), "any any i32>any");
    close_gpu(&g);
}
