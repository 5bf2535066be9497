/* test_head_loss.c - the fused head over several chunks of tokens and segments of the vocabulary,
 * and with logits too large for the exponential. */
#include "base/rng.h"
#include "base/thread.h"
#include "op_run.h"
#include "ops/head_loss.h"
#include "ops/kernels.h"
#include "tensor/target.h"
#include "test.h"
#include <math.h>
#include <string.h>

/* More tokens than a chunk, a vocabulary of several segments with an incomplete block. */
enum { N = 1103, D = 9, V = 1000 };

static Tensor random_tensor(Arena *a, Dtype t, int n_dims, const int64_t *size, double scale)
{
    Tensor made = op_tensor(a, t, n_dims, size);
    for (int64_t i = 0; i < tensor_count(&made); i++)
        dtype_set(t, made.data, i, scale * (2 * rng_uniform((uint64_t)n_dims, (uint64_t)i) - 1));
    return made;
}

typedef struct Case {
    Tensor x, weight, targets, dloss;
    Tensor loss, lse, dx, dweight; /* by the kernels */
    Tensor expected[4];            /* by the references */
} Case;

static Case make_case(Arena *a, Dtype t, double scale)
{
    const int64_t x[] = { N, D }, w[] = { V, D }, n[] = { N };
    Case c = { .x = random_tensor(a, t, 2, x, 1), .weight = random_tensor(a, t, 2, w, scale) };
    c.targets = op_tensor(a, I32, 1, n);
    for (int64_t i = 0; i < N; i++)
        ((int32_t *)c.targets.data)[i] = i % 7 == 3 ? IGNORED_TARGET : (int32_t)(i * 137 % V);
    c.dloss = random_tensor(a, F32, 1, n, 1);
    c.loss = op_tensor(a, F32, 1, n);
    c.lse = op_tensor(a, F64, 1, n);
    c.dx = op_tensor(a, t, 2, x);
    c.dweight = random_tensor(a, F32, 2, w, 1);
    for (int k = 0; k < 2; k++) c.expected[k] = op_tensor(a, F64, 1, n);
    c.expected[2] = op_tensor(a, F64, 2, x);
    c.expected[3] = op_tensor(a, F64, 2, w);
    return c;
}

static void run(Arena *a, const char *op, CpuLevel level, Launch l)
{
    const KernelDef *k = kernel_find(op, "cpu", level, &l);
    assert_non_null(k);
    /* tiles are for bf16 alone */
    bool has_tiles = strcmp(op, "head_loss_grad") && l.in[0].dtype == BF16;
    assert_int_equal(k->level, op_product_level(level, has_tiles));
    Stream stream = { .pool = pool_new(2) };
    l.stream = &stream;
    l.scratch = arena_alloc(a, k->scratch(&l, 2));
    assert_int_equal(k->run(&l), KERNEL_OK);
    pool_free(stream.pool);
}

/* Largest difference as a share of the largest element. */
static double deviation(const Tensor *found, const Tensor *expected)
{
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < tensor_count(found); i++) {
        worst = fmax(worst, fabs(op_get(found, i) - op_get(expected, i)));
        largest = fmax(largest, fabs(op_get(expected, i)));
        if (isnan(op_get(found, i))) return NAN;
    }
    return worst / largest;
}

/* head_step gives the loss, then both gradients, and adds to the second. */
static void check_step(Arena *a, Case *c, CpuLevel level, double allowed)
{
    Tensor in[] = { c->x, c->weight, c->targets, c->dloss };
    Tensor out[] = { c->loss, c->dx, c->dweight };
    const int64_t w[] = { V, D };
    out[2] = random_tensor(a, F32, 2, w, 1); /* what dweight started from */
    for (int k = 0; k < 2; k++) memset(out[k].data, 0xff, tensor_bytes(&out[k]));
    run(a, "head_step", level,
        (Launch){ .in = in,
                  .n_in = 4,
                  .out = out,
                  .n_out = 3,
                  .add = (const bool[]){ false, false, true } });
    assert_close(deviation(&out[0], &c->expected[0]), 0, 2e-6);
    assert_close(deviation(&out[1], &c->expected[2]), 0, allowed);
    assert_close(deviation(&out[2], &c->expected[3]), 0, allowed);
}

