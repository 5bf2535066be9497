/* test_first_moment.c - a first moment in bf16: what it costs, and where it lies. */
#include "train/small_job.h"
#include <math.h>

#define NAME "transformer.h.0.mlp.c_fc.weight"
enum { MOST_STEPS = 64 };

typedef struct Curve {
    double loss[MOST_STEPS];
    int64_t n;
    Dtype dtype;
} Curve;

static void note(void *context, const StepReport *r)
{
    Curve *c = context;
    assert_true(c->n < MOST_STEPS);
    c->loss[c->n++] = r->loss[0];
    c->dtype = store_find(r->store, "exp_avg." NAME)->tensor.dtype;
    assert_int_equal(store_find(r->store, "exp_avg_sq." NAME)->tensor.dtype, F32);
}

static Curve curve_of(const char *dtype)
{
    Curve c = { .n = 0 };
    TrainingEnd end;
    char set[64];
    snprintf(set, sizeof set, "optimizer.config.exp_avg_dtype=%s", dtype);
    SmallJob *s = small_job_new("x", (const char *const[]){ set, NULL });
    s->job.observe = note;
    s->job.observer = &c;
    assert_no_error(trainer_run(&s->job, &end));
    arena_free(s->bench.arena);
    return c;
}

TEST(a_first_moment_in_bf16_changes_the_loss_a_little)
{
    const Curve exact = curve_of("FP_32"), rounded = curve_of("BF_16");
    assert_int_equal(exact.dtype, F32);
    assert_int_equal(rounded.dtype, BF16);
    assert_int_equal(exact.n, rounded.n);
    assert_true(exact.n >= 8);
    double worst = 0;
    for (int64_t i = 0; i < exact.n; i++)
        worst = fmax(worst, fabs(rounded.loss[i] - exact.loss[i]) / exact.loss[i]);
    assert_true(exact.loss[exact.n - 1] < exact.loss[0]);
    assert_true(worst > 0);
    if (worst > 1e-3) fail_msg("the loss is %.2g off", worst);
}
