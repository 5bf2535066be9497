/* test_allocation.c - once all buffers were used, a step allocates nothing.
 *
 * The test program's own malloc stands before the C library's and counts; under a sanitizer, which
 * has its own, the test is only a training. */
#include "train/small_job.h"
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_COUNTED = 0 };
#else
enum { IS_COUNTED = 1 };
#endif

static long n_allocations;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
    return __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes)
{
    __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
    return __libc_calloc(n, bytes);
}
__attribute__((visibility("default"))) void *realloc(void *p, size_t bytes)
{
    __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
    return __libc_realloc(p, bytes);
}
#endif

enum { WARM = 4, N_STEPS = 12 };

static void count(void *context, const StepReport *r)
{
    ((long *)context)[r->step] = __atomic_load_n(&n_allocations, __ATOMIC_RELAXED);
}

static void assert_no_allocation(const char *more)
{
    SmallJob *s = small_job_new(
        "x",
        (const char *[]){ "settings.training_target.num_target_steps=12",
                          "settings.intervals.training_log_interval_in_steps=12",
                          "settings.intervals.evaluation_interval_in_steps=12",
                          "settings.intervals.checkpointing_interval_in_steps=12", more, NULL });
    long seen[N_STEPS + 1] = { 0 };
    s->job.observe = count;
    s->job.observer = seen;
    TrainingEnd end;
    assert_no_error(trainer_run(&s->job, &end));
    assert_int_equal(end.steps, N_STEPS);
    if (IS_COUNTED) assert_true(seen[1] > 0);
    for (int i = WARM + 1; i <= N_STEPS; i++)
        if (seen[i] != seen[WARM])
            fail_msg("%ld allocations in steps %d to %d", seen[i] - seen[WARM], WARM + 1, i);
    arena_free(s->bench.arena);
}

TEST(allocation_happens_in_no_step_after_the_first_ones)
{
    assert_no_allocation(NULL);
}
TEST(allocation_happens_in_no_step_in_bf16)
{
    assert_no_allocation("wrapped_model.config.mixed_precision_settings.param_dtype=BF_16");
}