static void check(Dtype t, double scale, CpuLevel level, double allowed)
{
    Arena *a = arena_new();
    Case c = make_case(a, t, scale);
    Tensor in[] = { c.x, c.weight, c.targets, c.lse, c.dloss };
    Tensor forward[] = { c.loss, c.lse }, backward[] = { c.dx, c.dweight };
    op_reference(a, &op_head_loss, (Launch){ .in = in, .n_in = 3, .out = c.expected, .n_out = 2 });
    run(a, "head_loss", level, (Launch){ .in = in, .n_in = 3, .out = forward, .n_out = 2 });
    dtype_convert(F64, c.expected[3].data, F32, c.dweight.data, V * D);
    op_reference(a, &op_head_loss_grad,
                 (Launch){ .in = in,
                           .n_in = 5,
                           .out = c.expected + 2,
                           .n_out = 2,
                           .add = (const bool[]){ false, true } });
    run(a, "head_loss_grad", level,
        (Launch){ .in = in,
                  .n_in = 5,
                  .out = backward,
                  .n_out = 2,
                  .add = (const bool[]){ false, true } });
    assert_close(deviation(&c.loss, &c.expected[0]), 0, 2e-6);
    assert_close(deviation(&c.lse, &c.expected[1]), 0, 2e-6);
    assert_close(deviation(&c.dx, &c.expected[2]), 0, allowed);
    assert_close(deviation(&c.dweight, &c.expected[3]), 0, allowed);
    check_step(a, &c, level, allowed);
    arena_free(a);
}

TEST(head_loss_of_several_chunks_equals_its_reference)
{
    for (int level = CPU_SCALAR; level <= (int)cpu_level_available(); level++) {
        check(F32, 0.5, (CpuLevel)level, 2e-6);
        check(BF16, 0.5, (CpuLevel)level, 0.01);
    }
}

TEST(head_loss_survives_logits_that_overflow_the_exponential)
{
    for (int level = CPU_SCALAR; level <= (int)cpu_level_available(); level++) {
        check(F32, 80, (CpuLevel)level, 1e-4); /* lse is rounded to 2^-14 or so */
        check(BF16, 80, (CpuLevel)level, 0.01);
    }
}

TEST(head_loss_refuses_a_target_outside_of_the_vocabulary)
{
    Arena *a = arena_new();
    Case c = make_case(a, F32, 1);
    ((int32_t *)c.targets.data)[N - 1] = V;
    Tensor in[] = { c.x, c.weight, c.targets }, out[] = { c.loss, c.lse };
    Launch l = { .in = in, .n_in = 3, .out = out, .n_out = 2 };
    const KernelDef *k = kernel_find("head_loss", "cpu", cpu_level_available(), &l);
    Stream stream = { .pool = pool_new(1) };
    l.stream = &stream;
    l.scratch = arena_alloc(a, k->scratch(&l, 1));
    assert_int_equal(k->run(&l), KERNEL_BAD_INDEX);
    Tensor step_in[] = { c.x, c.weight, c.targets, c.dloss };
    Tensor step_out[] = { c.loss, c.dx, c.dweight };
    Launch step = { .in = step_in, .n_in = 4, .out = step_out, .n_out = 3, .stream = &stream };
    k = kernel_find("head_step", "cpu", cpu_level_available(), &step);
    step.scratch = arena_alloc(a, k->scratch(&step, 1));
    assert_int_equal(k->run(&step), KERNEL_BAD_INDEX);
    pool_free(stream.pool);
    arena_free(a);
}
