/* test_split_vocabulary.c - ranks that divide the vocabulary compute losses and gradients of the
 * whole, although it does not divide evenly and logits may be large. */
#include "base/rng.h"
#include "base/thread.h"
#include "comm/rank_threads.h"
#include "op_run.h"
#include "ops/all_ops.h"
#include "ops/kernels.h"
#include "ops/reference.h"
#include "ops/vocabulary.h"
#include "tensor/target.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { RANKS = 3, N = 291, D = 9, V = 1000, ROWS = (V + RANKS - 1) / RANKS };

static const int64_t size_x[] = { N, D }, size_w[] = { V, D }, size_n[] = { N },
                     size_logits[] = { N, V }, size_rows[] = { ROWS, D }, size_part[] = { N, ROWS };

typedef struct Whole {
    Arena *arena;
    Dtype dtype;
    int level; /* of kernels; -1: references */
    Tensor x, weight, logits, targets, dloss;
    Tensor loss, lse, dx, dweight, dlogits;           /* by references, on one rank */
    Tensor sum_of_dx[2], all_dweight[2], all_dlogits; /* of the ranks */
} Whole;

static Tensor numbers(Arena *a, Dtype t, const int64_t *size, int n_dims, double scale)
{
    Tensor made = op_tensor(a, t, n_dims, size);
    for (int64_t i = 0; i < tensor_count(&made); i++)
        dtype_set(t, made.data, i,
                  scale * (2 * rng_uniform((uint64_t)size[n_dims - 1], (uint64_t)i) - 1));
    return made;
}

static const OpDef *op_named(const char *name)
{
    int i = 0;
    while (strcmp(op_at(i)->name, name) != 0) i++;
    return op_at(i);
}

static void run(Arena *a, const char *op, int level, Launch l)
{
    const KernelDef *k = level < 0 ? NULL : kernel_find(op, "cpu", (CpuLevel)level, &l);
    assert_true(level < 0 || k);
    Stream stream = { .pool = pool_new(2) };
    l.stream = &stream;
    if (!k) {
        assert_int_equal(op_reference(a, op_named(op), l), KERNEL_OK);
    } else {
        if (k->scratch) l.scratch = arena_alloc(a, k->scratch(&l, 2));
        assert_int_equal(k->run(&l), KERNEL_OK);
    }
    pool_free(stream.pool);
}

static Whole whole_new(Arena *a, Dtype t, double scale, int level)
{
    Whole w = { .arena = a, .dtype = t, .level = level };
    w.x = numbers(a, t, size_x, 2, 1);
    w.weight = numbers(a, t, size_w, 2, scale);
    w.logits = numbers(a, t, size_logits, 2, scale);
    w.dloss = numbers(a, F32, size_n, 1, 1);
    w.targets = op_tensor(a, I32, 1, size_n);
    for (int i = 0; i < N; i++)
        ((int32_t *)w.targets.data)[i] = i % 7 == 3 ? IGNORED_TARGET : i * 137 % V;
    w.loss = op_tensor(a, F64, 1, size_n);
    w.lse = op_tensor(a, F64, 1, size_n);
    w.dx = op_tensor(a, F64, 2, size_x);
    w.dweight = op_tensor(a, F64, 2, size_w);
    w.dlogits = op_tensor(a, F64, 2, size_logits);
    for (int k = 0; k < 2; k++) {
        w.sum_of_dx[k] = op_tensor(a, F64, 2, size_x);
        w.all_dweight[k] = op_tensor(a, F64, 2, size_w);
    }
    w.all_dlogits = op_tensor(a, F64, 2, size_logits);
    return w;
}

/* A rank's rows (or columns, `dim` 1) of a tensor; padding is zero. */
static Tensor part(Arena *a, const Tensor *whole, int dim, const int64_t *size, int rank)
{
    Tensor t = op_tensor(a, whole->dtype, 2, size);
    Part *p = NEW(a, Part);
    *p = (Part){ .n_parts = RANKS, .index = rank, .whole = V };
    t.part[dim] = p;
    for (int64_t i = 0; i < tensor_count(&t); i++) {
        const int64_t at = global_element(&t, i);
        if (at >= 0) dtype_set(t.dtype, t.data, i, op_get(whole, at));
    }
    return t;
}

