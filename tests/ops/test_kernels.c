/* test_kernels.c - every tuned kernel against the reference of its op, on every case that it fits.
 */
#include "base/thread.h"
#include "kernel_check.h"
#include "ops/all_ops.h"
#include "ops/kernels.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static Pool *pools[2]; /* of one and three threads */

static int run_with_pool(const KernelRunner *self, const KernelDef *row, Launch *l, int way)
{
    Stream stream = { .pool = pools[way] };
    (void)self;
    l->stream = &stream;
    int status = row->run(l);
    l->stream = NULL;
    return status;
}

static int threads_of_pool(const KernelRunner *self, int way)
{
    (void)self;
    return pool_size(pools[way]);
}

static const KernelRunner with_pools = { .n_ways = 2,
                                         .differ = "three threads give other bits than one",
                                         .run = run_with_pool,
                                         .threads = threads_of_pool };

/* Those of levels from `first` on, up to `last`. */
static const char *check_rows(const KernelDef *rows, CpuLevel first, CpuLevel last, Arena *result)
{
    const char *problem = NULL;
    pools[0] = pool_new(1);
    pools[1] = pool_new(3);
    for (const KernelDef *k = rows; k->op && !problem; k++)
        if (k->level >= first && k->level <= last && k->level <= cpu_level_available() &&
            !kernel_talks(k))
            problem = kernel_check(k, &with_pools, result);
    pool_free(pools[0]);
    pool_free(pools[1]);
    return problem;
}

static void check_levels(CpuLevel first, CpuLevel last)
{
    if (cpu_level_available() < first) test_skip("this CPU lacks the instructions");
    Arena *a = arena_new();
    for (int t = 0; all_cpu_kernels[t]; t++) {
        const char *problem = check_rows(all_cpu_kernels[t], first, last, a);
        if (problem) fail_msg("%s", problem);
    }
    arena_free(a);
}

TEST(portable_kernels_agree_with_their_references)
{
    check_levels(KERNEL_PLAIN, CPU_SCALAR);
}

TEST(avx2_kernels_agree_with_their_references)
{
    check_levels(CPU_AVX2, CPU_AVX2);
}

TEST(avx512_kernels_agree_with_their_references)
{
    check_levels(CPU_AVX512, CPU_AVX512);
}

TEST(kernels_for_bf16_agree_with_their_references)
{
    check_levels(CPU_AVX512_BF16, CPU_AMX);
}

TEST(every_kernel_is_of_a_known_op)
{
    for (int t = 0; all_cpu_kernels[t]; t++)
        for (const KernelDef *k = all_cpu_kernels[t]; k->op; k++)
            if (!op_find(k->op)) fail_msg("a kernel is for %s, but there is no such op", k->op);
}

/* ---- kernels that are wrong in one way each, to see that the comparison finds it ---- */

static int add_f32(const Launch *l)
{
    float *z = l->out[0].data;
    for (int64_t i = 0; i < tensor_count(&l->out[0]); i++)
        z[i] = ((const float *)l->in[0].data)[i] + ((const float *)l->in[1].data)[i];
    return KERNEL_OK;
}

static int add_imprecise(const Launch *l)
{
    add_f32(l);
    ((float *)l->out[0].data)[3] *= 1.0001f;
    return KERNEL_OK;
}

static int add_not_all(const Launch *l)
{
    Launch less = *l;
    Tensor out = l->out[0];
    out.size[0]--;
    less.out = &out;
    return add_f32(&less);
}

static int add_too_many(const Launch *l)
{
    add_f32(l);
    ((float *)l->out[0].data)[tensor_count(&l->out[0])] = 0;
    return KERNEL_OK;
}

static int add_by_threads(const Launch *l)
{
    add_f32(l);
    ((float *)l->out[0].data)[0] *= 1 + 2e-7f * (float)pool_size(l->stream->pool);
    return KERNEL_OK;
}

static int sum_rows_without_adding(const Launch *l)
{
    float *sum = l->out[0].data;
    int64_t d = l->out[0].size[0];
    memset(sum, 0, tensor_bytes(&l->out[0]));
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++)
        sum[i % d] += ((const float *)l->in[0].data)[i];
    return KERNEL_OK;
}

/* Takes rows by the local index, as if the table were whole. */
static int embed_without_parts(const Launch *l)
{
    int64_t d = l->in[1].size[1];
    for (int64_t i = 0; i < tensor_count(&l->in[0]); i++) {
        int64_t row = ((const int32_t *)l->in[0].data)[i] % l->in[1].size[0];
        memcpy((float *)l->out[0].data + i * d, (const float *)l->in[1].data + row * d,
               sizeof(float) * (size_t)d);
    }
    return KERNEL_OK;
}

static bool never(const Launch *l)
{
    (void)l;
    return false;
}

static void assert_row_problem(KernelDef row, const char *expected)
{
    Arena *a = arena_new();
    row.device = "cpu";
    const char *problem = check_rows((const KernelDef[]){ row, { 0 } }, KERNEL_PLAIN, CPU_AMX, a);
    if (!expected)
        assert_null(problem);
    else
        assert_contains(problem ? problem : "nothing", expected);
    arena_free(a);
}

TEST(comparison_of_kernels_finds_what_is_wrong)
{
    const char *types = "f32 f32>f32";
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_f32 }, NULL);
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_imprecise },
                       "the reference gives");
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_not_all }, "nan");
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_too_many },
                       "writes after a result");
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_by_threads },
                       "three threads");
    assert_row_problem((KernelDef){ .op = "add", .types = types, .run = add_f32, .serves = never },
                       "no case fits");
    assert_row_problem((KernelDef){ .op = "add", .types = "f32>f32", .run = add_f32 },
                       "no case fits");
    assert_row_problem(
        (KernelDef){ .op = "embed", .types = "i32 f32>f32", .run = embed_without_parts }, "half");
    assert_row_problem(
        (KernelDef){ .op = "add_bias_grad", .types = "f32>f32", .run = sum_rows_without_adding },
        "adding to results");
}