static Tensor poisoned(Arena *a, Dtype t, const Tensor *like)
{
    Tensor made = *like;
    made.dtype = t;
    made.data = arena_alloc(a, dtype_size(t) * (size_t)tensor_count(like));
    memset(made.data, 0xff, tensor_bytes(&made));
    return made;
}

static void assert_near(const Tensor *found, const Tensor *expected, double most)
{
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < tensor_count(found); i++) {
        assert_false(isnan(op_get(found, i)));
        worst = fmax(worst, fabs(op_get(found, i) - op_get(expected, i)));
        largest = fmax(largest, fabs(op_get(expected, i)));
    }
    assert_close(worst / largest, 0, most);
}

/* Adds what a rank made to what all made; padding must be zero. */
static void collect(Tensor *all, const Tensor *made)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (int64_t i = 0; i < tensor_count(made); i++) {
        const int64_t at = global_element(made, i);
        const double x = op_get(made, i);
        if (at >= 0)
            dtype_set(F64, all->data, at, op_get(all, at) + x);
        else
            assert_true(x == 0);
    }
    pthread_mutex_unlock(&lock);
}

static Error *on_rank(Comm *c, void *arg)
{
    Whole *w = arg;
    Arena *a = arena_new();
    const Dtype wide = w->level < 0 ? F64 : F32;
    const Tensor weight = part(a, &w->weight, 0, size_rows, c->rank);
    const Tensor logits = part(a, &w->logits, 1, size_part, c->rank);
    Tensor loss = op_tensor(a, wide, 1, size_n), lse = op_tensor(a, F64, 1, size_n);
    Tensor dx = poisoned(a, w->dtype, &w->x), dweight = poisoned(a, wide, &weight);
    Tensor dlogits = poisoned(a, w->dtype, &logits);
    Tensor in[] = { w->x, weight, w->targets, lse, w->dloss }, losses[] = { loss, lse };
    Tensor step_in[] = { w->x, weight, w->targets, w->dloss };
    run(a, "head_loss", w->level,
        (Launch){ .in = in, .n_in = 3, .out = losses, .n_out = 2, .comm = c });
    assert_near(&loss, &w->loss, 3e-6);
    assert_near(&lse, &w->lse, 3e-6);
    run(a, "head_loss_grad", w->level,
        (Launch){ .in = in, .n_in = 5, .out = (Tensor[]){ dx, dweight }, .n_out = 2, .comm = c });
    collect(&w->sum_of_dx[0], &dx);
    collect(&w->all_dweight[0], &dweight);
    memset(loss.data, 0xff, tensor_bytes(&loss));
    run(a, "head_step", w->level,
        (Launch){ .in = step_in,
                  .n_in = 4,
                  .out = (Tensor[]){ loss, dx, dweight },
                  .n_out = 3,
                  .comm = c });
    assert_near(&loss, &w->loss, 3e-6);
    collect(&w->sum_of_dx[1], &dx);
    collect(&w->all_dweight[1], &dweight);
    Tensor of_logits[] = { logits, w->targets, lse, w->dloss };
    run(a, "cross_entropy", w->level,
        (Launch){ .in = of_logits, .n_in = 2, .out = losses, .n_out = 2, .comm = c });
    run(a, "cross_entropy_grad", w->level,
        (Launch){ .in = of_logits, .n_in = 4, .out = &dlogits, .n_out = 1, .comm = c });
    collect(&w->all_dlogits, &dlogits);
    arena_free(a);
    return NULL;
}

static void check(Dtype t, double scale, int level, double most)
{
    Arena *a = arena_new();
    Whole w = whole_new(a, t, scale, level);
    Tensor in[] = { w.x, w.weight, w.targets, w.lse, w.dloss };
    Tensor logits[] = { w.logits, w.targets, op_tensor(a, F64, 1, size_n), w.dloss };
    Tensor unused = op_tensor(a, F64, 1, size_n);
    run(a, "cross_entropy", -1,
        (Launch){ .in = logits, .n_in = 2, .out = (Tensor[]){ unused, logits[2] }, .n_out = 2 });
    run(a, "cross_entropy_grad", -1,
        (Launch){ .in = logits, .n_in = 4, .out = &w.dlogits, .n_out = 1 });
    run(a, "head_loss", -1,
        (Launch){ .in = in, .n_in = 3, .out = (Tensor[]){ w.loss, w.lse }, .n_out = 2 });
    run(a, "head_loss_grad", -1,
        (Launch){ .in = in, .n_in = 5, .out = (Tensor[]){ w.dx, w.dweight }, .n_out = 2 });
    on_ranks(RANKS, on_rank, &w, NULL);
    for (int k = 0; k < 2; k++) {
        assert_near(&w.sum_of_dx[k], &w.dx, most);
        assert_near(&w.all_dweight[k], &w.dweight, most);
    }
    assert_near(&w.all_dlogits, &w.dlogits, most);
    arena_free(a);
}

/* A group of two that adds up the bytes it is asked to reduce. */
typedef struct CountingComm {
    Comm base;
    size_t bytes;
} CountingComm;

static Error *count_all_reduce(Comm *c, void *data, int64_t n, Dtype t, ReduceOp op, Stream *s)
{
    (void)data, (void)op, (void)s;
    ((CountingComm *)c)->bytes += (size_t)n * dtype_size(t);
    return NULL;
}

TEST(losses_of_a_divided_vocabulary_send_what_their_ops_say)
{
    Arena *a = arena_new();
    const int level = CPU_SCALAR;
    Whole w = whole_new(a, F32, 0.5, level);
    const Tensor weight = part(a, &w.weight, 0, size_rows, 0);
    const Tensor logits = part(a, &w.logits, 1, size_part, 0);
    Tensor loss = op_tensor(a, F32, 1, size_n), lse = op_tensor(a, F64, 1, size_n);
    Tensor losses[] = { loss, lse }, of_head[] = { w.x, weight, w.targets },
           of_logits[] = { logits, w.targets };
    CountingComm c = { .base = { .size = 2, .all_reduce = count_all_reduce } };
    const struct {
        const char *op;
        Tensor *in;
        int n_in;
    } cases[] = { { "head_loss", of_head, 3 }, { "cross_entropy", of_logits, 2 } };
    for (int i = 0; i < 2; i++) {
        Launch l = {
            .in = cases[i].in, .n_in = cases[i].n_in, .out = losses, .n_out = 2, .comm = &c.base
        };
        c.bytes = 0;
        run(a, cases[i].op, level, l);
        assert_int_equal(c.bytes, N * VOCABULARY_TOKEN_BYTES);
        /* a ring of two sends half of them twice */
        assert_close(op_named(cases[i].op)->sent(&l), (double)c.bytes, 0);
    }
    arena_free(a);
}

TEST(references_on_ranks_that_divide_the_vocabulary_equal_one)
{
    check(F64, 0.5, -1, 1e-12);
    check(F64, 80, -1, 1e-12);
}

TEST(kernels_on_ranks_that_divide_the_vocabulary_equal_one)
{
    for (int level = CPU_SCALAR; level <= (int)cpu_level_available(); level++) {
        check(F32, 0.5, level, 4e-6);
        check(BF16, 0.5, level, 0.02);
    }
}

TEST(kernels_on_ranks_survive_logits_that_overflow_the_exponential)
{
    for (int level = CPU_SCALAR; level <= (int)cpu_level_available(); level++) {
        check(F32, 80, level, 1e-4);
        check(BF16, 80, level, 0.02);
    }
}
